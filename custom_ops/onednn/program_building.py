"""A plan made whole, in the dtype in which oneDNN is quick."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.programs import Builder, Unimplemented
from tbe_impl.errors import CompileError


def build(
    library: Library,
    threads: int,
    operator: str,
    inputs: Sequence[TensorType],
    outputs: Sequence[TensorType],
    steps: Callable[[Builder, str], None],
) -> Prepared:
    """A plan in the dtype of its arrays where oneDNN is quick at that, else in float32 between conversions.

    Args:
        steps: writes the steps of the plan, in the dtype that it is told.

    Raises:
        CompileError: oneDNN cannot compute it.
    """
    for dtype in dict.fromkeys((inputs[0].dtype, "float32")):
        builder = Builder(library, threads)
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
