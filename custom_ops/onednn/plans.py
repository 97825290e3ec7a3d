"""Builds plans, which run several oneDNN primitives in one C call.

A plan is a sequence of oneDNN primitives and of our own passes over memory. The primitives and
passes are called the steps of the plan. The steps work on the caller's buffers and on scratch
memory.
"""

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
WIDENING_KINDS = {"float16": 1, "bfloat16": 3}
NARROWING_KINDS = {"float16": 2, "bfloat16": 4}
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
    """Returns sizes or strides as the array of 12 integers that oneDNN takes."""
    return Dims(*values)


def row_major(shape: Sequence[int]) -> tuple[int, ...]:
    """Returns the strides of a dense array, in elements."""
    return tuple(math.prod(shape[axis + 1 :]) for axis in range(len(shape)))


class Unimplemented(Exception):
    """Internal error of this package: oneDNN has no primitive for the dtypes on this processor."""


@dataclass(frozen=True, eq=False)
class Place:
    """Memory that a plan uses: one of the caller's buffers, or scratch memory.

    Attributes:
        number: index among all places of the plan.
        description: oneDNN's memory descriptor, which has the layout.
        dtype, count: dtype and number of elements; valid only if the memory is dense.
    """

    number: int
    description: Any
    dtype: str
    count: int


@dataclass(frozen=True, eq=False)
class OutputPlace:
    """Memory for an output of a plan.

    Attributes:
        buffer: the caller's buffer.
        dense: dense memory in the compute dtype. If `buffer` has the compute dtype, `dense` is
            `buffer`.
    """

    buffer: Place
    dense: Place


