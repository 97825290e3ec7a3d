"""Plans: primitives of oneDNN in a row, between buffers of the caller and scratch memory, run by one call of C."""

from __future__ import annotations

import contextlib
import ctypes
import math
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.dnnl_library import Handle, Library
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.statuses import describe
from tbe_impl.errors import CompileError

Dims = ctypes.c_int64 * 12
BUFFER, SCRATCH = 0, 1
ALIGNMENT = 64
EXECUTE, RELU_FLOAT32, RELU_SHORT, SUM, PIECE = 0, 5, 6, 7, 8
WIDEN = {"float16": 1, "bfloat16": 3}
NARROW = {"float16": 2, "bfloat16": 4}
INFINITY = {"float16": 0x7C00, "bfloat16": 0x7F80}


class _Place(ctypes.Structure):
    _fields_ = [
        ("description", Handle),
        *((name, ctypes.c_int64) for name in ("kind", "value", "offset")),
    ]


class _Step(ctypes.Structure):
    _fields_ = [
        ("primitive", Handle),
        *((name, ctypes.c_int64) for name in ("kind", "first", "count", "number")),
    ]


class _Argument(ctypes.Structure):
    _fields_ = [("name", ctypes.c_int64), ("place", ctypes.c_int64)]


class _Plan(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int64) for name in ("places", "steps", "scratch_bytes", "threads")),
        ("place", ctypes.POINTER(_Place)),
        ("step", ctypes.POINTER(_Step)),
        ("argument", ctypes.POINTER(_Argument)),
        ("memories", Handle),
    ]


def dims(values: Sequence[int]) -> Any:
    """Twelve numbers, as oneDNN takes sizes and strides."""
    return Dims(*values)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """The strides, in elements, of a dense array."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Unimplemented(Exception):
    """oneDNN has no primitive for these dtypes on this processor; only seen by the files here."""


@dataclass(frozen=True, eq=False)
class Place:
    """Memory of a plan: its number, how it is laid out, and its dtype and element count where it is dense."""

    number: int
    description: Any
    dtype: str
    count: int


@dataclass(frozen=True, eq=False)
class Written:
    """An output: the caller's buffer, and dense memory in the dtype that is computed in, often the same."""

    buffer: Place
    dense: Place


