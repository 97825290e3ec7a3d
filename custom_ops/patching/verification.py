"""Replacements against what they replace, on a sample: results, gradients, moving values."""

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
"""Both sides are off, MindSpore's functions by some dozens of units."""
NUDGES = 8
"""How often a gradient may be off what a rounding of the inputs changes."""
FLOATS = ("float16", "bfloat16", "float32", "float64")


@dataclass(frozen=True)
class Seen:
    """A call of a Cell and what it made."""

    inputs: tuple[Any, ...]
    keywords: Mapping[str, Any]
    output: Any

    def arguments(self, cell: Any) -> dict[str, Any] | None:
        """The arguments by name, with defaults; None where they do not fit."""
        try:
            bound = inspect.signature(type(cell).construct).bind(
                cell, *self.inputs, **self.keywords
            )
        except TypeError:
            return None
        bound.apply_defaults()
        return dict(list(bound.arguments.items())[1:])

    def again(self, cell: Any) -> Any:
        """The same call."""
        return cell(*self.inputs, **self.keywords)

    def nudged(self) -> Seen:
        """A call with floating inputs that are a rounding or two off."""
        return Seen(
            tuple(map(_nudged, self.inputs)),
            {name: _nudged(one) for name, one in self.keywords.items()},
            None,
        )


@contextmanager
def trial(net: Any) -> Iterator[dict[int, bool]]:
    """PyNative and no training; the mode and training flags are as before afterwards.

    Yields:
        The training flag of each Cell by its number; new Cells that are not in it get that of what they are in.
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
        # from the net down: it goes down to all parts
        for cell in (*before, *(cell for _, cell in net.cells_and_names())):
            if id(cell) in flags:
                cell.set_train(flags[id(cell)])


def observed(net: Any, cells: Sequence[Any], inputs: Sequence[Any]) -> tuple[dict[int, Seen], Any]:
    """The first call of each Cell when the net is called, by its number; and what the net made."""
    found: dict[int, Seen] = {}
    handles = []
    for cell in {id(one): one for one in cells}.values():

        def keep(cell: Any, inputs: Any, keywords: Any, output: Any) -> None:
            found.setdefault(id(cell), Seen(tuple(inputs), dict(keywords), output))

        handles.append(cell.register_forward_hook(keep, with_kwargs=True))
    try:
        whole = net(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return found, whole


def disagreement(run: Callable[[], Any], want: Any, tolerance: float | None) -> str:
    """Why a replacement is not used; empty where it is."""
    try:
        made = run()
    except Exception as error:  # noqa: BLE001 - whatever it is, what was there stays
        return f"it fails: {error}".splitlines()[0]
    return difference(made, want, tolerance)


def difference(
    got: Any, want: Any, tolerance: float | None, least: float = 0.0, more: float = 0.0
) -> str:
    """How results differ; empty where they do not.

    Args:
        got: tensors, in tuples, lists and dictionaries.
        want: what they should be.
        tolerance: relative to |want| plus its root mean square; None: that of the dtype.
        least: the root mean square that is taken at least.
        more: what is allowed beside that.
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
    scale = max(size_of(b), least)
    near = np.abs(a - b) <= allowed * (np.abs(b) + scale) + more
    same = (a == b) | (np.isnan(a) & np.isnan(b)) | near
    return (
        ""
        if same.all()
        else f"{np.abs(a - b)[~same].max():.2g} off where {allowed:.2g} of {scale:.2g} is allowed"
    )


def array_of(tensor: Any) -> np.ndarray:
    """As float64."""
    values: np.ndarray = tensor.astype(ms.float32).asnumpy().astype(np.float64)
    return values


def size_of(values: np.ndarray) -> float:
    """The root mean square."""
    finite = values[np.isfinite(values)]
    return float(np.sqrt(np.mean(finite * finite))) if finite.size else 0.0


@dataclass(frozen=True)
class Slopes:
    """What a call in training leaves: gradients, and the values that it changed."""

    gradients: Mapping[str, Any]
    moved: Mapping[str, Any]


def slopes(
    cell: Any, seen: Seen, flags: Mapping[int, bool], leave: Callable[[str], bool]
) -> Slopes:
    """Gradients of floating inputs and of weights, as the Cell trains, but without dropouts.

    Args:
        cell: the Cell.
        seen: the call.
        flags: the training flags of its parts.
        leave: whether the gradient of the input of that name is not asked for.
    """
    arguments = seen.arguments(cell) or {}
    names = [name for name, value in arguments.items() if not leave(name) and _is_float(value)]
    weights = [one for one in cell.get_parameters() if one.requires_grad]
    fixed = [one for one in cell.get_parameters() if not one.requires_grad]
    before = [one.asnumpy().copy() for one in fixed]
    parts = [(part, part.training) for _, part in cell.cells_and_names()]
    if not names and not weights:
        return Slopes({}, {})

    def total(*values: Any) -> Any:
        given = {**arguments, **dict(zip(names, values, strict=True))}
        order = list(arguments)[: len(seen.inputs)]
        keywords = {name: given[name] for name in seen.keywords}
        return _weighted(cell(*(given[name] for name in order), **keywords))

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
    return Slopes(gradients, moved)


def _nudged(value: Any) -> Any:
    if not _is_float(value):
        return value
    signs = np.where(np.arange(value.size).reshape(value.shape) * 7 % 5 > 2, 1, -1)
    step = TOLERANCE[str(value.dtype).lower()] / 10
    return (value.astype(ms.float32) * ms.Tensor((1 + step * signs).astype(np.float32))).astype(
        value.dtype
    )


def _is_float(value: Any) -> bool:
    return isinstance(value, ms.Tensor) and str(value.dtype).lower() in FLOATS


def _weighted(made: Any) -> Any:
    """A sum of all numbers with different weights."""
    if isinstance(made, dict):
        made = tuple(made.values())
    if isinstance(made, (tuple, list)):
        sums = [one for one in map(_weighted, made) if one is not None]
        return sum(sums[1:], sums[0]) if sums else None
    if not _is_float(made):
        return None
    weights = np.cos(np.arange(made.size) * 0.7).astype(np.float32).reshape(made.shape)
    return (made.astype(ms.float32) * ms.Tensor(weights)).sum()


def slope_difference(
    got: Slopes, want: Slopes, near: Callable[[], Slopes], tolerance: float | None
) -> str:
    """How gradients and moving values differ; empty where they do not.

    Args:
        got: of the replacement.
        want: of what was there.
        near: of what was there when its inputs are a rounding off: deep nets make much of that. Asked for where it counts.
        tolerance: as for `difference`.
    """
    sizes = [size_of(array_of(one)) for one in want.gradients.values()]
    # of a gradient that cancels nothing but roundings is left
    least = 0.01 * max(sizes, default=0.0)
    known: list[Slopes] = []
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
            return f"{name} becomes something else"
    return ""
