"""Verifies replacements on a sample by comparing results, gradients and moving averages."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from custom_ops.core.framework import ms
from tbe_impl.comparing import TOLERANCE

ROOM = 32
"""Factor by which comparisons multiply the tolerance of a dtype.

Both compared results have rounding errors, and MindSpore's functions are inexact by dozens of ulps.
"""
NUDGES = 8
"""Allowed error of a gradient, as a multiple of the error that rounded inputs would cause."""
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class RecordedCall:
    """A recorded call of a Cell, and its output."""

    inputs: tuple[Any, ...]
    keywords: Mapping[str, Any]
    output: Any

    def arguments(self, cell: Any) -> dict[str, Any] | None:
        """Returns a dict of all recorded arguments by name; None if they do not fit `construct`."""
        try:
            bound = inspect.signature(type(cell).construct).bind(
                cell, *self.inputs, **self.keywords
            )
        except TypeError:
            return None
        bound.apply_defaults()
        return dict(list(bound.arguments.items())[1:])

    def replay(self, cell: Any) -> Any:
        """Calls another Cell with the recorded arguments."""
        return cell(*self.inputs, **self.keywords)

    def perturb(self) -> RecordedCall:
        """Returns a copy of the call, with floating inputs changed by about one rounding error."""
        return RecordedCall(
            tuple(map(_perturb, self.inputs)),
            {name: _perturb(one) for name, one in self.keywords.items()},
            None,
        )


@contextmanager
def trial(net: Any) -> Iterator[dict[int, bool]]:
    """Context manager: sets PyNative mode and inference, and restores mode and flags on exit.

    Yields:
        A dict from the id of each Cell to the training flag that is restored on exit. A new Cell
        without an entry gets the training flag of its parent.
    """
    mode = ms.get_context("mode")
    before = [cell for _, cell in net.cells_and_names()]
    flags = {id(cell): bool(cell.training) for cell in before}
    ms.set_context(mode=ms.PYNATIVE_MODE)
    try:
        net.set_train(False)
        yield flags
    finally:
        ms.set_context(mode=mode)
        # outer Cells come first, because set_train also sets the children
        for cell in (*before, *(cell for _, cell in net.cells_and_names())):
            if id(cell) in flags:
                cell.set_train(flags[id(cell)])


def record_calls(
    net: Any, cells: Sequence[Any], inputs: Sequence[Any]
) -> tuple[dict[int, RecordedCall], Any]:
    """Runs the net; returns the first call of each Cell, and the output of the net.

    The calls are a dict from the id of a Cell to a `RecordedCall`.
    """
    found: dict[int, RecordedCall] = {}
    handles = []
    for cell in {id(one): one for one in cells}.values():

        def keep(cell: Any, inputs: Any, keywords: Any, output: Any) -> None:
            found.setdefault(id(cell), RecordedCall(tuple(inputs), dict(keywords), output))

        handles.append(cell.register_forward_hook(keep, with_kwargs=True))
    try:
        whole = net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found, whole


def disagreement(run: Callable[[], Any], want: Any, tolerance: float | None) -> str:
    """Calls `run` and describes how the results differ from `want`; returns "" if they agree."""
    try:
        made = run()
    except Exception as error:  # noqa: BLE001 - any failure refuses the replacement
        return f"it fails: {error}".splitlines()[0]
    return difference(made, want, tolerance)


def difference(
    got: Any, want: Any, tolerance: float | None, least: float = 0.0, more: float = 0.0
) -> str:
    """Describes how results differ, or returns an empty string if they agree.

    Args:
        got: the results, as a tensor or as a tuple, list or dict of tensors.
        want: the expected results.
        tolerance: allowed error relative to s = |want| + (root mean square of `want`). None means
            the tolerance of the dtype.
        least: lower bound for the root mean square in s.
        more: absolute tolerance that is added to the relative tolerance.
    """
    if isinstance(want, dict) and isinstance(got, dict) and want.keys() == got.keys():
        got, want = list(got.values()), list(want.values())
    if isinstance(want, (tuple, list)):
        if not isinstance(got, (tuple, list)) or len(got) != len(want):
            return "another number of results"
        return next(
            filter(
                None,
                (difference(a, b, tolerance, least, more) for a, b in zip(got, want, strict=True)),
            ),
            "",
        )
    if not isinstance(want, ms.Tensor):
        return "" if got is want or got == want else f"{got} in the place of {want}"
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype} {got.shape} in the place of {want.dtype} {want.shape}"
    a, b = (array_of(one) for one in (got, want))
    allowed = ROOM * TOLERANCE.get(str(want.dtype).lower(), 0) if tolerance is None else tolerance
    scale = max(root_mean_square(b), least)
    near = np.abs(a - b) <= allowed * (np.abs(b) + scale) + more
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | near
    return (
        ""
        if same.all()
        else f"{np.abs(a - b)[~same].max():.2g} off where {allowed:.2g} of {scale:.2g} is allowed"
    )


def array_of(tensor: Any) -> np.ndarray:
    """Returns the tensor as a float64 array."""
    return tensor.astype(ms.float32).asnumpy().astype(np.float64)


def root_mean_square(values: np.ndarray) -> float:
    """Returns the root mean square of the finite elements, or 0 if there are none."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0


