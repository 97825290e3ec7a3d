"""Retries a failed compilation with the failing operators excluded from clustering.

MindSpore forms groups of operators, one for each fused kernel. MindSpore serializes each group
before our generator builds the kernel. MindSpore raises an error for a group that it cannot
serialize, for example if the group contains a bfloat16 constant or an operator with several
results. MindSpore also raises an error for some groups that our generator refuses to build. The net
compiles if the operator that causes the error is excluded from all groups.
"""

from __future__ import annotations

import contextlib
import re
import textwrap
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ms_fusion.compile_server import refusals
from ms_fusion.mindspore.flags.generator_limits import KernelRefusal, generator_of
from ms_fusion.mindspore.presets import compile_messages
from ms_fusion.mindspore.presets.net_choices import NetChoice
from ms_fusion.mindspore.state.preset_record import has_fusion

MAX_EXCLUDED = 8
"""Maximum number of operators that are excluded one by one.

If more operators fail, the net is compiled without fusion.
"""
_FUSION_SOURCES = re.compile(r"graph_kernel|graph_fusion")
"""Matches the source files of MindSpore's fusion in an error message.

A message about an error in the user's net names other source files.
"""
_OPERATOR = re.compile(r"ValueNode<Primitive> (?:PrimFunc_)?(\w+)")
_NUMBER = re.compile(r"the value type: (\w+) is not in supported list")
_NO_TYPE = "Unsupported type name: none"
"""MindSpore's message for a Cast without a target type.

MindSpore adds such casts around operators without a float16 kernel, for example optimizers.
"""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Attempt:
    """One attempt to compile a net.

    Attributes:
        out: operators that are excluded from clustering.
        fused: whether fusion is enabled in this attempt.
        why: the error message of the previous attempt; empty for the first attempt.
    """

    out: tuple[str, ...] = ()
    fused: bool = True
    why: str = ""

    def apply_to(self, flags: str) -> str:
        """Returns `flags`, changed so that the operators in `out` are not clustered."""
        return NetChoice(kept_out=self.out, fused=self.fused).apply_to(flags)

    @property
    def sentence(self) -> str:
        """A sentence that names the excluded operators and the reason."""
        names = " and ".join(filter(None, (", ".join(self.out[:-1]), *self.out[-1:])))
        verb = "stays" if len(self.out) == 1 else "stay"
        done = f"{names} {verb} out of the groups" if self.fused else "compiled without fusion"
        return f"{done}, since MindSpore's fusion fails: {self.why}"


UNFUSED_FOR_BFLOAT16 = Attempt(fused=False, why="it cannot hand over a number of bfloat16")


class _Retry(Exception):
    """Requests another compilation of the net; `attempt` describes this compilation."""

    def __init__(self, attempt: Attempt):
        super().__init__(attempt.sentence)
        self.attempt = attempt


_last_attempts: weakref.WeakKeyDictionary[Any, Attempt] = weakref.WeakKeyDictionary()
_reported_texts: set[str] = set()


def retry_until_compiled(once: Callable[[Attempt], Result], net: Any) -> Result:
    """Calls `once` with successive attempts until a compilation succeeds and returns its result.

    Args:
        once: function that compiles the net inside of `supervise_attempt`.
        net: the net to compile. If an earlier compilation of this net succeeded after a retry, the
            function begins with the attempt that succeeded then.
    """
    attempt = Attempt()
    # Some objects cannot be keys of a weak dictionary.
    with contextlib.suppress(TypeError):
        attempt = _last_attempts.get(net, attempt)
    while True:
        try:
            result = once(attempt)
        except _Retry as failed:
            attempt = failed.attempt
            continue
        if attempt.why:
            with contextlib.suppress(TypeError):
                _last_attempts[net] = attempt
        return result


@contextlib.contextmanager
def supervise_attempt(
    attempt: Attempt, flags: str, kernel_directory: Path, name: str = ""
) -> Iterator[None]:
    """Returns a context manager that requests a retry if the compilation in its block fails.

    If `attempt` is a retry and its compilation succeeds, the context manager writes to the file of
    refused kernels. It appends an entry with the operators that `attempt` excludes.

    Args:
        attempt: record of the operators that this compilation excludes from clustering.
        flags: the flags without these exclusions.
        kernel_directory: directory in which the compile server records refused kernels.
        name: name of the net in the message about the excluded operators; empty for no message.
    """
    start = refusals.length(kernel_directory)
    try:
        yield
    except Exception as error:
        if not (attempt.fused and has_fusion(flags) and generator_of(flags) == "ms_fusion"):
            raise
        refused = refusals.read_since(kernel_directory, start)
        better = (
            _attempt_without(attempt, refused[0])
            if refused
            else _attempt_after(attempt, str(error))
        )
        if better is None:
            raise
        raise _Retry(better) from error
    if attempt.why:
        refusals.record(
            kernel_directory, [KernelRefusal(",".join(attempt.out), attempt.sentence, left=True)]
        )
        said = f"{name}: {attempt.sentence}."
        if name and said not in _reported_texts:
            _reported_texts.add(said)
            compile_messages.say(said)


def _attempt_without(attempt: Attempt, refused: KernelRefusal) -> Attempt:
    """Returns an attempt that also excludes the operator for which our generator refused a kernel.

    This attempt is needed if MindSpore cannot run the operators of the refused kernel one by one.
    """
    return _exclude_operator(attempt, refused.op, refused.reason.rstrip("."))


def _attempt_after(attempt: Attempt, message: str) -> Attempt | None:
    """Returns the next attempt after MindSpore failed with the error text `message`.

    Returns None if fusion did not cause the error.
    """
    if _NO_TYPE in message:
        return _exclude_operator(
            attempt,
            "Cast",
            "it cannot hand over the casts that MindSpore puts around operators it has not in "
            "float16",
        )
    if not _FUSION_SOURCES.search(message):
        return None
    number, operator = _NUMBER.search(message), _OPERATOR.search(message)
    first: Any = next((line.strip(" .") for line in message.splitlines() if line.strip(" -")), "")
    why = f"it cannot hand over a number of {number[1]}" if number else textwrap.shorten(first, 160)
    return _exclude_operator(attempt, operator[1] if operator else "", why)


def _exclude_operator(attempt: Attempt, operator: str, why: str) -> Attempt:
    """Returns an attempt that excludes `operator` from clustering, too.

    The returned attempt is without fusion in three cases: `operator` is empty, `operator` is
    already excluded, or `MAX_EXCLUDED` operators are already excluded.
    """
    if not operator or operator in attempt.out or len(attempt.out) == MAX_EXCLUDED:
        return Attempt(fused=False, why=why)
    return Attempt((*attempt.out, operator), why=why)
