"""What follows a convolution in the same primitive, with the arrays that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.programs import Builder, Place


@dataclass(frozen=True)
class Following:
    """``activation(y · scale + bias + residual)``.

    Attributes:
        after: which of them there are.
        bias: one number a channel, which the primitive itself adds.
        channels: numbers of channels, of one image of one place, in the order in which they come: the scale, and behind it the bias.
        residual: an image like y.
    """

    after: Epilogue
    bias: Place | None = None
    channels: tuple[Place, ...] = ()
    residual: Place | None = None

    def attributes(self, builder: Builder, y: Any, *, onto: bool = False) -> Any:
        """Of a primitive whose result lies like `y`; `onto`: what is there is added first."""
        made = builder.attributes()
        multiplied, added = (
            [place.description for place in some] for some in (self.channels[:1], self.channels[1:])
        )
        added += [y] if self.residual else []
        self.after.join(builder.dnnl, made, added, multiplied, onto=onto)
        return made

    def arguments(self, *, onto: bool = False) -> Mapping[int, Place]:
        """What that primitive reads besides images and weights, by the number of the argument."""
        places = [*self.channels, *([self.residual] if self.residual else [])]
        found = {
            constants.post_operation(number): place
            for number, place in enumerate(places, start=onto)
        }
        return found | ({constants.BIAS: self.bias} if self.bias else {})