@dataclass(frozen=True)
class TrainingEffects:
    """Effects of a call in training.

    Attributes:
        gradients: dict from the name of an input or weight to its gradient.
        moved: dict from the name of a Parameter without gradient (a moving average) to its value
            after the call.
    """

    gradients: Mapping[str, Any]
    moved: Mapping[str, Any]


def training_effects(
    cell: Any, seen: RecordedCall, flags: Mapping[int, bool], leave: Callable[[str], bool]
) -> TrainingEffects:
    """Returns the gradients of floating inputs and weights, and the moving averages after a call.

    The Cell runs in training mode with dropout disabled. Afterwards, the moving averages of the
    Cell are restored.

    Args:
        cell: the Cell that is run in training mode.
        seen: the recorded call of the Cell, which is repeated.
        flags: dict from the id of a Cell to its training flag, for the Cell and its children.
        leave: function that takes the name of an input, and returns whether the gradient of this
            input is skipped.
    """
    arguments = seen.arguments(cell) or {}
    names = [name for name, value in arguments.items() if not leave(name) and _is_float(value)]
    weights = [one for one in cell.get_parameters() if one.requires_grad]
    fixed = [one for one in cell.get_parameters() if not one.requires_grad]
    before = [one.asnumpy().copy() for one in fixed]
    parts = [(part, part.training) for _, part in cell.cells_and_names()]
    if not names and not weights:
        return TrainingEffects({}, {})

    def total(*values: Any) -> Any:
        given = {**arguments, **dict(zip(names, values, strict=True))}
        order = list(arguments)[: len(seen.inputs)]
        keywords = {name: given[name] for name in seen.keywords}
        return _weighted_sum(cell(*(given[name] for name in order), **keywords))

    try:
        for part, _ in parts:
            is_dropout = "Dropout" in type(part).__name__
            part.add_flags(
                training=flags.get(id(part), flags.get(id(cell), False)) and not is_dropout
            )
        place = tuple(range(len(names))) if names else None
        function = ms.grad(total, place, weights or None)
        made = function(*(arguments[name] for name in names))
        moved = {one.name: one.asnumpy().copy() for one in fixed}
    finally:
        for one, values in zip(fixed, before, strict=True):
            one.set_data(ms.Tensor(values, one.dtype))
        for part, flag in parts:
            part.add_flags(training=flag)
    of_inputs, of_weights = made if names and weights else ((made, ()) if names else ((), made))
    if names and not isinstance(of_inputs, (tuple, list)):
        of_inputs = (of_inputs,)
    if weights and not isinstance(of_weights, (tuple, list)):
        of_weights = (of_weights,)
    gradients = dict(zip(names, of_inputs, strict=True))
    gradients |= dict(zip((one.name for one in weights), of_weights, strict=True))
    return TrainingEffects(gradients, moved)


def _perturb(value: Any) -> Any:
    if not _is_float(value):
        return value
    signs = np.where(np.arange(value.size).reshape(value.shape) * 7 % 5 > 2, 1, -1)
    step = TOLERANCE[str(value.dtype).lower()] / 10
    return (value.astype(ms.float32) * ms.Tensor((1 + step * signs).astype(np.float32))).astype(
        value.dtype
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, ms.Tensor) and str(value.dtype).lower() in FLOATS


def _weighted_sum(made: Any) -> Any:
    """Returns the sum of all elements, each multiplied by a different weight."""
    if isinstance(made, dict):
        made = tuple(made.values())
    if isinstance(made, (tuple, list)):
        sums = [one for one in map(_weighted_sum, made) if one is not None]
        return sum(sums[1:], sums[0]) if sums else None
    if not _is_float(made):
        return None
    weights = np.cos(np.arange(made.size) * 0.7).astype(np.float32).reshape(made.shape)
    return (made.astype(ms.float32) * ms.Tensor(weights)).sum()


def compare_training_effects(
    got: TrainingEffects,
    want: TrainingEffects,
    near: Callable[[], TrainingEffects],
    tolerance: float | None,
) -> str:
    """Describes how gradients and moving averages differ; returns "" if they agree.

    Args:
        got: effects of the replacement.
        want: effects of the original.
        near: function that changes the inputs by about one rounding error, and returns the effects
            of the original for the changed inputs. The distance of these effects from `want` shows
            how much a deep net amplifies a rounding error. `near` is called only after a mismatch.
        tolerance: as for `difference`.
    """
    sizes = [root_mean_square(array_of(one)) for one in want.gradients.values()]
    # a gradient whose terms cancel consists only of rounding errors, so its scale is bounded below
    least = 0.01 * max(sizes, default=0.0)
    known: list[TrainingEffects] = []
    for name, value in want.gradients.items():
        reason = difference(got.gradients[name], value, tolerance, least)
        if reason:
            known = known or [near()]
            off = np.abs(array_of(known[0].gradients[name]) - array_of(value))
            more = NUDGES * float(off.max(initial=0.0))
            reason = difference(got.gradients[name], value, tolerance, least, more)
        if reason:
            return f"the gradient of {name}: {reason}"
    for name, values in want.moved.items():
        if not np.allclose(got.moved[name], values, rtol=1e-3, atol=1e-5):
            return f"{name} has a different value after the call"
    return ""
