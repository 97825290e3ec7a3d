"""Fuses layer normalisation and a dense layer; stores the normalised rows in scratch memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_chain import Chain, make_step
from custom_ops.core.kernel_interface import ArraySpec, outputs_of
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.weighted_cells import WeightedCell, keep_names, make_parameter
from custom_ops.onednn import prepare_matmul
from custom_ops.operators.epilogues import ROWS_SUM
from custom_ops.operators.layer_norm import LAYER_NORM
from custom_ops.operators.linear import (
    SAMPLES,
    check_linear,
    compute_in_float32,
    dsl_kernel,
    prepare_product,
    threads,
)
from custom_ops.operators.matmul_bias import MATMUL, MATMUL_BIAS, dense_weights
from custom_ops.tbe_bridge.tbe_sequence import TbeStep, TbeSteps
from tbe_impl.errors import InputError

NAME = "LayerNormLinear"


def _formula(
    x: Any, gamma: Any, beta: Any, weight: Any, *bias: Any, epsilon: float, lowering: str
) -> Any:
    distance = x - x.mean(-1, keepdims=True)
    normal = distance / np.sqrt(x.var(-1, keepdims=True) + epsilon) * gamma + beta
    return sum(bias, normal @ weight.T)


def _composite(x, gamma, beta, weight, *bias, epsilon, lowering):  # type: ignore[no-untyped-def]
    distance = ops.sub(x, ops.mean(x, -1, True))
    variance = ops.mean(ops.mul(distance, distance), -1, True)
    normal = ops.mul(distance, ops.rsqrt(ops.add(variance, epsilon)))
    y = ops.matmul(ops.add(ops.mul(normal, gamma), beta), ops.transpose(weight, (1, 0)))
    for one in bias:
        y = ops.add(y, one)
    return y


def _spec(name: str, *, bias: bool) -> OpSpec:
    more = ("bias",) * bias
    inputs = ("x", "gamma", "beta", "weight", *more)
    saves = ("x", "gamma", "beta", "weight")

    def check_inputs(
        given: Any, place: str, last: Any
    ) -> tuple[int, ArraySpec, tuple[ArraySpec, ...]]:
        """Checks the inputs and returns (number of rows, y, (x reshaped to a matrix, gamma, beta)).

        Each array in the result is an `ArraySpec`, which has only a shape and a dtype.
        """
        x, gamma, beta, weight = given[:4]
        rows, y = check_linear(place, x, weight, last)
        for argument, one in (("gamma", gamma), ("beta", beta)):
            if one.shape != x.shape[-1:]:
                raise InputError(
                    f"{place}: {argument} does not fit x",
                    place=place,
                    expected=str(x.shape[-1:]),
                    got=str(one),
                )
        if beta.dtype != gamma.dtype:
            raise InputError(
                f"{place}: the dtypes of beta and gamma differ",
                place=place,
                expected=gamma.dtype,
                got=beta.dtype,
            )
        return rows, y, (ArraySpec((rows, x.shape[-1]), x.dtype), gamma, beta)

    def build_kernel(*given: ArraySpec, epsilon: float, lowering: str) -> Chain:
        rows, y, flat = check_inputs(given, name, dict(zip(more, given[4:], strict=True)))
        normal = dsl_kernel(LAYER_NORM, flat, epsilon=epsilon)
        multiplied = prepare_product(name, rows, given[3], bias=bias, lowering=lowering)
        steps = (
            make_step(normal, inputs[:3], ("normal", "mean", "rstd")),
            make_step(multiplied, ("normal", "weight", *more), ("y",)),
        )
        return Chain(name, dict(zip(inputs, given, strict=True)), {"y": y}, steps)

    def build_backward_kernel(*given: ArraySpec, epsilon: float, lowering: str) -> Chain:
        place = f"{name}_grad"
        rows, y, flat = check_inputs(given, place, {"grad": given[-1]})
        x, gamma, beta, weight = given[:4]
        out, size = weight.shape
        common: dict[str, Any] = {
            "dtype": x.dtype,
            "threads": threads(),
            "lowering": lowering,
            "operator": place,
        }
        normal = dsl_kernel(LAYER_NORM, flat, epsilon=epsilon)
        slope = gradient_of(LAYER_NORM)
        back = dsl_kernel(
            slope, (flat[0], gamma, *outputs_of(normal)[1:], flat[0]), epsilon=epsilon
        )
        steps = [
            make_step(normal, inputs[:3], ("normal", "mean", "rstd")),
            make_step(
                prepare_matmul((rows, out), (rows, size), transpose_a=True, **common),
                ("grad", "normal"),
                ("grad_weight",),
            ),
            make_step(
                prepare_matmul((rows, out), (out, size), **common),
                ("grad", "weight"),
                ("grad_normal",),
            ),
            make_step(
                back,
                ("x", "gamma", "mean", "rstd", "grad_normal"),
                ("grad_x", "grad_gamma", "grad_beta"),
            ),
        ]
        wanted = {"grad_x": x, "grad_gamma": gamma, "grad_beta": beta, "grad_weight": weight}
        if bias:
            kernel = dsl_kernel(ROWS_SUM, (ArraySpec((rows, out), y.dtype),))
            steps.append(make_step(kernel, ("grad",), ("grad_bias",)))
            wanted["grad_bias"] = ArraySpec((out,), y.dtype)
        return Chain(place, dict(zip((*saves, "grad"), given, strict=True)), wanted, tuple(steps))

    def tbe_steps(epsilon: float, lowering: str) -> TbeSteps:
        normal = TbeStep(LAYER_NORM, inputs[:3], ("normal", "mean", "rstd"), {"epsilon": epsilon})
        reads = ("normal", "weight", *more)
        return TbeSteps(
            (
                normal,
                TbeStep(MATMUL_BIAS if bias else MATMUL, reads, ("y",), {"lowering": lowering}),
            )
        )

    return OpSpec(
        name=name,
        inputs=inputs,
        kernel_builder=compute_in_float32(build_kernel),
        backward_kernel_builder=compute_in_float32(build_backward_kernel),
        saves=saves,
        attributes={"epsilon": 1e-7, "lowering": "auto"},
        composite=_composite,
        formula=_formula,
        samples=tuple((x, x[-1:], x[-1:], w, w[:1])[: 4 + bias] for x, w in SAMPLES),
        nan="row",
        tbe_steps=tbe_steps,
        doc="y = ((x − mean) / √(variance + epsilon)·gamma + beta) weight' + bias",
    )


LAYER_NORM_LINEAR_WITHOUT_BIAS = _spec("LayerNormLinearWithoutBias", bias=False)
LAYER_NORM_LINEAR = _spec(NAME, bias=True)


def is_over_last_axis(norm: Any, size: int) -> bool:
    """Returns whether an nn.LayerNorm normalises the last axis, of the given size, and no other.

    Gamma begins at `begin_params_axis`. If gamma has one axis and the normalisation begins there,
    too, this axis is the last one.
    """
    return tuple(norm.normalized_shape) == (size,) and norm.begin_norm_axis in (
        -1,
        norm.begin_params_axis,
    )


class LayerNormLinear(WeightedCell):
    r"""Layer normalisation over the last axis, then a dense layer.

    .. math::
        y = \left(
        \frac{x - \mathrm{E}[x]}{\sqrt{\mathrm{Var}[x] + \epsilon}} \cdot \gamma + \beta
        \right) W^T + b

    The normalised rows are kept in scratch memory only during a call. Backward recomputes them.

    Args:
        in_channels (int): size of the last axis of x, which is normalised.
        out_channels (int): size of the last axis of y.
        weight_init, bias_init, has_bias: as for nn.Dense.
        gamma_init, beta_init, epsilon: as for nn.LayerNorm. Default: ``'ones'``, ``'zeros'``,
            ``1e-7``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (…, in_channels); float16, bfloat16, float32 or float64. Float64 products
          run in NumPy.

    Outputs:
        Tensor (…, out_channels) of the dtype of x.

    Raises:
        InputError: the last axis of x does not have the size `in_channels`.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import LayerNormLinear
        >>> net = LayerNormLinear(2, 1, weight_init="ones", has_bias=False, beta_init="ones")
        >>> net.forward(np.float32([[1, 3]]))
        array([[2.]], dtype=float32)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        weight_init: Any = None,
        bias_init: Any = None,
        has_bias: bool = True,
        gamma_init: Any = "ones",
        beta_init: Any = "zeros",
        epsilon: float = 1e-7,
        dtype: Any = None,
        route: str = "",
    ):
        weights = {
            "gamma": make_parameter(gamma_init, (in_channels,), dtype, "gamma"),
            "beta": make_parameter(beta_init, (in_channels,), dtype, "beta"),
            **dense_weights(in_channels, out_channels, weight_init, bias_init, has_bias, dtype),
        }
        spec = LAYER_NORM_LINEAR if has_bias else LAYER_NORM_LINEAR_WITHOUT_BIAS
        super().__init__(spec, {"epsilon": float(epsilon)}, weights, route)
        self.in_channels, self.out_channels, self.has_bias = in_channels, out_channels, has_bias

    @classmethod
    def from_cells(cls, norm: Any, dense: Any, route: str = "") -> Any:
        """Builds the Cell from an nn.LayerNorm `norm` and an nn.Dense `dense`.

        The new Cell uses the Parameters of `norm` and `dense`.

        Raises:
            InputError: `norm` normalises other axes than the last, `dense` has an activation, or
                the size of the normalised axis is not the number of input channels of `dense`.
        """
        if dense.activation is not None:
            raise InputError(
                f"{NAME}: the dense layer has an activation",
                place=NAME,
                expected="none",
                got=repr(dense.activation),
            )
        if not is_over_last_axis(norm, dense.in_channels):
            raise InputError(
                f"{NAME}: the normalisation is of other axes",
                place=NAME,
                expected=f"the last one, of {dense.in_channels}",
                got=f"{tuple(norm.normalized_shape)} from axis {norm.begin_norm_axis}",
                remedy="Call the last axis -1",
            )
        with keep_names(norm.gamma, norm.beta, dense.weight, dense.bias):
            made = cls(
                dense.in_channels,
                dense.out_channels,
                dense.weight,
                dense.bias,
                bool(dense.has_bias),
                norm.gamma,
                norm.beta,
                norm.epsilon,
                route=route,
            )
        made.set_train(dense.training)
        return made

    def construct(self, x: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        gamma, beta, weight = (
            self.gamma.astype(x.dtype),
            self.beta.astype(x.dtype),
            self.weight.astype(x.dtype),
        )
        if self.has_bias:
            return self.run(x, gamma, beta, weight, self.bias.astype(x.dtype))
        return self.run(x, gamma, beta, weight)


FUNCTION_SPECS = (
    function_of_spec(
        "layer_norm_linear",
        LAYER_NORM_LINEAR,
        """Returns layer_norm(x)·weightᵀ + bias; see `custom_ops.LayerNormLinear`.

        Args:
            x: (…, in); float16, bfloat16, float32 or float64.
            gamma, beta: (in,).
            weight: (out, in).
            bias: (out,).
            epsilon, route: as in `custom_ops.LayerNormLinear`.

        Returns:
            Tensor (…, out) of the dtype of x.

        Raises:
            InputError: the sizes of the tensors do not match.
        """,
        attributes=("epsilon",),
    ),
)
