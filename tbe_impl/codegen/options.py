"""Defines the options of code generation for this processor (the CPU of this machine)."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class LoopChoice:
    """One loop over a stored result.

    Attributes:
        parts: one pair (axis position, step) for each index that the loop changes. A step above 1
            means a block loop. Several pairs mean fused loops.
        shared: whether the loop is parallel.
        grain: number of consecutive iterations that stay on one thread.
        unroll: number of steps to unroll, in elements; 0 for the default.
        tiles: numbers of the results that are computed tile by tile inside the loop; see
            `tbe_impl.codegen.program.numbered_results`.
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
        loops: the loops over the data axes. Each axis has one loop with step 1, inside the loops
            over its blocks. Empty for the default order.
        sums: the loops over the reduced axes, in the same form. These loops run inside all data
            loops or outside all data loops, whichever is faster; see
            `tbe_impl.codegen.planning.reduction_loops`.
        exact: the loops over data and reduced axes in one order, instead of `loops` and `sums`.
            Positions of reduced axes follow those of data axes; see
            `tbe_impl.codegen.planning.scheduled_loops`.
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
        contract: whether to allow fused multiply-add, which computes a·b + c with one rounding.
        vector_bits: vector width in bits; 0 for the widest of the processor.
        march: target processor; empty for this processor.
        accumulators: number of independent accumulators of a reduction along a row. A row of up to
            `tbe_impl.codegen.passes.row_buffers.MAX_ROW_STEPS` elements has only one accumulator if
            each step computes much.
        unroll: vectors per iteration of the innermost loop of an elementwise nest.
        jam_factor: unroll-and-jam factor, the number of rows computed at once. Jammed rows share
            common loads. The additions of one row hide the latency of the additions of another row.
            The accumulators of one row are divided among the jammed rows. 0 means four for short
            rows and for column reductions, else one.
        loop_interchange: whether column sums beside other results stay in registers for several
            rows; see `tbe_impl.codegen.passes.loop_interchange`.
        keep_rows: whether the first loop over a row stores the values of costly stages in a row
            buffer. Later loops over this row load these values from the buffer.
        prefetch: whether to prefetch the next row while a row is processed.
        offset: number of bytes between the start of a cache line and the first element of an array.
            The offset is 16 for memory from ``malloc``, and also for MindSpore's tensors. The loop
            of a sum along a row first peels the elements before the next cache line, so that no
            later vector load crosses a cache line.
        stream_bytes: minimum size in bytes of an output for non-temporal stores.
        software_pipelining: whether to use software pipelining across rows, where rows use
            non-temporal stores and vector registers have at least 32 bytes; see
            `tbe_impl.codegen.passes.software_pipelining`.
        loop_fission: whether to use loop fission for long functions; see
            `tbe_impl.codegen.passes.loop_fission`.
        float16_tables: whether to use lookup tables for functions of one float16 value, on
            processors with float16 arithmetic; see `tbe_impl.codegen.passes.table_loops`.
        threads: maximum number of threads of a nest, fixed in the generated code; 0 for the number
            that the caller of the kernel passes.
        inplace: whether the first output overwrites the first input of the same shape and dtype.
        stored: numbers of the stages that are stored although they are no outputs; see
            `tbe_impl.codegen.program.numbered_results`.
        inlined: numbers of the stages that get no row buffer, but are recomputed in each loop over
            a row.
        rows: numbers of further stages that get row buffers, in addition to the stages that
            `keep_rows` selects.
        orders: requested loops of results; a request that cannot be followed has no effect.
        portions: number of parts of a parallel nest. A thread that finishes a part takes the next
            one. A thread that starts late therefore computes fewer parts. 0 for one equal part per
            thread.
        parallel_elements: a nest runs in parallel only if it reads and writes at least this number
            of elements. A quarter of this number suffices if a pool thread is busy-waiting
            (`thread_pool.h`), except for a nest that merges partial sums.
    """

    rounding: str = "accurate"
    contract: bool = False
    vector_bits: int = 0
    march: str = ""
    accumulators: int = 4
    unroll: int = 1
    jam_factor: int = 0
    loop_interchange: bool = True
    keep_rows: bool = True
    prefetch: bool = True
    offset: int = 0
    stream_bytes: int = 16 << 20
    software_pipelining: bool = True
    loop_fission: bool = True
    float16_tables: bool = True
    portions: int = 0
    parallel_elements: int = 1 << 19
    threads: int = 0
    inplace: bool = False
    stored: tuple[int, ...] = ()
    inlined: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    orders: tuple[LoopOrder, ...] = ()

    def with_loops_of(self, other: Options) -> Options:
        """Returns a copy with `stored`, `inlined`, `rows` and `orders` of `other`."""
        return replace(
            self,
            stored=other.stored,
            inlined=other.inlined,
            rows=other.rows,
            orders=other.orders,
        )

    def temporary_dtype(self, dtype: str) -> str:
        """Returns the dtype in memory of a temporary.

        A half-precision temporary is stored as float32. The exception is the option `rounding` =
        ``device``. With this option, the temporary is stored in its own dtype, as on the device.
        """
        is_half = dtype in ("float16", "bfloat16")
        return "float32" if is_half and self.rounding != "device" else dtype

    def compiler_options(self) -> list[str]:
        """Returns the C compiler flags that these options require."""
        found = [f"-ffp-contract={'fast' if self.contract else 'off'}"]
        return [*found, f"-march={self.march}"] if self.march else found


DEFAULT_OPTIONS = Options()
