"""Random MindSpore networks as text: elementwise, broadcast, reductions, products, moves, casts.

NumPy computes each network in float64 while it is drawn. An operator whose result exceeds the range
of every float dtype, or that amplifies rounding without bound, is drawn again. Compared values and
values rounded to integers are exact in every float dtype, so that a rounding cannot change a
choice.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from tests.ms_fusion.kernel_server.any_vocabulary import COMPARED
from tests.ms_fusion.kernel_server.vocabulary import (
    ALWAYS,
    BINARY,
    EXACT,
    MORE_BINARY,
    MORE_UNARY,
    NAMES,
    NOT_FLOAT64,
    UNARY,
)

LARGEST = 60.0
ELEMENTS = 20_000
OTHER = {"float32": "float16", "float16": "float32", "float64": "float32"}
WHOLE = ("int32", "int64", "int8", "uint8")


@dataclass(frozen=True)
class Value:
    """A value of the network: name, kind (``float``, ``bool``, or an integer dtype), and content in
    float64.
    """

    name: str
    kind: str
    array: Any
    exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)


@dataclass(frozen=True)
class Network:
    """One network.

    Attributes:
        seed: its seed.
        dtype: dtype of its floats.
        operators: number of its lines.
        body: lines of ``forward``.
        inputs: name → array; floats in float64, each exact in `dtype`.
        outputs: names of its outputs.
        wanted: the outputs in float64.
        gradients: whether gradients of the floats are computed too.
    """

    seed: int
    dtype: str
    operators: int
    body: tuple[str, ...]
    inputs: Mapping[str, Any]
    outputs: tuple[str, ...]
    wanted: tuple[Any, ...]
    gradients: bool = True

    def text(self, *, exact: bool) -> str:
        """A module with ``step(*inputs)``: outputs, then gradients; `exact`: all float64."""
        dtype = "float64" if exact else self.dtype
        other = "float64" if exact else OTHER.get(self.dtype, "float32")
        wide = "float64" if dtype == "float64" else "float32"
        names = ", ".join(self.inputs)
        spelled = tuple(EXACT) if exact else NOT_FLOAT64 if dtype == "float64" else ()
        floats = [at for at, one in enumerate(self.inputs.values()) if one.dtype == np.float64]
        lines = [
            "import mindspore as ms",
            "from mindspore import mint, ops",
            f"F, H, W = ms.{dtype + '_' * (dtype == 'bool')}, ms.{other}, ms.{wide}",
            *(EXACT[name] for name in spelled),
            f"def forward({names}):",
            *(f"    {replaced(line, spelled)}" for line in self.body),
        ]
        if self.gradients:
            lines += [
                "    loss = "
                + " + ".join(
                    f"ops.sum(ops.cast({name}, W) * {0.5 + at})"
                    for at, name in enumerate(self.outputs)
                ),
                f"    return loss, {', '.join(self.outputs)}",
                f"gradient = ops.value_and_grad(forward, {tuple(floats)}, None, True)",
                f"def step({names}):",
                f"    return gradient({names})",
            ]
        else:
            lines += [
                f"    return 0, {', '.join(self.outputs)}",
                f"def step({names}):",
                f"    return forward({names}), ()",
            ]
        return "\n".join(lines) + "\n"


def replaced(line: str, names: Collection[str]) -> str:
    """A line with functions of the module in place of MindSpore's."""
    return re.sub(rf"ops\.({'|'.join(names)})\(", r"\1(", line) if names else line


Kind = Callable[["Maker"], None]
"""Draws a line, or nothing if nothing fits."""

ROUNDED = (
    ("ops.floor({0})", "np.floor({0})"),
    ("ops.round({0})", "np.rint({0})"),
    ("ops.sign({0})", "np.sign({0})"),
)
OLD = 500
"""Seeds from here on draw from the complete vocabulary."""


