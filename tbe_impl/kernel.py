"""Defines `Kernel`, a built operator that is called with arrays of the declared shapes."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from tbe_impl import backends, environment
from tbe_impl.arguments import Argument, Arguments
from tbe_impl.codegen.options import Options
from tbe_impl.compiled import Compiled, Planned
from tbe_impl.dsl.blocked_sizes import crop
from tbe_impl.dsl.expr import Expr
from tbe_impl.dsl.graph_text import graph_text
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import CompileError, InputError, MissingError
from tbe_impl.tuning_store import Tuning

if TYPE_CHECKING:
    from tbe_impl.codegen.program import Layout
    from tbe_impl.cpu.prepared_kernel import CpuKernel, PlannedKernel

_log = logging.getLogger("tbe_impl")
_logged_messages: set[str] = set()


@dataclass(frozen=True)
class Kernel:
    """The result of building an operator.

    Attributes:
        name: name of the kernel.
        soc: the target chip.
        inputs, outputs: arguments in the order of the operator's arguments.
        schedule: the operator's schedule, or None.
        scheduled: the output tensors of the graph after a manual schedule has added memory copies
            or partial sums. Empty if no such operation was added.
        options: code generation options for this processor.
        threads: maximum number of threads; 0 for the process default.
        tuning: the measurements by which the options were chosen; None without tuning.
        specialise: for a kernel with unknown sizes, a function of the input arrays; otherwise None.
            The function returns a kernel for the sizes of these arrays, or None if the arrays
            cannot be inputs of the operator.
    """

    name: str
    soc: str
    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    schedule: Any = None
    scheduled: tuple[Tensor, ...] = ()
    options: Options = field(default_factory=Options)
    threads: int = 0
    tuning: Tuning | None = None
    specialise: Callable[[Sequence[Any]], Kernel | None] | None = field(
        default=None, repr=False, compare=False
    )

    def __repr__(self) -> str:
        inputs, outputs = (", ".join(map(str, one)) for one in (self.inputs, self.outputs))
        return f"<Kernel {self.name} for {self.soc}: {inputs} -> {outputs}>"

    def __call__(
        self,
        *arrays: Any,
        backend: str = "cpu",
        rounding: str | None = None,
        out: Sequence[np.ndarray] | np.ndarray | None = None,
        scalars: Mapping[str, float] | None = None,
    ) -> Any:
        """Runs the kernel; returns the output array, or a tuple if there are several outputs.

        Args:
            arrays: one array per input, with the declared shape and dtype.
            backend: ``cpu`` (compiled code) or ``numpy`` (interprets the graph with NumPy).
            rounding: ``accurate``, ``device`` (the result of each stage is rounded to its dtype) or
                ``float64`` (only for the back end ``numpy``).
            out: output arrays; an array that is also an input is overwritten.
            scalars: name of a ``tvm.var`` that is not the size of an input axis → its value.

        Raises:
            InputError: the number of arrays, a shape, a dtype or a name in `scalars` is wrong.
        """
        engine = backends.find_runnable(backend, place=self.name)
        if rounding is not None and rounding != self.options.rounding:
            return replace(self, options=replace(self.options, rounding=rounding))(
                *arrays, backend=backend, out=out, scalars=scalars
            )
        try:
            bound = self._arguments.bind(arrays, scalars or {})
        except InputError as error:
            own = self._specialise_for(arrays, error)
            return own(*arrays, backend=backend, out=out, scalars=scalars)
        targets = self._arguments.check_targets(out, bound.shapes)
        compiled = self._compile_or_replace(engine)
        places = None
        if targets is not None and not self.options.inplace:
            places = self._arguments.reshape_targets(targets, bound)
        threads = self.threads or environment.threads()
        results = compiled.run(bound.arrays, bound.values, threads, places)
        found = tuple(
            crop(array, shape) for array, shape in zip(results, bound.shapes, strict=True)
        )
        if targets is not None:
            for target, array in zip(targets, found if places is None else (), strict=False):
                target[...] = array
            found = tuple(targets)
        return found[0] if len(found) == 1 else found

    @property
    def computed(self) -> tuple[Tensor, ...]:
        """The tensors that the code computes: `scheduled` or, if that is empty, the outputs."""
        return self.scheduled or tuple(item.tensor for item in self.outputs)

    @cached_property
    def compiled(self) -> CpuKernel:
        """The compiled kernel; a kernel that was compiled before is loaded from the cache.

        Raises:
            MissingError: there is no C compiler.
            CompileError: code generation failed.
        """
        return cast("CpuKernel", self.compiled_by(backends.CPU.name))

    @cached_property
    def planned(self) -> PlannedKernel:
        """The prepared, uncompiled kernel; `build_together` compiles several such kernels."""
        return cast("PlannedKernel", self._plan(backends.CPU))

    def compiled_by(self, backend: str) -> Compiled:
        """Compiles the kernel with a back end and returns the result.

        Args:
            backend: name of an entry of `tbe_impl.backends.BACKENDS`. The `source` of ``cann`` is
                an operator file for CANN.

        Raises:
            InputError: the back end does not exist, or cannot build this kernel.
            MissingError: a tool such as the C compiler is missing.
            CompileError: code generation failed.
        """
        found = self._compiled_kernels.get(backend)
        if found is None:
            plan = self._plan(backends.find_backend(backend))
            found = self._compiled_kernels[backend] = plan.compile()
        return found

    @cached_property
    def _compiled_kernels(self) -> dict[str, Compiled]:
        """Name of a back end → the kernel as compiled by this back end."""
        return {}

    @cached_property
    def _plans(self) -> dict[str, Planned]:
        """Name of a back end → the plan of this back end for the kernel."""
        return {}

    def _plan(self, backend: backends.Backend) -> Planned:
        found = self._plans.get(backend.name)
        if found is None:
            found = self._plans[backend.name] = backend.plan(self._graph, self._code_options)
        return found

    @property
    def _code_options(self) -> Options:
        return replace(self.options, threads=self.threads) if self.threads else self.options

    @property
    def _graph(self) -> backends.KernelGraph:
        inputs, outputs = (
            tuple(item.tensor for item in some) for some in (self.inputs, self.outputs)
        )
        return backends.KernelGraph(
            self.name, inputs, outputs, self.computed, text=lambda: self.graph
        )

    @cached_property
    def _arguments(self) -> Arguments:
        return Arguments(self.name, self.inputs, self.outputs)

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
        """Returns a copy of this kernel with the given options; all other options are kept.

        Args:
            inplace: whether the first output overwrites the first input of the same shape and
                dtype. A call then returns the array of this input.
            threads: maximum number of threads; 0 for the process default.
            vector_bits: width of vectors in bits: 128, 256 or 512, or 0 for the widest of the
                processor.

        Raises:
            InputError: the vector width or the number of threads is invalid.
            CompileError: raised later, when the kernel is compiled, if the kernel cannot compute in
                place.
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

    @property
    def open_sizes(self) -> tuple[Expr, ...]:
        """Unknown sizes and scalars that a call cannot infer from the shapes of its inputs."""
        return self._arguments.open_sizes

    @property
    def source(self) -> str:
        """The generated C source."""
        return self.compiled.source

    @property
    def marked_source(self) -> str:
        """`source` with stage comments ``/* stage 12 */``, numbered by `Operation.number`."""
        from tbe_impl.codegen.source_comments import enable_stage_comments

        with enable_stage_comments():
            return self.compiled.regenerate_source(self.name, self._code_options)

    @property
    def layout(self) -> Layout | None:
        """The loop nests of the code, or None if a library computes a part of the kernel.

        Raises:
            CompileError: code generation failed.
        """
        from tbe_impl.codegen.program import layout_of

        if any(op.kind == "library" for op in stages_of(self.computed)):
            return None
        return layout_of(self.computed, [item.tensor for item in self.inputs], self.options)

    def report(self) -> Any:
        """Returns a `KernelReport`: the arrays, the generated code and the schedule on the chip."""
        from tbe_impl.kernel_report import report_of

        return report_of(self)

    def _compile_or_replace(self, backend: backends.Backend) -> Compiled:
        """Compiles the kernel with `backend`, or with another back end if `backend` fails."""
        try:
            return self.compiled_by(backend.name)
        except (MissingError, CompileError) as error:
            other = backends.replacement_of(backend)
            if other is None:
                raise
            if str(error) not in _logged_messages:
                _logged_messages.add(str(error))
                _log.warning("%s runs on the %s back end: %s", self.name, other.title, error)
            return other.plan(self._graph, replace(self.options, inplace=False)).compile()

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
        """Returns a copy of `other` with this kernel's thread count and options.

        The options about loops are those of `other`.
        """
        return replace(
            other, options=self.options.with_loops_of(other.options), threads=self.threads
        )
