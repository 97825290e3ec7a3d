"""Random trained Cells as text: layers, masks, tables, attention heads, moves, Python loops.

They are drawn like the networks of `random_networks`, with more operators. A loop is one text that
MindSpore compiles and NumPy runs.
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import special

from tests.ms_fusion.kernel_server.optimizers import CLIPPINGS, OPTIMIZERS, Optimizer
from tests.ms_fusion.kernel_server.random_networks import (
    KINDS,
    OLD,
    OTHER,
    Kind,
    Maker,
    Network,
    Value,
    moved,
    replaced,
)
from tests.ms_fusion.kernel_server.vocabulary import EXACT, NOT_FLOAT64

WAYS = ("trained", "trained", "mixed", "changing")
"""Trained by an optimizer; the same after amp; called with batches of several sizes."""
LEVELS = ("O2", "O3", "auto")
"""Levels of amp. O1 rewrites the Cell's source and loses the names of its module."""
SAMPLES, PLACES = 9, 11
"""Size of a batch, unlike all other sizes, and of a lookup table."""

LOOPS = """
def recurrent(x, y, steps):
    state = x
    for at in range(steps):
        if at % 2 == 0:
            state = ops.tanh(state * 0.5 + y)
        else:
            state = ops.sin(state) - y * 0.25
    return state
def polynomial(x, factors):
    total = x * 0.0
    for factor in factors:
        total = total * x + factor
    return total
def one_by_one(x, way):
    state, found = x[0] * 0.0, []
    for at in range(x.shape[0]):
        state = state * 0.5 + x[at]
        found.append(ops.tanh(state))
    return ops.stack(found, 0) if way else ops.concat(found, -1)
def attended(x, deep):
    heads = ops.transpose(ops.reshape(x, (-1, 2, deep)), (1, 0, 2))
    near = ops.softmax(ops.matmul(heads, ops.transpose(heads, (0, 2, 1))) * 0.03125, -1)
    return ops.reshape(ops.transpose(ops.matmul(near, heads), (1, 0, 2)), (-1, 2 * deep))
def until(x, most):
    size = 1
    while size < most:
        x = ops.sin(x + size * 0.125)
        size = size * 2
    return x
"""
"""Python code around operators: loops, choices, lists, heads."""

LAYERS = """
class Tower(nn.Cell):
    def __init__(self, width, layers):
        super().__init__()
        self.steps = nn.CellList([nn.Dense(width, width, dtype=F) for _ in range(layers)])
    def construct(self, x):
        for step in self.steps:
            x = x + ops.tanh(step(x) * 0.125)
        return x
"""
EXACT_LAYERS = """
class LayerNorm(nn.Cell):
    def __init__(self, shape, dtype):
        super().__init__()
        self.gamma, self.beta = (
            ms.Parameter(ms.Tensor(np.zeros(shape), dtype), name=one) for one in ("gamma", "beta")
        )
    def construct(self, x):
        off = x - ops.mean(x, -1, True)
        factor = ops.rsqrt(ops.mean(off * off, -1, True) + ms.Tensor(1e-7, F))
        return off * factor * self.gamma + self.beta
class Embedding(nn.Cell):
    def __init__(self, places, width, dtype):
        super().__init__()
        table = ms.Tensor(np.zeros([places, width]), dtype)
        self.embedding_table = ms.Parameter(table, name="embedding_table")
    def construct(self, at):
        return ops.gather(self.embedding_table, at, 0)
"""
"""Replacements where MindSpore has no float64."""


def _in_numpy() -> dict[str, Any]:
    """The loops, computed by NumPy."""
    ops = SimpleNamespace(
        concat=np.concatenate,
        matmul=np.matmul,
        reshape=np.reshape,
        sin=np.sin,
        softmax=special.softmax,
        stack=np.stack,
        tanh=np.tanh,
        transpose=np.transpose,
    )
    names: dict[str, Any] = {"ops": ops}
    exec(LOOPS, names)  # noqa: S102 - our own text

    def tower(x: Any, *weights: Any) -> Any:
        for weight, bias in zip(weights[::2], weights[1::2], strict=True):
            x = x + np.tanh((x @ weight.T + bias) * 0.125)
        return x

    return names | {"tower": tower}


