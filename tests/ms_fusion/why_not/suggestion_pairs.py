"""Pairs of successive unfused operators, by the kinds of change that their edge needs at once.

Changes that combine: a flag, a composite (float32 only, and never with a cast to float32, which is
about float16) and the codes of `ms_fusion.why_not.suggest.ADVICE`. Control flow advice is always
single, because such an edge has one end only.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ms_fusion.mindspore.flags.preset_table import resolve
from tests.ms_fusion.why_not import suggestion_cases as cases
from tests.ms_fusion.why_not.suggestion_cases import Case

BASE = "--opt_level=2"
AUTO = resolve("auto").render()

HEAD = """
neg, fenced_neg = ops.Neg(), ops.Neg().add_prim_attr("aggregate", True)
div, fenced_div = primitives.Div(), primitives.Div().add_prim_attr("aggregate", True)
"""
"""Primitives with an attribute that excludes them, and without."""


@dataclass(frozen=True)
class Pair:
    """``second(first(a))`` of `a`, the Maximum of two inputs.

    Attributes:
        kinds: the kinds of the suggestion's steps, those of flags counted once.
        flags: the flags before the change.
        mended: the two expressions after a code change, empty if there is none; composites come
            from the suggestion.
        dynamic: whether the net first has a dynamic shape.
    """

    first: Case
    second: Case
    kinds: str
    flags: str = BASE
    mended: tuple[str, str] = ("", "")
    dtype: str = "float32"
    dynamic: bool = False


NEG = Case("Neg", "ops.neg(a)", lambda a, b, c: -a)
FENCED_NEG = Case("Neg", "fenced_neg(a)", NEG.meaning)
FENCED_DIV = Case("Div", "fenced_div(a, b)", lambda a, b, c: a / b)
EVERY = {case.op: case for case in (*cases.CLUSTERED, *cases.EXPANDED, *cases.COMPOSITES, NEG)}
RING = [case.op for case in cases.COMPOSITES]
IN_FLOAT32 = {op: f"ops.{op.lower()}(a.astype(mindspore.float32))" for op in ("Sinh", "Cosh")}


def pair(first: str, second: str, kinds: str, **more) -> Pair:
    return Pair(EVERY[first], EVERY[second], kinds, **more)


def two_composites(first: str, second: str) -> Iterator[Pair]:
    """Under MindSpore's own lists, where two of the composites also need a flag, and under `auto`,
    which sets these.
    """
    needs_flag = {first, second} & {"Softsign", "Ceil"}
    yield pair(first, second, f"composite composite{' flag' * bool(needs_flag)}")
    yield pair(first, second, "composite composite", flags=AUTO)


PAIRS = [
    *(one for number, op in enumerate(RING) for one in two_composites(RING[number - 1], op)),
    *(pair(op, "Div", "composite flag") for op in RING[::2]),
    *(pair("Div", op, "composite flag") for op in RING[1::2]),
    *(pair(op, "HSwish", "composite flag") for op in RING[1::2]),
    *(pair("HSwish", op, "composite flag") for op in RING[::2]),
    pair("ReLU6", "Neg", "composite flag", flags=f"{BASE} --disable_cluster_ops=Minimum,Neg"),
    pair("ReLU6", "Neg", "composite flag", flags=f"{BASE} --enable_cluster_ops_only=Maximum"),
    pair("Softsign", "Neg", "composite flag", flags=f"{BASE} --disable_cluster_ops=Div,Abs"),
    pair("Div", "Floor", "flag"),
    pair("Sin", "HSwish", "flag"),
    pair("HSwish", "SquaredDifference", "flag"),
    pair("Neg", "Div", "flag", flags=f"{BASE} --disable_cluster_ops=Neg"),
    pair("Neg", "Neg", "flag", flags=f"{BASE} --disable_cluster_ops=Neg,Exp"),
    Pair(FENCED_DIV, NEG, "code flag", mended=("div(a, b)", "")),
    Pair(FENCED_NEG, EVERY["Div"], "code flag", mended=("neg(a)", "")),
    pair("Neg", "Div", "code flag", dynamic=True),
    pair(
        "Sinh",
        "Div",
        "code flag",
        flags=f"{BASE} --enable_expand_ops=Sinh",
        mended=(IN_FLOAT32["Sinh"], ""),
        dtype="float16",
    ),
    Pair(FENCED_NEG, EVERY["ReLU6"], "code composite", mended=("neg(a)", "")),
    pair("Neg", "Hypot", "code composite", dynamic=True),
    pair("Div", "Lerp", "code composite flag", dynamic=True),
    Pair(FENCED_NEG, FENCED_NEG, "code", mended=("neg(a)", "neg(a)")),
    Pair(FENCED_NEG, NEG, "code code", mended=("neg(a)", ""), dynamic=True),
    pair(
        "Cosh",
        "Sinh",
        "code code",
        flags=f"{BASE} --enable_expand_ops=Sinh,Cosh",
        mended=(IN_FLOAT32["Cosh"], "ops.sinh(a)"),
        dtype="float16",
    ),
]