class Maker:
    """Draws operators in sequence.

    Attributes:
        kinds: choices of the draw.
        weights, layers: parameters and layers of a Cell.
        names: names that the NumPy formulas may use.
    """

    def __init__(self, seed: int, dtype: str, operators: int, kinds: Sequence[Kind]):
        self.chance, self.draws = random.Random(seed), np.random.default_rng(seed)
        self.dtype, self.operators, self.kinds = dtype, operators, kinds
        old = seed < OLD
        self.unary = UNARY if old else UNARY + MORE_UNARY
        self.binary = BINARY if old else BINARY + MORE_BINARY
        self.values: list[Value] = []
        self.body: list[str] = []
        self.read: set[str] = set()
        self.inputs: dict[str, Any] = {}
        self.weights: dict[str, Any] = {}
        self.layers: list[str] = []
        self.names = dict(NAMES)

    def input(self, name: str, kind: str, array: Any) -> None:
        """Adds an input."""
        self.inputs[name] = array
        self.values.append(Value(name, kind, array, True))

    def eighths(self, shape: Sequence[int]) -> Any:
        """Values that are exact in every float dtype."""
        return self.draws.integers(-24, 25, shape) / 8 + 1 / 16

    def network(self, seed: int) -> Network:
        tries = 0
        while len(self.body) < self.operators and tries < 50 * self.operators:
            tries += 1
            self.chance.choice(self.kinds)(self)
        unread = [
            one for one in self.values if one.name not in self.read and one.name.startswith("v")
        ]
        handed = [one for one in unread if one.kind == "float"][-3:] + [
            one for one in unread if one.kind != "float"
        ][-1:]
        if not any(one.kind == "float" for one in handed):
            handed.append(self.values[0])
        return Network(
            seed,
            self.dtype,
            len(self.body),
            tuple(self.body),
            self.inputs,
            tuple(one.name for one in handed),
            tuple(one.array for one in handed),
        )

    def pick(
        self, kind: str = "float", *, exact: bool = False, among: Callable[[Value], bool] = ALWAYS
    ) -> Value | None:
        """A value of a kind; later ones are more likely."""
        found = [
            one
            for one in self.values
            if (one.kind == kind or (kind == "whole" and one.kind in WHOLE))
            and (one.exact or not exact)
            and among(one)
        ]
        return found[max(self.chance.randrange(len(found)) for _ in range(2))] if found else None

    def beside(self, x: Value, *, exact: bool = False) -> Value | None:
        """A value that broadcasts with `x`."""

        def fits(one: Value) -> bool:
            try:
                return prod(np.broadcast_shapes(x.shape, one.shape)) <= ELEMENTS
            except ValueError:
                return False

        other = self.pick(x.kind, exact=exact, among=lambda one: one is not x and fits(one))
        return other or self.pick(x.kind, exact=exact, among=fits)

    def put(
        self, ours: str, wanted: str, *given: Value, kind: str = "float", exact: bool = False
    ) -> None:
        """Adds a line, unless its result is out of bounds."""
        names = [one.name for one in given]
        with np.errstate(all="ignore"):
            array = np.asarray(
                eval(  # noqa: S307
                    wanted.format(*names), self.names, {one.name: one.array for one in given}
                )
            )
        if kind == "float":
            array = array.astype(np.float64)
            if not np.isfinite(array).all() or np.abs(array).max() > LARGEST:
                return
        if array.size > ELEMENTS or array.size == 0:
            return
        name = f"v{len(self.body)}"
        self.body.append(f"{name} = {ours.format(*names)}")
        self.read.update(names)
        self.values.append(Value(name, kind, array, exact))


def _unary(make: Maker) -> None:
    x = make.pick()
    ours, wanted, allowed = make.chance.choice(make.unary)
    if x is not None and x.shape and allowed(x.array):
        make.put(ours, wanted, x)


