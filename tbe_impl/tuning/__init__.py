"""Tuning: the options of a kernel chosen by measurement, beside the default and never against it.

`search_space` says what is tried, `measurement` how it is compared, `search` in which order.

In: a kernel and a bound in seconds. Out: options that are faster than the default, or the default.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from tbe_impl import tuning_store
from tbe_impl.codegen.options import DEFAULT
from tbe_impl.compat.auto_tune import AUTO_TUNE
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.measured_arrays import caller, result_arrays, sample_arrays
from tbe_impl.tuning.measurement import Bench
from tbe_impl.tuning.progress_bar import bar
from tbe_impl.tuning.search import searched
from tbe_impl.tuning_store import Choice

__all__ = ["caller", "result_arrays", "sample_arrays", "tune_at_build", "tune_kernel"]

_log = logging.getLogger("tbe_impl")


def tune_kernel(
    kernel: Kernel,
    *,
    steps: int = 1000,
    seconds: float = 60.0,
    progress: bool = True,
    also: Sequence[Choice] = (),
) -> Kernel:
    """`kernel` with the options that are fastest on this machine.

    They are stored: later builds of the same graph find them again.

    Args:
        kernel: built already.
        steps, seconds, progress, also: as `tbe_impl.tune` has them.

    Raises:
        InputError, MissingError: as `tbe_impl.tune`.
    """
    if steps < 1 or not seconds > 0:
        raise InputError(
            "tuning takes positive limits", place="tune", got=f"steps={steps}, seconds={seconds}"
        )
    asked = kernel.options
    base = replace(DEFAULT, rounding=asked.rounding, contract=asked.contract, march=asked.march)
    chosen = kernel.tuning.choice.stored if kernel.tuning else ()
    stored = tuple(number for number in asked.stored if number not in chosen)
    base = replace(base.with_loops_of(asked), stored=stored)
    plain = replace(kernel, options=base, threads=0, tuning=None)
    with bar(plain.name, seconds, shown=progress) as show:
        record = searched(Bench(plain, steps, seconds, show), also)
    tuning_store.store().save(record)
    return tuning_store.with_tuning(
        replace(plain, options=replace(base, inplace=asked.inplace)), record
    )


def tune_at_build(kernel: Kernel) -> Kernel:
    """`kernel` tuned when ``tbe.auto_tune`` is enabled and no record of it is stored; else itself.

    A kernel whose sizes are known at call time only, or whose options were chosen, is not tuned.
    """
    limits = AUTO_TUNE.limits()
    if limits is None or kernel.tuning is not None or not tuning_store.has_free_options(kernel):
        return kernel
    try:
        found = tune_kernel(
            kernel,
            steps=limits["tuning_step"],
            seconds=limits["seconds"],
            progress=limits["verbose"],
        )
    except FusionError as error:
        _log.warning("%s is not tuned, though auto_tune is enabled: %s", kernel.name, error)
        return kernel
    assert found.tuning is not None
    _log.info("auto_tune: %s", found.tuning.line())
    return found
