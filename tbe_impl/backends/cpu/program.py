"""A graph as one C function: what it stores, its nests one after the other, shared among threads where that pays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tbe_impl.backends.cpu import vector_types as vectors
from tbe_impl.backends.cpu.access import size_poly, strides_of
from tbe_impl.backends.cpu.elaborate import Buffer, Elaborator, NeedsBuffer, _combine
from tbe_impl.backends.cpu.nests import Nest, nests_of, worth_keeping
from tbe_impl.backends.cpu.options import DEFAULT, Options
from tbe_impl.backends.cpu.poly import ONE, Poly
from tbe_impl.backends.cpu.scope import render
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Reduce, Var
from tbe_impl.dsl.tensor import Tensor, stages_of, variables_of
from tbe_impl.errors import CompileError

PREFETCH_STEPS = 1 << 13
"""Length of a row up to which the next one is fetched while this one is written."""

MAX_THREADS = 256


@dataclass(frozen=True)
class Program:
    """C and how to call it.

    Attributes:
        source: the text; it includes the headers of this package.
        symbol: ``int symbol(void **buffers, const int64_t *sizes, int64_t threads)``: 0, or 1 when memory ran out.
        inputs, outputs: what `buffers` holds, in this order.
        sizes: what `sizes` holds.
    """

    source: str
    symbol: str
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    sizes: tuple[Var, ...]


def write_program(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    *,
    name: str = "kernel",
    options: Options = DEFAULT,
) -> Program:
    """The C of a graph whose stages all have a body.

    Args:
        outputs: tensors to compute.
        inputs: tensors that the caller hands over: placeholders, and results of library stages.
        name: what people call it; it stands in the symbol, so that a crash names the operator.
        options: how.

    Raises:
        CompileError: there is no code for something in it.
    """
    extra: list[Tensor] = []
    while True:
        try:
            return _Writer(outputs, inputs, extra, name, options).program()
        except NeedsBuffer as need:
            if any(need.tensor is tensor for tensor in (*extra, *inputs)) or not need.tensor.op.body:  # fmt: skip
                raise CompileError(
                    f"there is no loop nest for {need.tensor.name}",
                    place=str(need.tensor.op.location),
                ) from None
            extra.append(need.tensor)


class _Writer:
    def __init__(
        self, outputs: Sequence[Tensor], inputs: Sequence[Tensor], extra: Sequence[Tensor], name: str, options: Options
    ):  # fmt: skip
        self.inputs, self.outputs, self.options = tuple(inputs), tuple(outputs), options
        wanted = {id(tensor) for tensor in (*outputs, *extra)} - {id(tensor) for tensor in inputs}
        self.stored = [
            tensor for op in stages_of(outputs) for tensor in op.outputs if id(tensor) in wanted
        ]
        self.temporary = [
            tensor for tensor in self.stored if not any(tensor is item for item in outputs)
        ]
        self.all = [*self.inputs, *self.outputs, *self.temporary]
        self.sizes = tuple(item for item in variables_of(outputs) if isinstance(item, Var))
        self.names = {item.serial: f"n{number}" for number, item in enumerate(self.sizes)}
        in_memory = {id(tensor) for tensor in self.all}
        self.kept = worth_keeping(outputs, in_memory) if options.keep_rows else frozenset()
        self.symbol = f"k_{re.sub('[^A-Za-z0-9_]', '_', name)[:40]}"

    def program(self) -> Program:
        """The whole text."""
        functions, calls = [], []
        readable = {id(tensor) for tensor in self.inputs}
        for number, nest in enumerate(nests_of(self.stored, self.inputs)):
            function, call = self._nest(number, nest, readable)
            functions.append(function)
            calls.append(call)
            readable |= {id(root.tensor) for root in nest.roots}
        body = [f"const int64_t {name} = s[{number}];" for number, name in enumerate(self.names.values())]  # fmt: skip
        body += [f"(void){name};" for name in self.names.values()]
        first = len(self.inputs) + len(self.outputs)
        if self.temporary:
            body += [f"void *all[{len(self.all)}];", f"memcpy(all, b, {first}*sizeof(void *));", "b = all;"]  # fmt: skip
        freed = []
        for number, tensor in enumerate(self.temporary, first):
            size = self._elements(tensor).text(self.names)
            body.append(f"all[{number}] = aligned_alloc(64, (({size})*{dtype_of(tensor.dtype).bytes} + 127) & ~INT64_C(63));")  # fmt: skip
            freed.append(f"free(all[{number}]);")
        missing = " || ".join(f"!all[{number}]" for number in range(first, len(self.all)))
        if missing:
            body += [f"if ({missing}) {{ {' '.join(freed)} return 1; }}"]
        entry = [
            f"int {self.symbol}(void **b, const int64_t *s, int64_t threads) {{",
            render([*body, *calls, *freed, "(void)s; (void)threads;", "return 0;"]),
            "}",
        ]
        lanes = (
            [f"#define LANES {self.options.vector_bits // 32}"] if self.options.vector_bits else []
        )
        lanes += ['#include "vector_math.h"', '#include "runtime.h"']
        source = "\n\n".join(["\n".join(lanes), *functions, "\n".join(entry)]) + "\n"
        return Program(source, self.symbol, self.inputs, self.outputs, self.sizes)

    def _elements(self, tensor: Tensor) -> Poly:
        total = ONE
        for size in tensor.shape:
            extent = size_poly(size)
            assert extent is not None
            total = total * extent
        return total

    def _buffer(self, tensor: Tensor) -> Buffer:
        number = next(index for index, item in enumerate(self.all) if item is tensor)
        strides = strides_of(tensor)
        if strides is None:
            raise CompileError(f"a size of {tensor.name} is no sum or product of sizes")
        return Buffer(f"p{number}", strides)

    def _nest(self, number: int, nest: Nest, readable: set[int]) -> tuple[str, str]:
        """The function of a nest, and the statements that call it."""
        buffers = {id(item): self._buffer(item) for item in self.all if id(item) in readable}
        targets = {id(root.tensor): self._buffer(root.tensor) for root in nest.roots}
        writer = Elaborator(buffers, targets, self.names, self.options, self.kept)
        if not nest.loops and isinstance(nest.roots[0].tensor.op.body[0], Reduce):
            return self._full_reduction(number, nest, writer)
        stream = self._streams(nest)
        for serial, extent in nest.loops:
            writer.loop_variable(serial, extent)
        self._loops(nest, writer, 0, stream)
        text = self._function(number, writer, "int64_t begin, int64_t end, const int stream")
        extent = nest.loops[0][1] if nest.loops else ONE
        grain = 1024 if len(nest.loops) == 1 and not nest.along else 1
        run = f"nest{number}(b, s, INT64_C(0), {extent.text(self.names)}, {stream or '0'});"
        shared = f"nest{number}(b, s, lo, hi, {stream or '0'});"
        return text, self._shared(extent, grain, self._steps(nest, writer), run, shared)

    def _steps(self, nest: Nest, writer: Elaborator) -> str:
        """How many steps all loops of a nest take, for the decision about threads."""
        sizes = [self._elements(tensor) for tensor in self.all if self._is_met(tensor, nest)]
        return " + ".join(f"({size.text(self.names)})" for size in sizes) or "1"

    def _is_met(self, tensor: Tensor, nest: Nest) -> bool:
        if any(root.tensor is tensor for root in nest.roots):
            return True
        met: set[int] = set()
        waiting = [root.tensor.op for root in nest.roots]
        while waiting:
            op = waiting.pop()
            for item in op.input_tensors:
                if id(item) not in met:
                    met.add(id(item))
                    waiting.append(item.op)
        return id(tensor) in met

    def _shared(self, extent: Poly, grain: int, steps: str, alone: str, shared: str) -> str:
        if extent.constant is not None and extent.constant <= grain:
            return alone
        return "\n  ".join(
            [
                f"if (threads > 1 && {steps} >= {self.options.parallel_elements}) {{",
                "  #pragma omp parallel num_threads((int)threads)",
                "  {",
                f"    const int64_t all_steps = {extent.text(self.names)};",
                "    int64_t part = (all_steps + OMP_COUNT - 1) / OMP_COUNT;",
                f"    part = (part + {grain - 1}) / {grain} * {grain};",
                "    const int64_t lo = part * OMP_NUMBER < all_steps ? part * OMP_NUMBER : all_steps;",
                "    const int64_t hi = lo + part < all_steps ? lo + part : all_steps;",
                f"    {shared}",
                "  }",
                f"}} else {alone}",
            ]
        )

    def _streams(self, nest: Nest) -> str:
        """A condition in C: the outputs are large, and their rows lie so that they can be written past the caches."""
        if nest.along or not nest.loops:
            return ""
        terms = []
        for root in nest.roots:
            if len(root.tensor.op.axis) and self._is_wide(root.tensor, nest):
                size = dtype_of(root.tensor.dtype).bytes
                buffer = self._buffer(root.tensor)
                index = buffer.name[1:]
                total = self._elements(root.tensor)
                if total.constant is not None and total.constant * size < self.options.stream_bytes:
                    return ""
                terms.append(f"({total.text(self.names)})*{size} >= {self.options.stream_bytes}")
                if len(nest.loops) > 1:
                    inner = nest.loops[-1][1].text(self.names)
                    terms.append(f"(uintptr_t)b[{index}] % 64 == 0 && (({inner})*{size}) % 64 == 0")
                else:
                    terms.append(f"(uintptr_t)b[{index}] % 64 == (uintptr_t)b[{self._buffer(nest.roots[-1].tensor).name[1:]}] % 64 && (uintptr_t)b[{index}] % {size} == 0")  # fmt: skip
        bytes_each = {dtype_of(root.tensor.dtype).bytes for root in nest.roots}
        if len(nest.loops) == 1 and len(bytes_each) > 1:
            return ""
        return " && ".join(terms)

    def _is_wide(self, tensor: Tensor, nest: Nest) -> bool:
        return nest.loops[-1][0] in frozenset().union(
            *(index.variables for root in nest.roots if root.tensor is tensor for index in root.indices)
        )  # fmt: skip

    def _loops(self, nest: Nest, writer: Elaborator, level: int, stream: str) -> None:
        """Writes the loops from a level on, and in the innermost what is stored."""
        begin, end = ("begin", "end") if level == 0 else ("0", None)
        rest = len(nest.loops) - level
        if rest == 0:
            self._store(nest, writer, frozenset(), "")
            return
        serial, _ = nest.loops[level]
        if rest == 1 and not nest.along:
            head = ""
            if stream and level == 0:
                root = nest.roots[-1].tensor
                size = dtype_of(root.dtype).bytes
                place = f"(uintptr_t)({self._buffer(root).name} + begin)"
                steps = f"(int64_t)((0 - {place}) % (LANES*{size})) / {size}"
                head = f"stream ? ({steps} < end - begin ? {steps} : end - begin) : 0"
            below = frozenset({serial})
            self._settle(nest, writer, below)
            length = nest.loops[-1][1].constant
            short = length is None or length <= PREFETCH_STEPS
            if level > 0 and short and self.options.prefetch:
                writer.prefetch = nest.loops[level - 1][0]
            writer.vector_loop(
                serial,
                lambda _: self._store(nest, writer, below, "stream" if stream else ""),
                head=head,
                unroll=self.options.unroll,
                begin=begin,
                end=end,
            )
            return

        def inside() -> None:
            self._store_outer(nest, writer, level)
            self._loops(nest, writer, level + 1, stream)

        writer.serial_loop(serial, inside, begin=begin, end=end)

    def _settle(self, nest: Nest, writer: Elaborator, below: frozenset[int]) -> None:
        """Computes the reductions that the innermost loop needs before it is opened."""
        for root in nest.roots:
            op = root.tensor.op
            if below & frozenset().union(*(index.variables for index in root.indices)):
                axes = dict(zip((axis.serial for axis in op.axis), root.indices, strict=True))
                writer.settle(op.body[root.tensor.value_index], axes, below)

    def _store_outer(self, nest: Nest, writer: Elaborator, level: int) -> None:
        """Stores the tensors whose last loop this is, if more loops follow."""
        if level + 1 == len(nest.loops):
            return
        known = {serial for serial, _ in nest.loops[: level + 1]}
        for root in nest.roots:
            used = frozenset().union(*(index.variables for index in root.indices))
            loops = used & {serial for serial, _ in nest.loops}
            if loops <= known and nest.loops[level][0] in loops:
                self._store_root(root.tensor, root.indices, writer, "")

    def _store(self, nest: Nest, writer: Elaborator, below: frozenset[int], stream: str) -> None:
        """Stores the tensors that the innermost loop computes."""
        last = nest.loops[-1][0] if nest.loops else None
        for root in nest.roots:
            used = frozenset().union(*(index.variables for index in root.indices))
            if last is None or last in used:
                self._store_root(root.tensor, root.indices, writer, stream)

    def _store_root(
        self, tensor: Tensor, indices: Sequence[Poly], writer: Elaborator, stream: str
    ) -> None:
        value = writer.root(tensor, indices)
        writer.store(tensor, indices, value, stream=stream)

    def _function(self, number: int, writer: Elaborator, parameters: str) -> str:
        used = render(writer.chain[0].lines)
        pointers = []
        for index, tensor in enumerate(self.all):
            if re.search(rf"\bp{index}\b", used):
                c = dtype_of(tensor.dtype).c
                pointers.append(f"{c} *p{index} = ({c} *)b[{index}];")
        sizes = [f"const int64_t {name} = s[{index}];" for index, name in enumerate(self.names.values()) if re.search(rf"\b{name}\b", used)]  # fmt: skip
        head = f"static void nest{number}(void **b, const int64_t *s, {parameters}) {{"
        return "\n".join([head, render([*pointers, *sizes, "(void)b; (void)s; (void)begin; (void)end;"]), used, "}"])  # fmt: skip

    def _full_reduction(self, number: int, nest: Nest, writer: Elaborator) -> tuple[str, str]:
        """A reduction of everything: each thread its part, then the parts."""
        (root,) = nest.roots
        body = root.tensor.op.body[root.tensor.value_index]
        assert isinstance(body, Reduce)
        environment = dict(zip((axis.serial for axis in root.tensor.op.axis), root.indices, strict=True))  # fmt: skip
        value, extent = writer.part_of_reduction(body, environment)
        tag, c = vectors.tag_of(root.tensor.dtype), vectors.c_type(vectors.tag_of(root.tensor.dtype))  # fmt: skip
        writer.chain[0].lines.append(f"*part_result = {value.text};")
        text = self._function(number, writer, f"int64_t begin, int64_t end, {c} *part_result")
        buffer, prefix = self._buffer(root.tensor), vectors.memory_of(root.tensor.dtype)
        combine = _combine(body.op, tag, f"parts{number}[0]", f"parts{number}[t]")
        parts = f"{c} parts{number}[{MAX_THREADS}]; int count{number} = 1;"
        alone = f"nest{number}(b, s, INT64_C(0), {extent.text(self.names)}, &parts{number}[0]);"
        shared = (
            f"if (OMP_NUMBER == 0) count{number} = OMP_COUNT; "
            f"nest{number}(b, s, lo, hi, &parts{number}[OMP_NUMBER]);"
        )
        last = (
            f"for (int t = 1; t < count{number}; t++) parts{number}[0] = {combine};\n  "
            f"{prefix}_store_part(({dtype_of(root.tensor.dtype).c} *)b[{buffer.name[1:]}], parts{number}[0], 1);"
        )
        call = self._shared(extent, 64, extent.text(self.names), alone, shared)
        return text, f"{parts}\n  {call}\n  {last}"
