"""Random graphs: operators on existing values, with sums, shapes and products between them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from tests.ms_fusion.onnx.fuse.models import Builder

UNARY = (
    "Relu",
    "Sigmoid",
    "Tanh",
    "Abs",
    "Neg",
    "Erf",
    "Softplus",
    "LeakyRelu",
    "Elu",
    "HardSwish",
)
BINARY = ("Add", "Sub", "Mul", "Max", "Min")
ROWS, COLUMNS = 6, 8
COUNT = 40


def random_graph(path: Path, seed: int, rows: int | str = ROWS, columns: int = COLUMNS) -> Path:
    """10 to 40 operators on matrices; up to three results."""
    random = np.random.default_rng(seed)
    b = Builder({"x": (rows, columns), "y": (rows, columns)})
    b.random = random
    known = ["x", "y"]

    def one() -> str:
        # the latest value is read more often, so that chains grow long
        weights = np.arange(1, len(known) + 1) ** 2.0
        return known[random.choice(len(known), p=weights / weights.sum())]

    axis, whole = b.constant([1], "int64"), b.constant([0, -1], "int64")
    for _ in range(int(random.integers(10, 40))):
        match random.integers(0, 10):
            case 0 | 1 | 2:
                made = b.add(str(random.choice(UNARY)), one())
            case 3 | 4 | 5:
                made = b.add(str(random.choice(BINARY)), one(), one())
            case 6:
                made = b.add(
                    "Sub",
                    one(),
                    b.add(str(random.choice(["ReduceMean", "ReduceMax"])), one(), axis),
                )
            case 7:
                made = b.add(
                    "Softmax",
                    one(),
                    axis=int(random.integers(0, 2)) if isinstance(rows, int) else -1,
                )
            case 8:
                made = b.add("MatMul", one(), b.weight(columns, columns))
                made = b.add("Add", made, b.weight(columns)) if random.integers(0, 2) else made
            case _:
                halves = b.add("Split", one(), outputs=2, axis=1, num_outputs=2)
                made = b.add("Reshape", b.add("Concat", *halves[::-1], axis=1), whole)
        known.append(made)
    results = dict.fromkeys([known[-1], *(one() for _ in range(2))])
    return b.save(path, *[name for name in results if name not in "xy"])


MODELS: Mapping[str, Callable[[Path], Path]] = {
    f"random_{seed}": functools.partial(random_graph, seed=seed, rows="n" if seed % 2 else ROWS)
    for seed in range(COUNT)
}
