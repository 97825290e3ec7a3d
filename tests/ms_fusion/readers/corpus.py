"""Paths of the recorded dumps, and small IR texts for single tests."""

from __future__ import annotations

from pathlib import Path

CORPUS = Path(__file__).resolve().parents[2] / "data" / "ms_2_10"

HEAD = "# IR entry: @g\n# Total subgraphs: {total}\n\n# Total params: 1\n# Params:\n{params}\n\n"
INPUT = "%para1_x: <Tensor[Float32], (2, 3)> : [2, 3]  :  IsWeight: false"
RESULT = "      : (<Tensor[Float32], (2, 3)>) -> (<Tensor[Float32], (2, 3)>)\n"


def statement(number: int, expression: str, *, name: str = "", notes: str = RESULT) -> str:
    """One statement with its type line and full name."""
    full_name = f"      # Fullname with scope: ({name})\n" if name else ""
    return f"  %{number}(CNode_{number}) = {expression}\n{notes}{full_name}"


def dump(body: str, *, params: str = INPUT, before: str = "", total: int = 1) -> str:
    """A dump with the entry graph @g; `before` holds other sub-graphs."""
    head = HEAD.format(total=total, params=params)
    return (
        f"{head}{before}subgraph attr:\nsubgraph instance: g : 0x1\n\nsubgraph @g() {{\n{body}}}\n"
    )


def kernel(
    name: str, body: str, *, attributes: str = "graph_kernel: K", params: str = "%para9_a"
) -> str:
    """Another sub-graph, a fused kernel unless `attributes` say otherwise."""
    return (
        f"subgraph attr:\n{attributes}\nsubgraph instance: {name} : 0x2\n"
        f"# Parameters: 1, (<Tensor[Float32], (2, 3)>)\n\nsubgraph @{name}({params}) "
        f"{{\n{body}}}\n\n"
    )
