"""Defines the code generation options for this processor."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class LoopChoice:
    """One loop over a stored result.

    Attributes:
        parts: axis position and step of each index that it moves; a step above one is a block loop.
            Several parts are fused loops.
        shared: whether it is parallel.
        grain: consecutive iterations that stay on one thread.
        unroll: unroll factor, in vectors for the innermost loop.
        tiles: numbers of the stages computed tile by tile inside it.
    """

    parts: tuple[tuple[int, int], ...]
    shared: bool = False
    grain: int = 1
    unroll: int = 0
    tiles: tuple[int, ...] = ()


@dataclass(frozen=True)
class LoopOrder:
    """The loops over a result, outermost first; see `tbe_impl.codegen.planning.loop_orders`.

    Attributes:
        stage: number of the result; see `tbe_impl.codegen.program.numbered_results`.
        loops: over the axes of a stored result: each axis once in single steps, after the loops
            over its blocks; empty for the default order.
        sums: the same over its reduced axes; placed inside each element or outside all of them,
            whichever is faster; see `tbe_impl.codegen.planning.reduction_loops`.
        exact: data and reduced axes together in one order, instead of `loops` and `sums`; positions
            of reduced axes follow those of data axes; see `tbe_impl.codegen.planning.scheduled_loops`.
    """

    stage: int
    loops: tuple[LoopChoice, ...] = ()
    sums: tuple[LoopChoice, ...] = ()
    exact: tuple[LoopChoice, ...] = ()


@dataclass(frozen=True)
class Options:
    """Code generation options, for the tuner and for users.

    Attributes:
        rounding: ``accurate`` or ``device``; see `tbe_impl.interpreter.evaluate`.
        contract: allow fused multiply-add, which rounds a·b + c once.
        vector_bits: vector width; 0 for the widest of the processor.
        march: target processor; empty for this one.
        accumulators: independent accumulators of a reduction along a row, where a step computes
            little.
        unroll: vectors per iteration of the innermost loop of an elementwise nest.
        together: unroll-and-jam factor: rows computed at once, which share common loads and hide
            the latency of each other's sums; they divide the accumulators of one row. 0 for four
            of short rows, else one.
        keep_rows: keep slow stages in row buffers for the next loop over a row.
        prefetch: prefetch the next row while one is processed.
        offset: bytes between an array's start and the cache line before it; `malloc`, and so
            MindSpore's tensors, gives 16. Sums along rows peel steps up to a cache line, so that
            no vector load crosses one.
        stream_bytes: minimum bytes of an output for non-temporal stores.
        stagger: software pipelining across rows, where rows use non-temporal stores and vector
            registers have at least 32 bytes; see `tbe_impl.codegen.passes.software_pipelining`.
        strips: loop fission of long functions; see `tbe_impl.codegen.passes.loop_fission`.
        half_cells: lookup tables for functions of one float16 value, on processors with float16
            arithmetic; see `tbe_impl.codegen.passes.table_loops`.
        threads: maximum threads of a nest, fixed in the code; 0 for the caller's number.
        inplace: overwrite the first input of the first output's shape and dtype.
        stored: numbers of stages that are stored without being outputs; see
            `tbe_impl.codegen.program.numbered_results`.
        inlined: numbers of stages that are recomputed in each loop over a row, without row buffer.
        rows: numbers of stages with row buffers, like slow stages.
        orders: requested loops of results; a request that cannot be followed has no effect.
        portions: number of dynamically scheduled parts of a nest, so that late threads take fewer;
            0 for one equal part for each thread.
        parallel_elements: minimum elements read and written by a parallel nest; a quarter of it
            when a thread is awake (`thread_pool.h`).
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
        """These options with the loop orders and stage placement of others."""
        return replace(
            self,
            stored=other.stored,
            inlined=other.inlined,
            rows=other.rows,
            orders=other.orders,
        )

    def compiler_options(self) -> list[str]:
        """Options for the C compiler."""
        found = [f"-ffp-contract={'fast' if self.contract else 'off'}"]
        return [*found, f"-march={self.march}"] if self.march else found


DEFAULT_OPTIONS = Options()
