"""Defines `Kernel`, a built operator that is called with arrays of the declared shapes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from tbe_impl import environment
from tbe_impl.codegen.program import Layout, layout_of
from tbe_impl.codegen.source_comments import enable_stage_comments
from tbe_impl.cpu import prepared_kernel as cpu
from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.tensor import Tensor, shape_text, stages_of, static_shape, variables_of
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.blocked_sizes import (
    crop,
    match_blocked_size,
    pad_with_zeros,
    real_size,
    sizes_in_blocks,
)
from tbe_impl.runtime.merged_sizes import merged_variables, split_merged_sizes
from tbe_impl.tuning_store import Tuning

BACKENDS = ("cpu", "numpy")
_TRUTH = ({"bool", "int8"}, {"bool", "uint8"})
_log = logging.getLogger("tbe_impl")
_logged_messages: set[str] = set()


@dataclass(frozen=True)
class Argument:
    """An input or output of a kernel.

    Attributes:
        tensor: tensor of the graph; its shape may differ from `shape` if the operator flattens it.
        shape: declared shape; a negative size is known only at call time.
        name: name of the argument in messages.
    """

    tensor: Tensor
    shape: tuple[int, ...]
    name: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype of the array."""
        return dtype_of(self.tensor.dtype).numpy

    @cached_property
    def is_resized(self) -> bool:
        """Whether the operator accesses more or fewer elements than the declared shape has.

        It accesses the elements in order, starting at the first.
        """
        own = static_shape(self.tensor)
        known = own is not None and all(size >= 0 for size in self.shape)
        return known and prod(own or ()) != prod(self.shape) and prod(self.shape) > 0