@dataclass(frozen=True)
class RandomCell:
    """One Cell.

    Attributes:
        network: its computation, of its inputs and its weights.
        weights: name of a parameter → its content, exact in every float dtype.
        layers: source lines of its layers.
        way: one of `WAYS`.
        level: level of amp, where it is ``mixed``.
        optimizer, clipping: update of a step.
        as_cell: whether the step is a Cell, or a compiled function.
    """

    network: Network
    weights: Mapping[str, Any]
    layers: tuple[str, ...]
    way: str
    level: str
    optimizer: Optimizer
    clipping: str
    as_cell: bool

    def text(self, *, exact: bool) -> str:
        """A module with ``Net`` and ``stepper(net, optimizer)``; `exact`: float64 floats."""
        network = self.network
        dtype = "float64" if exact else network.dtype
        other = "float64" if exact else OTHER[network.dtype]
        spelled = tuple(EXACT) if exact else NOT_FLOAT64 if dtype == "float64" else ()
        own = [name for name in self.weights if "." not in name]
        given, outputs = ", ".join(network.inputs), ", ".join(network.outputs)
        layers = [
            re.sub(r"nn\.(LayerNorm|Embedding)", r"\1", line) if exact else line
            for line in self.layers
        ]
        shapes = {name: list(self.weights[name].shape) for name in own}
        weighed = " + ".join(
            f"ops.mean(ops.cast({name}, W)) * {0.5 + at}" for at, name in enumerate(network.outputs)
        )
        clipped = CLIPPINGS[self.clipping][0]
        return (
            "\n".join(
                [
                    "import mindspore as ms",
                    "import numpy as np",
                    "from mindspore import mint, nn, ops",
                    f"F, H, W = ms.{dtype}, ms.{other}, "
                    f"ms.{'float64' if dtype == 'float64' else 'float32'}",
                    *(EXACT[name] for name in spelled),
                    LOOPS,
                    LAYERS,
                    EXACT_LAYERS,
                    "class Net(nn.Cell):",
                    "    def __init__(self):",
                    "        super().__init__()",
                    *(
                        f"        self.{name} = ms.Parameter(ms.Tensor(np.zeros({shape}), F), "
                        f"name='{name}')"
                        for name, shape in shapes.items()
                    ),
                    *(f"        {line}" for line in layers),
                    f"    def construct(self, {given}):",
                    *(f"        {name} = self.{name}" for name in own),
                    *(f"        {replaced(line, spelled)}" for line in network.body),
                    f"        return {weighed}, {outputs}",
                    "class Step(nn.Cell):",
                    "    def __init__(self, net, optimizer):",
                    "        super().__init__()",
                    "        self.net, self.optimizer = net, optimizer",
                    "        self.gradient = ms.value_and_grad(net, None, optimizer.parameters, "
                    "has_aux=True)",
                    f"    def construct(self, {given}):",
                    f"        results, slopes = self.gradient({given})",
                    f"        results = ops.depend(results, "
                    f"self.optimizer({clipped.format('slopes')}))",
                    "        return results",
                    "def stepper(net, optimizer):",
                    "    gradient = ms.value_and_grad(net, None, optimizer.parameters, "
                    "has_aux=True)",
                    "    @ms.jit",
                    f"    def step({given}):",
                    f"        results, slopes = gradient({given})",
                    f"        optimizer({clipped.format('slopes')})",
                    "        return results",
                    "    return step",
                ]
            )
            + "\n"
        )


def _weight(make: Maker, *shape: int, name: str = "") -> Value:
    """Adds a parameter, of the Cell itself unless `name` is a layer's."""
    found = name or f"p{len(make.weights)}"
    make.weights[found] = array = make.eighths(shape)
    value = Value(found.replace(".", "_"), "float", array, False)
    if not name:
        make.values.append(value)
    return value


