"""Defines the protocol `Backend` for compiling DSL graphs, and the ordered table `BACKENDS`.

A back end plans a graph (`Backend.plan`). The plan is compiled (`Planned.compile`), and the result
is called with arrays (`Compiled.run`); see `tbe_impl.compiled`. The package of a back end is
imported on first use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tbe_impl.errors import InputError
from tbe_impl.records import Record

if TYPE_CHECKING:
    from tbe_impl.cann.graph_operator import CannSource
    from tbe_impl.codegen.options import Options
    from tbe_impl.compiled import Planned
    from tbe_impl.cpu.prepared_kernel import PlannedKernel
    from tbe_impl.dsl.tensor import Tensor
    from tbe_impl.interpreter.interpreted_kernel import InterpretedKernel


@dataclass(frozen=True, eq=False)
class KernelGraph:
    """The graph of a kernel, as the input of a back end.

    Attributes:
        name: readable name of the kernel.
        inputs, outputs: the tensors of the graph.
        scheduled: the tensors that the code computes. If a manual schedule adds memory copies or
            partial sums to the graph, `scheduled` are the outputs of the changed graph. Otherwise,
            `scheduled` equals `outputs`.
        text: function that returns the result of `graph_text` for `scheduled`.
    """

    name: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    scheduled: tuple[Tensor, ...]
    text: Callable[[], str]


class Backend(Protocol):
    """Protocol of a back end: a target for which DSL graphs are compiled."""

    @property
    def name(self) -> str:
        """The name of the back end, as in ``Kernel.__call__(backend=...)``."""

    @property
    def title(self) -> str:
        """The name in messages."""

    @property
    def can_run(self) -> bool:
        """Whether this processor can run the kernels of the back end."""

    def plan(self, graph: KernelGraph, options: Options) -> Planned:
        """Prepares a graph for compilation.

        Raises:
            InputError: the back end cannot build this graph with these options.
        """


class CpuBackend(Record):
    """Generates C code, compiles the code for this processor, and calls it."""

    name: str = "cpu"
    title: str = "CPU"
    can_run: bool = True

    def plan(self, graph: KernelGraph, options: Options) -> PlannedKernel:
        """See `Backend.plan`.

        Every graph is accepted; compilation may fail.
        """
        from tbe_impl.cpu import prepared_kernel

        return prepared_kernel.plan(
            graph.scheduled, graph.inputs, name=graph.name, options=options, graph=graph.text
        )


class NumpyBackend(Record):
    """Interprets the graph with NumPy, one DSL operation after the other."""

    name: str = "numpy"
    title: str = "NumPy"
    can_run: bool = True

    def plan(self, graph: KernelGraph, options: Options) -> InterpretedKernel:
        """See `Backend.plan`.

        The options other than `rounding` and `inplace` have no effect.
        """
        from tbe_impl.interpreter.interpreted_kernel import InterpretedKernel

        if options.inplace:
            raise InputError("the NumPy back end computes nothing in place", place=graph.name)
        return InterpretedKernel(graph.inputs, graph.outputs, options.rounding)


class CannBackend(Record):
    """Writes an operator file in the TBE DSL that CANN compiles for an Ascend chip."""

    name: str = "cann"
    title: str = "CANN"
    can_run: bool = False

    def plan(self, graph: KernelGraph, options: Options) -> CannSource:
        """See `Backend.plan`.

        The options have no effect, because CANN chooses the loops.
        """
        from tbe_impl.cann import graph_operator

        return graph_operator.plan(graph.name, graph.inputs, graph.outputs)


CPU = CpuBackend()
BACKENDS: tuple[Backend, ...] = (CPU, NumpyBackend(), CannBackend())
"""All back ends, in order of preference; see `replacement_of`."""
RUNNABLE_NAMES = tuple(one.name for one in BACKENDS if one.can_run)
"""Names of the back ends that a call of a kernel may request."""
_BY_NAME: Mapping[str, Backend] = {one.name: one for one in BACKENDS}


def find_backend(name: str) -> Backend:
    """Returns the back end of this name.

    Raises:
        InputError: there is no such back end.
    """
    found = _BY_NAME.get(name)
    if found is None:
        raise _unknown_backend(name, tuple(_BY_NAME), place=None)
    return found


def find_runnable(name: str, *, place: str | None = None) -> Backend:
    """Returns the back end of this name, and checks that it can run on this processor.

    Args:
        name: one of `RUNNABLE_NAMES`.
        place: text for the error that says where the user gave the name.

    Raises:
        InputError: there is no such back end, or it cannot run here.
    """
    found = _BY_NAME.get(name)
    if found is None or not found.can_run:
        raise _unknown_backend(name, RUNNABLE_NAMES, place=place)
    return found


def replacement_of(backend: Backend) -> Backend | None:
    """Returns the replacement for a back end that cannot build a kernel, or None if there is none.

    The replacement is the next back end of `BACKENDS` that can run on this processor.
    """
    behind = BACKENDS[BACKENDS.index(backend) + 1 :]
    return next((one for one in behind if one.can_run), None)


def _unknown_backend(name: str, expected: Sequence[str], *, place: str | None) -> InputError:
    return InputError(
        "unknown back end", place=place, expected=" or ".join(expected), got=repr(name)
    )