@dataclass(frozen=True)
class Kernel:
    """The result of building an operator.

    Attributes:
        name: name of the kernel.
        soc: the target chip.
        inputs, outputs: arguments in the order of the operator's arguments.
        schedule: the operator's schedule, or None.
        scheduled: if a manual schedule adds memory copies or partial sums to the graph, the output
            tensors of the changed graph; else empty.
        options: code generation options for this processor.
        threads: maximum number of threads; 0 for the process default.
        tuning: measurements that selected the options; None without tuning.
        specialise: for a kernel of unknown sizes, a function of arrays. It returns a kernel for
            the sizes of the arrays, or None if the arrays cannot be inputs of the operator.
    """

    name: str
    soc: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    schedule: Any = None
    scheduled: tuple[Tensor, ...] = ()
    options: cpu.Options = field(default_factory=cpu.Options)
    threads: int = 0
    tuning: Tuning | None = None
    specialise: Callable[[Sequence[Any]], Kernel | None] | None = field(
        default=None, repr=False, compare=False
    )

    def __call__(
        self,
        *arrays: Any,
        backend: str = "cpu",
        rounding: str | None = None,
        out: Sequence[np.ndarray] | np.ndarray | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> Any:
        """Runs the kernel; returns its output array, or a tuple of several output arrays.

        Args:
            arrays: one array per input, with the declared shape and dtype.
            backend: ``cpu`` (compiled code) or ``numpy`` (interprets the graph with NumPy).
            rounding: ``accurate``, ``device`` (each stage is rounded to its dtype) or, with
                ``numpy``, ``float64``.
            out: output arrays; an array that is also an input is overwritten.
            scalars: name of a ``tvm.var`` that is not the size of an input axis → its value.

        Raises:
            InputError: the number of arrays, a shape, a dtype or a name in `scalars` is wrong.
        """
        if backend not in BACKENDS:
            raise InputError(
                "unknown back end",
                place=self.name,
                expected=" or ".join(BACKENDS),
                got=repr(backend),
            )
        if rounding is not None and rounding != self.options.rounding and backend == "cpu":
            return replace(self, options=replace(self.options, rounding=rounding))(
                *arrays, out=out, scalars=scalars
            )
        try:
            given = self._check_arrays(arrays)
            values = self._sizes(given, scalars or {})
            shapes = [self._shape_of(item, values, given) for item in self.outputs]
            flat = [
                self._reshape_input(item, array, values)
                for item, array in zip(self.inputs, given, strict=True)
            ]
        except InputError as error:
            own = self._specialise_for(arrays, error)
            return own(*arrays, backend=backend, rounding=rounding, out=out, scalars=scalars)
        if self.options.inplace and backend == "numpy":
            raise InputError("the NumPy back end computes nothing in place", place=self.name)
        targets = self._targets(out, shapes)
        prepared = self._compile_or_warn() if backend == "cpu" else None
        places = self._reshape_targets(targets, flat, values) if prepared is not None else None
        if prepared is None:
            results = evaluate.run(
                [item.tensor for item in self.outputs],
                {id(item.tensor): array for item, array in zip(self.inputs, flat, strict=True)},
                values,
                rounding=rounding or self.options.rounding,
            )
        else:
            results = prepared.run(flat, values, self.threads or environment.threads(), places)
        found = tuple(crop(array, shape) for array, shape in zip(results, shapes, strict=True))
        if targets is not None:
            for target, array in zip(targets, found if places is None else (), strict=False):
                target[...] = array
            found = tuple(targets)
        return found[0] if len(found) == 1 else found

    @property
    def computed(self) -> tuple[Tensor, ...]:
        """The tensors that the code computes: `scheduled` or, if it is empty, the `outputs`."""
        return self.scheduled or tuple(item.tensor for item in self.outputs)

    @cached_property
    def compiled(self) -> cpu.CpuKernel:
        """The compiled kernel; it is loaded from the cache if it was compiled before.

        Raises:
            MissingError: there is no C compiler.
            CompileError: code generation failed.
        """
        return self.planned.compile_and_load()

    @cached_property
    def planned(self) -> cpu.PlannedKernel:
        """The prepared, uncompiled kernel; `cpu.build_together` compiles several such kernels."""
        options = replace(self.options, threads=self.threads) if self.threads else self.options
        return cpu.plan(
            self.computed,
            [item.tensor for item in self.inputs],
            name=self.name,
            options=options,
            graph=lambda: self.graph,
        )

    @cached_property
    def graph(self) -> str:
        """The graph, serialised to a string that is the same in every process.

        Raises:
            InputError: a part of the graph cannot be serialised.
        """
        return graph_text(self.computed, [item.tensor for item in self.inputs])

    def with_options(
        self,
        *,
        inplace: bool | None = None,
        threads: int | None = None,
        vector_bits: int | None = None,
    ) -> Kernel:
        """Returns a copy of this kernel with the given options; the other options are kept.

        Args:
            inplace: whether the first output overwrites the first input of the same shape and
                dtype. A call then returns the array of this input.
            threads: maximum number of threads; 0 for the process default.
            vector_bits: vector width: 128, 256 or 512; 0 for the processor's widest.

        Raises:
            InputError: the vector width or the number of threads is invalid.
            CompileError: later, at compilation, if the kernel cannot compute in place.
        """
        if vector_bits not in (None, 0, 128, 256, 512):
            raise InputError(
                "unknown width of vectors",
                place=self.name,
                expected="0, 128, 256 or 512",
                got=repr(vector_bits),
            )
        if threads is not None and not 0 <= threads <= 256:
            raise InputError(
                "unknown number of threads", place=self.name, expected="0 to 256", got=repr(threads)
            )
        options = replace(
            self.options,
            inplace=self.options.inplace if inplace is None else inplace,
            vector_bits=self.options.vector_bits if vector_bits is None else vector_bits,
        )
        return replace(self, options=options, threads=self.threads if threads is None else threads)

    @cached_property
    def _unknown_sizes(self) -> tuple[Var, ...]:
        """Sizes and scalars known only at call time."""
        return tuple(variables_of([item.tensor for item in self.outputs]))

    @property
    def open_sizes(self) -> tuple[Expr, ...]:
        """Unknown sizes and scalars that a call cannot read from the shapes of its inputs."""
        sizes = [size for item in self.inputs for size in item.tensor.shape]
        known = {id(size) for size in sizes} | {
            id(parts[0]) for parts in map(match_blocked_size, sizes) if parts
        }
        known |= {id(one) for one in merged_variables(sizes)}
        return tuple(item for item in self._unknown_sizes if id(item) not in known)

    @cached_property
    def _has_blocked_sizes(self) -> bool:
        """Whether a size of an input is a constant multiple of a variable, such as 16·m."""
        return any(match_blocked_size(size) for item in self.inputs for size in item.tensor.shape)

    @property
    def source(self) -> str:
        """The generated C source."""
        return self.compiled.source

    @property
    def marked_source(self) -> str:
        """`source` with stage comments ``/* stage 12 */``, numbered by `Operation.number`."""
        options = replace(self.options, threads=self.threads) if self.threads else self.options
        with enable_stage_comments():
            return self.compiled.regenerate_source(self.name, options)

    @property
    def layout(self) -> Layout | None:
        """The loop nests of the code; None if a library computes a part of the kernel.

        Raises:
            CompileError: code generation failed.
        """
        if any(op.kind == "library" for op in stages_of(self.computed)):
            return None
        return layout_of(self.computed, [item.tensor for item in self.inputs], self.options)

    def report(self) -> Any:
        """Returns a `KernelReport`: the arrays, the generated code and the schedule on the chip."""
        from tbe_impl.kernel_report import report_of

        return report_of(self)

    def _compile_or_warn(self) -> cpu.CpuKernel | None:
        try:
            return self.compiled
        except (MissingError, CompileError) as error:
            if str(error) not in _logged_messages:
                _logged_messages.add(str(error))
                _log.warning("%s runs on the NumPy back end: %s", self.name, error)
            return None

    def _specialise_for(self, arrays: Sequence[Any], error: InputError) -> Kernel:
        """Returns a kernel for the shapes of `arrays`; raises `error` if there is none."""
        if self.specialise is None:
            raise error
        try:
            found = self.specialise(arrays)
        except InputError:
            found = None
        if found is None:
            raise error
        return self._copy_options_to(found)

    def _copy_options_to(self, other: Kernel) -> Kernel:
        """Returns a copy of `other` with this kernel's options, but with the loops of `other`."""
        return replace(
            other, options=self.options.with_loops_of(other.options), threads=self.threads
        )

    def _check_arrays(self, arrays: Sequence[Any]) -> list[np.ndarray]:
        if len(arrays) != len(self.inputs):
            raise InputError(
                "another number of arrays",
                place=self.name,
                expected=f"{len(self.inputs)} ({', '.join(item.name for item in self.inputs)})",
                got=str(len(arrays)),
            )
        found = []
        for item, array in zip(self.inputs, arrays, strict=True):
            given = np.asarray(array)
            if given.dtype != item.dtype and {given.dtype.name, item.dtype.name} in _TRUTH:
                # booleans are int8 in the toolkit and bool inside operators
                given = given.astype(item.dtype)
            fits = len(given.shape) == len(item.shape) and all(
                size < 0 or size == own for size, own in zip(item.shape, given.shape, strict=True)
            )
            if not fits or given.dtype != item.dtype:
                raise InputError(
                    f"the array for {item.name} is another",
                    place=self.name,
                    expected=f"{shape_text(item.shape)} {item.dtype}",
                    got=f"{shape_text(given.shape)} {given.dtype}",
                    remedy=f"Convert it with .astype({str(item.dtype)!r})" if fits else None,
                )
            found.append(given)
        return found

    def _sizes(
        self, given: Sequence[np.ndarray], scalars: Mapping[str, float]
    ) -> dict[int, int | float]:
        """Returns a dict from ``id`` to value for each size and scalar known only at call time."""
        values: dict[int, int | float] = {}
        foreign = scalars.keys() - {item.name for item in self._unknown_sizes}
        if foreign:
            raise InputError(
                f"there is no scalar {min(foreign)}",
                place=self.name,
                expected=", ".join(item.name for item in self._unknown_sizes) or "none",
                got=min(foreign),
            )
        if not self._unknown_sizes:
            return values
        for item, array in zip(self.inputs, given, strict=True):
            sizes: Sequence[Expr] = item.tensor.shape
            actual = array.shape if len(sizes) == array.ndim else (array.size,)
            merged = merged_variables(sizes)
            if merged and array.ndim == len(item.shape):
                sizes, actual = merged, tuple(array.shape[one.axis or 0] for one in merged)
            if len(sizes) != len(actual):
                continue
            for size, number in zip(sizes, actual, strict=True):
                parts = match_blocked_size(size)
                if parts is not None:
                    values.setdefault(id(parts[0]), -(-number // parts[1]))
                if isinstance(size, Var) and values.setdefault(id(size), number) != number:
                    raise InputError(
                        f"the size {size} is one in an array and another in the next",
                        place=self.name,
                        expected=str(values[id(size)]),
                        got=f"{number} in {item.name}",
                    )
        for one in self._unknown_sizes:
            if id(one) in values:
                continue
            if one.name not in scalars:
                raise InputError(
                    f"the size {one} is not the size of any input",
                    place=self.name,
                    remedy=f"Pass it as an argument: scalars={{{one.name!r}: …}}",
                )
            value = scalars[one.name]
            values[id(one)] = float(value) if is_float(one.dtype) else int(value)
        return values

    def _reshape_input(
        self, item: Argument, array: np.ndarray, values: Mapping[int, int | float]
    ) -> np.ndarray:
        shape = tuple(_number(size, values) for size in item.tensor.shape)
        if shape != array.shape and len(shape) == array.ndim:
            lacking = [wanted - own for wanted, own in zip(shape, array.shape, strict=True)]
            if all(0 <= number < BLOCK for number in lacking):
                array = pad_with_zeros(array, shape)
        if item.is_resized:
            # the device reads from the first element, and past the end of a shorter array
            array = np.resize(array.reshape(-1), prod(shape))
        if prod(shape) != array.size:
            raise InputError(
                f"the array for {item.name} does not fit the operator's tensor",
                place=self.name,
                expected=shape_text(shape),
                got=shape_text(array.shape),
            )
        return np.ascontiguousarray(array).reshape(shape)

    def _shape_of(
        self, item: Argument, values: Mapping[int, int | float], given: Sequence[np.ndarray]
    ) -> tuple[int, ...]:
        actual = tuple(_number(size, values) for size in item.tensor.shape)
        if self._has_blocked_sizes:
            in_blocks = sizes_in_blocks([one.tensor.shape for one in self.inputs], given)
            real = [real_size(size, in_blocks) for size in item.tensor.shape]
            actual = tuple(
                own if size is None else size for own, size in zip(actual, real, strict=True)
            )
        total, known = prod(actual), [size for size in item.shape if size >= 0]
        if len(known) == len(item.shape):
            return item.shape if prod(item.shape) == total else actual
        apart = split_merged_sizes(item.tensor.shape, values)
        if apart and prod(apart) == total:
            return apart
        share: int = prod(known)
        if len(known) == len(item.shape) - 1 and share:
            return tuple(total // share if size < 0 else size for size in item.shape)
        if len(actual) != len(item.shape):
            # The operator flattened the output: use the shape of an input with as many elements.
            like = (a.shape for a in given if a.size == total and a.ndim == len(item.shape))
            return next(like, None) or _fill_unknown_sizes(item.shape, given, total) or actual
        return actual

    def _targets(
        self, out: Sequence[np.ndarray] | np.ndarray | None, shapes: Sequence[tuple[int, ...]]
    ) -> list[np.ndarray] | None:
        """Checks `out` and returns its arrays as a list; returns None if `out` is None."""
        if out is None:
            return None
        targets = [out] if isinstance(out, np.ndarray) else list(out)
        if len(targets) != len(shapes):
            raise InputError(
                "another number of arrays to write to",
                place=self.name,
                expected=str(len(shapes)),
                got=str(len(targets)),
            )
        for item, target, shape in zip(self.outputs, targets, shapes, strict=True):
            if target.shape != shape or target.dtype != item.dtype:
                raise InputError(
                    "an array to write to is another",
                    place=self.name,
                    expected=f"{shape_text(shape)} {item.dtype}",
                    got=f"{shape_text(target.shape)} {target.dtype}",
                )
        return targets

    def _reshape_targets(
        self,
        targets: Sequence[np.ndarray] | None,
        given: Sequence[np.ndarray],
        values: Mapping[int, int | float],
    ) -> list[np.ndarray] | None:
        """Reshapes the output arrays to the shapes that the code writes.

        Returns None if the code cannot write to these arrays; the caller then copies the results.
        """
        if targets is None or self.options.inplace:
            return None
        others = [*given, *targets]
        for target in targets:
            apart = sum(np.may_share_memory(target, other) for other in others) <= 1
            if not (target.flags.c_contiguous and target.flags.writeable and apart):
                return None
        shapes = [[_number(size, values) for size in item.tensor.shape] for item in self.outputs]
        if any(prod(shape) != target.size for shape, target in zip(shapes, targets, strict=True)):
            return None
        return [target.reshape(shape) for shape, target in zip(shapes, targets, strict=True)]


def _fill_unknown_sizes(
    shape: tuple[int, ...], given: Sequence[np.ndarray], total: int
) -> tuple[int, ...] | None:
    """Returns `shape` with its unknown sizes replaced by the sizes of one of the arrays `given`.

    The array has one axis per unknown size. Returns None if no array yields `total` elements.
    """
    known = [size for size in shape if size >= 0]
    for array in given:
        if known and array.ndim == len(shape) - len(known) and array.size * prod(known) == total:
            sizes = iter(array.shape)
            return tuple(next(sizes) if size < 0 else size for size in shape)
    return None


def _number(size: Expr, values: Mapping[int, int | float]) -> int:
    if isinstance(size, Const):
        return int(size.value)
    return int(evaluate.evaluate_scalar(size, values))
