"""Emits per-thread partial sums of reductions over outer loops, and merges them."""

from __future__ import annotations

from collections.abc import Sequence

from tbe_impl.codegen import vector_types as vectors
from tbe_impl.codegen.loop_levels import TensorBuffer
from tbe_impl.codegen.nest_function import NestFunction
from tbe_impl.codegen.planning.access_analysis import element_count, extent_of
from tbe_impl.codegen.planning.partition import Root
from tbe_impl.codegen.planning.polynomials import Poly
from tbe_impl.codegen.reductions import combine, identity_of, is_wide_sum, row_prefix
from tbe_impl.dsl.expr import Reduce


class ThreadRows:
    """Memory of one thread: the partial-sum rows of some results, then other areas.

    Args:
        function: function of the nest.
        roots: the results with partial-sum rows.
        may_be_wide: whether long float32 sums use float64 rows.
    """

    def __init__(self, function: NestFunction, roots: Sequence[Root], *, may_be_wide: bool = False):
        self.function, self.roots = function, roots
        self.areas: list[tuple[str, str, str]] = []
        self.buffers = {
            id(root.tensor): TensorBuffer(
                f"c{number}",
                function.buffer_of(root).strides,
                row_dtype(root) if may_be_wide else root.tensor.dtype,
            )
            for number, root in enumerate(roots)
        }

    @property
    def is_empty(self) -> bool:
        """Returns whether a thread needs no memory."""
        return not self.roots and not self.areas

    def area(self, c: str, width: int, count: Poly) -> str:
        """Adds an area to the memory of each thread.

        Args:
            c: C type of an element.
            width: size of an element in bytes.
            count: number of elements.

        Returns:
            The C name of the area.
        """
        name = f"m{len(self.areas)}"
        self.areas.append((name, c, self._bytes(count, width)))
        return name

    def starts(self) -> list[str]:
        """Returns C statements that define the areas of a thread and initialise its rows.

        Each row is filled with the identity of its reduction.
        """
        starts: list[str] = []
        offset = "rows"
        for root in self.roots:
            kind = row_prefix(self._tag(root))
            name, c = self.buffers[id(root.tensor)].name, row_c_type(kind)
            starts.append(f"{c} *{name} = ({c} *)({offset});")
            count = self.function.size(element_count(root.tensor))
            starts.append(
                f"for (int64_t i = 0; i < {count}; i++) {name}[i] = {identity_text(root)};"
            )
            offset = f"{offset} + {self._bytes_of(root)}"
        for name, c, size in self.areas:
            starts.append(f"{c} *{name} = ({c} *)({offset});")
            offset = f"{offset} + {size}"
        return starts

    def call(
        self,
        steps: str,
        grain: int,
        before: str = "",
        before_own: str = "",
        extra_fields: str = "",
        *,
        together: bool = True,
    ) -> tuple[str, str]:
        """Emits the function that runs one part of the nest, and statements that run all parts.

        Args:
            steps, grain: trip count and grain of the partition; see
                `NestFunction.emit_parallel_call`.
            before, before_own: a further C argument of the nest's function, which precedes the
                pointer to the rows: `before` in the sequential call, `before_own` in the parallel
                calls. Empty if there is none.
            extra_fields: further fields of ``struct shared_nest``.
            together: whether the emitted statements also merge the rows of all threads.
        """
        function = self.function
        sequential_call = (
            f"{function.name}(b, s, INT64_C(0), {steps}, {before}{before and ', '}rows);"
        )
        fields = f".own = rows, .own_bytes = row_bytes{extra_fields and ', '}{extra_fields}"
        part, shared = function.emit_parallel_call(
            steps,
            grain,
            sequential_call,
            arguments=f"{before_own}{before_own and ', '}own",
            extra_fields=fields,
            part_count_variable="used" if together else "",
        )
        count = f"(threads > 1 ? {function.portions or 'threads'} : 1)*"
        calls = [
            "{",
            f"  const int64_t row_bytes = {self._row_bytes()};",
            f"  char *rows = aligned_alloc(64, {count}row_bytes);",
            *(["  int used = 1;"] if together else []),
            "  if (!rows) { missing = 1; goto done; }",
            f"  {shared}",
            *([f"  {function.name}_columns(b, s, rows, row_bytes, used);"] if together else []),
            "  free(rows);",
            "}",
        ]
        return part, "\n  ".join(calls)

    def _bytes_of(self, root: Root) -> str:
        """Returns the size of one thread's row in bytes, a multiple of a cache line, as C."""
        return self._bytes(element_count(root.tensor), vectors.lane_bits(self._tag(root)) // 8)

    def _tag(self, root: Root) -> str:
        return vectors.tag_of(self.buffers[id(root.tensor)].dtype)

    def _bytes(self, count: Poly, width: int) -> str:
        return f"((({self.function.size(count)})*{width} + 63) & ~INT64_C(63))"

    def _row_bytes(self) -> str:
        return (
            " + ".join((*map(self._bytes_of, self.roots), *(size for _, _, size in self.areas)))
            + " + 64"
        )

    def merge_function_text(self) -> str:
        """Returns the C function that merges the rows of all threads."""
        lines: list[str] = []
        offset = "0"
        for root in self.roots:
            body = root.tensor.op.body[root.tensor.value_index]
            assert isinstance(body, Reduce)
            tag, found = self._tag(root), vectors.tag_of(root.tensor.dtype)
            prefix = vectors.memory_prefix(self.function.buffer_of(root).dtype)
            kind, name = row_prefix(tag), self.function.buffer_of(root).name
            c = row_c_type(kind)
            both = combine(
                body.op,
                tag,
                "v",
                f"{kind}_load_part(({c} *)(rows + t*row_bytes + {offset}) + i, n)",
            )
            lines += [
                (
                    f"for (int64_t i = 0; i < {self.function.size(element_count(root.tensor))}; "
                    "i += LANES) {"
                ),
                f"  const int64_t left = {self.function.size(element_count(root.tensor))} - i;",
                "  const int n = left < LANES ? (int)left : LANES;",
                f"  {vectors.c_type(tag)} v = {kind}_load_part(({c} *)(rows + {offset}) + i, n);",
                f"  for (int t = 1; t < used; t++) v = {both};",
                (
                    f"  {prefix}_store_part({name} + i, "
                    f"{'v' if tag == found else f'{found}_from_{tag}(v)'}, n);"
                ),
                "}",
            ]
            offset = f"{offset} + {self._bytes_of(root)}"
        parameters = "char *rows, int64_t row_bytes, int used"
        return self.function.text(parameters, (), lines, f"{self.function.name}_columns")


def row_dtype(root: Root) -> str:
    """Returns the dtype of a column reduction's accumulator row."""
    body = root.tensor.op.body[root.tensor.value_index]
    assert isinstance(body, Reduce)
    is_wide = is_wide_sum(body, [extent_of(axis) for axis in body.axes])
    return "float64" if is_wide else root.tensor.dtype


def identity_text(root: Root) -> str:
    """Returns the identity element of a root's reduction as a C scalar."""
    body = root.tensor.op.body[root.tensor.value_index]
    assert isinstance(body, Reduce)
    return f"({vectors.literal(identity_of(body), vectors.tag_of(root.tensor.dtype))})[0]"


def row_c_type(kind: str) -> str:
    """Returns the C type of an element of a row; `kind` is from `row_prefix`."""
    if kind[0] == "f":
        return "float" if kind == "f32" else "double"
    return f"{'u' if kind[0] == 'u' else ''}int{kind[1:]}_t"
