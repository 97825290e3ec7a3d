"""Runs loop IR in NumPy: the meaning of each node, with a check of every address.

Before the passes a vector loop is an ordinary loop: `lanes` is 1 and nothing is masked.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.vector_types import combine
from tbe_impl.dsl.array_semantics import BINARY_FUNCTIONS
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.functions import FUNCTIONS

KINDS = {
    **{
        name: np.dtype(f"{name[0]}{int(name[1:]) // 8}")
        for name in "f32 f64 i8 i16 i32 i64 u8 u16 u32 u64".split()
    },
    ir.MASK: np.dtype(bool),
}
MEMORY = {
    "f16": dtype_of("float16").numpy,
    "bf16": dtype_of("bfloat16").numpy,
    "b8": np.dtype(bool),
    **KINDS,
}
C_TYPES = {
    "float": "f4",
    "double": "f8",
    **{f"{u}int{bits}_t": f"{u or 'i'}{bits // 8}" for u in ("", "u") for bits in (8, 16, 32, 64)},
}
OPERATORS = {name: BINARY_FUNCTIONS[name] for name in "add sub mul eq ne lt le gt ge".split()} | {
    "div": np.true_divide,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "neg": np.negative,
    "not": np.invert,
}
SCALARS = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: int(a / b) if abs(a) < 1 << 52 else a // b,
    "mod": lambda a, b: a - int(a / b) * b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "bitand": lambda a, b: a & b,
    "bitnot": lambda a: ~a,
}
UPPER = {
    "maximum": np.maximum,
    "minimum": np.minimum,
    "max_so_far": np.maximum,
    "rec": lambda x: x.dtype.type(1) / x,
    "over": lambda a, b, *_: a / b,
    "nearly_over": lambda a, b, *_: a / b,
    "relu": lambda x: np.where(x > 0, x, np.where(x == x, x.dtype.type(0), x)),
    "above": lambda a, b: np.where(a > b, a, b),
    "below": lambda a, b: np.where(a < b, a, b),
    "select": lambda c, a, b: np.where(c, a, b),
    "exp_of_deficit": np.exp,
    "is_nan": np.isnan,
}
FAR = 80.0


class WrongAddress(AssertionError):
    """An access outside an array."""


@dataclass
class Place:
    """A pointer: an array and an offset in elements."""

    array: np.ndarray
    offset: int = 0


class _NextIteration(Exception):
    pass


class _Leave(Exception):
    pass


@dataclass
class Machine:
    """Runs functions.

    Attributes:
        lanes: number of lanes.
        macros: the macros of the headers that are 1.
        functions: the functions that others call, by name.
        free_bytes: how much memory is left to allocate.
        allocated: the arrays that are allocated and not yet released.
        result: the result of the last function that has one.
        ranges: the range to which `Restrict` restricts the loops over a variable.
    """

    lanes: int
    macros: frozenset[str] = frozenset()
    scopes: list[dict[str, Any]] = field(default_factory=lambda: [{}])
    bases: dict[int, int] = field(default_factory=dict)
    functions: dict[str, ir.Function] = field(default_factory=dict)
    free_bytes: int = 1 << 30
    allocated: list[np.ndarray] = field(default_factory=list)
    result: int = 0
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)

    def call(self, function: ir.Function, **arguments: Any) -> dict[str, Any]:
        """Calls a function; returns its variables at its end."""
        constants = {"LANES": self.lanes, "STRIP": 3, "SIGMOID_STRIP": 2}
        before, self.scopes = self.scopes, [constants, dict(arguments)]
        ranges, self.ranges = self.ranges, {}
        try:
            with np.errstate(all="ignore"):
                self.run((*function.declarations, *function.body))
            return self.scopes[-1]
        finally:
            self.scopes, self.ranges = before, ranges

    # statements

    def run(self, body: Iterable[ir.Stmt]) -> None:
        for node in body:
            getattr(self, f"_run_{type(node).__name__.lower()}")(node)

    def _scope(self, body: Iterable[ir.Stmt], **own: Any) -> None:
        self.scopes.append(own)
        try:
            self.run(body)
        finally:
            self.scopes.pop()

    def _assign(self, name: str, value: Any) -> None:
        next(scope for scope in reversed(self.scopes) if name in scope)[name] = value

    def _run_let(self, node: ir.Let) -> None:
        self.scopes[-1][node.name] = None if node.value is None else self.value(node.value)

    def _run_assign(self, node: ir.Assign) -> None:
        value = self.value(node.value)
        if isinstance(node.target, ir.Var):
            self._assign(node.target.name, value)
            return
        assert isinstance(node.target, ir.Element)
        target = self._name(node.target.array)
        place = [int(self.value(index)) for index in node.target.indices] or [0]
        if isinstance(target, Place):
            self._check(target.array, np.asarray(target.offset + place[0]))
            target.array[target.offset + place[0]] = value
        else:
            target[tuple(place) if len(place) > 1 else place[0]] = value

    def _run_reduce(self, node: ir.Reduce) -> None:
        target, value = self.value(node.target), self.value(node.value)
        if node.target.kind == ir.WIDE:
            found = target + value.astype(np.float64)
        else:
            kind = node.target.kind
            names = (ir.Var("target", kind), ir.Var("value", kind))
            self.scopes.append({"target": target, "value": value})
            found = self.value(combine(node.operator, kind, *names))
            self.scopes.pop()
        self._run_assign(ir.Assign(node.target, _Value(found)))

    def _run_store(self, node: ir.Store) -> None:
        place, value = self.value(node.place), self.value(node.value)
        stride = int(self.value(node.stride))
        count = 1 if not stride else self._count(node.count)
        self._write(place, stride, value[:count], node.memory)

    def _write(self, place: Place, stride: int, value: np.ndarray, memory: str) -> None:
        index = place.offset + stride * np.arange(len(value))
        self._check(place.array, index)
        if value.dtype == bool and memory == "i32":
            value = -value.astype(np.int32)
        array = _typed(place.array, memory)
        array[index] = value.astype(MEMORY[memory]).astype(array.dtype)

    def _run_accumulate(self, node: ir.Accumulate) -> None:
        place, value = self.value(node.place), self.value(node.value)
        count = self._count(node.count)
        index = place.offset + np.arange(count)
        self._check(place.array, index)
        place.array[index] += value[:count].astype(np.float64)

    def _run_prefetch(self, node: ir.Prefetch) -> None:
        """A hint."""

    _run_unused = _run_table = _run_prefetch

    def _run_evaluate(self, node: ir.Evaluate) -> None:
        call = node.call
        assert isinstance(call, ir.Call)
        if call.function == "stream":
            place, value = map(self.value, call.arguments)
            self._write(place, 1, value, call.prefix)
        else:
            self.value(call)

    def _run_attempt(self, node: ir.Attempt) -> None:
        with contextlib.suppress(_Leave):
            self.run(node.body)
        self.run(node.final)

    def _run_leave(self, node: ir.Leave) -> None:
        raise _Leave

    def _run_return(self, node: ir.Return) -> None:
        self.result = int(self.value(node.value))

    def _run_for(self, node: ir.For) -> None:
        assert not node.is_shared or not self._name("begin"), "a part of a shared loop"
        first, behind = self.ranges.get(node.over or node.name, (-(1 << 62), 1 << 62))
        own = {} if node.begin is None else {node.name: max(first, int(self.value(node.begin)))}
        self.scopes.append({**own, **dict.fromkeys(node.more, 0)})
        try:
            while True:
                at, end = self._name(node.name), min(behind, int(self.value(node.end)))
                room = 1 if node.room is None else int(self.value(node.room))
                if at + room > end:
                    break
                step = int(self.value(node.step))
                with contextlib.suppress(_NextIteration):
                    if node.over:
                        self._run_block_of(node, at, min(at + step, end))
                    else:
                        self._scope(node.body)
                self._assign(node.name, at + step)
        finally:
            self.scopes.pop()

    def _run_block_of(self, node: ir.For, begin: int, end: int) -> None:
        before = self.ranges.get(node.over, (0, 1 << 62))
        self.ranges[node.over] = begin, end
        self._scope(node.body, **{node.block_end.name: end})
        self.ranges[node.over] = before

    def _run_vectorloop(self, node: ir.VectorLoop) -> None:
        assert self.lanes == 1, "a vector loop after the passes"
        first, behind = self.ranges.get(node.name, (0, 1 << 62))
        begin, end = int(self.value(node.begin)), int(self.value(node.limit))
        for at in range(max(begin, first), min(end, behind)):
            self._scope(node.whole, **{node.name: at})

    def _run_if(self, node: ir.If) -> None:
        self._scope(node.then if self.value(node.condition) else node.otherwise)

    def _run_restrict(self, node: ir.Restrict) -> None:
        before = self.ranges.get(node.name, (0, 1 << 62))
        begin, end = int(self.value(node.begin)), int(self.value(node.end))
        self.ranges[node.name] = max(begin, before[0]), min(end, before[1])
        self.run(node.body)
        self.ranges[node.name] = before

    def _run_block(self, node: ir.Block) -> None:
        self._scope(node.body)

    def _run_targetif(self, node: ir.TargetIf) -> None:
        self.run(node.then if node.macro in self.macros else node.otherwise)

    def _run_alloc(self, node: ir.Alloc) -> None:
        shape = [int(self.value(size)) for size in node.shape]
        if node.element in C_TYPES:
            array = np.full(shape, 77, C_TYPES[node.element])
            self.scopes[-1][node.name] = Place(array) if len(shape) == 1 else array
        else:
            self.scopes[-1][node.name] = [None] * shape[0]

    def _run_packtile(self, node: ir.PackTile) -> None:
        place, count = self.value(node.place), int(self.value(node.count))
        tile = np.zeros((self.lanes, node.steps), place.array.dtype)
        for lane in range(int(self.value(node.lanes))):
            index = place.offset + lane * int(self.value(node.stride)) + np.arange(count)
            self._check(place.array, index)
            tile[lane, :count] = place.array[index]
        self.scopes[-1][node.name] = tile

    def _run_continue(self, node: ir.Continue) -> None:
        raise _NextIteration

    # expressions

    def _name(self, name: str) -> Any:
        return next(scope for scope in reversed(self.scopes) if name in scope)[name]

    def _count(self, count: ir.Expr | None) -> int:
        return self.lanes if count is None else int(self.value(count))

    def _check(self, array: np.ndarray | list[Any], index: np.ndarray) -> None:
        if index.size and (index.min() < 0 or index.max() >= len(array)):
            raise WrongAddress(f"{index} of {len(array)}")

    def value(self, node: ir.Expr) -> Any:
        """The value of an expression: an array of all lanes, a number or a `Place`."""
        return getattr(self, f"_value_of_{type(node).__name__.lower()}")(node)

    def _value_of__value(self, node: _Value) -> Any:
        return node.content

    def _value_of_var(self, node: ir.Var) -> Any:
        return node.name if node.kind in ("function", "type") else self._name(node.name)

    def _value_of_int(self, node: ir.Int) -> int:
        return node.value

    def _value_of_index(self, node: ir.Index) -> int:
        return sum(
            by * int(np.prod([self._name(name) for name in names], dtype=object))
            for names, by in node.terms
        )

    def _value_of_literal(self, node: ir.Literal) -> np.ndarray:
        return np.full(self.lanes, node.value, KINDS[node.kind])

    def _value_of_splat(self, node: ir.Splat) -> np.ndarray:
        return np.full(self.lanes, self.value(node.number)).astype(KINDS[node.kind])

    def _value_of_zero(self, node: ir.Zero) -> Any:
        if node.kind == "f32p":
            return 0.0
        return np.zeros(
            self.lanes, np.float64 if node.kind == ir.WIDE else KINDS.get(node.kind, int)
        )

    def _value_of_op(self, node: ir.Op) -> Any:
        if node.kind not in KINDS:
            if node.operator in ("and", "or"):
                a, b = node.operands
                first = bool(self.value(a))
                return bool(self.value(b)) if first == (node.operator == "and") else first
            if node.operator == "choose":
                condition, one, other = node.operands
                return self.value(one if self.value(condition) else other)
            values = [self.value(item) for item in node.operands]
            if node.operator == "not":
                return not values[0]
            if isinstance(values[0], Place):
                return Place(values[0].array, values[0].offset - int(values[1]))
            if node.kind == ir.ADDRESS and node.operator == "mod":
                return int(values[0]) % int(values[1])
            return SCALARS[node.operator](*(int(item) for item in values))
        values = [self.value(item) for item in node.operands]
        return OPERATORS[node.operator](*values)

    def _value_of_cast(self, node: ir.Cast) -> Any:
        value = self.value(node.value)
        if isinstance(value, list):
            return Place(value)
        if isinstance(value, Place) and isinstance(value.array, list):
            return value
        if isinstance(value, Place) and node.kind == "uintptr_t":
            base = self.bases.setdefault(id(value.array), 4096 * len(self.bases) + 16)
            return (1 << 40) + base + value.offset * value.array.itemsize
        if isinstance(value, Place):
            c = C_TYPES.get(node.kind.removesuffix(" *"))
            if value.array.dtype == np.uint8 and c is not None and value.array.ndim == 1:
                dtype = np.dtype(c)
                return Place(value.array.view(dtype), value.offset // dtype.itemsize)
            return value
        if node.kind in KINDS:
            return np.asarray(value).view(KINDS[node.kind])
        return np.float32(value) if node.kind == "float" else int(value)

    def _value_of_lane(self, node: ir.Lane) -> Any:
        return self.value(node.vector)[node.number]

    def _value_of_pointer(self, node: ir.Pointer) -> Place:
        base = self.value(node.base)
        base = Place(base) if isinstance(base, list) else base
        return Place(base.array, base.offset + sum(int(self.value(item)) for item in node.offsets))

    def _value_of_element(self, node: ir.Element) -> Any:
        array = self._name(node.array)
        place = tuple(int(self.value(index)) for index in node.indices)
        if isinstance(array, np.ndarray) and array.ndim == 2:
            return Place(array.reshape(-1), place[0] * array.shape[1] + place[1])
        if isinstance(array, Place):
            self._check(array.array, np.asarray(array.offset + place[0]))
            return array.array[array.offset + place[0]]
        return array[place[0]]

    def _value_of_addressof(self, node: ir.AddressOf) -> Any:
        assert isinstance(node.element, ir.Element)
        array = self._name(node.element.array)
        if isinstance(array, list):
            return Place(array, int(self.value(node.element.indices[0])))
        return self.value(node.element)

    def _value_of_field(self, node: ir.Field) -> Any:
        return self.value(node.structure)[node.name]

    def _value_of_structure(self, node: ir.Structure) -> dict[str, Any]:
        return dict(zip(node.names, map(self.value, node.values), strict=True))

    def _value_of_load(self, node: ir.Load) -> np.ndarray:
        place, stride = self.value(node.place), int(self.value(node.stride))
        count = self._count(node.count) if stride else self.lanes
        index = place.offset + stride * np.arange(count)
        self._check(place.array, index)
        found = np.zeros(self.lanes, KINDS[node.kind])
        found[:count] = _typed(place.array, node.memory)[index].astype(KINDS[node.kind])
        return found

    def _value_of_gather(self, node: ir.Gather) -> np.ndarray:
        place, indices = self.value(node.base), self.value(node.indices)
        self._check(place.array, place.offset + indices)
        array = _typed(place.array, node.memory)
        return array[place.offset + indices].astype(KINDS[node.kind])

    def _value_of_call(self, node: ir.Call) -> Any:
        if node.function == "sizeof":
            (item,) = node.arguments
            whole = isinstance(item, ir.Var) and item.kind != "type"
            # an element of a list takes one place
            return 8 * len(self.value(item)) if whole else 8 if isinstance(item, ir.Var) else 1
        values = [self.value(item) for item in node.arguments]
        if node.function in self.functions:
            return self._call_of(node.function, values)
        special = getattr(self, f"_call_{node.function}", None)
        if special is not None:
            return special(*values)
        if node.prefix == "f32p":
            return self._strip_function(node.function, *values)
        if node.kind not in KINDS:
            over_lanes = {"sum": np.sum, "min": np.min, "max": np.max, "prod": np.prod}
            if values[0].dtype == bool:  # a lane that is true is −1
                over_lanes = {"min": np.any, "max": np.all}
            return over_lanes[node.function](values[0])
        name, dtype = node.function.removesuffix("_to_half"), KINDS[node.kind]
        if node.function.startswith("from_"):
            return _convert(values[0], dtype, to_odd=node.function.endswith("_to_odd"))
        if name.startswith("round_") and name.removeprefix("round_") in MEMORY:
            return values[0].astype(MEMORY[name.removeprefix("round_")]).astype(dtype)
        function = UPPER.get(name) or BINARY_FUNCTIONS.get(name) or FUNCTIONS[name].numpy
        return np.asarray(function(*values)).astype(dtype)

    def _strip_function(self, function: str, *values: Any) -> Any:
        name, _, step = function.rpartition("_")
        if step == "begin":
            return values[0]
        if step == "farther":
            return max(values[1], float(np.nan_to_num(np.abs(values[0]), nan=1e9).max()))
        if step == "far":
            return values[0] > FAR
        return np.asarray(FUNCTIONS[name.removesuffix("_to_half")].numpy(values[0]))

    def _call_is_far(self, inverse: np.ndarray) -> bool:
        return False

    def _call_of(self, name: str, values: Sequence[Any]) -> None:
        function = self.functions[name]
        given = zip(function.parameters, values, strict=True)
        self.call(function, **{item.name: value for item, value in given})

    def _call_share_nest(self, nest: dict[str, Any], threads: int) -> int:
        """Each part runs on its own memory, one after the other, the last one first."""
        each = -(-nest["steps"] // threads)
        each = -(-each // nest["grain"]) * nest["grain"]
        for part in reversed(range(threads)):
            begin, end = (min(each * at, nest["steps"]) for at in (part, part + 1))
            own = nest.get("own", 0)
            if own:
                own = Place(own.array, own.offset + part * nest["own_bytes"])
            self._call_of(nest["run"], (nest, begin, end, own))
        return threads

    def _call_stream_fence(self) -> None:
        """Stores are in order here."""

    def _call_shared_from(self, least: int) -> int:
        return least

    def _call_aligned_alloc(self, alignment: int, byte_count: int) -> Any:
        if byte_count > self.free_bytes:
            return 0
        self.free_bytes -= byte_count
        self.allocated.append(np.full(byte_count, 77, np.uint8))
        return Place(self.allocated[-1])

    def _call_free(self, place: Any) -> None:
        if place:
            at = next(i for i, one in enumerate(self.allocated) if one is place.array)
            self.free_bytes += len(self.allocated.pop(at))

    def _call_memcpy(self, target: list[Any], source: list[Any], byte_count: int) -> None:
        target[: byte_count // 8] = source[: byte_count // 8]

    def _call_memset(self, place: Place, value: int, byte_count: int) -> None:
        place.array[place.offset :] = [value] * (byte_count // 8)

    def _call_least(self, a: int, b: int) -> int:
        return min(a, b)

    def _call_most(self, a: int, b: int) -> int:
        return max(a, b)

    def _call_iota(self) -> np.ndarray:
        return np.arange(self.lanes)

    def _call_lanes_below(self, count: int) -> np.ndarray:
        return np.arange(self.lanes) < count

    def _call_clip_index(self, index: np.ndarray, size: int) -> np.ndarray:
        return np.maximum(np.minimum(index, size - 1), 0)

    def _call_scalar_of(self, bits: int) -> float:
        return float(np.array([bits], np.int64).view(np.float64)[0])

    def _call_joined(self, before: np.ndarray, value: np.ndarray, count: int) -> np.ndarray:
        return np.concatenate([before[: self.lanes - count], value[:count]])

    def _call_wide_rounded(self, value: np.ndarray) -> np.ndarray:
        return value.astype(np.float32)

    def _call_wide_lanes(self, value: np.ndarray) -> np.ndarray:
        return value

    def _call_wide_both(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a + b


class _Value(ir.Expr):
    """A value that is already known."""

    content: Any
    kind: str = ir.INDEX


def _convert(value: np.ndarray, dtype: np.dtype, *, to_odd: bool) -> np.ndarray:
    if to_odd:
        return value.astype(np.float64).astype(dtype)
    if value.dtype.kind == "f" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        value = np.nan_to_num(value.astype(np.float64), nan=0.0)
        inside = np.clip(value, float(limits.min), float(limits.max))
        found = np.where(inside >= float(limits.max), limits.max, 0).astype(dtype)
        return np.where(inside >= float(limits.max), found, inside.astype(dtype))
    return value.astype(dtype)


def _typed(array: np.ndarray, memory: str) -> np.ndarray:
    """An array as its loads and stores see it: C has no type for halves."""
    is_half = memory in ("f16", "bf16") and array.dtype == np.uint16
    return array.view(MEMORY[memory]) if is_half else array


def run_program(
    entry: ir.Function,
    functions: Iterable[ir.Function],
    buffers: Sequence[np.ndarray],
    sizes: Sequence[int],
    machine: Machine,
    threads: int,
) -> int:
    """Runs a program.

    Args:
        entry: the entry function.
        functions: the functions of all nests, before or after passes.
        buffers: inputs and outputs, flat.
        sizes: run-time sizes.
        machine: runs the functions.
        threads: number of threads, which run in sequence.

    Returns:
        0, or 1 if memory ran out.
    """
    machine.functions = {function.name: function for function in functions}
    machine.call(entry, b=[Place(array) for array in buffers], s=list(sizes), threads=threads)
    return machine.result
