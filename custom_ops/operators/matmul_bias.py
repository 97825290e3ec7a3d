"""Fuses a dense layer with an activation or a residual, so that the result is written once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from custom_ops.core.cell import FusedCell
from custom_ops.core.function_spec import FunctionSpec, function_of_spec, parameters_of
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.weighted_cells import (
    WeightedCell,
    keep_names,
    make_parameter,
    uniform_initializer,
)
from custom_ops.operators.activations import key_of
from custom_ops.operators.gelu import GELU_SPEC
from custom_ops.operators.linear import linear_spec
from custom_ops.operators.swish import SWISH
from tbe_impl.errors import InputError

MATMUL = linear_spec("MatMul", bias=False)
MATMUL_BIAS = linear_spec("MatMulBias")
MATMUL_RELU = linear_spec("MatMulReLU", bias=False, activation="relu")
MATMUL_BIAS_RELU = linear_spec("MatMulBiasReLU", activation="relu")
MATMUL_GELU = linear_spec("MatMulGELU", bias=False, activation="gelu_tanh")
MATMUL_BIAS_GELU = linear_spec("MatMulBiasGELU", activation="gelu_tanh")
MATMUL_SILU = linear_spec("MatMulSiLU", bias=False, activation="silu")
MATMUL_BIAS_SILU = linear_spec("MatMulBiasSiLU", activation="silu")
LINEAR_RESIDUAL = linear_spec("LinearResidual", residual=True)
LINEAR_RESIDUAL_WITHOUT_BIAS = linear_spec("LinearResidualWithoutBias", bias=False, residual=True)


def dense_weights(
    in_channels: int,
    out_channels: int,
    weight_init: Any,
    bias_init: Any,
    has_bias: bool,
    dtype: Any,
) -> dict[str, Any]:
    """Creates the weight and, if wanted, the bias of a dense layer.

    The default initialisers are those of nn.Dense.
    """
    bound = 1 / math.sqrt(in_channels)
    initial = uniform_initializer(bound, he=True) if weight_init is None else weight_init
    made = {"weight": make_parameter(initial, (out_channels, in_channels), dtype, "weight")}
    if has_bias:
        initial = uniform_initializer(bound) if bias_init is None else bias_init
        made["bias"] = make_parameter(initial, (out_channels,), dtype, "bias")
    return made


PRODUCTS: Mapping[str, tuple[OpSpec, OpSpec]] = {
    "": (MATMUL, MATMUL_BIAS),
    "relu": (MATMUL_RELU, MATMUL_BIAS_RELU),
    "gelu": (MATMUL_GELU, MATMUL_BIAS_GELU),
    "gelu_tanh": (MATMUL_GELU, MATMUL_BIAS_GELU),
    "silu": (MATMUL_SILU, MATMUL_BIAS_SILU),
}
"""Dict from the key of an activation to two operators that fuse it into the matrix product.

The first operator has no bias, the second has a bias.
"""
SEPARATE_ACTIVATIONS: Mapping[str, tuple[OpSpec, Mapping[str, Any]]] = {
    "gelu": (GELU_SPEC, {"approximate": False}),
    "gelu_tanh": (GELU_SPEC, {"approximate": True}),
    "silu": (SWISH, {}),
}
"""Dict from the key of an activation to the operator of this activation and its attributes.

