"""Describes the epilogue of a convolution primitive and the arrays that it reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.plans import Place, PlanBuilder


@dataclass(frozen=True)
class EpilogueOperands:
    """``activation(y · scale + bias + residual)``.

    Attributes:
        after: which terms exist.
        bias: one value per channel, added by the primitive.
        channels: per-channel values of shape (1, channels, 1, 1), in order: the scale, then the
            bias.
        residual: an image like y.
    """

    after: Epilogue
    bias: Place | None = None
    channels: tuple[Place, ...] = ()
    residual: Place | None = None

    def attributes(self, builder: PlanBuilder, y: Any, *, onto: bool = False) -> Any:
        """Builds the attributes of a primitive whose result has the layout `y`.

        Args:
            onto: add the previous content of the result first.
        """
        made = builder.attributes()
        multiplied, added = (
            [place.description for place in some] for some in (self.channels[:1], self.channels[1:])
        )
        added += [y] if self.residual else []
        self.after.join(builder.dnnl, made, added, multiplied, onto=onto)
        return made

    def arguments(self, *, onto: bool = False) -> Mapping[int, Place]:
        """Returns the primitive's further inputs, by argument index."""
        places = [*self.channels, *([self.residual] if self.residual else [])]
        found = {
            constants.post_operation(number): place
            for number, place in enumerate(places, start=onto)
        }
        return found | ({constants.BIAS: self.bias} if self.bias else {})
