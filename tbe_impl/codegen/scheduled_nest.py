"""Emits a loop nest whose loops a schedule fixes: its function and its parallel parts."""

from __future__ import annotations

from tbe_impl.codegen.loop_headers import parallel_trip_count
from tbe_impl.codegen.lowering import Lowering
from tbe_impl.codegen.nest_function import NestFunction, ProgramContext
from tbe_impl.codegen.partition import LoopNest
from tbe_impl.codegen.scheduled_stage import ScheduledStageWriter
from tbe_impl.codegen.thread_partial_sums import ThreadRows
from tbe_impl.codegen.thread_partition import join_functions


class ScheduledNestWriter:
    """Emits one nest.

    Args:
        number: number of the nest, for names.
        nest: the nest; it has one root.
        around: program context.
        readable: ``id`` of the tensors that are complete.
    """

    def __init__(self, number: int, nest: LoopNest, around: ProgramContext, readable: set[int]):
        assert nest.exact is not None
        (self.root,) = nest.roots
        self.nest, self.exact, self.around = nest, nest.exact, around
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(self.root.tensor): around.buffers[id(self.root.tensor)]}
        self.inside = Lowering(
            buffers,
            targets,
            around.names,
            around.options,
            (),
            around.slow,
            around.sums,
            around.short,
        )

    def write(self) -> tuple[str, str]:
        """Emits the functions, and the statements that call them."""
        nest, inside, function, together = (
            self.nest,
            self.inside,
            self.function,
            self.exact.together,
        )
        for serial, extent in nest.loops:
            inside.declare_loop(serial, extent)
        parted = nest.levels[nest.shared]
        if nest.shared:
            # every thread would recompute a reduction of the loops outside the parallel one
            inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            inside.parts[parted.parts[0][0]] = ("begin", "end")
        memory = ThreadRows(function, [self.root] if together else [])
        stage = ScheduledStageWriter(
            inside, memory, self.around, self.root, nest.levels, self.exact
        )
        stage.write(shared=nest.shared)
        steps, grain = parallel_trip_count(inside, parted), nest.grain or 1
        lines = inside.chain[0].lines
        if memory.is_empty:
            text = function.text("int64_t begin, int64_t end", (), lines)
            alone = f"{function.name}(b, s, INT64_C(0), {steps});"
            part, call = function.emit_parallel_call(steps, grain, alone)
            return join_functions(text, part), call
        text = function.text("int64_t begin, int64_t end, char *rows", memory.starts(), lines)
        part, call = memory.call(steps, grain, together=together)
        return join_functions(text, part, memory.merge_function_text() if together else ""), call
