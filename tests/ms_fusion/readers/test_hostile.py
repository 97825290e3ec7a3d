"""Damaged or malicious text: one typed error or a graph, nothing else."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ms_fusion.readers.composite import parse_composite
from ms_fusion.readers.mindspore_ir import parse_ir
from tbe_impl.errors import ParseError
from tests.cases import FULL, cases
from tests.ms_fusion.readers.corpus import CORPUS, HEAD, INPUT, dump, kernel, statement

FILES = sorted(
    path
    for path in CORPUS.rglob("*")
    if path.suffix in (".ir", ".info") and path.stat().st_size < 40_000
)
TEXTS = [(path.suffix, path.read_text(encoding="utf-8")) for path in FILES]
SPECIAL = "%@(){}[]<>,:\"'#= \n\0\ufeff0159-*$✓\\"
NUMBERS = ("0", "-1", "--1", "9" * 24, "9" * 500, "1e999", "٣")
MUTATIONS = 2_000
SHARES = 20


def mutated(text, source):
    """The text with one to twenty small or large changes."""
    for _ in range(source.choice((1, 1, 1, 2, 5, 20))):
        at = source.randrange(len(text) + 1)
        change = source.randrange(8)
        if change == 0:
            text = text[:at]
        elif change == 1:
            text = text[:at] + source.choice(SPECIAL) * source.choice((1, 1, 10, 3000)) + text[at:]
        elif change == 2:
            text = text[:at] + text[at + source.choice((1, 1, 40)) :]
        elif change == 3:
            start = source.randrange(len(text) + 1)
            text = text[:at] + text[start : start + source.randrange(300)] + text[at:]
        elif change == 7:
            numbers = list(re.finditer(r"\d+", text))
            if numbers:
                found = source.choice(numbers)
                text = text[: found.start()] + source.choice(NUMBERS) + text[found.end() :]
        else:
            lines = text.split("\n")
            first, second = source.randrange(len(lines)), source.randrange(len(lines))
            if change == 4:
                del lines[first]
            elif change == 5:
                lines.insert(second, lines[first])
            else:
                lines[first], lines[second] = lines[second], lines[first]
            text = "\n".join(lines)
    return text


def read(suffix, text):
    """Reads it; returns whether it was refused. An error must name an existing place."""
    try:
        (parse_ir if suffix == ".ir" else parse_composite)(text, file="f")
    except ParseError as error:
        assert 1 <= error.line <= text.count("\n") + 1
        assert error.column >= 1
        assert len(str(error)) < 2_000
        return True
    return False


@cases("share", range(SHARES), quick=3)
def test_mutations_of_real_dumps(share):
    source = random.Random(share)
    refused = sum(
        read(suffix, mutated(text, source))
        for suffix, text in source.choices(TEXTS, k=MUTATIONS // SHARES)
    )
    assert 0 < refused < MUTATIONS // SHARES  # both outcomes occur


@FULL
@settings(max_examples=200, deadline=None)
@given(st.text(max_size=400))
def test_any_text_gives_a_graph_or_a_typed_error(text):
    read(".ir", text)
    read(".info", text)
    read(".ir", dump(text))
    read(".ir", dump(statement(0, text)))


PIECES = st.sampled_from(
    [
        "%0",
        "%para1_x",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        "<",
        ">",
        ", ",
        ": ",
        '"',
        "Tensor(shape=[2], dtype=Int8, value=",
        "I64(1)",
        "@g",
        "$(",
        "call @k",
        " primitive_attrs: {",
        "Tuple[",
        "TupleShape(",
        "NoShape",
        "\n      : (",
        " -> ",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(PIECES, max_size=30), st.lists(PIECES, max_size=20))
def test_shuffled_pieces(expression, types):
    read(".ir", dump(statement(0, "".join(expression), notes=f"      : ({''.join(types)}\n")))


MANY = 100_000
MORE = 1_000_000


def chain(expression, count=5_000):
    """%0 from the input, then `count` statements, each on its predecessor."""
    return dump(
        statement(0, "A(%para1_x)")
        + "".join(f"  %{n}(a) = {expression(n - 1)}\n" for n in range(1, count))
        + f"  Return(%{count - 1})\n"
    )


HOSTILE = {
    "brackets in a name": f"{HEAD.format(total=1, params=INPUT)}subgraph @{'(' * MORE}\n",
    "brackets in a parent": f"{HEAD.format(total=1, params=INPUT)}subgraph @g parent: "
    f"[{'](' * MORE}\n",
    "open brackets": dump(statement(0, "F(" + "(" * MANY)),
    "calls without end": dump(statement(0, "[a]" * MANY)),
    "digits": dump(statement(0, f"F({'9' * MORE}x, {'9' * MORE}, I64({'9' * 79}))")),
    "quotes": dump(statement(0, 'F("' + '" ' * MANY + ")")),
    "quotes in attributes": dump(statement(0, 'F() primitive_attrs: {a: "' + '", ' * MANY + "}")),
    "spaces": dump(statement(0, "F() {instance name: " + "}    " * MORE + "x")),
    "a name of an attribute": dump(statement(0, "F() primitive_attrs: {" + "a" * MANY)),
    "a source line": dump(
        statement(0, "F()") + "      # In file a" + ":1" * MORE + " " * MORE + "x\n"
    ),
    "a full name": dump(
        statement(0, "F()") + "      # Fullname with scope: (" + ") " * MORE + "x\n"
    ),
    "types": dump(statement(0, "F()", notes="      : (" + "<a>x" * MANY + "\n")),
    "nested types": dump(statement(0, "F()", notes="      : () -> (<" + "Tuple[" * MANY + "\n")),
    "repeated types": dump(
        statement(0, "F()", notes="      : () -> (<Tuple[Int8*999999999], TupleShape((1))>)\n")
    ),
    "formats": dump(statement(0, "F()") + "      : (" + "<Fxx" * MANY + "[const vector]{\n"),
    "a parameter": dump(statement(0, "F()"), params="%para1_" + ": <" * MORE),
    "symbols": dump(
        statement(0, "F()"), params=f"%para1_x: <Tensor[Int8], (-1)> : [{'a' * MORE}!]  :"
    ),
    "dimensions": dump(statement(0, f"F(Tensor(shape=[{'1, ' * MANY}], dtype=Int8, value=[1]))")),
    "a huge tensor": dump(
        statement(0, "F(Tensor(shape=[999999999, 999999999], dtype=Int8, value=[1 2]))")
    ),
    "doubling tuples": chain(lambda before: f"MakeTuple(%{before}, %{before})", 60),
    "nested tuples": chain(lambda before: f"MakeTuple(%{before})"),
    "a tuple read again and again": dump(
        statement(0, f"MakeTuple({'%para1_x, ' * 5_000}%para1_x)")
        + "".join(f"  %{n}(a) = A(%0)\n" for n in range(1, 5_000))
    ),
    "one name for all": dump(
        "".join(statement(n, "A(%para1_x)", name="D" + "#2" * (n % 9)) for n in range(5_000))
    ),
    "a kernel that calls itself": dump(
        statement(0, "call @k(%para1_x)"),
        before=kernel("k", statement(0, "call @k(%para9_a)")),
        total=2,
    ),
    "kernels in kernels": dump(
        statement(0, "call @k0(%para1_x)"),
        before="".join(
            kernel(f"k{n}", statement(0, f"call @k{n + 1}(%para9_a)")) for n in range(2_000)
        ),
        total=2_001,
    ),
    "one body for many graphs": dump(
        statement(0, "call @k(%para1_x)"),
        before=kernel(
            "k", "".join(statement(n, "A(%para9_a)") for n in range(2_000)) + "  Return(%0)\n"
        )
        + "".join(
            kernel(f"g{n}", statement(0, "call @k(%para9_a)"), attributes="a: b")
            for n in range(2_000)
        ),
        total=2_002,
    ),
    "many parameters": "# IR entry: @g\nsubgraph @g("
    + ", ".join(f"%para{n}_x" for n in range(MANY))
    + ") {\n}\n",
    "empty lines": "# IR entry: @g\n" + "\n" * MANY,
    "zeros": "\0" * MANY,
}


REFUSED = (
    "doubling tuples",
    "nested tuples",
    "a kernel that calls itself",
    "kernels in kernels",
    "one body for many graphs",
)
SLOW = {
    "a tuple read again and again",
    "calls without end",
    "many parameters",
    "one body for many graphs",
    "spaces",
}
"""The slowest ones; `make test` skips them and keeps others of their kind."""


@pytest.mark.timeout(60)
@cases(
    "text",
    [
        pytest.param(text, id=name, marks=FULL if name in SLOW or name in REFUSED else ())
        for name, text in HOSTILE.items()
    ],
    per_item=10,
)
def test_hostile_text_ends(text):
    """Each takes minutes, or all memory, with a careless reader; the timeout of the test is the
    check.
    """
    read(".ir", text)


@pytest.mark.timeout(60)
@cases("what", [pytest.param(what, marks=FULL if what in SLOW else ()) for what in REFUSED])
def test_blow_up_is_refused(what):
    assert read(".ir", HOSTILE[what])