@dataclass
class Builder:
    """Collects the steps of one plan.

    Attributes:
        library: what runs it.
        threads: how many threads share each step.
        names: the implementation that oneDNN chose for each primitive.
    """

    dnnl: Library
    threads: int
    names: list[str] = field(default_factory=list)
    _places: list[tuple[Any, int, int, int]] = field(default_factory=list)
    _steps: list[tuple[Any, int, int, int, int]] = field(default_factory=list)
    _arguments: list[tuple[int, int]] = field(default_factory=list)
    _converted: list[tuple[int, Any, Place]] = field(default_factory=list)
    _owned: list[tuple[str, Any]] = field(default_factory=list)
    _scratch: int = 0
    _buffers: int = 0

    # -- descriptions of memory

    def dense(self, shape: Sequence[int], dtype: str, strides: Sequence[int] | None = None) -> Any:
        """A layout given by strides in elements, by default row-major."""
        found = Handle()
        strides = row_major(shape) if strides is None else strides
        self.dnnl.call(
            "memory_desc_create_with_strides",
            ctypes.byref(found),
            len(shape),
            dims(shape),
            constants.DATA_TYPES[dtype],
            dims(strides),
        )
        self._owned.append(("memory_desc_destroy", found))
        return found

    def free(self, shape: Sequence[int], dtype: str) -> Any:
        """A layout that the primitive chooses."""
        found = Handle()
        self.dnnl.call(
            "memory_desc_create_with_tag",
            ctypes.byref(found),
            len(shape),
            dims(shape),
            constants.DATA_TYPES[dtype],
            constants.ANY_LAYOUT,
        )
        self._owned.append(("memory_desc_destroy", found))
        return found

    # -- memory

    def buffer(self, shape: Sequence[int], dtype: str, description: Any = None) -> Place:
        """The next buffer of the caller."""
        self._places.append((description, BUFFER, self._buffers, 0))
        self._buffers += 1
        return Place(len(self._places) - 1, description, dtype, math.prod(shape))

    def scratch(self, description: Any, dtype: str = "", count: int = 0) -> Place:
        """Memory that lasts for one call."""
        size = self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, description)
        self._places.append((description, SCRATCH, self._scratch, 0))
        self._scratch += -(-size // ALIGNMENT) * ALIGNMENT
        return Place(len(self._places) - 1, description, dtype, count)

    def seen(
        self, place: Place, shape: Sequence[int], strides: Sequence[int] | None = None
    ) -> Place:
        """Dense memory in another shape."""
        description = self.dense(shape, place.dtype, strides)
        self._places.append((description, *self._places[place.number][1:]))
        return Place(len(self._places) - 1, description, place.dtype, place.count)

    def part(self, place: Place, description: Any, skipped: int) -> Place:
        """Memory within other memory, so many bytes behind its beginning."""
        _, kind, value, before = self._places[place.number]
        self._places.append((description, kind, value, before + skipped))
        return Place(len(self._places) - 1, description, place.dtype, 0)

    # -- primitives

    def attributes(self) -> Any:
        """Attributes of a primitive, whose scratch memory is ours."""
        found = Handle()
        self.dnnl.call("primitive_attr_create", ctypes.byref(found))
        self._owned.append(("primitive_attr_destroy", found))
        self.dnnl.call("primitive_attr_set_scratchpad_mode", found, constants.SCRATCHPAD_OF_USER)
        return found

    @contextlib.contextmanager
    def _our_threads(self) -> Iterator[None]:
        """Tells oneDNN, on this thread, for how many to plan; what MindSpore told it comes back."""
        before = ctypes.c_int()
        self.dnnl.call("threadpool_interop_get_max_concurrency", ctypes.byref(before))
        self.dnnl.call("threadpool_interop_set_max_concurrency", self.threads)
        try:
            yield
        finally:
            self.dnnl.call("threadpool_interop_set_max_concurrency", before)

    def primitive(self, name: str, *arguments: Any) -> Any:
        """``dnnl_<name>_primitive_desc_create`` for our number of threads.

        Raises:
            Unimplemented: oneDNN has none for these dtypes.
            CompileError: it refused for another reason.
        """
        found = Handle()
        with self._our_threads():
            status = self.dnnl.status(
                f"{name}_primitive_desc_create", ctypes.byref(found), *arguments
            )
        if status == constants.UNIMPLEMENTED:
            raise Unimplemented(name)
        if status:
            raise CompileError(f"oneDNN refused a {name}", got=describe(status))
        self._owned.append(("primitive_desc_destroy", found))
        text = ctypes.c_char_p()
        self.dnnl.call("primitive_desc_query", found, constants.QUERY_NAME, 0, ctypes.byref(text))
        self.names.append((text.value or b"").decode())
        return found

    def wanted(self, primitive: Any, argument: int) -> Any:
        """How a primitive lays out one of its arguments."""
        found = self.dnnl.value(
            "primitive_desc_query_md",
            Handle,
            primitive,
            ctypes.c_int(constants.QUERY_ARGUMENT),
            ctypes.c_int(argument),
        )
        return Handle(found)

    def same(self, left: Any, right: Any) -> bool:
        """Whether two layouts are one."""
        return bool(self.dnnl.value("memory_desc_equal", ctypes.c_int, left, right))

    # -- steps

    def execute(self, primitive: Any, arguments: Mapping[int, Place]) -> None:
        """A step that runs a primitive."""
        made = Handle()
        with self._our_threads():
            self.dnnl.call("primitive_create", ctypes.byref(made), primitive)
        self._owned.append(("primitive_destroy", made))
        given = {name: place.number for name, place in arguments.items()}
        pad = self.wanted(primitive, constants.SCRATCHPAD)
        if pad and self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, pad):
            given[constants.SCRATCHPAD] = self.scratch(pad).number
        self._steps.append((made, EXECUTE, len(self._arguments), len(given), 0))
        self._arguments += given.items()

    def copy(self, source: Place, target: Place) -> None:
        """A step that moves values into another layout."""
        attributes, engine = self.attributes(), self.dnnl.engine
        primitive = self.primitive(
            "reorder", source.description, engine, target.description, engine, attributes
        )
        self.names.pop()
        self.execute(primitive, {constants.FROM: source, constants.TO: target})

    def converted(self, source: Place, description: Any) -> Place:
        """The same values in the layout that a primitive wants; moved at most once in a plan."""
        if self.same(source.description, description):
            return source
        for number, known, place in self._converted:
            if number == source.number and self.same(known, description):
                return place
        place = self.scratch(description)
        self.copy(source, place)
        self._converted.append((source.number, description, place))
        return place

    def one_pass(self, kind: int, source: Place, target: Place, number: int = 0) -> None:
        """A step of our own over dense memory."""
        self._steps.append((None, kind, len(self._arguments), source.count, number))
        self._arguments += ((constants.FROM, source.number), (constants.TO, target.number))

    def relu(self, place: Place) -> None:
        """max(0, x) in place, in which NaN stays NaN."""
        kind = RELU_FLOAT32 if place.dtype == "float32" else RELU_SHORT
        self.one_pass(kind, place, place, INFINITY.get(place.dtype, 0))

    def sum_of(self, parts: Sequence[Place], target: Place) -> None:
        """The sum of arrays of float32 of one layout, in float64 and rounded once; they are scratch memory made one after the other."""
        bytes_of_one = self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, target.description)
        self._steps.append((None, SUM, len(self._arguments), bytes_of_one // 4, len(parts)))
        self._arguments += ((constants.FROM, parts[0].number), (constants.TO, target.number))

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Plans for one thread."""
        before, self.threads = self.threads, 1
        try:
            yield
        finally:
            self.threads = before

    @contextlib.contextmanager
    def piece(self) -> Iterator[None]:
        """Steps by one thread, while others do the pieces before and behind; primitives only."""
        self._steps.append((None, PIECE, 0, 0, 0))
        begin = len(self._steps)
        with self.alone():
            yield
        self._steps[begin - 1] = (None, PIECE, 0, len(self._steps) - begin, 0)

    # -- buffers in the dtype that is computed in

    def read(
        self,
        kind: TensorType,
        dtype: str,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> Place:
        """The next buffer, an input, in the dtype that is computed in.

        Args:
            kind: what the buffer holds.
            dtype: its own, or float32.
            shape, strides: how the primitive sees it, by default as it is.
        """
        shape = kind.shape if shape is None else shape
        if kind.dtype == dtype:
            return self.buffer(shape, dtype, self.dense(shape, dtype, strides))
        source = self.buffer(kind.shape, kind.dtype)
        place = self.scratch(self.dense(shape, dtype, strides), dtype, source.count)
        self.one_pass(WIDEN[kind.dtype], source, place)
        return place

    def written(
        self,
        kind: TensorType,
        dtype: str,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> Written:
        """The next buffer, an output, and dense memory of the dtype that is computed in; arguments as of `read`."""
        shape = kind.shape if shape is None else shape
        if kind.dtype == dtype:
            buffer = self.buffer(shape, dtype, self.dense(shape, dtype, strides))
            return Written(buffer, buffer)
        buffer = self.buffer(kind.shape, kind.dtype)
        return Written(buffer, self.scratch(self.dense(shape, dtype, strides), dtype, buffer.count))

    def target(self, written: Written, description: Any) -> Place:
        """Where a primitive that wants this layout puts an output: at once into its place if it can be."""
        if self.same(written.dense.description, description):
            return written.dense
        return self.scratch(description)

    def deliver(self, result: Place, written: Written, *, relu: bool = False) -> None:
        """The steps from where a primitive put an output to the caller's buffer."""
        if result is not written.dense:
            self.copy(result, written.dense)
        if relu:
            self.relu(written.dense)
        if written.buffer.dtype != written.dense.dtype:
            self.one_pass(NARROW[written.buffer.dtype], written.dense, written.buffer)

    # -- the end

    def finish(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], operator: str
    ) -> Prepared:
        """The plan, whose buffers are `inputs`, then `outputs`."""
        assert len(inputs) + len(outputs) == self._buffers
        places = (_Place * len(self._places))(*(_Place(*item) for item in self._places))
        steps = (_Step * len(self._steps))(*(_Step(*item) for item in self._steps))
        arguments = (_Argument * len(self._arguments))(
            *(_Argument(*item) for item in self._arguments)
        )
        plan = _Plan(
            len(places), len(steps), self._scratch, self.threads, places, steps, arguments, None
        )
        made = Prepared(
            operator,
            tuple(inputs),
            tuple(outputs),
            self.dnnl.function,
            ctypes.addressof(plan),
            implementations=tuple(self.names),
            scratch_bytes=self._scratch,
            kept=(plan, places, steps, arguments),
        )
        # at the end of the process the system is quicker, and other threads may still be at it
        weakref.finalize(made, _forget, self.dnnl, plan, tuple(self._owned)).atexit = False
        self._owned = []
        return made

    def drop(self) -> None:
        """Gives back what was made, unless a plan has it."""
        _destroy(self.dnnl, self._owned)
        self._owned = []


def _forget(library: Library, plan: _Plan, owned: Sequence[tuple[str, Any]]) -> None:
    library.runtime.onednn_forget(ctypes.addressof(plan))
    _destroy(library, owned)


def _destroy(library: Library, owned: Sequence[tuple[str, Any]]) -> None:
    for name, handle in reversed(owned):
        library.status(name, handle)