The keys are the activations whose derivative is computed from the activation's input. Training
runs the matrix product and the activation as two kernels, so that backward need not recompute the
product.
"""


class DenseCell(WeightedCell):
    """Base class of dense layers with a fused epilogue; arguments as for nn.Dense.

    Attributes:
        key: key of the fused activation in `PRODUCTS`; empty for no activation.
    """

    key = ""

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
        self._check_activation(activation)
        weights = dense_weights(in_channels, out_channels, weight_init, bias_init, has_bias, dtype)
        spec = self._products()[bool(has_bias)]
        super().__init__(spec, {"activation": self.key}, weights, route)
        self.in_channels, self.out_channels, self.has_bias = (
            in_channels,
            out_channels,
            bool(has_bias),
        )
        self.in_two = self.key in SEPARATE_ACTIVATIONS
        if self.in_two:
            following, attributes = SEPARATE_ACTIVATIONS[self.key]
            self.product = FusedCell(PRODUCTS[""][self.has_bias], {}, route)
            self.apart = FusedCell(following, attributes, route)

    def _products(self) -> tuple[OpSpec, OpSpec]:
        """Returns the fused product without bias, and the fused product with bias."""
        return PRODUCTS[self.key]

    def _check_activation(self, activation: Any) -> None:
        """Raises `InputError` for an activation that this operator does not compute."""
        if activation is not None and (not self.key or key_of(activation) != self.key):
            name = type(self).__name__
            raise InputError(
                f"{name}: the dense layer has a different activation",
                place=name,
                expected=f"None, or that of {name}" if self.key else "None",
                got=repr(activation),
                remedy="custom_ops.Dense takes any",
            )

    @classmethod
    def from_cells(cls, dense: Any, route: str = "") -> Any:
        """Builds the Cell from an nn.Dense; both Cells use the same Parameters.

        Raises:
            InputError: the nn.Dense has an activation that this class does not compute.
        """
        return build_from_dense(cls, dense, route=route)

    def construct(self, x: Any) -> Any:
        """Returns the result of the dense layer.

        The layer runs as one kernel. In training, an activation in `SEPARATE_ACTIVATIONS` runs as a
        second kernel.
        """
        return self.apply_product(x)

    def apply_product(self, x: Any) -> Any:
        """Returns the product with the activation applied."""
        weight = self.weight.astype(x.dtype)
        if self.has_bias:
            bias = self.bias.astype(x.dtype)
            if self.in_two and self.training:
                return self.apart(self.product(x, weight, bias))
            return self.run(x, weight, bias)
        if self.in_two and self.training:
            return self.apart(self.product(x, weight))
        return self.run(x, weight)


def build_from_dense(kind: Any, dense: Any, **more: Any) -> Any:
    """Builds a Cell of class `kind` that uses the Parameters and the activation of an nn.Dense."""
    inner: list[Any] = (
        [] if dense.activation is None else getattr(dense.activation, "get_parameters", list)()
    )
    with keep_names(dense.weight, dense.bias, *inner):
        made = kind(
            dense.in_channels,
            dense.out_channels,
            dense.weight,
            dense.bias,
            bool(dense.has_bias),
            dense.activation,
            **more,
        )
    made.set_train(dense.training)
    return made


class MatMulBiasReLU(DenseCell):
    r"""A dense layer with ReLU as a fused epilogue.

    .. math::
        y = \max(x \cdot W^T + b, 0)

    Args:
        in_channels (int): size of the last axis of x.
        out_channels (int): size of the last axis of y.
        weight_init, bias_init: initial values, as for nn.Dense. Default: ``None``, which means the
            initialiser of nn.Dense.
        has_bias (bool): whether a bias is added. Default: ``True``.
        activation: None, or ReLU in any form that nn.Dense accepts. `custom_ops.Dense` accepts any
            activation. Default: ``None``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.

    Outputs:
        Tensor (…, out_channels) of the dtype of x.

    Raises:
        InputError: the last axis of x does not have the size `in_channels`, or `activation` is not
            the activation of this class.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasReLU
        >>> net = MatMulBiasReLU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([-1]))
        array([[10.]], dtype=float32)
    """

    key = "relu"


class MatMulBiasGELU(DenseCell):
    r"""A dense layer with GELU as a fused epilogue.

    .. math::
        y = \text{gelu}(x \cdot W^T + b)

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for
            `MatMulBiasReLU`.
        activation: None or GELU, in any form that nn.Dense accepts. The formula of this GELU (tanh
            or erf) must be the formula that `approximate` selects. Default: ``None``.
        approximate (bool): whether to use the tanh formula instead of erf; nn.GELU uses the tanh
            formula by default. Default: ``True``.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.

    Outputs:
        Tensor (…, out_channels) of the dtype of x.

    Raises:
        InputError: the last axis of x does not have the size `in_channels`, or `activation` is not
            the activation of this class.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasGELU
        >>> net = MatMulBiasGELU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([-1]))
        array([[10.]], dtype=float32)
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
        approximate: bool = True,
        route: str = "",
    ):
        object.__setattr__(self, "key", "gelu_tanh" if approximate else "gelu")
        super().__init__(
            in_channels, out_channels, weight_init, bias_init, has_bias, activation, dtype, route
        )

    @classmethod
    def from_cells(  # type: ignore[override]
        cls, dense: Any, approximate: bool = True, route: str = ""
    ) -> Any:
        """Builds the Cell from an nn.Dense; both Cells use the same Parameters."""
        return build_from_dense(cls, dense, approximate=approximate, route=route)


