"""Builds a plan (a sequence of oneDNN primitives) in a compute dtype for which oneDNN is fast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.plans import PlanBuilder, Unimplemented
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from tbe_impl.errors import CompileError


def build_plan(
    library: Library,
    threads: int,
    operator: str,
    inputs: Sequence[TensorType],
    outputs: Sequence[TensorType],
    steps: Callable[[PlanBuilder, str], None],
) -> Prepared:
    """Builds a plan that computes in the arrays' dtype, or in float32 with conversions.

    The plan computes in float32 if oneDNN has only a reference implementation for the arrays'
    dtype, or no implementation at all.

    Args:
        steps: function that adds the steps to a plan, for a given compute dtype.

    Raises:
        CompileError: oneDNN has no primitive for a step.
    """
    for dtype in dict.fromkeys((inputs[0].dtype, "float32")):
        builder = PlanBuilder(library, threads)
        try:
            steps(builder, dtype)
            if dtype == "float32" or not any(name.startswith("ref") for name in builder.names):
                return builder.finish(inputs, outputs, operator)
        except Unimplemented as missing:
            if dtype == "float32":
                raise CompileError(
                    f"{operator}: oneDNN has no {missing}", got=", ".join(map(str, inputs))
                ) from None
        finally:
            builder.drop()
    raise AssertionError("float32 either is computed or raises")
