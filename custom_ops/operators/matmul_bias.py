"""activation(x · weightᵀ + bias) and x · weightᵀ + bias + residual: nn.Dense with what follows it, written once."""

from __future__ import annotations

import math
from typing import Any

from custom_ops.cell import FusedCell
from custom_ops.operators.gelu import GELU_SPEC
from custom_ops.operators.linear import linear_spec
from custom_ops.operators.swish import SWISH
from custom_ops.specs import OpSpec
from custom_ops.weights import WeightedCell, keeping_names, parameter, uniform

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
    in_channels: int, out_channels: int, weight_init: Any, bias_init: Any, has_bias: bool, dtype: Any
) -> dict[str, Any]:  # fmt: skip
    """The weights of an nn.Dense, as it initialises them."""
    bound = 1 / math.sqrt(in_channels)
    initial = uniform(bound, he=True) if weight_init is None else weight_init
    made = {"weight": parameter(initial, (out_channels, in_channels), dtype, "weight")}
    if has_bias:
        initial = uniform(bound) if bias_init is None else bias_init
        made["bias"] = parameter(initial, (out_channels,), dtype, "bias")
    return made


class DenseCell(WeightedCell):
    """A product with what follows it; arguments as nn.Dense has them.

    Attributes:
        specs: without and with bias.
        following: the operator of the activation, where its derivative needs what it was given: in training the product
            is written too then, so that the gradient does not have to compute it again.
    """

    specs: tuple[OpSpec, OpSpec]
    following: OpSpec | None = None

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None, has_bias: bool = True,
        dtype: Any = None, route: str = "", *, _attributes: Any = None, _following: Any = None,
    ):  # fmt: skip
        weights = dense_weights(in_channels, out_channels, weight_init, bias_init, has_bias, dtype)
        super().__init__(self.specs[has_bias], _attributes or {}, weights, route)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias
        self.in_two = self.following is not None
        if self.following is not None:
            self.product = FusedCell((MATMUL, MATMUL_BIAS)[has_bias], {}, route)
            self.activation = FusedCell(self.following, _following or {}, route)

    @classmethod
    def from_cells(cls, dense: Any, route: str = "") -> Any:
        """One with the weights of an nn.Dense: the same Parameters."""
        return _of_dense(cls, dense, route=route)

    def construct(self, x: Any) -> Any:
        """One kernel; in training two where the activation needs it."""
        weight = self.weight.astype(x.dtype)
        if self.has_bias:
            bias = self.bias.astype(x.dtype)
            if self.in_two and self.training:
                return self.activation(self.product(x, weight, bias))
            return self.run(x, weight, bias)
        if self.in_two and self.training:
            return self.activation(self.product(x, weight))
        return self.run(x, weight)


def _of_dense(kind: Any, dense: Any, *more: Any, route: str) -> Any:
    """A Cell with the Parameters of an nn.Dense."""
    with keeping_names(dense.weight, dense.bias):
        made = kind(
            dense.in_channels, dense.out_channels, dense.weight, dense.bias, bool(dense.has_bias), *more, route=route
        )  # fmt: skip
    made.set_train(dense.training)
    return made


class MatMulBiasReLU(DenseCell):
    r"""A dense layer followed by relu; the result is written once.

    .. math::
        y = \max(x \cdot W^T + b, 0)

    Args:
        in_channels (int): last size of x.
        out_channels (int): last size of y.
        weight_init, bias_init: initial weights, as nn.Dense takes them. Default: ``None``, as nn.Dense has it.
        has_bias (bool): whether there is a bias. Default: ``True``.
        dtype: of the weights. Default: ``mindspore.float32``.
        route (str): ``native``, ``composite``, or empty for the default.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32, or float64, which NumPy computes.

    Outputs:
        Tensor (…, out_channels) of that dtype.

    Raises:
        InputError: the last size of x is another.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasReLU
        >>> net = MatMulBiasReLU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([-1]))
        array([[10.]], dtype=float32)
    """

    specs = MATMUL_RELU, MATMUL_BIAS_RELU


class MatMulBiasGELU(DenseCell):
    r"""A dense layer followed by GELU; the result is written once.

    .. math::
        y = \text{gelu}(x \cdot W^T + b)

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for `MatMulBiasReLU`.
        approximate (bool): the formula with tanh, as nn.GELU has it; otherwise the one with erf. Default: ``True``.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32, or float64, which NumPy computes.

    Outputs:
        Tensor (…, out_channels) of that dtype.

    Raises:
        InputError: the last size of x is another.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasGELU
        >>> net = MatMulBiasGELU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([-1]))
        array([[10.]], dtype=float32)
    """

    specs, following = (MATMUL_GELU, MATMUL_BIAS_GELU), GELU_SPEC

    def __init__(
        self, in_channels: int, out_channels: int, weight_init: Any = None, bias_init: Any = None, has_bias: bool = True,
        dtype: Any = None, approximate: bool = True, route: str = "",
    ):  # fmt: skip
        super().__init__(
            in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route,
            _attributes={"activation": "gelu_tanh" if approximate else "gelu"}, _following={"approximate": bool(approximate)},
        )  # fmt: skip

    @classmethod
    def from_cells(cls, dense: Any, approximate: bool = True, route: str = "") -> Any:  # type: ignore[override]
        """One with the weights of an nn.Dense: the same Parameters."""
        return _of_dense(cls, dense, None, approximate, route=route)


class MatMulBiasSiLU(DenseCell):
    r"""A dense layer followed by SiLU; the result is written once.

    .. math::
        y = z \cdot \sigma(z), \quad z = x \cdot W^T + b

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for `MatMulBiasReLU`.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32, or float64, which NumPy computes.

    Outputs:
        Tensor (…, out_channels) of that dtype.

    Raises:
        InputError: the last size of x is another.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import MatMulBiasSiLU
        >>> net = MatMulBiasSiLU(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([39]))
        array([[50.]], dtype=float32)
    """

    specs, following = (MATMUL_SILU, MATMUL_BIAS_SILU), SWISH


class LinearResidual(DenseCell):
    r"""A dense layer and a residual, added in the same write.

    .. math::
        y = x \cdot W^T + b + r

    On arrays `forward` takes x, the weights, then the residual.

    Args:
        in_channels, out_channels, weight_init, bias_init, has_bias, dtype, route: as for `MatMulBiasReLU`.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32, or float64, which NumPy computes.
        - **residual** (Tensor) - (…, out_channels), of that dtype.

    Outputs:
        Tensor of the shape and dtype of the residual.

    Raises:
        InputError: sizes or dtypes that do not fit.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LinearResidual
        >>> net = LinearResidual(2, 1)
        >>> net.forward(np.float32([[1, 2]]), np.float32([[3, 4]]), np.float32([-1]), np.float32([[5]]))
        array([[15.]], dtype=float32)
    """

    specs = LINEAR_RESIDUAL_WITHOUT_BIAS, LINEAR_RESIDUAL

    def construct(self, x: Any, residual: Any) -> Any:  # type: ignore[override]
        """One kernel, or basic operators."""
        weight = self.weight.astype(x.dtype)
        if self.has_bias:
            return self.run(x, weight, self.bias.astype(x.dtype), residual)
        return self.run(x, weight, residual)
