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
    """Arrays that the epilogue ``activation(y · scale + bias + residual)`` reads.

    Attributes:
        after: the epilogue; it says which terms exist.
        bias: one value per channel, if the convolution primitive adds it.
        channels: the scale, then the bias, each of shape (1, channels, 1, 1), if post-ops apply
            them.
        residual: images of the shape of y.
    """

    after: Epilogue
    bias: Place | None = None
    channels: tuple[Place, ...] = ()
    residual: Place | None = None

    def attributes(self, builder: PlanBuilder, y: Any, *, onto: bool = False) -> Any:
        """Builds the attributes of a primitive whose result has the memory descriptor `y`.

        Args:
            onto: first add the previous content of the result.
        """
        made = builder.attributes()
        multiplied, added = (
            [place.description for place in some] for some in (self.channels[:1], self.channels[1:])
        )
        added += [y] if self.residual else []
        self.after.join(builder.dnnl, made, added, multiplied, onto=onto)
        return made

    def arguments(self, *, onto: bool = False) -> Mapping[int, Place]:
        """Returns the epilogue's arrays as arguments of the primitive: argument index → memory."""
        places = [*self.channels, *([self.residual] if self.residual else [])]
        found = {
            constants.post_operation(number): place
            for number, place in enumerate(places, start=onto)
        }
        return found | ({constants.BIAS: self.bias} if self.bias else {})
