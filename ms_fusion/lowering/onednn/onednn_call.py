"""Describes a oneDNN call by plain values: the name of a function and the function's arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from custom_ops.onednn import Prepared

ArgumentValue = bool | int | str | tuple[int | str, ...]


class OnednnCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="onednn"):
    """A call of a function of `custom_ops.onednn`, which executes a oneDNN primitive.

    Attributes:
        function: name of a function of `custom_ops.onednn`.
        arguments: keyword arguments of this function.
    """

    function: Literal[
        "prepare_conv2d", "prepare_conv2d_backward", "prepare_matmul", "prepare_max_pool_gradient"
    ]
    arguments: dict[str, ArgumentValue]

    @property
    def has_second_pass(self) -> bool:
        """Whether our own code processes the whole result again after the oneDNN primitive."""
        from custom_ops.onednn.epilogues import Epilogue

        return Epilogue(activation=str(self.arguments.get("activation", ""))).has_own_relu

    def prepare(self) -> Prepared:
        """Creates the oneDNN primitive of the call; returns an object that can execute it.

        Raises:
            InputError: `function` rejects an argument. The error names the operator, the argument,
                and the expected and the actual value.
        """
        from custom_ops import onednn

        return getattr(onednn, self.function)(**self.arguments)