@dataclass
class PlanBuilder:
    """Collects the steps of one plan.

    Attributes:
        dnnl: the loaded oneDNN library.
        threads: number of threads for each step.
        names: name of the implementation that oneDNN chose for each primitive.
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

    # -- memory descriptors

    def dense_layout(
        self, shape: Sequence[int], dtype: str, strides: Sequence[int] | None = None
    ) -> Any:
        """Returns a memory descriptor with these strides in elements, by default row-major."""
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

    def any_layout(self, shape: Sequence[int], dtype: str) -> Any:
        """Returns a memory descriptor that lets the primitive choose the layout."""
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
        """Adds the caller's next buffer to the plan."""
        self._places.append((description, BUFFER, self._buffers, 0))
        self._buffers += 1
        return Place(len(self._places) - 1, description, dtype, math.prod(shape))

    def scratch(self, description: Any, dtype: str = "", count: int = 0) -> Place:
        """Adds scratch memory to the plan; its content lasts for one call of the plan."""
        size = self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, description)
        self._places.append((description, SCRATCH, self._scratch, 0))
        self._scratch += -(-size // ALIGNMENT) * ALIGNMENT
        return Place(len(self._places) - 1, description, dtype, count)

    def view(
        self, place: Place, shape: Sequence[int], strides: Sequence[int] | None = None
    ) -> Place:
        """Adds a view of the dense memory `place` with another shape."""
        description = self.dense_layout(shape, place.dtype, strides)
        self._places.append((description, *self._places[place.number][1:]))
        return Place(len(self._places) - 1, description, place.dtype, place.count)

    def part(self, place: Place, description: Any, skipped: int) -> Place:
        """Adds memory that starts `skipped` bytes after the start of `place`."""
        _, kind, value, before = self._places[place.number]
        self._places.append((description, kind, value, before + skipped))
        return Place(len(self._places) - 1, description, place.dtype, 0)

    # -- primitives

    def attributes(self) -> Any:
        """Returns attributes with which a primitive uses our scratch memory."""
        found = Handle()
        self.dnnl.call("primitive_attr_create", ctypes.byref(found))
        self._owned.append(("primitive_attr_destroy", found))
        self.dnnl.call("primitive_attr_set_scratchpad_mode", found, constants.SCRATCHPAD_OF_USER)
        return found

    @contextlib.contextmanager
    def _plan_for_threads(self) -> Iterator[None]:
        """Context manager that sets oneDNN's thread count, then restores MindSpore's setting."""
        before = ctypes.c_int()
        self.dnnl.call("threadpool_interop_get_max_concurrency", ctypes.byref(before))
        self.dnnl.call("threadpool_interop_set_max_concurrency", self.threads)
        try:
            yield
        finally:
            self.dnnl.call("threadpool_interop_set_max_concurrency", before)

    def primitive(self, name: str, *arguments: Any) -> Any:
        """Returns the descriptor of a primitive that uses `threads` threads.

        The function ``dnnl_<name>_primitive_desc_create`` creates the descriptor.

        Raises:
            Unimplemented: oneDNN has no primitive for these dtypes.
            CompileError: oneDNN rejects the arguments for another reason.
        """
        found = Handle()
        with self._plan_for_threads():
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

    def argument_layout(self, primitive: Any, argument: int) -> Any:
        """Returns the memory descriptor that a primitive requires for an argument."""
        found = self.dnnl.value(
            "primitive_desc_query_md",
            Handle,
            primitive,
            ctypes.c_int(constants.QUERY_ARGUMENT),
            ctypes.c_int(argument),
        )
        return Handle(found)

    def is_same_layout(self, left: Any, right: Any) -> bool:
        """Whether two layouts are equal."""
        return bool(self.dnnl.value("memory_desc_equal", ctypes.c_int, left, right))

    # -- steps

    def execute(self, primitive: Any, arguments: Mapping[int, Place]) -> None:
        """Adds a step that runs a primitive."""
        made = Handle()
        with self._plan_for_threads():
            self.dnnl.call("primitive_create", ctypes.byref(made), primitive)
        self._owned.append(("primitive_destroy", made))
        given = {name: place.number for name, place in arguments.items()}
        pad = self.argument_layout(primitive, constants.SCRATCHPAD)
        if pad and self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, pad):
            given[constants.SCRATCHPAD] = self.scratch(pad).number
        self._steps.append((made, EXECUTE, len(self._arguments), len(given), 0))
        self._arguments += given.items()

    def copy(self, source: Place, target: Place) -> None:
        """Adds a reorder, which copies `source` into the layout of `target`."""
        attributes, engine = self.attributes(), self.dnnl.engine
        primitive = self.primitive(
            "reorder", source.description, engine, target.description, engine, attributes
        )
        self.names.pop()
        self.execute(primitive, {constants.FROM: source, constants.TO: target})

    def convert(self, source: Place, description: Any) -> Place:
        """Returns memory that has the values of `source` in the layout `description`.

        If the layouts differ, the method adds a reorder to the plan, or reuses the result of an
        earlier reorder to the same layout.
        """
        if self.is_same_layout(source.description, description):
            return source
        for number, known, place in self._converted:
            if number == source.number and self.is_same_layout(known, description):
                return place
        place = self.scratch(description)
        self.copy(source, place)
        self._converted.append((source.number, description, place))
        return place

    def add_pass(self, kind: int, source: Place, target: Place, number: int = 0) -> None:
        """Adds one of our own elementwise passes over dense memory.

        Args:
            kind: constant of the pass in our C runtime.
            source, target: memory that the pass reads and writes.
            number: further argument of the pass.
        """
        self._steps.append((None, kind, len(self._arguments), source.count, number))
        self._arguments += ((constants.FROM, source.number), (constants.TO, target.number))

    def relu(self, place: Place) -> None:
        """Adds a step that computes max(0, x) in place and propagates NaN."""
        kind = RELU_FLOAT32 if place.dtype == "float32" else RELU_SHORT
        self.add_pass(kind, place, place, INFINITY.get(place.dtype, 0))

    def add_sum(self, parts: Sequence[Place], target: Place) -> None:
        """Adds a step that sums float32 arrays of the same layout in float64 and rounds once.

        `parts` have to be consecutive in scratch memory.
        """
        bytes_of_one = self.dnnl.value("memory_desc_get_size", ctypes.c_size_t, target.description)
        self._steps.append((None, SUM, len(self._arguments), bytes_of_one // 4, len(parts)))
        self._arguments += ((constants.FROM, parts[0].number), (constants.TO, target.number))

    @contextlib.contextmanager
    def use_one_thread(self) -> Iterator[None]:
        """Context manager that sets `threads` to 1, and restores the previous number at exit."""
        before, self.threads = self.threads, 1
        try:
            yield
        finally:
            self.threads = before

    @contextlib.contextmanager
    def piece(self) -> Iterator[None]:
        """Context manager; the steps that are added inside the context form a task for one thread.

        Consecutive tasks run in parallel. A task may contain only primitives.
        """
        self._steps.append((None, PIECE, 0, 0, 0))
        begin = len(self._steps)
        with self.use_one_thread():
            yield
        self._steps[begin - 1] = (None, PIECE, 0, len(self._steps) - begin, 0)

    # -- buffers in the compute dtype

    def read(
        self,
        kind: TensorType,
        dtype: str,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> Place:
        """Adds the caller's next buffer as an input, and converts it to the compute dtype.

        Args:
            kind: name, shape and dtype of the buffer.
            dtype: the compute dtype, which is the buffer's own dtype or float32.
            shape, strides: shape and strides that the primitive gets; by default the shape of the
                buffer and row-major strides.
        """
        shape = kind.shape if shape is None else shape
        if kind.dtype == dtype:
            return self.buffer(shape, dtype, self.dense_layout(shape, dtype, strides))
        source = self.buffer(kind.shape, kind.dtype)
        place = self.scratch(self.dense_layout(shape, dtype, strides), dtype, source.count)
        self.add_pass(WIDENING_KINDS[kind.dtype], source, place)
        return place

    def output_place(
        self,
        kind: TensorType,
        dtype: str,
        shape: Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
    ) -> OutputPlace:
        """Adds the caller's next buffer as an output, with dense memory in the compute dtype.

        The arguments are those of `read`.
        """
        shape = kind.shape if shape is None else shape
        if kind.dtype == dtype:
            buffer = self.buffer(shape, dtype, self.dense_layout(shape, dtype, strides))
            return OutputPlace(buffer, buffer)
        buffer = self.buffer(kind.shape, kind.dtype)
        return OutputPlace(
            buffer, self.scratch(self.dense_layout(shape, dtype, strides), dtype, buffer.count)
        )

    def target(self, written: OutputPlace, description: Any) -> Place:
        """Returns memory for a primitive's output with the layout `description`.

        If `written.dense` has this layout, the result is `written.dense`. Otherwise the result is
        scratch memory.
        """
        if self.is_same_layout(written.dense.description, description):
            return written.dense
        return self.scratch(description)

    def deliver(self, result: Place, written: OutputPlace, *, relu: bool = False) -> None:
        """Adds the steps that write the output of a primitive to the caller's buffer.

        The steps are a reorder, relu, and a conversion to the buffer's dtype. Each of these steps
        is added only if it is needed.
        """
        if result is not written.dense:
            self.copy(result, written.dense)
        if relu:
            self.relu(written.dense)
        if written.buffer.dtype != written.dense.dtype:
            self.add_pass(NARROWING_KINDS[written.buffer.dtype], written.dense, written.buffer)

    # -- completion

    def finish(
        self, inputs: Sequence[TensorType], outputs: Sequence[TensorType], operator: str
    ) -> Prepared:
        """Returns the plan as an operator whose buffer arguments are `inputs`, then `outputs`."""
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
        # no cleanup at exit, because the operating system frees memory faster, and other threads
        # may still use the plan
        weakref.finalize(made, _forget, self.dnnl, plan, tuple(self._owned)).atexit = False
        self._owned = []
        return made

    def drop(self) -> None:
        """Destroys the oneDNN objects of this builder, unless a finished plan owns them."""
        _destroy(self.dnnl, self._owned)
        self._owned = []


def _forget(library: Library, plan: _Plan, owned: Sequence[tuple[str, Any]]) -> None:
    library.runtime.onednn_forget(ctypes.addressof(plan))
    _destroy(library, owned)


def _destroy(library: Library, owned: Sequence[tuple[str, Any]]) -> None:
    for name, handle in reversed(owned):
        library.status(name, handle)