def _layer(
    make: Maker, text: str, *weights: tuple[str, tuple[int, ...]]
) -> tuple[str, list[Value]]:
    """Adds a layer: its name, and its parameters."""
    name = f"l{len(make.layers)}"
    make.layers.append(f"self.{name} = {text}")
    return name, [_weight(make, *shape, name=f"{name}.{one}") for one, shape in weights]


def _columns(make: Maker) -> Value | None:
    """A value with rows and columns."""
    return make.pick(among=lambda one: len(one.shape) >= 2 and one.shape[-1] > 1)


def _dense(make: Maker) -> None:
    x = _columns(make)
    if x is None:
        return
    width, wider = x.shape[-1], make.chance.choice([3, 8, 16])
    name, (weight, bias) = _layer(
        make, f"nn.Dense({width}, {wider}, dtype=F)", ("weight", (wider, width)), ("bias", (wider,))
    )
    make.put(
        f"ops.tanh(self.{name}({{0}}) * 0.125)",
        "np.tanh(({0} @ {1}.T + {2}) * 0.125)",
        x,
        weight,
        bias,
    )


def _product_with_weight(make: Maker) -> None:
    x = _columns(make)
    if x is not None:
        weight = _weight(make, x.shape[-1], make.chance.choice([2, 5, 16]))
        make.put(
            "ops.relu(ops.matmul({0}, {1}) * 0.125 + 0.03125)",
            "np.maximum({0} @ {1} * 0.125 + 0.03125, 0)",
            x,
            weight,
        )


def _tower(make: Maker) -> None:
    x = _columns(make)
    if x is None:
        return
    width = x.shape[-1]
    every = [
        (f"steps.{at}.{one}", shape)
        for at in range(2)
        for one, shape in (("weight", (width, width)), ("bias", (width,)))
    ]
    name, weights = _layer(make, f"Tower({width}, 2)", *every)
    make.put(f"self.{name}({{0}})", "tower({0}, {1}, {2}, {3}, {4})", x, *weights)


def _normed(make: Maker) -> None:
    x = make.pick(
        among=lambda one: (
            len(one.shape) >= 2 and one.shape[-1] > 3 and bool(np.var(one.array, -1).min() > 0.05)
        )
    )
    if x is None:
        return
    width = x.shape[-1]
    name, (gamma, beta) = _layer(
        make, f"nn.LayerNorm(({width},), dtype=F)", ("gamma", (width,)), ("beta", (width,))
    )
    off = "({0} - np.mean({0}, -1, keepdims=True))"
    make.put(
        f"self.{name}({{0}})",
        f"{off} / np.sqrt(np.var({{0}}, -1, keepdims=True) + 1e-7) * {{1}} + {{2}}",
        x,
        gamma,
        beta,
    )


def _scaled(make: Maker) -> None:
    x = _columns(make)
    if x is not None:
        column = (x.shape[-2], 1) if len(x.shape) > 2 else (1,)
        weight = _weight(make, *make.chance.choice([(x.shape[-1],), column, (1,)]))
        make.put("{0} * {1} + {1}", "{0} * {1} + {1}", x, weight)


def _embedded(make: Maker) -> None:
    width = make.chance.choice([4, 7, 16])
    numbers = Value("i0", "int32", make.inputs["i0"], True)
    if make.chance.random() < 0.5:
        name, (table,) = _layer(
            make, f"nn.Embedding({PLACES}, {width}, dtype=F)", ("embedding_table", (PLACES, width))
        )
        make.put(f"self.{name}({{1}}) * 0.5", "{0}[{1}] * 0.5", table, numbers)
    else:
        table = _weight(make, PLACES, width)
        make.put("ops.gather({0}, {1}, 0) * 0.5", "{0}[{1}] * 0.5", table, numbers)


