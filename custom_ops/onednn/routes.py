"""Which library computes, and in which dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from custom_ops.onednn.dnnl_library import Library, library, why_missing
from custom_ops.onednn.plans import Builder, Unimplemented
from custom_ops.onednn.prepared import DTYPES, Prepared, TensorType
from tbe_impl import environment
from tbe_impl.errors import CompileError, InputError

LOWERINGS = ("auto", "onednn", "im2col")


def check_dtype(operator: str, dtype: str) -> None:
    """Raises `InputError` for a dtype that is not computed here."""
    if dtype not in DTYPES:
        raise InputError(f"{operator}: dtype is not computed", expected=" or ".join(DTYPES), got=repr(dtype))  # fmt: skip


def checked_threads(operator: str, threads: int | None) -> int:
    """How many threads share the work: those of the environment unless they are given.

    Raises:
        InputError: no number from 1 to 256.
    """
    found = environment.threads() if threads is None else threads
    if isinstance(found, bool) or not isinstance(found, int) or not 1 <= found <= 256:
        raise InputError(f"{operator}: threads is wrong", expected="a number from 1 to 256", got=repr(threads))  # fmt: skip
    return found


def chosen(operator: str, lowering: str, dtype: str) -> Library | None:
    """oneDNN, or None for NumPy, which alone knows float64.

    Raises:
        InputError: there is no such lowering, or not for this dtype.
        MissingError, CompileError: oneDNN is asked for and cannot be had.
    """
    if lowering not in LOWERINGS:
        raise InputError(f"{operator}: lowering is unknown", expected=" or ".join(LOWERINGS), got=repr(lowering))  # fmt: skip
    if lowering == "onednn" and dtype == "float64":
        raise InputError(f"{operator}: oneDNN does not compute this dtype", expected="float32, float16 or bfloat16", got=repr(dtype))  # fmt: skip
    if lowering == "im2col" or dtype == "float64" or (lowering == "auto" and why_missing()):
        return None
    return library()


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
                raise CompileError(f"{operator}: oneDNN has no {missing}", got=", ".join(map(str, inputs))) from None  # fmt: skip
        finally:
            builder.drop()
    raise AssertionError("float32 either is computed or raises")
