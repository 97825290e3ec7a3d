"""Describes the arrays that the epilogue of a convolution primitive reads."""

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
        after: the epilogue. The epilogue determines whether there is a bias, a scale and a
            residual.
        bias: bias with one value per output channel, if the convolution primitive itself adds the
            bias. Otherwise None.
        channels: the scale, then the bias, if oneDNN's post-ops apply them. Both have the shape (1,
            output channels, 1, 1). Otherwise empty.
        residual: array of the shape of y, or None if the epilogue has no residual.
    """

    after: Epilogue
    bias: Place | None = None
    channels: tuple[Place, ...] = ()
    residual: Place | None = None

    def attributes(self, builder: PlanBuilder, y: Any, *, onto: bool = False) -> Any:
        """Builds the attributes of a primitive whose result has the memory descriptor `y`.

        Args:
            onto: whether the primitive adds its sum to the previous content of the result array.
                The primitive then applies the epilogue to the total.
        """
        made = builder.attributes()
        multiplied, added = (
            [place.description for place in some] for some in (self.channels[:1], self.channels[1:])
        )
        added += [y] if self.residual else []
        self.after.join(builder.dnnl, made, added, multiplied, onto=onto)
        return made

    def arguments(self, *, onto: bool = False) -> Mapping[int, Place]:
        """Returns a dict from oneDNN's index of an array argument to the memory of the array.

        Args:
            onto: as for `attributes`.
        """
        places = [*self.channels, *([self.residual] if self.residual else [])]
        found = {
            constants.post_operation(number): place
            for number, place in enumerate(places, start=onto)
        }
        return found | ({constants.BIAS: self.bias} if self.bias else {})
