"""Tuning: the options of a kernel chosen by measurement, beside the default and never against it.

`space` says what is tried, `measuring` how it is compared, `search` in which order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tbe_impl import tuned
from tbe_impl.backends.cpu.options import DEFAULT
from tbe_impl.errors import InputError
from tbe_impl.kernel import Kernel
from tbe_impl.operator import Operator, load_operator
from tbe_impl.tuned import Choice
from tbe_impl.tuning.arrays import caller, result_arrays, sample_arrays
from tbe_impl.tuning.bar import bar
from tbe_impl.tuning.measuring import Bench
from tbe_impl.tuning.search import searched

__all__ = ["caller", "result_arrays", "sample_arrays", "tune"]


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
    """A kernel with the options that are fastest on this machine; later builds of the same graph find them again.

    Args:
        op: an operator, an operator function, or a kernel that is built already.
        build_args, kw: what `Operator.build` takes.
        steps: measurements at most.
        seconds: time at most; a compile that has begun is finished.
        soc: the chip that the operator is written for.
        progress: show a bar when the error stream is a terminal.
        also: choices that are tried besides what is always tried.

    Returns:
        The kernel with the chosen options; they are the default's when nothing is clearly faster. Its `tuning` says what
        was measured.

    Raises:
        InputError: a size of the kernel is known at call time only, or a limit is no positive number.
        MissingError: there is no C compiler.
    """
    if steps < 1 or not seconds > 0:
        raise InputError("tuning takes positive limits", place="tune", got=f"steps={steps}, seconds={seconds}")  # fmt: skip
    if isinstance(op, Kernel):
        if build_args or kw:
            raise InputError("a kernel is built already", place=op.name, expected="no arguments to build it with")  # fmt: skip
        kernel = op
    else:
        operator = op if isinstance(op, Operator) else load_operator(op)
        kernel = operator.build(*build_args, soc=soc, **kw)
    asked = kernel.options
    base = replace(DEFAULT, rounding=asked.rounding, contract=asked.contract, march=asked.march)
    chosen = kernel.tuning.choice.stored if kernel.tuning else ()
    stored = tuple(number for number in asked.stored if number not in chosen)
    base = replace(base.with_loops_of(asked), stored=stored)
    plain = replace(kernel, options=base, threads=0, tuning=None)
    with bar(plain.name, seconds, shown=progress) as show:
        record = searched(Bench(plain, steps, seconds, show), also)
    tuned.store().save(record)
    return tuned.with_tuning(replace(plain, options=replace(base, inplace=asked.inplace)), record)
