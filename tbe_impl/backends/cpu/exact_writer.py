"""A nest whose loops over results and over what is summed up come in one order, as C.

Where a loop over results stands inside one over what is summed up, the sums of these results lie in memory meanwhile:

    for the loops outside of all sums:
        fill the rows with what changes no result
        for the others, in the order that was asked for:
            add to the rows
        store the rows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tbe_impl.backends.cpu import vector_types as vectors
from tbe_impl.backends.cpu.elaborate import Elaborator
from tbe_impl.backends.cpu.nest_function import NestFunction, Surroundings
from tbe_impl.backends.cpu.nests import Nest
from tbe_impl.backends.cpu.open_levels import open_levels, parted_steps, range_of
from tbe_impl.backends.cpu.poly import ONE, ZERO, Poly
from tbe_impl.backends.cpu.reductions import (
    combine,
    contribution,
    identity_of,
    row_kind,
    sum_inside,
)
from tbe_impl.backends.cpu.scope import Buffer, Scope, Value
from tbe_impl.backends.cpu.sum_loops import SumLoops
from tbe_impl.backends.cpu.thread_rows import ThreadRows
from tbe_impl.dsl.expr import Reduce


class ExactWriter:
    """Writes one nest.

    Args:
        number: of the nest, for names.
        nest: what it computes: one result.
        around: what it finds.
        readable: ``id`` of the tensors that are complete.
    """

    def __init__(self, number: int, nest: Nest, around: Surroundings, readable: set[int]):
        assert nest.exact is not None
        (self.root,) = nest.roots
        self.nest, self.exact = nest, nest.exact
        self.function = NestFunction(number, nest, around)
        buffers = {key: item for key, item in around.buffers.items() if key in readable}
        targets = {id(self.root.tensor): around.buffers[id(self.root.tensor)]}
        self.inside = Elaborator(buffers, targets, around.names, around.options, (), around.slow, around.sums)  # fmt: skip
        body = self.root.tensor.op.body[self.root.tensor.value_index]
        self.body = body if isinstance(body, Reduce) else None
        self.source = contribution(body) if isinstance(body, Reduce) else body
        self.tag = vectors.tag_of(self.root.tensor.dtype)

    def write(self) -> tuple[str, str]:
        """The functions, and the statements that call them."""
        nest, inside, function = self.nest, self.inside, self.function
        for serial, extent in nest.loops:
            inside.loop_variable(serial, extent)
        parted = nest.levels[nest.shared]
        if nest.shared:
            # a reduction in the loops outside would be computed by every thread
            inside.chain[0].blocks = parted.variables
        if len(parted.parts) == 1:
            inside.parts[parted.parts[0][0]] = ("begin", "end")
        rows = self._rows()
        self._open(0)
        steps, grain = parted_steps(inside, parted), nest.grain or 1
        lines = inside.chain[0].lines
        if rows is None:
            text = function.text("int64_t begin, int64_t end", (), lines)
            call = f"{function.name}(b, s, {{}});"
            return text, function.shared(
                steps, grain, function.steps(), call.format(f"INT64_C(0), {steps}"), call.format("lo, hi")
            )  # fmt: skip
        text = function.text("int64_t begin, int64_t end, char *rows", rows.starts(fill=self.exact.together), lines)  # fmt: skip
        if not self.exact.together:
            apart = nest.shared < self.exact.first_sum
            return text, rows.call(steps, grain, together=False, apart=apart)
        return f"{text}\n\n{rows.together()}", rows.call(steps, grain)

    def _rows(self) -> ThreadRows | None:
        """The memory of unfinished sums: of all results, or of those that one step of the loops around the sums makes."""
        if not self.exact.keeps_rows:
            return None
        if self.exact.together:
            rows = ThreadRows(self.function, [self.root])
            self.row = rows.buffers[id(self.root.tensor)]
            self.origin: dict[int, Poly] = {}
            return rows
        self.row, self.origin, count = self._tile()
        return ThreadRows(self.function, [self.root], {id(self.root.tensor): (self.row, count)})

    def _tile(self) -> tuple[Buffer, dict[int, Poly], Poly]:
        """Where sums lie that the loops around do not settle, what their indices are counted from, and how many there are."""
        inside, tensor = self.inside, self.root.tensor
        outside = self.nest.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.settled for level in outside))
        blocks = {serial: step for level in outside for serial, step in level.parts if step > 1}
        origin: dict[int, Poly] = {}
        strides: dict[int, Poly] = {}
        count = ONE
        near = {serial for serial, _ in self.nest.levels[self.exact.vector].parts}
        axes = [axis.serial for axis in reversed(tensor.op.axis) if axis.serial in inside.extents]
        for serial in sorted(axes, key=lambda item: item not in near):
            if serial in settled:
                continue
            strides[serial] = count
            size = inside.extents[serial]
            if serial in blocks:
                # the numbers of variables are positive
                inside.names[-serial] = f"{inside.names[serial]}_block{blocks[serial]}"
                origin[serial], size = Poly.variable(-serial), Poly.of(blocks[serial])
            count = count * size
        steps = tuple(strides.get(axis.serial, ZERO) for axis in tensor.op.axis)
        return Buffer("c0", steps, tensor.dtype), origin, count

    # loops

    def _open(self, at: int) -> None:
        """Opens the loops from a level on, and computes what stands in them."""
        exact = self.exact
        if at == exact.first_sum and exact.keeps_rows and not exact.together:
            self._over_rows(self._start)
            self._further(at)
            self._over_rows(self._finish)
        else:
            self._further(at)

    def _further(self, at: int) -> None:
        exact, inside = self.exact, self.inside
        if at == exact.inside:
            with inside.computing([(self.source, self.root.axes)]):
                self._compute()
            return
        level = self.nest.levels[at]
        with inside.computing([(self.source, self.root.axes)]):
            if at == exact.vector:
                ((serial, _),) = level.parts
                begin, end = range_of(inside, serial)
                inside.vector_loop(serial, lambda _: self._open(at + 1), begin=begin, end=end)
            else:
                shared = at == self.nest.shared and len(level.parts) > 1
                open_levels(inside, [level], lambda: self._open(at + 1), shared=shared)

    def _over_rows(self, body: Callable[[], None]) -> None:
        """Loops over the results of which the sums lie in rows."""
        inside = self.inside
        outside = self.nest.levels[: self.exact.first_sum]
        settled = frozenset().union(*(level.settled for level in outside))
        axes = [axis.serial for axis in self.root.tensor.op.axis if axis.serial in inside.extents]
        left = [serial for serial in axes if serial not in settled]
        scope = Scope()
        inside.chain.append(scope)
        with inside.computing([]):
            self._nested(left, body)
        inside.chain.pop()
        inside.chain[-1].lines += scope.lines

    def _nested(self, serials: Sequence[int], body: Callable[[], None]) -> None:
        begin, end = range_of(self.inside, serials[0])
        if len(serials) == 1:
            self.inside.vector_loop(serials[0], lambda _: body(), begin=begin, end=end)
        else:
            self.inside.serial_loop(serials[0], lambda: self._nested(serials[1:], body), begin=begin, end=end)  # fmt: skip

    # inside

    def _compute(self) -> None:
        """One element, or as many as there are lanes."""
        root, inside = self.root, self.inside
        if self.body is None:
            inside.store(root.tensor, root.indices, inside.root(root.tensor, root.indices))
            return
        levels = self.nest.levels[self.exact.inside :]
        if levels:
            loops = SumLoops(
                levels, max(self.exact.vector - self.exact.inside, 0), {}, self._summed()
            )
            value = sum_inside(inside, self.body, root.axes, loops, lanes=self.exact.vector < self.exact.inside)  # fmt: skip
        else:
            value = inside.expression(self.source, root.axes)
        if not self.exact.keeps_rows:
            inside.store(root.tensor, root.indices, self._rounded(value))
            return
        text = combine(self.body.op, self.tag, self._load(), value.text)
        self._store(text)

    def _summed(self) -> tuple[tuple[int, Poly], ...]:
        """The loops inside of which nothing but sums stands."""
        own = {
            serial for level in self.nest.levels[self.exact.inside :] for serial in level.settled
        }
        return tuple(item for item in self.nest.loops if item[0] in own)

    def _rounded(self, value: Value) -> Value:
        tensor, inside = self.root.tensor, self.inside
        if inside.options.rounding == "device" and tensor.dtype in ("float16", "bfloat16"):
            text = vectors.cast("float32", tensor.dtype, value.text)
            return inside.let(text, value.tag, len(inside.chain) - 1)
        return value

    def _start(self) -> None:
        assert self.body is not None
        self._store(vectors.literal(identity_of(self.body), self.tag))

    def _finish(self) -> None:
        inside = self.inside
        found = inside.let(self._load(), self.tag, len(inside.chain) - 1)
        inside.store(self.root.tensor, self.root.indices, self._rounded(found))

    # rows

    def _place(self) -> tuple[str, Poly]:
        """Where the sum of the element lies, and the step from lane to lane."""
        inside, address = self.inside, ZERO
        for index, stride in zip(self.root.indices, self.row.strides, strict=True):
            first = sum((self.origin.get(serial, ZERO) for serial in index.variables), ZERO)
            address = address + (index - first) * stride
        step = address.coefficient(inside.vector) if inside.vector is not None else ZERO
        return f"{self.row.name} + {inside.text(address)}", step or ZERO

    def _load(self) -> str:
        place, step = self._place()
        kind, count = row_kind(self.tag), self.inside.count
        if step == ZERO:
            return f"{kind}_one({place})"
        if step != ONE:
            return f"{kind}_gather({place}, {self.inside.text(step)}, {count})"
        return (
            f"{kind}_load({place})" if count == "LANES" else f"{kind}_load_part({place}, {count})"
        )

    def _store(self, text: str) -> None:
        place, step = self._place()
        kind, count = row_kind(self.tag), self.inside.count
        if step == ZERO:
            line = f"{kind}_store_part({place}, {text}, 1);"
        elif step != ONE:
            line = f"{kind}_scatter({place}, {self.inside.text(step)}, {text}, {count});"
        elif count == "LANES":
            line = f"{kind}_store({place}, {text});"
        else:
            line = f"{kind}_store_part({place}, {text}, {count});"
        self.inside.chain[-1].lines.append(line)
