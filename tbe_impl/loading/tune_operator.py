"""Implements `tune`: builds an operator and chooses its kernel options by measurement."""

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
    """Returns a kernel with the fastest options on this machine.

    The options are stored, and later builds of the same graph reuse the stored options.

    Args:
        op: an operator, an operator function, or a built kernel.
        build_args, kw: arguments of `Operator.build`.
        steps: maximum number of measurements.
        seconds: time limit in seconds. A compilation that is running when the limit is reached is
            completed.
        soc: the chip that the operator targets.
        progress: whether to show a progress bar when the error stream is a terminal.
        also: combinations of options to measure in addition to the default candidates.

    Returns:
        The kernel with the fastest options, or with the default options if no other options are
        clearly faster. `Kernel.tuning` contains the measurements.

    Raises:
        InputError: a size of the kernel is known only at call time, or a limit is not positive.
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
