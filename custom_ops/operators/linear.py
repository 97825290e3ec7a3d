"""Builds activation(x · weightᵀ + bias + residual) as a matrix product with a fused epilogue."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.framework import ops
from custom_ops.core.kernel_chain import Chain, CompiledStep, make_step
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import FOR_CUBE, OpSpec, TbeComputation
from custom_ops.core.pointwise import HALF_DTYPES
from custom_ops.core.row_helpers import broadcast_like, sizes, widen
from custom_ops.onednn import prepare_matmul
from custom_ops.operators import epilogues
from custom_ops.operators.epilogues import (
    ACTIVATION_GRADIENT,
    ACTIVATION_GRADIENT_AND_SUM,
    ROWS_SUM,
    SLOPE_FROM_RESULT,
    activation_steps,
)
from custom_ops.operators.gelu import GELU_SPEC
from custom_ops.operators.matmul_steps import PRODUCT, PRODUCT_OF_ROWS
from custom_ops.tbe_bridge.tbe_sequence import TbeStep, TbeSteps
from tbe_impl import dsl, environment
from tbe_impl.errors import InputError
from tbe_impl.runtime.buffers import usable_threads

SAMPLES = (
    ((6, 24), (17, 24)),
    ((2, 3, 9), (4, 9)),
    ((33, 64), (96, 64)),
    ((7,), (5, 7)),
    ((0, 4), (3, 4)),
)
"""Shapes of x and weight in tests."""


def threads() -> int:
    """Returns the number of threads that a matrix product uses."""
    return max(usable_threads(environment.threads()), 1)


def dsl_kernel(spec: OpSpec, given: Sequence[ArraySpec], **attributes: Any) -> Any:
    """Builds a kernel for a `Chain` of kernels; the operator has a DSL computation."""
    return computation_of(spec, attribute_key(spec, attributes)).kernel(given)


def check_linear(
    name: str, x: ArraySpec, weight: ArraySpec, more: Mapping[str, ArraySpec] | None = None
) -> tuple[int, ArraySpec]:
    """Checks the inputs and returns the number of rows of x, and the shape and dtype of y.

    Raises:
        InputError: shapes or dtypes do not match.
    """
    if not x.shape or len(weight.shape) != 2 or x.shape[-1] != weight.shape[1]:
        size = x.shape[-1] if x.shape else "last axis of x"
        raise InputError(
            f"{name}: weight does not fit x",
            place=name,
            expected=f"(channels out, {size}) for x {x}",
            got=str(weight),
        )
    y = ArraySpec((*x.shape[:-1], weight.shape[0]), x.dtype)
    wanted = {
        "weight": weight.shape,
        "bias": weight.shape[:1],
        "residual": y.shape,
        "grad": y.shape,
        "y": y.shape,
    }
    for key, one in {"weight": weight, **(more or {})}.items():
        if one != ArraySpec(wanted[key], x.dtype):
            raise InputError(
                f"{name}: {key} does not fit",
                place=name,
                expected=str(ArraySpec(wanted[key], x.dtype)),
                got=str(one),
            )
    return math.prod(x.shape[:-1]), y


def prepare_product(
    name: str,
    rows: int,
    weight: ArraySpec,
    *,
    bias: bool = False,
    residual: bool = False,
    activation: str = "",
    lowering: str = "auto",
) -> Any:
    """Prepares the oneDNN product x · weightᵀ and its epilogue; x has `rows` rows."""
    return prepare_matmul(
        (rows, weight.shape[1]),
        weight.shape,
        dtype=weight.dtype,
        transpose_b=True,
        bias=bias,
        residual=residual,
        activation=activation,
        threads=threads(),
        lowering=lowering,
        operator=name,
    )


def gradient_steps(
    name: str, rows: int, weight: ArraySpec, lowering: str
) -> tuple[CompiledStep, CompiledStep]:
    """Returns two kernel calls for a `Chain`; they compute the gradients of x and of weight.

    Both calls read the array named ``made``, which is the gradient of the product x · weightᵀ.
    """
    out, size = weight.shape
    common: dict[str, Any] = {
        "dtype": weight.dtype,
        "threads": threads(),
        "lowering": lowering,
        "operator": f"{name}_grad",
    }
    of_x = prepare_matmul((rows, out), (out, size), **common)
    of_weight = prepare_matmul((rows, out), (rows, size), transpose_a=True, **common)
    return make_step(of_x, ("made", "weight"), ("grad_x",)), make_step(
        of_weight, ("made", "x"), ("grad_weight",)
    )


def _compute_in_cube(x: Any, weight: Any, *terms: Any, activation: str) -> Any:
    """Computes activation(x · weightᵀ + bias + residual) in the DSL operations that CANN supports.

    Sums accumulate in float32.
    """
    *lead, last = sizes(x)
    rows = dsl.ext.reshape(x, [math.prod(lead), last])
    made = dsl.matmul(rows, weight, False, True, dst_dtype="float32")
    for term in terms:
        shape = sizes(made) if len(term.shape) > 1 else [1, *sizes(term)]
        made = dsl.vadd(made, broadcast_like(widen(dsl.ext.reshape(term, shape)), made))
    made = dsl.cast_to(epilogues.apply(made, activation), x.dtype)
    return dsl.ext.reshape(made, [*lead, sizes(weight)[0]])


CAST = OpSpec(
    "Cast",
    ("x",),
    forward=lambda x, *, dtype: dsl.cast_to(x, dtype),
    attributes={"dtype": "float32"},
    undifferentiable=frozenset("x"),
    formula=lambda x, dtype: x,
)


def compute_in_float32(make: Callable[..., Chain]) -> Callable[..., Chain]:
    """Wraps a function that builds a `Chain`; for 16-bit inputs, the chain uses float32 kernels.

    If all inputs have the same 16-bit dtype, the chain first casts the inputs to float32. At the
    end the chain casts the outputs back to the 16-bit dtype. Intermediate results stay in float32.
    """

    def build_chain(*given: ArraySpec, **attributes: Any) -> Chain:
        if given[0].dtype not in HALF_DTYPES or any(one.dtype != given[0].dtype for one in given):
            return make(*given, **attributes)
        inner = make(*(ArraySpec(one.shape, "float32") for one in given), **attributes)
        names = {*inner.given, *inner.wanted}
        outer = dict(zip(inner.given, given, strict=True))
        wanted = {name: ArraySpec(one.shape, given[0].dtype) for name, one in inner.wanted.items()}
        steps = [
            make_step(dsl_kernel(CAST, (one,)), (name,), (f"{name}_wide",))
            for name, one in outer.items()
        ]
        for step in inner.steps:
            reads, writes = (
                tuple(f"{name}_wide" if name in names else name for name in keys)
                for keys in (step.reads, step.writes)
            )
            steps.append(make_step(step.kernel, reads, writes))
        for name, one in inner.wanted.items():
            kernel = dsl_kernel(CAST, (one,), dtype=given[0].dtype)
            steps.append(make_step(kernel, (f"{name}_wide",), (name,)))
        return Chain(inner.name, outer, wanted, tuple(steps))

    return build_chain


def linear_spec(
    name: str, *, bias: bool = True, residual: bool = False, activation: str = ""
) -> OpSpec:
    """Builds the operator ``y = activation(x · weightᵀ + bias + residual)``.

    Args:
        name: name of the operator.
        bias, residual: whether the operator has an input ``bias`` or ``residual``, after x and
            weight.
        activation: default value of the attribute ``activation``. The value is a key of
            `custom_ops.onednn.epilogues.ACTIVATIONS`, or empty for no activation.
    """
    more = ("bias",) * bias + ("residual",) * residual
    inputs = ("x", "weight", *more)
    from_result = activation in SLOPE_FROM_RESULT
    saves = ("x", "weight", *(("y",) if from_result else more if activation else ()))

    def build_with_separate_gelu(*given: ArraySpec, activation: str, lowering: str) -> Chain:
        """Builds a chain of two kernels: the matrix product, then GELU.

        The separate GELU is more accurate than oneDNN's fused GELU. For negative inputs, the sums 1
        + erf and 1 + tanh in oneDNN's GELU lose digits to cancellation.
        """
        rows, y = check_linear(name, given[0], given[1])
        kernel = prepare_product(
            name, rows, given[1], bias=bias, residual=residual, lowering=lowering
        )
        gelu = dsl_kernel(GELU_SPEC, (y,), approximate=activation == "gelu_tanh")
        steps = (make_step(kernel, inputs, ("z",)), make_step(gelu, ("z",), ("y",)))
        return Chain(name, dict(zip(inputs, given, strict=True)), {"y": y}, steps)

    def build_kernel(*given: ArraySpec, activation: str, lowering: str) -> Chain:
        known = dict(zip(inputs, given, strict=True))
        rows, y = check_linear(name, given[0], given[1], dict(zip(more, given[2:], strict=True)))
        if activation.startswith("gelu") and y.dtype in HALF_DTYPES:
            return compute_in_float32(build_with_separate_gelu)(
                *given, activation=activation, lowering=lowering
            )
        kernel = prepare_product(
            name,
            rows,
            given[1],
            bias=bias,
            residual=residual,
            activation=activation,
            lowering=lowering,
        )
        return Chain(name, known, {"y": y}, (make_step(kernel, inputs, ("y",)),))

    def build_backward_kernel(*given: ArraySpec, activation: str, lowering: str) -> Chain:
        known = dict(zip((*saves, "grad"), given, strict=True))
        rows, y = check_linear(
            f"{name}_grad",
            given[0],
            given[1],
            {k: v for k, v in known.items() if k not in ("x", "weight")},
        )
        weight, flat = known["weight"], ArraySpec((rows, given[1].shape[0]), y.dtype)
        steps: list[CompiledStep] = []
        source, made = "y" if activation else "grad", "made"
        if activation and not from_result:
            source = "z"
            kernel = prepare_product(
                name, rows, weight, bias=bias, residual=residual, lowering=lowering
            )
            steps.append(make_step(kernel, inputs, (source,)))
        if activation or residual:
            of = (source, "grad")
            spec = ACTIVATION_GRADIENT_AND_SUM if bias else ACTIVATION_GRADIENT
            kernel = dsl_kernel(spec, (flat, flat), activation=activation)
            steps.append(make_step(kernel, of, (made, "grad_bias") if bias else (made,)))
        else:
            made = "grad"
            if bias:
                steps.append(make_step(dsl_kernel(ROWS_SUM, (flat,)), ("grad",), ("grad_bias",)))
        wanted = {"grad_x": known["x"], "grad_weight": weight}
        if bias:
            wanted["grad_bias"] = ArraySpec(weight.shape[:1], y.dtype)
        if residual:
            wanted["grad_residual"] = y
            made = "grad_residual"
        steps += gradient_steps(name, rows, weight, lowering)
        return Chain(
            f"{name}_grad", known, wanted, tuple(_rename_gradient(step, made) for step in steps)
        )

    def tbe_gradient_steps(activation: str, lowering: str) -> TbeSteps:
        again = TbeStep(spec, inputs, ("z",), {"activation": "", "lowering": lowering})
        own = activation_steps(activation, again)
        made = own[-1].writes[0] if own else "grad_y"
        own += (
            TbeStep(PRODUCT, (made, "weight"), ("grad_x",)),
            TbeStep(PRODUCT_OF_ROWS, (made, "x"), ("grad_weight",)),
        )
        own += (TbeStep(ROWS_SUM, (made,), ("grad_bias",)),) * bias
        return TbeSteps(own, {"grad_residual": made})

    def composite(*tensors, activation, lowering):  # type: ignore[no-untyped-def]
        z = ops.matmul(tensors[0], ops.transpose(tensors[1], (1, 0)))
        for one in tensors[2:]:
            z = ops.add(z, one)
        return epilogues.composite(z, activation)

    def formula(*arrays: Any, activation: str, lowering: str) -> Any:
        z = arrays[0] @ arrays[1].T
        for one in arrays[2:]:
            z = z + one
        return epilogues.formula(z, activation)

    samples = []
    for x, weight in SAMPLES:
        shapes = {"bias": weight[:1], "residual": (*x[:-1], weight[0])}
        samples.append((x, weight, *(shapes[key] for key in more)))
    spec = OpSpec(
        name=name,
        inputs=inputs,
        kernel_builder=build_kernel,
        backward_kernel_builder=build_backward_kernel,
        saves=saves,
        attributes={"activation": activation, "lowering": "auto"},
        composite=composite,
        formula=formula,
        samples=tuple(samples),
        nan="row",
        tbe=TbeComputation(_compute_in_cube, FOR_CUBE.dtypes),
        tbe_gradient_steps=tbe_gradient_steps,
        doc="y = activation(x weight' + bias + residual)",
    )
    return spec


def _rename_gradient(step: CompiledStep, made: str) -> CompiledStep:
    """Replaces the array name ``made`` of a kernel call by the value of the parameter `made`."""
    change = {"made": made}
    reads, writes = (
        tuple(change.get(key, key) for key in keys) for keys in (step.reads, step.writes)
    )
    return make_step(step.kernel, reads, writes)
