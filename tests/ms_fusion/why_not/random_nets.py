"""Random nets of operators that MindSpore clusters on CPU: chains, joins, reductions, broadcast."""

from __future__ import annotations

import random

ARGUMENTS = ("x", "y", "z")
UNARY = (
    "ops.neg({})",
    "ops.abs({})",
    "ops.sqrt(ops.abs({}))",
    "{} * 2.0",
    "{} + 1.0",
    "ops.maximum({}, 0.5)",
    "ops.tanh({})",
    "ops.relu({})",
)
REDUCING = ("ops.ReduceSum(True)({}, 1)", "ops.ReduceMax(True)({}, 1)")


def shapes(seed: int) -> tuple[tuple[int, int], ...]:
    """Shapes of x, y and z: two matrices and a column."""
    rows, columns = random.Random(seed).choice([(32, 64), (64, 64), (16, 128)])
    return (rows, columns), (rows, columns), (rows, 1)


def source(seed: int) -> str:
    """A class Net of 4 to 12 lines; every unread value is a result, sometimes also a read one."""
    rng = random.Random(seed)
    rows, columns = rng.choice([(32, 64), (64, 64), (16, 128)])
    shape = dict(zip(ARGUMENTS, shapes(seed), strict=True))
    read: set[str] = set()
    lines = []
    for number in range(rng.randint(4, 12)):
        names = list(shape)
        first = rng.choice(names[-3:] if rng.random() < 0.7 else names)
        beside = rng.choice([name for name in names if _fits(shape[name], shape[first])])
        whole = shape[first] == (rows, columns)
        kind = rng.random()
        used = {first}
        made = shape[first]
        if kind < 0.4:
            code = f"{first} {rng.choice('+-*')} {beside}"
            used.add(beside)
            made = max(shape[first], shape[beside])
        elif kind < 0.7 or not whole:
            code = rng.choice(UNARY).format(first)
        elif kind < 0.85:
            code, made = rng.choice(REDUCING).format(first), (rows, 1)
        elif rows == columns:
            code = rng.choice(("ops.transpose({}, (1, 0))", "ops.matmul({}, y)")).format(first)
        else:
            flat = f"ops.reshape({first}, ({rows * columns},))"
            code = f"ops.reshape({flat} * 3.0, ({rows}, {columns}))"
        lines.append(f"v{number} = {code}")
        shape[f"v{number}"] = made
        read |= used
    results = [name for name in shape if name not in read and name not in ARGUMENTS]
    if rng.random() < 0.3:
        results.append(list(shape)[-2])
    lines.append(f"return ({', '.join(dict.fromkeys(results))},)")
    body = "".join(f"\n        {line}" for line in lines)
    return f"class Net(nn.Cell):\n    def construct(self, {', '.join(ARGUMENTS)}):{body}\n"


def _fits(shape: tuple[int, int], other: tuple[int, int]) -> bool:
    return shape[0] == other[0] and (shape[1] == other[1] or 1 in (shape[1], other[1]))