def _gathered(make: Maker) -> None:
    """Some columns, by constant indices, or by an index per row."""
    x = _columns(make)
    if x is None:
        return
    width = x.shape[-1]
    if make.chance.random() < 0.5:
        places = [make.chance.randrange(width) for _ in range(make.chance.choice([1, 3, 5]))]
        make.put(
            f"ops.gather({{0}}, ms.Tensor({places}, ms.int32), -1)",
            f"np.take({{0}}, {places}, -1)",
            x,
            exact=x.exact,
        )
    else:
        place = (
            "ops.argmax({0}, -1, True)"
            if x.exact and _apart(x.array)
            else "ops.zeros_like(ops.cast({0}[..., :1], ms.int64))"
        )
        meant = "np.max({0}, -1, keepdims=True)" if "argmax" in place else "{0}[..., :1]"
        make.put(f"ops.gather_elements({{0}}, -1, {place})", meant, x, exact=x.exact)


def _apart(array: Any) -> bool:
    """The largest of each row is unique."""
    two = np.sort(array, -1)[..., -2:]
    return bool((two[..., 1] - two[..., 0]).min() > 0.01)


def _masked(make: Maker) -> None:
    x = make.pick(among=lambda one: len(one.shape) >= 2)
    mask = make.pick("bool", among=lambda one: x is not None and _covers(x.shape, one.shape))
    if x is None or mask is None:
        return
    ours, wanted = make.chance.choice(
        (
            ("ops.where({1}, {0}, 0.25)", "np.where({1}, {0}, 0.25)"),
            ("ops.masked_fill({0}, {1}, -1.5)", "np.where({1}, -1.5, {0})"),
            ("{0} * ops.cast({1}, F)", "{0} * {1}"),
            (
                "ops.softmax(ops.masked_fill({0}, {1}, -1e4), -1)",
                "special.softmax(np.where({1}, -1e4, {0}), -1)",
            ),
        )
    )
    make.put(ours, wanted, x, mask, exact=x.exact and "softmax" not in ours)


def _covers(shape: tuple[int, ...], mask: tuple[int, ...]) -> bool:
    """Whether a mask broadcasts to a shape without changing it."""
    try:
        return np.broadcast_shapes(shape, mask) == shape
    except ValueError:
        return False


def _heads(make: Maker) -> None:
    """Self-attention of a value."""
    x = make.pick(
        among=lambda one: len(one.shape) == 2 and one.shape[-1] % 2 == 0 and one.shape[-2] > 1
    )
    if x is None:
        return
    call = f"attended({{0}}, {x.shape[-1] // 2})"
    make.put(call, call, x)


def _joined(make: Maker) -> None:
    x = _columns(make)
    y = make.pick(among=lambda one: x is not None and one.shape[:-1] == x.shape[:-1])
    if x is None or y is None or not y.shape:
        return
    ways = [("ops.concat(({0}, {1}, {0}), -1)", "np.concatenate(({0}, {1}, {0}), -1)")]
    if x.shape == y.shape:
        ways += [
            ("ops.stack(({0}, {1}), -1)", "np.stack(({0}, {1}), -1)"),
            ("ops.concat(({0}, {1}), -2)", "np.concatenate(({0}, {1}), -2)"),
        ]
    ours, wanted = make.chance.choice(ways)
    make.put(ours, wanted, x, y, exact=x.exact and y.exact)


def _parted(make: Maker) -> None:
    x = make.pick(among=lambda one: len(one.shape) >= 2 and one.shape[-1] % 2 == 0)
    if x is None:
        return
    half = x.shape[-1] // 2
    ours, wanted = make.chance.choice(
        (
            (
                f"ops.split({{0}}, {half}, -1)[0] * ops.sigmoid(ops.split({{0}}, {half}, -1)[1])",
                f"{{0}}[..., :{half}] * sigmoid({{0}}[..., {half}:])",
            ),
            (
                f"ops.concat((-{{0}}[..., {half}:], {{0}}[..., :{half}]), -1)",
                f"np.concatenate((-{{0}}[..., {half}:], {{0}}[..., :{half}]), -1)",
            ),
            ("ops.repeat_interleave({0}, 2, -1)", "np.repeat({0}, 2, -1)"),
        )
    )
    make.put(ours, wanted, x, exact=x.exact and "sigmoid" not in ours)


