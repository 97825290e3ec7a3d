"""Random DSL graphs: operations of every family, raw computes, every dtype, dynamic sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tbe_impl.dsl as dsl
from tbe_impl.dsl import ext
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import (
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    Var,
    cast,
    const,
    make_binary,
    select,
)
from tbe_impl.dsl.tensor import Tensor, compute, placeholder
from tbe_impl.errors import FusionError
from tbe_impl.interpreter import evaluate

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, "float32", "float32", *INTEGERS, "bool")
SIZES = (1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 31, 33, 64)
MOST_ELEMENTS = 6000
NARROW = ("float16", "bfloat16")


@dataclass(frozen=True)
class Node:
    """A tensor of a growing graph.

    Attributes:
        tensor: the tensor.
        is_exact: whether every correct evaluation gives the same bits: no float sums and no
            transcendental functions.
        sample: its value for the inputs of the graph.
    """

    tensor: Tensor
    is_exact: bool
    sample: np.ndarray


@dataclass
class RandomGraph:
    """A graph, with arrays for its inputs.

    Attributes:
        seed: reproduces it.
        nodes: all its nodes.
        inputs: its placeholders, each with an array.
        values: ``id`` of a dynamic size → its value.
        outputs: the requested nodes.
    """

    seed: int
    nodes: list[Node] = field(default_factory=list)
    inputs: list[tuple[Tensor, np.ndarray]] = field(default_factory=list)
    values: dict[int, int] = field(default_factory=dict)
    outputs: list[Node] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        rank = int(self.rng.choice([0, 1, 2, 2, 3, 3, 4]))
        self.base: list[Any] = []
        elements = 1
        for _ in range(rank):
            size = int(self.rng.choice([*SIZES, 0] if self.chance(0.1) else SIZES))
            size = min(size, max(MOST_ELEMENTS // max(elements, 1), 1)) if size else 0
            elements *= size
            if self.chance(0.15) and size:
                variable = Var("n", bound=(1, None))
                self.values[id(variable)] = size
                self.base.append(variable)
            else:
                self.base.append(const(size))

    def chance(self, share: float) -> bool:
        """True in this share of cases."""
        return bool(self.rng.random() < share)

    def pick(self, items: Sequence[Any]) -> Any:
        """One of them."""
        return items[int(self.rng.integers(len(items)))]

    def size(self, expression: Any) -> int:
        """A size in numbers."""
        if isinstance(expression, Const):
            return int(expression.value)
        return int(evaluate.evaluate_scalar(expression, self.values))

    def sizes(self, tensor: Tensor) -> tuple[int, ...]:
        """A shape in numbers."""
        return tuple(self.size(item) for item in tensor.shape)

    def input(self, shape: Sequence[Any], dtype: str, low: float = -4, high: float = 4) -> Node:
        """A new placeholder."""
        tensor = placeholder(list(shape), dtype)
        sizes, rng = self.sizes(tensor), self.rng
        if dtype == "bool":
            array = rng.integers(0, 2, sizes).astype(bool)
        elif is_float(dtype):
            array = rng.uniform(low, high, sizes).astype(dtype_of(dtype).numpy)
            if self.chance(0.3):
                array = np.round(array.astype(np.float64)).astype(array.dtype)
        else:
            limits = np.iinfo(dtype)
            wide = self.chance(0.15)
            least = limits.min if wide else max(int(low) * 3, limits.min)
            most = limits.max if wide else min(int(high) * 3, limits.max)
            array = rng.integers(least, most, sizes, dtype, endpoint=True)
        self.inputs.append((tensor, array))
        node = Node(tensor, True, array)
        self.nodes.append(node)
        return node

    def source(self, *kinds: str, exact: bool = False, rank: int = 0) -> Node:
        """A node of one of the kinds (``float``, ``int``, ``uint``, ``bool``), or a new input."""
        fitting = [
            node
            for node in self.nodes[-8:]
            if (not kinds or dtype_of(node.tensor.dtype).kind in kinds)
            and (node.is_exact or not exact)
            and node.tensor.ndim >= rank
        ]
        if fitting and self.chance(0.92):
            return self.pick(fitting)
        dtypes = [name for name in DTYPES if not kinds or dtype_of(name).kind in kinds]
        shape = (
            self.base
            if self.chance(0.8)
            else [const(1) if self.chance(0.4) else size for size in self.base]
        )
        while len(shape) < rank:
            shape = [const(int(self.pick((1, 3, 8)))), *shape]
        return self.input(shape, self.pick(dtypes))

    def partner(self, node: Node, *, exact: bool = False) -> Node:
        """Another node of its shape and dtype: an existing one, one broadcast to it, or a new
        input.
        """
        shape, dtype = node.tensor.shape, node.tensor.dtype
        same = [
            item
            for item in self.nodes
            if item.tensor.dtype == dtype
            and len(item.tensor.shape) == len(shape)
            and all(a is b or _same(a, b) for a, b in zip(item.tensor.shape, shape, strict=True))
            and (item.is_exact or not exact)
        ]
        if len(same) > 1 and self.chance(0.7):
            return self.pick(same)
        smaller = [
            item
            for item in self.nodes
            if item.tensor.dtype == dtype
            and self._broadcasts(item, node)
            and (item.is_exact or not exact)
        ]
        if smaller and self.chance(0.6):
            chosen = self.pick(smaller)
            return Node(dsl.broadcast(chosen.tensor, shape), chosen.is_exact, chosen.sample)
        if self.chance(0.4):
            keep = [const(1) if self.chance(0.5) else size for size in shape]
            made = self.input(keep[int(self.rng.integers(len(keep) + 1)) :], dtype)
            return Node(dsl.broadcast(made.tensor, shape), True, made.sample)
        return self.input(shape, dtype)

    def _broadcasts(self, item: Node, node: Node) -> bool:
        small, large = item.tensor.shape, node.tensor.shape
        return len(small) <= len(large) and all(
            _is_one(a) or _same(a, b)
            for a, b in zip(small, large[len(large) - len(small) :], strict=True)
        )

    def number(self, dtype: str) -> Any:
        """A scalar that fits."""
        if is_float(dtype):
            return float(np.round(self.rng.uniform(-3, 3), 2))
        return (
            int(self.rng.integers(0 if dtype.startswith("u") else -5, 6)) if dtype != "bool" else 1
        )

    def add(self, made: Any, *, exact: bool) -> None:
        """Adds new tensors; large values are clipped to a range."""
        for tensor in made if isinstance(made, (list, tuple)) else [made]:
            sample = self._sample(tensor)
            if sample.size > 4 * MOST_ELEMENTS:
                continue
            if is_float(tensor.dtype):
                wide = sample.astype(np.float64)
                if wide.size and not np.isfinite(wide).all() and self.chance(0.9):
                    continue
                if wide.size and np.abs(wide).max() > 64:
                    tensor = dsl.clip(tensor, 8.0, -8.0)
                    sample = self._sample(tensor)
            self.nodes.append(Node(tensor, exact, sample))

    def _sample(self, tensor: Tensor) -> np.ndarray:
        given = {id(node.tensor): node.sample for node in self.nodes}
        given |= {id(item): array for item, array in self.inputs}
        return evaluate.run([tensor], given, self.values)[0]


def _is_one(size: Expr) -> bool:
    return isinstance(size, Const) and size.value == 1


def _same(one: Expr, other: Expr) -> bool:
    return one is other or (
        isinstance(one, Const) and isinstance(other, Const) and one.value == other.value
    )


STEPS: list[Callable[[RandomGraph], None]] = []


def step(function: Callable[[RandomGraph], None]) -> Callable[[RandomGraph], None]:
    """A function that extends a graph."""
    STEPS.append(function)
    return function


@step
def function_of_floats(g: RandomGraph) -> None:
    x = g.source("float")
    tame = dsl.clip(x.tensor, 4.0, -4.0)
    name = g.pick("vexp tanh sigmoid erf sin cos expm1 exp2 atan sinh cosh asinh erfc".split())
    g.add(_word(name)(tame), exact=False)


@step
def function_of_positive_floats(g: RandomGraph) -> None:
    x = g.source("float")
    above = dsl.vadds(dsl.vabs(x.tensor), 0.5)
    name = g.pick("vlog vsqrt vrsqrt vrec log1p log2 log10 acosh reciprocal".split())
    if name == "acosh":
        above = dsl.vadds(above, 1.0)
    exact = x.is_exact and name in ("vsqrt", "vrec", "reciprocal")
    g.add(_word(name)(above), exact=exact)


@step
def simple_function(g: RandomGraph) -> None:
    x = g.source("float", "int")
    name = g.pick(["vabs", "vrelu", "neg", "square"])
    g.add(_word(name)(x.tensor), exact=x.is_exact)


@step
def stepped_function(g: RandomGraph) -> None:
    x = g.source("float", exact=True)
    name = g.pick(["sign", "rint", "vsignbit", "isnan", "isfinite", "isinf"])
    g.add(_word(name)(x.tensor), exact=True)


@step
def arithmetic(g: RandomGraph) -> None:
    x = g.source("float", "int", "uint")
    y = g.partner(x)
    names = "vadd vsub vmul vmax vmin vaddrelu vsubrelu vdiv".split()
    if not is_float(x.tensor.dtype):
        names += "vand vor vxor floor_divide".split()
    g.add(_word(g.pick(names))(x.tensor, y.tensor), exact=x.is_exact and y.is_exact)


STEPS += [arithmetic, arithmetic]


@step
def remainder(g: RandomGraph) -> None:
    x = g.source("float", "int", "uint", exact=True)
    y = g.partner(x, exact=True)
    if dtype_of(x.tensor.dtype).kind == "float":
        g.add(_word(g.pick(["vmod", "floor_divide", "fmod"]))(x.tensor, y.tensor), exact=True)
    else:
        operation = g.pick(["floordiv", "floormod", "truncdiv", "truncmod"])
        g.add(
            _raw(x.tensor, lambda *i: make_binary(operation, x.tensor(*i), y.tensor(*i))),
            exact=True,
        )


@step
def power(g: RandomGraph) -> None:
    x = g.source("float")
    y = g.partner(x)
    base = dsl.vadds(dsl.vabs(x.tensor), 0.25)
    g.add(ext.pow(dsl.vmins(base, 3.0), dsl.clip(y.tensor, 3.0, -3.0)), exact=False)


@step
def three(g: RandomGraph) -> None:
    x = g.source("float", "int")
    y, z = g.partner(x), g.partner(x)
    name = g.pick(["vmla", "vmadd", "vmaddrelu", "vaxpy"])
    exact = x.is_exact and y.is_exact and z.is_exact
    if name == "vaxpy":
        g.add(dsl.vaxpy(x.tensor, y.tensor, g.number(x.tensor.dtype)), exact=exact)
    else:
        g.add(_word(name)(x.tensor, y.tensor, z.tensor), exact=exact)


@step
def with_scalar(g: RandomGraph) -> None:
    x = g.source("float", "int", "uint")
    number = g.number(x.tensor.dtype)
    name = g.pick(["vadds", "vmuls", "vmaxs", "vmins", "vlrelu"])
    if name == "vlrelu" and dtype_of(x.tensor.dtype).kind == "uint":
        name = "vmaxs"
    g.add(_word(name)(x.tensor, number), exact=x.is_exact)


STEPS.append(with_scalar)


@step
def comparison(g: RandomGraph) -> None:
    x = g.source(exact=True)
    operation = g.pick(["eq", "ne", "lt", "gt", "ge", "le"])
    if x.tensor.dtype == "bool":
        y = g.partner(x, exact=True)
        g.add(
            dsl.vlogic(x.tensor, y.tensor, g.pick(["logic_and", "logic_or", "logic_not"])),
            exact=True,
        )
        return
    y = g.partner(x, exact=True)
    other = y.tensor if g.chance(0.7) else g.number(x.tensor.dtype)
    last = x.tensor.shape[-1] if x.tensor.ndim else const(1)
    packs = isinstance(last, Const) and last.value % 8 == 0 and last.value > 0 and g.chance(0.4)
    mask = dsl.vcmp(x.tensor, other, operation, "bit" if packs else "bool")
    g.add(mask, exact=True)
    if g.chance(0.7):
        a, b = g.source("float"), None
        if (
            not packs
            and a.tensor.ndim == x.tensor.ndim
            and all(map(_same, a.tensor.shape, x.tensor.shape))
        ):
            b = g.partner(a)
            g.add(dsl.vsel(mask, a.tensor, b.tensor), exact=a.is_exact and b.is_exact)
        else:
            g.add(dsl.vsel(mask, x.tensor, g.number(x.tensor.dtype)), exact=True)


@step
def compare_and_select(g: RandomGraph) -> None:
    x = g.source("float", "int", "uint", exact=True)
    y = g.partner(x, exact=True)
    a, b = g.partner(x), g.partner(x)
    operation = g.pick(["eq", "ne", "lt", "gt", "ge", "le"])
    g.add(
        dsl.vcmpsel(x.tensor, y.tensor, operation, a.tensor, b.tensor),
        exact=a.is_exact and b.is_exact,
    )


@step
def conversion(g: RandomGraph) -> None:
    wanted = g.pick(DTYPES)
    x = g.source() if is_float(wanted) else g.source(exact=True)
    if (
        not is_float(x.tensor.dtype)
        and x.tensor.dtype != "bool"
        and wanted in NARROW
        and g.chance(0.8)
    ):
        wanted = "float32"
    g.add(dsl.cast_to(x.tensor, wanted), exact=x.is_exact)


STEPS.append(conversion)


@step
def rounding(g: RandomGraph) -> None:
    x = g.source("float", exact=True)
    name = g.pick(["floor", "ceil", "round", "trunc", "round_half_up"])
    g.add(_word(name)(x.tensor, g.pick([*INTEGERS, "float32"])), exact=True)


@step
def broadcast(g: RandomGraph) -> None:
    x = g.source()
    larger = [
        size if not _is_one(size) else g.pick([size, const(int(g.pick(SIZES)))])
        for size in x.tensor.shape
    ]
    if len(larger) < 4 and g.chance(0.5):
        larger = [const(int(g.pick((1, 2, 5)))), *larger]
    g.add(dsl.broadcast(x.tensor, larger), exact=x.is_exact)


@step
def reduction(g: RandomGraph) -> None:
    name = g.pick(
        "reduce_sum reduce_sum reduce_max reduce_min reduce_prod reduce_mean reduce_all "
        "reduce_any tuple_sum".split()
    )
    steps = name in ("reduce_all", "reduce_any")
    x = g.source(rank=1, exact=steps)
    if steps and 0 in g.sizes(x.tensor):
        return
    axes = [axis for axis in range(x.tensor.ndim) if g.chance(0.5)] or [
        int(g.rng.integers(x.tensor.ndim))
    ] * g.chance(0.9)
    axes = [axis - x.tensor.ndim if g.chance(0.3) else axis for axis in axes]
    if x.tensor.dtype == "bool" and name not in ("reduce_all", "reduce_any"):
        name = "reduce_any"
    floats = is_float(x.tensor.dtype)
    tensor = x.tensor
    if name == "reduce_prod" and floats:
        tensor = dsl.vadds(dsl.vmuls(tensor, 0.01), 1.0)
    if name == "reduce_mean" and not floats:
        name = "reduce_sum"
    exact = x.is_exact and (not floats or name in ("reduce_max", "reduce_min") or steps)
    if name == "tuple_sum":
        y = g.partner(x)
        g.add(dsl.tuple_sum([tensor, y.tensor], axes, g.chance(0.5)), exact=exact and y.is_exact)
        return
    made = _word(name)(tensor, axes, g.chance(0.6))
    g.add(made, exact=exact)
    if made.ndim == x.tensor.ndim and made.dtype == x.tensor.dtype and g.chance(0.7):
        # as in a softmax: the rows meet their reductions again
        back = dsl.broadcast(made, x.tensor.shape)
        g.add(
            _word(g.pick(["vsub", "vmul", "vmax"]) if made.dtype != "bool" else "vlogic")(
                x.tensor, back
            ),
            exact=exact,
        )


STEPS += [reduction, reduction]


@step
def normalisation(g: RandomGraph) -> None:
    x = g.source("float", rank=1)
    axes = [axis for axis in range(x.tensor.ndim) if g.chance(0.6)] or [x.tensor.ndim - 1]
    shape = x.tensor.shape
    mean = dsl.reduce_mean(x.tensor, axes, True)
    away = dsl.vsub(x.tensor, dsl.broadcast(mean, shape))
    variance = dsl.reduce_mean(dsl.vmul(away, away), axes, True)
    scale = dsl.vrsqrt(dsl.vadds(variance, 0.5))
    g.add(dsl.vmul(away, dsl.broadcast(scale, shape)), exact=False)
    if g.chance(0.5):
        g.add([mean, variance], exact=False)


@step
def total_of_rows(g: RandomGraph) -> None:
    """As in the gradient of a softmax loss: rows meet their reductions, followed by a sum over
    everything.
    """
    x = g.source("float", rank=2)
    shape, rank = x.tensor.shape, x.tensor.ndim
    rows = [axis for axis in range(rank) if g.chance(0.5)] or [rank - 1]
    power = dsl.vexp(dsl.clip(x.tensor, 2.0, -2.0))
    total = dsl.vadds(dsl.reduce_sum(power, rows, True), 1.0)
    share = dsl.vdiv(power, dsl.broadcast(total, shape))
    axes = [axis for axis in range(rank) if g.chance(0.8)] or [0]
    g.add(dsl.reduce_sum(dsl.vmul(share, share), axes, g.chance(0.5)), exact=False)
    if g.chance(0.5):
        g.add(share, exact=False)


STEPS.append(total_of_rows)


@step
def movement(g: RandomGraph) -> None:
    x = g.source(rank=1)
    rank, shape = x.tensor.ndim, x.tensor.shape
    kind = g.pick("transpose reverse pad tile strided_slice reshape split set_value".split())
    axis = int(g.rng.integers(rank))
    if kind == "transpose":
        made: Any = dsl.transpose(x.tensor, [int(item) for item in g.rng.permutation(rank)])
    elif kind == "reverse":
        made = ext.reverse(x.tensor, [axis])
    elif kind == "pad":
        made = ext.pad(
            x.tensor,
            [(int(a), int(b)) for a, b in g.rng.integers(0, 3, (rank, 2))],
            g.number(x.tensor.dtype),
        )
    elif kind == "tile":
        made = ext.tile(x.tensor, [int(item) for item in g.rng.integers(1, 3, rank)])
    elif kind == "strided_slice":
        made = ext.strided_slice(
            x.tensor,
            [int(g.pick((0, 0, 1))) for _ in range(rank)],
            None,
            [int(g.pick((1, 1, 2, 3))) for _ in range(rank)],
        )
        if 0 in [max(size - 1, 0) for size in g.sizes(x.tensor)]:
            return
    elif kind == "reshape":
        made = (
            ext.reshape(x.tensor, [-1])
            if g.chance(0.5) or rank < 2
            else ext.reshape(x.tensor, [*shape[:-2], shape[-1], shape[-2]])
        )
        if 0 in g.sizes(x.tensor):
            return
    elif kind == "split":
        if not isinstance(shape[axis], Const):
            return
        first = int(g.rng.integers(0, shape[axis].value + 1))
        made = dsl.split(x.tensor, axis, [first, shape[axis].value - first])[1]
    else:
        made = dsl.set_value(x.tensor, lambda *i: i[axis] < 2, g.number(x.tensor.dtype))
    g.add(made, exact=x.is_exact)


STEPS.append(movement)


@step
def concatenation(g: RandomGraph) -> None:
    x = g.source(rank=1)
    y = g.partner(x)
    axis = int(g.rng.integers(x.tensor.ndim))
    z = g.input(
        [const(3) if k == axis else size for k, size in enumerate(x.tensor.shape)], x.tensor.dtype
    )
    g.add(dsl.concat([x.tensor, z.tensor, y.tensor], axis), exact=x.is_exact and y.is_exact)


@step
def look_up(g: RandomGraph) -> None:
    x = g.source(rank=1)
    axis = int(g.rng.integers(x.tensor.ndim))
    size = g.sizes(x.tensor)[axis]
    dtype = g.pick(["int32", "int64", "int8", "uint8", "uint16"])
    tensor = placeholder([int(g.pick((1, 5, 9)))], dtype)
    array = g.rng.integers(
        0 if dtype.startswith("u") else -2, min(size + 3, 120), g.sizes(tensor)
    ).astype(dtype)
    g.inputs.append((tensor, array))
    g.add(dsl.gather(x.tensor, tensor, axis, 0, g.chance(0.5)), exact=x.is_exact)
    if g.chance(0.3):
        g.add(ext.one_hot(tensor, 6, dtype=g.pick(["float32", "int8", "float16"])), exact=True)


@step
def rows_by_number(g: RandomGraph) -> None:
    x = g.source(rank=1, exact=True)
    if x.tensor.dtype in NARROW:
        # library operands are rounded, stage operands are not
        return
    floats = is_float(x.tensor.dtype)
    ids = placeholder([x.tensor.shape[0]], g.pick(["int32", "int64"]))
    g.inputs.append((ids, g.rng.integers(-2, 7, g.sizes(ids)).astype(ids.dtype)))
    kind = g.pick(["sum", "max", "min"])
    made = _word(f"unsorted_segment_{kind}")(
        x.tensor, ids, int(g.pick((1, 4, 5))), g.number(x.tensor.dtype)
    )
    g.add(made, exact=not floats or kind != "sum")


@step
def positions(g: RandomGraph) -> None:
    x = g.source("float", "int", "uint", rank=1, exact=True)
    axis = int(g.rng.integers(x.tensor.ndim))
    if x.tensor.dtype in NARROW or g.sizes(x.tensor)[axis] == 0:
        return
    g.add(_word(g.pick(["argmax", "argmin"]))(x.tensor, axis, g.chance(0.5)), exact=True)


@step
def by_a_library(g: RandomGraph) -> None:
    x = g.source("float", "int", rank=1)
    if x.tensor.dtype in NARROW:
        # library operands are rounded, stage operands are not
        return
    g.add(
        ext.cumsum(x.tensor, int(g.rng.integers(x.tensor.ndim))), exact=not is_float(x.tensor.dtype)
    )


@step
def neighbours(g: RandomGraph) -> None:
    """A raw compute that reads neighbours and guards the border."""
    x = g.source("float", "int", "uint", rank=1)
    t, axis, by = x.tensor, int(g.rng.integers(x.tensor.ndim)), int(g.pick((1, 2, -1)))
    border = const(g.number(t.dtype), t.dtype)

    def body(*i: Any) -> Any:
        at = i[axis] - by
        beside = t(*i[:axis], at, *i[axis + 1 :])
        inside = make_binary("and", at >= 0, at < t.shape[axis])
        return select(inside, beside, border) + t(*i)

    g.add(_raw(t, body), exact=x.is_exact)


@step
def coarse_indices(g: RandomGraph) -> None:
    """Indices with division and remainder, and an index as a value."""
    x = g.source("float", "int", rank=1)
    t, axis, by = x.tensor, int(g.rng.integers(x.tensor.ndim)), int(g.pick((2, 3)))
    operation = g.pick(["floordiv", "floormod", "truncdiv"])
    if 0 in g.sizes(t) or (operation == "floormod" and g.sizes(t)[axis] < by):
        return

    def body(*i: Any) -> Any:
        at = make_binary(operation, i[axis], by)
        return t(*i[:axis], at, *i[axis + 1 :]) + cast(t.dtype, i[-1] * 2 + i[0])

    g.add(_raw(t, body), exact=x.is_exact)


@step
def several_outputs(g: RandomGraph) -> None:
    x = g.source("float", "int")
    y = g.partner(x)
    a, b = x.tensor, y.tensor

    def body(*i: Any) -> Any:
        half = a(*i) + b(*i) * const(g.number(a.dtype), a.dtype)
        return [half, half * half, half - a(*i)]

    g.add(_raw(a, body), exact=x.is_exact and y.is_exact)


@step
def raw_reduction(g: RandomGraph) -> None:
    """A product of matrices, or a sum with a condition or over a part of an axis."""
    x = g.source("float", "int", "uint", rank=2)
    t = x.tensor
    y = g.partner(x)
    kind = g.pick(["product", "condition", "part"])
    exact = x.is_exact and y.is_exact and not is_float(t.dtype)
    batch, rows, columns = t.shape[:-2], t.shape[-2], t.shape[-1]
    if kind == "product":
        k = IterVar(Range(columns), "k", "reduce")
        g.add(
            compute(
                [*batch, rows, rows],
                lambda *i: Reduce("sum", t(*i[:-1], k) * y.tensor(*i[:-2], i[-1], k), [k]),
            ),
            exact=exact,
        )
    elif kind == "condition":
        k = IterVar(Range(rows), "k", "reduce")
        g.add(
            compute(
                [*batch, columns],
                lambda *i: Reduce(
                    g.pick(["sum", "max", "min"]),
                    t(*i[:-1], k, i[-1]),
                    [k],
                    make_binary("gt", k, 1),
                ),
            ),
            exact=exact,
        )
    elif g.sizes(t)[-1] > 1:
        k = IterVar(Range(1, columns), "k", "reduce")
        g.add(
            compute([*batch, rows], lambda *i: Reduce("sum", t(*i, k) + y.tensor(*i, k - 1), [k])),
            exact=exact,
        )


def _raw(like: Tensor, body: Callable[..., Any]) -> Any:
    return compute(like.shape, body)


def _word(name: str) -> Callable[..., Any]:
    return dsl.OPERATIONS[name] if name in dsl.OPERATIONS else ext.EXT_OPERATIONS[name]


def make(seed: int, *, steps: int = 0) -> RandomGraph:
    """A graph that depends only on the seed."""
    g = RandomGraph(seed)
    g.input(g.base, g.pick(DTYPES))
    for _ in range(steps or int(g.rng.integers(2, 12))):
        before = len(g.nodes)
        try:
            with np.errstate(all="ignore"):
                g.pick(STEPS)(g)
        except FusionError:
            # an operation that does not support this dtype or shape raises
            del g.nodes[before:]
    last = g.nodes[-1]
    others = [node for node in g.nodes if g.chance(0.2) and node is not last]
    chosen = {id(node.tensor): node for node in [*others[:3], last]}
    g.outputs = list(chosen.values())
    return g
