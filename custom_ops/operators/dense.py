"""Defines a dense layer that fuses supported activations into the matrix product."""

from __future__ import annotations

from functools import partial
from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.function_spec import FunctionSpec, parameters_of
from custom_ops.operators.activations import NAMES, activation_cell, key_of
from custom_ops.operators.matmul_bias import MATMUL_BIAS, PRODUCTS, DenseCell, build_from_dense
from tbe_impl.errors import InputError


class Dense(DenseCell):
    r"""A dense layer and its activation; replaces `mindspore.nn.Dense`.

    .. math::
        y = f(x \cdot W^T + b)

    ReLU, GELU and SiLU are fused into the matrix product. These activations may be given by name,
    as a primitive or as a Cell, such as `custom_ops.GELU` or `custom_ops.Swish`. MindSpore computes
    any other activation after the product.

    Args:
        in_channels (int): size of the last axis of x.
        out_channels (int): size of the last axis of y.
        weight_init, bias_init: initial values, as for nn.Dense. Default: ``None``, which means the
            initialiser of nn.Dense.
        has_bias (bool): whether a bias is added. Default: ``True``.
        activation (str, Cell, Primitive): :math:`f`, as for nn.Dense; ``None`` for no activation.
            Default: ``None``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.

    Outputs:
        Tensor (…, out_channels) of the dtype of x.

    Raises:
        InputError: the last axis of x does not have the size `in_channels`, or the activation is
            unknown. `forward` on arrays also raises this error if the activation is not fused.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

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
        follows: Any = None if key is not None else activation_cell(activation, "Dense")
        super().__init__(
            in_channels, out_channels, weight_init, bias_init, has_bias, None, dtype, route
        )
        self.activation = follows
        self.is_followed = follows is not None

    @classmethod
    def from_cells(cls, dense: Any, route: str = "") -> Any:
        """Builds the Cell from an nn.Dense; both Cells use the same Parameters and activation."""
        return build_from_dense(cls, dense, route=route)

    def construct(self, x: Any) -> Any:
        """Returns the output; MindSpore computes an unfused activation after the matrix product."""
        y = self.apply_product(x)
        return self.activation(y) if self.is_followed else y

    def forward(self, *arrays: Any) -> Any:
        """Returns the output, and saves the arrays for `backward`."""
        if self.is_followed:
            raise InputError(
                "Dense: the activation is not supported on arrays",
                place="Dense",
                expected="None, relu, gelu or silu",
                got=repr(self.activation),
            )
        return super().forward(*arrays)


def _build_product(has_bias: bool, activation: str = "", route: str = "") -> FusedCell:
    key = key_of(activation or None)
    if key is None:
        raise InputError(
            "dense: activation is unknown",
            place="dense",
            expected=", ".join(NAMES),
            got=repr(activation),
        )
    return FusedCell(PRODUCTS[key][has_bias], {"activation": key}, route)


FUNCTION_SPECS = (
    FunctionSpec(
        "dense",
        MATMUL_BIAS.inputs,
        partial(_build_product, True),
        parameters_of(partial(_build_product, True)),
        optional=("bias",),
        build_without=partial(_build_product, False),
        doc="""Returns activation(x·weightᵀ + bias); see `custom_ops.Dense`.

        Args:
            x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
            weight: (out, in).
            bias: (out,), or None.
            activation: ``relu``, ``gelu``, ``silu``, or empty for none.
            route: as in `custom_ops.Dense`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the activation is unknown, or the sizes of the tensors do not match.
        """,
    ),
)
