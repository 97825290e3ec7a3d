"""The C function of a loop nest, and the statements that run it in parallel."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tbe_impl.codegen.axis_merging import elements_of
from tbe_impl.codegen.loop_levels import Buffer, render
from tbe_impl.codegen.options import LoopChoice, Options
from tbe_impl.codegen.partition import Nest, Root
from tbe_impl.codegen.polynomials import Poly
from tbe_impl.codegen.thread_partition import shared_out
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.runtime.buffers import MAX_THREADS


@dataclass(frozen=True)
class Surroundings:
    """What a nest finds around it.

    Attributes:
        symbol: what the function of the whole program is called.
        tensors: everything in memory, in the order of the pointers ``b``.
        dtypes: of their elements there.
        buffers: ``id`` of each of them → its place.
        names: serial number of each size → its name in C, in the order of ``s``.
        kept, slow, sums, short: see `Elaborator`.
        exact: ``id`` of a tensor → its loops, exactly; see `tbe_impl.codegen.scheduled_loops`.
        named: the tensors that options name by number.
        options: how code is made.
    """

    symbol: str
    tensors: Sequence[Tensor]
    dtypes: Sequence[str]
    buffers: Mapping[int, Buffer]
    names: Mapping[int, str]
    kept: frozenset[int]
    slow: frozenset[int]
    sums: Mapping[int, Sequence[LoopChoice]]
    short: Mapping[int, str]
    exact: Mapping[int, Sequence[LoopChoice]]
    named: Sequence[Tensor]
    options: Options


class NestFunction:
    """What surrounds the loops of one nest.

    Args:
        number: of the nest, for names.
        nest: what it computes.
        around: what it finds.
    """

    def __init__(self, number: int, nest: Nest, around: Surroundings):
        self.nest, self.around, self.options = nest, around, around.options
        # a crash on any thread shows this name
        self.name = f"{around.symbol}_nest{number}"

    def text(
        self, parameters: str, starts: Sequence[str], lines: Sequence[object], name: str = ""
    ) -> str:
        """The function.

        Args:
            parameters: behind pointers and sizes.
            starts: statements before all others.
            lines: its loops.
            name: by default that of the nest.
        """
        used = render([*lines])
        everything = used + "\n".join(starts)
        head = f"static void {name or self.name}(void **b, const int64_t *s, {parameters}) {{"
        unused = "(void)b; (void)s;" + (" (void)begin; (void)end;" if "begin" in parameters else "")
        return "\n".join([head, render([*self._declared(everything), *starts, unused]), used, "}"])

    def _declared(self, text: str) -> list[str]:
        """The pointers and sizes that a text uses."""
        found, words = [], set(re.findall(r"\w+", text))
        for index, dtype in enumerate(self.around.dtypes):
            if f"p{index}" in words:
                c = dtype_of(dtype).c
                found.append(f"{c} *p{index} = ({c} *)b[{index}];")
        for index, name in enumerate(self.around.names.values()):
            if name in words:
                found.append(f"const int64_t {name} = s[{index}];")
        return found

    def size(self, size: Poly) -> str:
        """A size in C."""
        return size.text(self.around.names)

    def place(self, root: Root) -> Buffer:
        """Where a result lies."""
        return self.around.buffers[id(root.tensor)]

    def steps(self) -> str:
        """How many elements a nest reads and writes, for the decision about threads.

        Of a tensor no more than are written are read, where nothing is summed: rows by number are few of a large table.
        """
        own = [root.tensor for root in self.nest.roots]
        met, waiting, sums = {id(tensor) for tensor in own}, [tensor.op for tensor in own], False
        while waiting:
            op = waiting.pop()
            sums = sums or not op.body or any(isinstance(body, Reduce) for body in op.body)
            for item in op.input_tensors:
                if id(item) not in met:
                    met.add(id(item))
                    if id(item) not in self.around.buffers:
                        waiting.append(item.op)
        written = sum((elements_of(tensor) for tensor in own), Poly())
        sizes = [elements_of(tensor) for tensor in self.around.tensors if id(tensor) in met]
        return (
            " + ".join(f"({self._at_most(size, None if sums else written)})" for size in sizes)
            or "1"
        )

    def _at_most(self, size: Poly, bound: Poly | None) -> str:
        if bound is None or size == bound:
            return self.size(size)
        if size.constant is not None and bound.constant is not None:
            return self.size(size if size.constant < bound.constant else bound)
        return f"least({self.size(size)}, {self.size(bound)})"

    @property
    def portions(self) -> int:
        """Into how many parts its steps are cut, which threads take as they come; 0 for one for each thread."""
        return min(self.options.portions, MAX_THREADS)

    def shared(
        self,
        extent: str,
        grain: int,
        alone: str,
        *,
        arguments: str = "",
        given: str = "",
        count: str = "",
    ) -> tuple[str, str]:
        """A function, and statements that run `alone`, or this nest's parts on several threads when that pays; see `shared_out`."""
        least = str(self.options.parallel_elements)
        # what parts are put together to has other bits than what one thread computed: not now like this, now like that
        work = f"{self.steps()} >= {least if count else f'shared_from({least})'}"
        return shared_out(
            self.name,
            extent,
            grain,
            work,
            alone,
            portions=self.portions,
            arguments=arguments,
            given=given,
            count=count,
        )
