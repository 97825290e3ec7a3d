"""The graph as text."""

from __future__ import annotations

import re

import tbe_impl.dsl as dsl
from tbe_impl.dsl.tensor import compute

GOLDEN = """\
x             (n, 16)  float16       = input  # test_graph_listing.py:L
cast_to_1     (n, 16)  float32       = cast_to(x, dtype=float32)  # test_graph_listing.py:L
reduce_max_2  (n, 1)   float32       = reduce_max(cast_to_1, axes=(1,), keepdims=True)  \
# test_graph_listing.py:L
broadcast_3   (n, 16)  float32       = broadcast(reduce_max_2, shape=(n, 16))  \
# test_graph_listing.py:L
vsub_4        (n, 16)  float32       = vsub(cast_to_1, broadcast_3)  # test_graph_listing.py:L
vmuls_5       (n, 16)  float32       = vmuls(vsub_4, scalar=0.5)  # test_graph_listing.py:L
both_6.v0, both_6.v1  (n, 16)  float32 bool  = (vmuls_5[i, j] + 1.0); (vmuls_5[i, j] < 0.0)  \
# test_graph_listing.py:L
→ both_6.v1, both_6.v0"""


def test_a_graph_as_text() -> None:
    n = dsl.var("n")
    x = dsl.placeholder((n, 16), "float16", "x")
    wide = dsl.cast_to(x, "float32")
    top = dsl.broadcast(dsl.reduce_max(wide, -1, True), (n, 16))
    y = dsl.vmuls(dsl.vsub(wide, top), 0.5)
    plus, below = compute((n, 16), lambda i, j: [y(i, j) + 1.0, y(i, j) < 0.0], name="both")
    text = re.sub(r"py:\d+", "py:L", dsl.show([below, plus]))
    assert [line.split() for line in text.splitlines()] == [
        line.split() for line in GOLDEN.splitlines()
    ]
    assert len({line.index("=") for line in text.splitlines()[:-1]}) == 1


def test_the_same_text_every_time() -> None:
    def build() -> str:
        x = dsl.placeholder((3,), "float32", "x")
        return dsl.show(dsl.vadd(dsl.vexp(x), x))

    first, second = build(), build()
    assert first == second
    assert first.splitlines()[-1] == "→ vadd_2"


def test_long_expressions_are_cut() -> None:
    x = dsl.placeholder((3,), "float32", "x")
    made = compute((3,), lambda i: sum((x(i) * k for k in range(99)), x(i)))
    (line,) = [line for line in dsl.show(made).splitlines() if line.startswith("compute")]
    assert "…" in line and len(line) < 180
