"""Messages after a compilation: shapes that are not fused, kernels that were not built."""

from __future__ import annotations

import contextlib
import sys
import warnings
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ms_fusion.generator_limits import Refusal
from ms_fusion.presets import net_checks
from ms_fusion.presets.compile_server import refusals
from ms_fusion.presets.preset_record import FusionWarning
from tbe_impl.errors import UnsafeError

BFLOAT16 = "Use float32 or float16 on CPU, or `mf.disable()`."
REASONS_SAID = 3
_NOT_THE_USERS = ("/mindspore/", "/ms_fusion/", "/contextlib.py")
_seen: weakref.WeakSet[Any] = weakref.WeakSet()


@contextlib.contextmanager
def told(
    net: Any, name: str, inputs: Sequence[Any], kernel_directory: Path, *, own: bool
) -> Iterator[None]:
    """Inside, `net` is compiled, or called once more; what the compile server refused to build is said afterwards.

    MindSpore runs a refused kernel as single operators.

    Args:
        net: a Cell or a function.
        name: what the user calls it.
        inputs: what it is called with.
        kernel_directory: where the compile server works.
        own: whether MindSpore's own generator builds the kernels.

    Raises:
        UnsafeError: MindSpore cannot compile it with fusion: it computes in bfloat16, or a kernel was refused.
    """
    if net not in _seen:
        if own:
            _refuse_bfloat16(net, name, inputs)
        _seen.add(net)
        for finding in net_checks.of_call(net, inputs, graph_mode=True):
            if finding.code == "dynamic":
                say(str(finding))
    start = refusals.length(kernel_directory)
    try:
        yield
    except RuntimeError as error:
        if not own:
            raise
        _refuse_bfloat16(net, name, inputs)
        for one in refusals.since(kernel_directory, start):
            raise UnsafeError(
                f"MindSpore's own CPU generator fails on a kernel: {one.reason}",
                place=name,
                remedy=_remedy(one),
            ) from error
        raise
    found = refusals.since(kernel_directory, start)
    if found and not own:
        say(f"{name}: {_not_built(found)}")
        return
    for one in found:
        say(
            f"{name}: a kernel is left to MindSpore's single operators, since of its own CPU generator is known: "
            f"{one.reason}. {_remedy(one)}"
        )


def _not_built(found: Sequence[Refusal]) -> str:
    """What is said of the kernels that our generator could not build, once for all of them."""
    kernels = "a kernel is" if len(found) == 1 else f"{len(found)} kernels are"
    left = all(one.left for one in found)
    what = "left to MindSpore's own operators" if left else "right, but slow, computed without C"
    # a kernel and why; of those with the same reason one is named
    kinds = list(
        {one.reason.partition(" (")[2]: one.reason.rstrip(".") for one in reversed(found)}.values()
    )[::-1]
    said = kinds[:REASONS_SAID]
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
            "MindSpore cannot compile bfloat16 with fusion on CPU", place=name, remedy=BFLOAT16
        )


def _remedy(refusal: Refusal) -> str:
    if "bfloat16" in refusal.reason:
        return BFLOAT16
    if not refusal.op:
        return "Nothing need be done; if it happens with every net, run `ms-fusion doctor`."
    return f"Add `--disable_cluster_ops={refusal.op}` to keep the others fused, or use float32."


def say(text: str) -> None:
    """Warns at the nearest line that is neither MindSpore's nor ours."""
    frame, level = sys._getframe(1), 2
    while frame.f_back and any(home in frame.f_code.co_filename for home in _NOT_THE_USERS):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, FusionWarning, stacklevel=level)