def _reshaped(make: Maker) -> None:
    """Moves that do not name the batch size."""
    x = make.pick(among=lambda one: len(one.shape) >= 2)
    if x is None:
        return
    if len(x.shape) == 2:
        ours, wanted = make.chance.choice(
            (
                ("ops.expand_dims({0}, 1)", "{0}[:, None]"),
                ("ops.transpose(ops.expand_dims({0}, 2), (0, 2, 1))", "{0}[:, None]"),
                ("ops.tile({0}, (1, 2))", "np.tile({0}, (1, 2))"),
                ("{0}[:, ::2]", "{0}[:, ::2]"),
            )
        )
    else:
        ours, wanted = make.chance.choice(
            (
                ("ops.reshape({0}, ({0}.shape[0], -1))", "{0}.reshape({0}.shape[0], -1)"),
                ("ops.swapaxes({0}, 1, 2)", "np.swapaxes({0}, 1, 2)"),
                ("{0}[:, 0]", "{0}[:, 0]"),
                ("ops.flatten({0})", "{0}.reshape({0}.shape[0], -1)"),
            )
        )
    make.put(ours, wanted, x, exact=x.exact)


def _looped(make: Maker) -> None:
    x = _columns(make)
    y = make.beside(x) if x is not None else None
    if x is None or y is None:
        return
    steps = make.chance.randint(1, 5)
    ways = [
        (f"recurrent({{0}}, {{1}}, {steps})", (x, y)),
        (
            f"polynomial({{0}} * 0.25, {[make.chance.randint(-4, 4) / 4 for _ in range(steps)]})",
            (x,),
        ),
        (f"until({{0}}, {2**steps})", (x,)),
    ]
    if x.shape[0] <= SAMPLES:
        ways += [(f"one_by_one({{0}}, {way})", (x,)) for way in (True, False)]
    call, given = make.chance.choice(ways)
    make.put(call, call, *given)


OWN: tuple[Kind, ...] = (
    *[_dense] * 2,
    *[_masked] * 2,
    *[_joined] * 2,
    *[_reshaped] * 2,
    _product_with_weight,
    _tower,
    _normed,
    _scaled,
    _embedded,
    _gathered,
    _heads,
    _parted,
    _looped,
)


def draw_cell(seed: int) -> RandomCell:
    """The Cell of a seed: 4 to 24 operators and layers."""
    chance = random.Random(seed * 6007 + 5)
    way = chance.choice(WAYS)
    dtype = chance.choice(("float32", "float32", "float16")) if way == "changing" else "float32"
    # operators that name the batch size, and a product of two dtypes, which amp creates and
    # MindSpore refuses
    out = {"changing": moved, "mixed": _product_with_weight}.get(way)
    kinds = [one for one in (*KINDS, *OWN, *OWN) if one is not out]
    # all draw from the complete vocabulary
    make = Maker(seed + OLD, dtype, chance.randint(4, 24), kinds)
    make.names |= _in_numpy()
    width = chance.choice([2, 4, 6, 7, 16])
    for number, shape in enumerate([(SAMPLES, width), (SAMPLES, 3, width), (SAMPLES, 1)]):
        make.input(f"x{number}", "float", make.eighths(shape))
    make.input("n0", "int32", make.draws.integers(-6, 7, (SAMPLES, width)).astype("int32"))
    make.input("i0", "int32", make.draws.integers(0, PLACES, (SAMPLES, 3)).astype("int32"))
    make.input("b0", "bool", make.draws.integers(0, 2, (SAMPLES, width)).astype(bool))
    _weight(make, width)
    network = make.network(seed)
    return RandomCell(
        replace(network, gradients=False),
        dict(make.weights),
        tuple(make.layers),
        way,
        chance.choice(LEVELS) if way == "mixed" else "O0",
        chance.choice(OPTIMIZERS),
        chance.choice(tuple(CLIPPINGS)),
        chance.random() < 0.5,
    )
