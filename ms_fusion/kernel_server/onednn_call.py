"""A oneDNN call as plain values: the function of `custom_ops.onednn` and its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from custom_ops.onednn import Prepared

Plain = bool | int | str | tuple[int | str, ...]


class OnednnCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag="onednn"):
    """A call of the library.

    Attributes:
        function: of `custom_ops.onednn`.
        arguments: its own.
    """

    function: Literal[
        "prepare_conv2d", "prepare_conv2d_backward", "prepare_matmul", "prepare_max_pool_gradient"
    ]
    arguments: dict[str, Plain]

    @property
    def has_second_pass(self) -> bool:
        """Whether a pass of ours over the result follows the call of oneDNN."""
        from custom_ops.onednn.epilogues import Epilogue

        return Epilogue(activation=str(self.arguments.get("activation", ""))).has_own_relu

    def prepare(self) -> Prepared:
        """It, ready to be called.

        Raises:
            InputError: as that function; names operator, argument, expected and got.
        """
        from custom_ops import onednn

        made: Prepared = getattr(onednn, self.function)(**self.arguments)
        return made
