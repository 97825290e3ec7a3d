"""`tune`: builds an operator and chooses the options of its kernel by measurement."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.operator import Operator, load_operator
from tbe_impl.tuning import tune_kernel
from tbe_impl.tuning_store import Choice


def tune(
    op: Operator | Kernel | Callable[..., Any],
    *build_args: Any,
    steps: int = 1000,
    seconds: float = 60.0,
    soc: str = "Ascend910A",
    progress: bool = True,
    also: Sequence[Choice] = (),
    **kw: Any,
) -> Kernel:
    """A kernel with the options that are fastest on this machine.

    They are stored: later builds of the same graph find them again.

    Args:
        op: an operator, an operator function, or a kernel that is built already.
        build_args, kw: what `Operator.build` takes.
        steps: measurements at most.
        seconds: time at most; a compile that has begun is finished.
        soc: the chip that the operator is written for.
        progress: show a bar when the error stream is a terminal.
        also: choices that are tried besides what is always tried.

    Returns:
        The kernel with the chosen options; they are the default's when nothing is clearly faster.
        Its `tuning` says what was measured.

    Raises:
        InputError: a size of the kernel is known at call time only, or a limit is not positive.
        MissingError: there is no C compiler.
    """
    if isinstance(op, Kernel):
        if build_args or kw:
            raise InputError(
                "a kernel is built already",
                place=op.name,
                expected="no arguments to build it with",
            )
        kernel = op
    else:
        operator = op if isinstance(op, Operator) else load_operator(op)
        kernel = operator.build(*build_args, soc=soc, **kw)
    return tune_kernel(kernel, steps=steps, seconds=seconds, progress=progress, also=also)
