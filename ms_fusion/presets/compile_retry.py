"""Retries a failed compilation with the failing operators excluded from clustering.

MindSpore writes down each group before our generator is asked to build it, and raises where it cannot: a number in bfloat16, an operator
with several results. Some groups that our generator refuses it cannot take back. The same net compiles when that operator is in no group.
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

from ms_fusion.generator_limits import Refusal, generator_of
from ms_fusion.presets import compile_messages
from ms_fusion.presets.compile_server import refusals
from ms_fusion.presets.net_choices import NetChoice
from ms_fusion.presets.preset_record import fuses

MOST = 8
"""Operators that are taken out one by one; a net that has more of them is compiled without fusion."""
_OURS_TO_MEND = re.compile(r"graph_kernel|graph_fusion")
"""Sources of MindSpore's fusion, which its errors name; an error of the user's net names others."""
_OPERATOR = re.compile(r"ValueNode<Primitive> (?:PrimFunc_)?(\w+)")
_NUMBER = re.compile(r"the value type: (\w+) is not in supported list")
_NO_TYPE = "Unsupported type name: none"
"""Around operators that it has not in float16, optimizers among them, MindSpore puts casts that do not say to which type."""
Result = TypeVar("Result")


@dataclass(frozen=True)
class Attempt:
    """How a net is compiled this time.

    Attributes:
        out: operators that are kept out of its groups.
        fused: whether it is fused at all.
        why: what MindSpore said the last time; empty for the first.
    """

    out: tuple[str, ...] = ()
    fused: bool = True
    why: str = ""

    def over(self, flags: str) -> str:
        """The flags of this attempt."""
        return NetChoice(kept_out=self.out, fused=self.fused).over(flags)

    @property
    def sentence(self) -> str:
        """What was done, and why."""
        names = " and ".join(filter(None, (", ".join(self.out[:-1]), *self.out[-1:])))
        verb = "stays" if len(self.out) == 1 else "stay"
        done = f"{names} {verb} out of the groups" if self.fused else "compiled without fusion"
        return f"{done}, since MindSpore's fusion fails: {self.why}"


WITHOUT_BFLOAT16 = Attempt(fused=False, why="it cannot hand over a number of bfloat16")


class _Again(Exception):
    """It is compiled once more, so."""

    def __init__(self, attempt: Attempt):
        super().__init__(attempt.sentence)
        self.attempt = attempt


_last: weakref.WeakKeyDictionary[Any, Attempt] = weakref.WeakKeyDictionary()
_said: set[str] = set()


def until_compiled(once: Callable[[Attempt], Result], net: Any) -> Result:
    """What `once` returns, called with one attempt after the other; it runs inside of `looked_over`.

    Args:
        net: what is compiled; for other inputs it begins with the attempt that came out right.
    """
    attempt = Attempt()
    # an object whose method is compiled may be one that nothing can be remembered of
    with contextlib.suppress(TypeError):
        attempt = _last.get(net, attempt)
    while True:
        try:
            result = once(attempt)
        except _Again as failed:
            attempt = failed.attempt
            continue
        if attempt.why:
            with contextlib.suppress(TypeError):
                _last[net] = attempt
        return result


@contextlib.contextmanager
def looked_over(
    attempt: Attempt, flags: str, kernel_directory: Path, name: str = ""
) -> Iterator[None]:
    """Inside, a net is compiled under the flags of an attempt; what it went without is recorded.

    Args:
        flags: those in force.
        name: what the user calls the net; what it went without is said, too, where there is one.
    """
    start = refusals.length(kernel_directory)
    try:
        yield
    except Exception as error:
        if not (attempt.fused and fuses(flags) and generator_of(flags) == "ms_fusion"):
            raise
        refused = refusals.since(kernel_directory, start)
        better = _without(attempt, refused[0]) if refused else _better(attempt, str(error))
        if better is None:
            raise
        raise _Again(better) from error
    if attempt.why:
        refusals.record(
            kernel_directory, [Refusal(",".join(attempt.out), attempt.sentence, left=True)]
        )
        said = f"{name}: {attempt.sentence}."
        if name and said not in _said:
            _said.add(said)
            compile_messages.say(said)


def _without(attempt: Attempt, refused: Refusal) -> Attempt:
    """What to try after a group that our generator could not build, and MindSpore not take back."""
    return _one_more(attempt, refused.op, refused.reason.rstrip("."))


def _better(attempt: Attempt, message: str) -> Attempt | None:
    """What to try after this message of MindSpore's; None where it is not its fusion that fails."""
    if _NO_TYPE in message:
        return _one_more(
            attempt,
            "Cast",
            "it cannot hand over the casts that MindSpore puts around operators it has not in float16",
        )
    if not _OURS_TO_MEND.search(message):
        return None
    number, operator = _NUMBER.search(message), _OPERATOR.search(message)
    first: Any = next((line.strip(" .") for line in message.splitlines() if line.strip(" -")), "")
    why = f"it cannot hand over a number of {number[1]}" if number else textwrap.shorten(first, 160)
    return _one_more(attempt, operator[1] if operator else "", why)


def _one_more(attempt: Attempt, operator: str, why: str) -> Attempt:
    """Without this operator, too; unfused where there is none, or it was out already."""
    if not operator or operator in attempt.out or len(attempt.out) == MOST:
        return Attempt(fused=False, why=why)
    return Attempt((*attempt.out, operator), why=why)