def _binary(make: Maker) -> None:
    x = make.pick()
    y = make.beside(x) if x is not None else None
    ours, wanted, allowed = make.chance.choice(make.binary)
    if x is not None and y is not None and allowed(x.array, y.array):
        # nearly equal values: a rounding would decide the maximum
        close = (
            "m" in ours[4:7]
            and np.abs(x.array - y.array).min() < 0.01
            and not (x.exact and y.exact)
        )
        if not close:
            make.put(ours, wanted, x, y)


def _rounded(make: Maker) -> None:
    x = make.pick(exact=True)
    if x is not None:
        make.put(*make.chance.choice(ROUNDED), x, exact=True)


def _reduction(make: Maker) -> None:
    x = make.pick(among=lambda one: len(one.shape) > 0)
    if x is None:
        return
    rank = len(x.shape)
    axes = tuple(sorted(make.chance.sample(range(rank), make.chance.randint(1, rank))))
    keep = make.chance.random() < 0.6
    word = make.chance.choice(["sum", "mean", "amax", "amin"])
    if word in ("amax", "amin") and (not x.exact or word == "amin"):
        # a rounding must not change the maximum
        word = "mean"
    flag = {"sum": "keepdim", "mean": "keep_dims", "amax": "keepdims", "amin": "keepdims"}[word]
    name = {"sum": "sum", "mean": "mean", "amax": "max", "amin": "min"}[word]
    axis = "dim" if word == "sum" else "axis"
    make.put(
        f"ops.{word}({{0}}, {axis}={axes}, {flag}={keep})",
        f"np.{name}({{0}}, axis={axes}, keepdims={keep})",
        x,
    )


def _product(make: Maker) -> None:
    x = make.pick(among=lambda one: len(one.shape) >= 2)
    y = make.pick(
        among=lambda one: x is not None and len(one.shape) == 2 and one.shape[0] == x.shape[-1]
    )
    if x is not None and y is not None:
        make.put("ops.matmul({0}, {1}) * 0.125", "({0} @ {1}) * 0.125", x, y)


def moved(make: Maker) -> None:
    """Another order or another shape, which may name every size."""
    x = make.pick(among=lambda one: len(one.shape) >= 2)
    if x is None:
        return
    rank, way = len(x.shape), make.chance.randrange(5)
    if way == 0:
        order = tuple(make.chance.sample(range(rank), rank))
        make.put(
            f"ops.transpose({{0}}, {order})", f"np.transpose({{0}}, {order})", x, exact=x.exact
        )
    elif way == 1:
        shape = (*x.shape[:-2], x.shape[-2] * x.shape[-1])
        make.put(f"ops.reshape({{0}}, {shape})", f"np.reshape({{0}}, {shape})", x, exact=x.exact)
    elif way == 2:
        shape = (2, *x.shape)
        make.put(
            f"ops.broadcast_to({{0}}, {shape})",
            f"np.broadcast_to({{0}}, {shape})",
            x,
            exact=x.exact,
        )
    elif way == 3 and x.shape[-1] > 2:
        part = make.chance.choice(["[..., 1:]", "[..., ::2]", "[..., :-1]"])
        make.put(f"{{0}}{part}", f"{{0}}{part}", x, exact=x.exact)
    elif way == 4:
        make.put("ops.concat(({0}, {0}), -1)", "np.concatenate(({0}, {0}), -1)", x, exact=x.exact)


def _compared(make: Maker) -> None:
    x = make.pick(make.chance.choice(["float", "whole"]), exact=True)
    y = make.beside(x, exact=True) if x is not None else None
    word = make.chance.choice(COMPARED)
    if x is not None and y is not None:
        make.put(
            f"ops.{word}({{0}}, {{1}})", f"np.{word}({{0}}, {{1}})", x, y, kind="bool", exact=True
        )


