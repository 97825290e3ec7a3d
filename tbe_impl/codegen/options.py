"""Options of code generation for this processor."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class LoopChoice:
    """One loop over a stored result.

    Attributes:
        parts: place of an axis of the result, and by how many of its steps the loop moves it: more than one from block to
            block. Several parts are fused loops.
        shared: whether threads share it.
        grain: steps that stay on one thread.
        unroll: how many steps of it stand in the code one after the other; of the innermost, how many vectors.
        tiles: numbers of the stages of which a tile is computed in each of its steps.
    """

    parts: tuple[tuple[int, int], ...]
    shared: bool = False
    grain: int = 1
    unroll: int = 0
    tiles: tuple[int, ...] = ()


@dataclass(frozen=True)
class LoopOrder:
    """The loops over a result, the outermost first; see `tbe_impl.codegen.loop_orders`.

    Attributes:
        stage: number of the result; see `tbe_impl.codegen.program.computed`.
        loops: over the axes of a stored result, each once with single steps, behind the loops over its blocks; none for
            those that it would have without.
        sums: the same over what it sums up, inside of each element or outside of all as may be the quickest; see
            `tbe_impl.codegen.reduction_loops`.
        exact: both together in one order, instead of `loops` and `sums`; the places of what it sums up follow those of
            its axes. See `tbe_impl.codegen.scheduled_loops`.
    """

    stage: int
    loops: tuple[LoopChoice, ...] = ()
    sums: tuple[LoopChoice, ...] = ()
    exact: tuple[LoopChoice, ...] = ()


@dataclass(frozen=True)
class Options:
    """How code is made; what a tuner may choose, and what a user may ask for.

    Attributes:
        rounding: ``accurate`` or ``device``; see `tbe_impl.interpreter.evaluate`.
        contract: let a·b + c be rounded once.
        vector_bits: width of the vectors; 0 for the processor's widest.
        march: processor to compile for; empty for this one.
        accumulators: independent accumulators of a reduction along a row, where a step computes little.
        unroll: vectors at once in the innermost loop of a map.
        together: rows, steps of the loop around the innermost one, that are computed at once, so that what is the same for
            them is read once and none waits for the sum of another; they have the accumulators of one row between them. 0
            for four of short rows and one of others.
        keep_rows: keep slow stages for the next loop over a row.
        prefetch: fetch the next row while one is written.
        offset: bytes by which arrays begin behind a line of the cache; what `malloc` hands out, MindSpore's tensors among it, begins 16
            behind one. Sums along rows begin with what is left of a line, so that no vector is read from two.
        stream_bytes: bytes of an output from which on it is written past the caches.
        stagger: take the loops over a row together, each at another row, where rows are written past the caches and the
            processor has 32 registers of 64 bytes or is a Zen 3; see `tbe_impl.codegen.software_pipelining`.
        strips: go over a few vectors twice where a function is long; see `tbe_impl.codegen.loop_fission`.
        half_cells: functions of one float16 number from tables, where a processor computes with halves; see
            `tbe_impl.codegen.table_loops`.
        threads: how many share a nest at most, fixed in the code; 0 for what the caller says.
        inplace: write the first output over the first input of its shape and dtype.
        stored: numbers of stages that are computed into memory first although nobody asked for them; see
            `tbe_impl.codegen.program.computed`.
        inlined: numbers of stages that are computed again in each loop over a row, never kept for the next.
        rows: numbers of stages whose rows are kept like slow ones.
        orders: loops over results; where they cannot be had, they are as without.
        portions: into how many parts the steps of a nest are cut, which threads take as they come: those that wake up late
            take fewer; 0 for an equal part for each.
        parallel_elements: elements that a nest reads and writes from which on threads share it; a quarter of them where a
            thread is awake (`workers.h`).
    """

    rounding: str = "accurate"
    contract: bool = False
    vector_bits: int = 0
    march: str = ""
    accumulators: int = 4
    unroll: int = 1
    together: int = 0
    keep_rows: bool = True
    prefetch: bool = True
    offset: int = 0
    stream_bytes: int = 16 << 20
    stagger: bool = True
    strips: bool = True
    half_cells: bool = True
    portions: int = 0
    parallel_elements: int = 1 << 19
    threads: int = 0
    inplace: bool = False
    stored: tuple[int, ...] = ()
    inlined: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    orders: tuple[LoopOrder, ...] = ()

    def with_loops_of(self, other: Options) -> Options:
        """These options with the loops and places of others."""
        return replace(
            self,
            stored=other.stored,
            inlined=other.inlined,
            rows=other.rows,
            orders=other.orders,
        )

    def compiler_options(self) -> list[str]:
        """What the C compiler is told."""
        found = [f"-ffp-contract={'fast' if self.contract else 'off'}"]
        return [*found, f"-march={self.march}"] if self.march else found


DEFAULT = Options()
