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
    """Builds a plan that computes in the dtype of the arrays, or in float32 with conversions.

    oneDNN may have only a slow reference implementation for the dtype of the arrays, or no
    implementation at all. In these cases the plan computes in float32.

    Args:
        steps: function that adds the primitives to a plan, for a given compute dtype.

    Raises:
        CompileError: oneDNN does not implement one of the primitives.
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
