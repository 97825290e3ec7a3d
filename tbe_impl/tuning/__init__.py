"""Tunes the options of a kernel by measurement; never chooses options slower than the default.

`search` defines the candidates (sets of options) and the order in which they are tried.
`measurement` compares the candidates.

In: a kernel and a time limit in seconds.
Out: options that are faster than the default, or the default.
Must not: change results, except through a different order of summation.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from tbe_impl import tuning_store
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tbe_impl.compat.auto_tune import AUTO_TUNE
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.tuning.measurement import Bench
from tbe_impl.tuning.measurement_arrays import caller, result_arrays, sample_arrays
from tbe_impl.tuning.progress_bar import show_progress
from tbe_impl.tuning.search import search_options
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
    """Returns `kernel` with the fastest options found on this machine.

    The options are stored, and later builds of the same graph use the stored options.

    Args:
        kernel: a built kernel.
        steps, seconds, progress, also: as for `tbe_impl.tune`.

    Raises:
        InputError, MissingError: as for `tbe_impl.tune`.
    """
    if steps < 1 or not seconds > 0:
        raise InputError(
            "tuning takes positive limits", place="tune", got=f"steps={steps}, seconds={seconds}"
        )
    asked = kernel.options
    base = replace(
        DEFAULT_OPTIONS, rounding=asked.rounding, contract=asked.contract, march=asked.march
    )
    chosen = kernel.tuning.choice.stored if kernel.tuning else ()
    stored = tuple(number for number in asked.stored if number not in chosen)
    base = replace(base.with_loops_of(asked), stored=stored)
    plain = replace(kernel, options=base, threads=0, tuning=None)
    with show_progress(plain.name, seconds, shown=progress) as show:
        record = search_options(Bench(plain, steps, seconds, show), also)
    tuning_store.save(tuning_store.key_of(plain), record)
    return tuning_store.apply_record(
        replace(plain, options=replace(base, inplace=asked.inplace)), record
    )


def tune_at_build(kernel: Kernel) -> Kernel:
    """Tunes `kernel` if ``tbe.auto_tune`` is enabled and no tuning result is stored for its graph.

    Returns the tuned kernel, or `kernel` itself if no tuning is done. A kernel is never tuned if
    sizes are known only at call time, or if the user chose its options.
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
