"""Warns of dynamic shapes, of compilations for many shapes, and of kernels that are not built."""

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ms_fusion.compile_server import refusals
from ms_fusion.mindspore.flags.generator_limits import KernelRefusal
from ms_fusion.mindspore.presets import net_checks
from ms_fusion.mindspore.state.preset_record import FusionWarning
from ms_fusion.source_paths import is_internal_file
from tbe_impl.errors import UnsafeError

BFLOAT16_REMEDY = "Use float32 or float16 on CPU, or `mf.disable()`."
MAX_REASONS = 3
MANY_SHAPES = 8
"""Number of different sets of input shapes at which a warning is issued for a net."""
_seen_nets: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()
"""Maps a net to the sets of input shapes for which the net was compiled."""


@contextlib.contextmanager
def report_refusals(
    net: Any, name: str, inputs: Sequence[Any], kernel_directory: Path, *, by_mindspore: bool
) -> Iterator[None]:
    """Returns a context manager that reports the kernels of `net` that the compile server refuses.

    MindSpore runs the operators of a refused kernel one by one.

    Args:
        net: a Cell or a function.
        name: name of the net for messages.
        inputs: arguments of the call.
        kernel_directory: directory in which the compile server records the refused kernels.
        by_mindspore: whether MindSpore's generator builds the kernels.

    Raises:
        UnsafeError: MindSpore's generator is used and cannot compile the net with fusion. The
            reason is that the net computes in bfloat16, or that the compile server refused a
            kernel.
    """
    if net not in _seen_nets:
        if by_mindspore:
            _refuse_bfloat16(net, name, inputs)
        _seen_nets[net] = set()
        for finding in net_checks.check_call(net, inputs, graph_mode=True):
            if finding.code == "dynamic":
                say(str(finding))
    _warn_of_many_shapes(_seen_nets[net], name, inputs)
    start = refusals.length(kernel_directory)
    try:
        yield
    except RuntimeError as error:
        if not by_mindspore:
            raise
        _refuse_bfloat16(net, name, inputs)
        for one in refusals.read_since(kernel_directory, start):
            raise UnsafeError(
                f"MindSpore's own CPU generator fails on a kernel: {one.reason}",
                place=name,
                remedy=_remedy(one),
            ) from error
        raise
    found = refusals.read_since(kernel_directory, start)
    if found and not by_mindspore:
        for left in (False, True):
            if some := [one for one in found if one.left is left]:
                say(f"{name}: {_describe_failures(some, left=left)}")
        return
    for one in found:
        say(
            f"{name}: MindSpore's single operators compute a kernel that MindSpore's own CPU "
            f"generator would build wrongly or crash on: {one.reason}. {_remedy(one)}"
        )


def _warn_of_many_shapes(seen: set[Any], name: str, inputs: Sequence[Any]) -> None:
    """Adds the shapes of `inputs` to `seen`; warns when `seen` has `MANY_SHAPES` elements."""
    shapes = tuple(tuple(getattr(item, "shape", ())) for item in inputs)
    if shapes in seen:
        return
    seen.add(shapes)
    if len(seen) == MANY_SHAPES:
        say(
            f"{name}: compiled for {MANY_SHAPES} sets of input shapes. Each further set is "
            "compiled, too, and its graph stays in memory. Pad the inputs to a few sizes; "
            "docs/presets.md, «Shapes that change», shows how."
        )


def _describe_failures(found: Sequence[KernelRefusal], *, left: bool) -> str:
    """Returns one message for kernels that our generator could not build.

    `left` is the value of `KernelRefusal.left`, which is the same for all these kernels. `left` is
    False if a slow substitute was built for each kernel, and True if no substitute could be built.
    """
    kernels = "a kernel is" if len(found) == 1 else f"{len(found)} kernels are"
    what = "left to MindSpore's own operators" if left else "right, but slow, computed without C"
    # `one.reason` has the form "kernel (reason)". The first kernel with each reason is kept.
    kinds = list(
        {one.reason.partition(" (")[2]: one.reason.rstrip(".") for one in reversed(found)}.values()
    )[::-1]
    said = kinds[:MAX_REASONS]
    more = f"; {len(found) - len(said)} more" if len(found) > len(said) else ""
    culprits = ",".join(dict.fromkeys(one.op for one in found if one.op))
    remedy = (
        f" `--disable_cluster_ops={culprits}` leaves that to MindSpore's own." if culprits else ""
    )
    return f"{kernels} {what}, since our generator failed: {'; '.join(said)}{more}.{remedy}"


def _refuse_bfloat16(net: Any, name: str, inputs: Sequence[Any]) -> None:
    tensors = [*inputs, *(net.get_parameters() if hasattr(net, "get_parameters") else ())]
    if any(str(getattr(item, "dtype", "")).lower() == "bfloat16" for item in tensors):
        raise UnsafeError(
            "MindSpore cannot compile bfloat16 with fusion on CPU",
            place=name,
            remedy=BFLOAT16_REMEDY,
        )


def _remedy(refusal: KernelRefusal) -> str:
    if "bfloat16" in refusal.reason:
        return BFLOAT16_REMEDY
    if not refusal.op:
        return "Nothing need be done; if it happens with every net, run `ms-fusion doctor`."
    return f"Add `--disable_cluster_ops={refusal.op}` to keep the others fused, or use float32."


def say(text: str) -> None:
    """Issues the warning `text` for the nearest stack frame outside of MindSpore and ms_fusion."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and is_internal_file(frame.f_code.co_filename):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, FusionWarning, stacklevel=level)
