"""nn.Dense with any activation: written once where the product can end with it."""

from __future__ import annotations

from typing import Any

from custom_ops.operators.activations import as_cell, key_of
from custom_ops.operators.matmul_bias import DenseCell, of_dense
from tbe_impl.errors import InputError


class Dense(DenseCell):
    r"""A dense layer and its activation, in the place of `mindspore.nn.Dense`.

    .. math::
        y = f(x \cdot W^T + b)

    With relu, GELU and SiLU, by name, as a Cell (also `custom_ops.GELU` and `custom_ops.Swish`) or as a primitive, the result is
    written once; any other activation follows as MindSpore has it.

    Args:
        in_channels (int): last size of x.
        out_channels (int): last size of y.
        weight_init, bias_init: initial weights, as nn.Dense takes them. Default: ``None``, as nn.Dense has it.
        has_bias (bool): whether there is a bias. Default: ``True``.
        activation (str, Cell, Primitive): :math:`f`, as nn.Dense takes it. Default: ``None``: none.
        dtype: of the weights. Default: ``mindspore.float32``.
        route (str): ``native``, ``composite``, or empty for the default.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32, or float64, which NumPy computes.

    Outputs:
        Tensor (…, out_channels) of that dtype.

    Raises:
        InputError: the last size of x is another, or there is no such activation; on arrays an activation that the product does
            not end with.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import Dense
        >>> net = Dense(2, 1, activation="relu")
        >>> net.forward(np.float32([[1, 2], [0, 0]]), np.float32([[3, 4]]), np.float32([-1]))
        array([[10.],
               [ 0.]], dtype=float32)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        activation: Any = None,
        dtype: Any = None,
        route: str = "",
    ):
        key = key_of(activation)
        object.__setattr__(self, "key", key or "")
        follows: Any = None if key is not None else as_cell(activation, "Dense")
        super().__init__(
            in_channels, out_channels, weight_init, bias_init, has_bias, None, dtype, route
        )
        self.activation = follows
        self.is_followed = follows is not None

    @classmethod
    def from_cells(cls, dense: Any, route: str = "") -> Any:
        """One with the weights of an nn.Dense, the same Parameters, and its activation."""
        return of_dense(cls, dense, route=route)

    def construct(self, x: Any) -> Any:
        """One kernel, and the activation where the product does not end with it."""
        y = self.multiplied(x)
        return self.activation(y) if self.is_followed else y

    def forward(self, *arrays: Any) -> Any:
        """The output; the arrays are kept for `backward`."""
        if self.is_followed:
            raise InputError(
                "Dense: on arrays there is no such activation",
                place="Dense",
                expected="None, relu, gelu or silu",
                got=repr(self.activation),
            )
        return super().forward(*arrays)