def _logical(make: Maker) -> None:
    x = make.pick("bool")
    y = make.beside(x) if x is not None else None
    if x is None or y is None:
        return
    way = make.chance.randrange(4)
    if way == 0:
        make.put("ops.logical_not({0})", "np.logical_not({0})", x, kind="bool", exact=True)
    elif way == 3 and x.shape:
        make.put("ops.any({0}, -1)", "np.any({0}, -1)", x, kind="bool", exact=True)
    else:
        word = ("logical_and", "logical_or")[way % 2]
        make.put(
            f"ops.{word}({{0}}, {{1}})", f"np.{word}({{0}}, {{1}})", x, y, kind="bool", exact=True
        )


def _chosen(make: Maker) -> None:
    x = make.pick()
    y = make.pick(among=lambda one: x is not None and one.shape == x.shape)
    choice = make.pick("bool", among=lambda one: x is not None and one.shape == x.shape)
    if x is not None and y is not None and choice is not None:
        make.put(
            "ops.select({0}, {1}, {2})",
            "np.where({0}, {1}, {2})",
            choice,
            x,
            y,
            exact=x.exact and y.exact,
        )


def _whole(make: Maker) -> None:
    x = make.pick("whole")
    y = make.beside(x) if x is not None else None
    if x is None or y is None:
        return
    ours, wanted = make.chance.choice(
        (
            ("ops.add({0}, {1})", "{0} + {1}"),
            ("ops.sub({0}, {1})", "{0} - {1}"),
            ("ops.mul({0}, {1})", "{0} * {1}"),
            ("ops.maximum({0}, {1})", "np.maximum({0}, {1})"),
            ("ops.floor_div({0}, 3)", "{0} // 3"),
            ("ops.neg({0})", "-{0}"),
        )
    )
    if x.kind == "uint8" and ("//" in wanted or wanted == "-{0}"):
        return
    given = (x, y) if "{1}" in ours else (x,)
    with np.errstate(all="ignore"):
        make.put(ours, f"({wanted}).astype(np.{x.kind})", *given, kind=x.kind, exact=True)


def _to_float(make: Maker) -> None:
    x = make.pick(
        make.chance.choice(["bool", "whole"]),
        among=lambda one: one.kind == "bool" or np.abs(one.array.astype(np.float64)).max() < 60,
    )
    if x is not None:
        make.put("ops.cast({0}, F)", "({0}).astype(np.float64)", x, exact=True)


def _to_whole(make: Maker) -> None:
    x = make.pick(exact=True)
    if x is not None:
        make.put("ops.cast({0}, ms.int32)", "({0}).astype(np.int32)", x, kind="int32", exact=True)


KINDS: tuple[Kind, ...] = (
    *[_unary] * 8,
    *[_binary] * 6,
    *[_reduction] * 3,
    *[moved] * 2,
    _product,
    _rounded,
    _compared,
    _logical,
    _chosen,
    _chosen,
    _whole,
    _to_float,
    _to_whole,
)


def _inputs(make: Maker) -> None:
    """Three broadcast float inputs and one integer input."""
    rows, columns = (
        make.chance.choice([1, 3, 8, 17, 33]),
        make.chance.choice([2, 7, 16, 40, 65]),
    )
    shapes = [
        (rows, columns),
        (columns,),
        (rows, 1),
        (make.chance.choice([1, 2, 3]), rows, columns),
        (columns, make.chance.choice([4, 9])),
    ]
    for number, shape in enumerate([shapes[0], *make.chance.sample(shapes, 2)]):
        make.input(f"x{number}", "float", make.eighths(shape))
    whole = make.chance.choice(WHOLE)
    make.input(
        "n0", whole, make.draws.integers(0 if whole == "uint8" else -6, 7, shapes[0]).astype(whole)
    )


def draw(seed: int) -> Network:
    """The network of a seed: 2 to 40 operators; most are float32, some float16 or float64."""
    chance = random.Random(seed * 7919 + 1)
    dtype = chance.choice(["float32", "float32", "float32", "float16", "float64"])
    make = Maker(seed, dtype, chance.randint(2, 40), KINDS)
    _inputs(make)
    return make.network(seed)