class MatMulBiasSiLU(DenseCell):
    r"""A dense layer with SiLU as a fused epilogue.

    .. math::
        y = z \cdot \sigma(z), \quad z = x \cdot W^T + b

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for
            `MatMulBiasReLU`.
        activation: None, or SiLU in any form that nn.Dense accepts. Default: ``None``.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.

    Outputs:
        Tensor (…, out_channels) of the dtype of x.

    Raises:
        InputError: the last axis of x does not have the size `in_channels`, or `activation` is not
            the activation of this class.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasSiLU
        >>> net = MatMulBiasSiLU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([39]))
        array([[50.]], dtype=float32)
    """

    key = "silu"


class LinearResidual(DenseCell):
    r"""A dense layer with the addition of a residual as a fused epilogue.

    .. math::
        y = x \cdot W^T + b + r

    On arrays, `forward` takes x, weight, bias (if any) and residual.

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for
            `MatMulBiasReLU`.
        activation: must be None. An activation of an nn.Dense runs before the residual is added, so
            it cannot be fused here. Default: ``None``.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.
        - **residual** (Tensor) - (…, out_channels), of the dtype of x.

    Outputs:
        Tensor of the shape and dtype of the residual.

    Raises:
        InputError: sizes or dtypes do not match, or `activation` is not None.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LinearResidual
        >>> net = LinearResidual(2, 1)
        >>> x, weight = np.float32([[1, 2]]), np.float32([[3, 4]])
        >>> net.forward(x, weight, np.float32([-1]), np.float32([[5]]))
        array([[15.]], dtype=float32)
    """

    def _products(self) -> tuple[OpSpec, OpSpec]:
        return LINEAR_RESIDUAL_WITHOUT_BIAS, LINEAR_RESIDUAL

    def construct(self, x: Any, residual: Any) -> Any:  # type: ignore[override]
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        weight = self.weight.astype(x.dtype)
        if self.has_bias:
            return self.run(x, weight, self.bias.astype(x.dtype), residual)
        return self.run(x, weight, residual)


def _build_gelu(approximate: bool = True, route: str = "") -> FusedCell:
    activation = "gelu_tanh" if approximate else "gelu"
    return FusedCell(MATMUL_BIAS_GELU, {"activation": activation}, route)


FUNCTION_SPECS = (
    function_of_spec(
        "matmul_bias_relu",
        MATMUL_BIAS_RELU,
        """Returns max(x·weightᵀ + bias, 0); see `custom_ops.MatMulBiasReLU`.

        Args:
            x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
            weight: (out, in).
            bias: (out,).
            route: as in `custom_ops.MatMulBiasReLU`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the sizes of the tensors do not match.
        """,
        attributes=(),
    ),
    FunctionSpec(
        "matmul_bias_gelu",
        MATMUL_BIAS_GELU.inputs,
        _build_gelu,
        parameters_of(_build_gelu),
        doc="""Returns gelu(x·weightᵀ + bias); see `custom_ops.MatMulBiasGELU`.

        Args:
            x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
            weight: (out, in).
            bias: (out,).
            approximate: whether to use the tanh formula instead of erf.
            route: as in `custom_ops.MatMulBiasGELU`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the sizes of the tensors do not match.
        """,
    ),
    function_of_spec(
        "matmul_bias_silu",
        MATMUL_BIAS_SILU,
        """Returns silu(x·weightᵀ + bias); see `custom_ops.MatMulBiasSiLU`.

        Args:
            x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
            weight: (out, in).
            bias: (out,).
            route: as in `custom_ops.MatMulBiasSiLU`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the sizes of the tensors do not match.
        """,
        attributes=(),
    ),
    function_of_spec(
        "linear_residual",
        LINEAR_RESIDUAL,
        """Returns x·weightᵀ + bias + residual; see `custom_ops.LinearResidual`.

        Args:
            x: (…, in); float16, bfloat16, float32, or float64, which runs in NumPy.
            weight: (out, in).
            bias: (out,).
            residual: (…, out), of the dtype of x.
            route: as in `custom_ops.LinearResidual`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the sizes of the tensors do not match.
        """,
        attributes=(),
    ),
)
