"""Named DSL graphs, small and with a tail; their C and loop nests are golden texts.

`GRAPHS` holds them by name. Each call of `Graph.build` builds a new graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import tbe_impl.dsl as dsl
from tbe_impl import ops
from tbe_impl.codegen.options import DEFAULT_OPTIONS, Options
from tbe_impl.codegen.schedule_options import options_of
from tbe_impl.dsl import ext
from tbe_impl.dsl.expr import Reduce, cast, const, make_binary, select
from tbe_impl.dsl.tensor import Tensor, compute, placeholder, reduce_axis, thread_axis
from tbe_impl.scheduling.schedule import Schedule, create_schedule


@dataclass(frozen=True)
class Built:
    """A graph with its code generation options."""

    outputs: tuple[Tensor, ...]
    inputs: tuple[Tensor, ...]
    options: Options = DEFAULT_OPTIONS


@dataclass(frozen=True)
class Graph:
    """One entry of the table.

    Attributes:
        name: name of the graph and of its golden files.
        family: graphs of one family are compared in one test item.
        what: description of the graph.
        build: builds the graph.
    """

    name: str
    family: str
    what: str
    build: Callable[[], Built]


GRAPHS: dict[str, Graph] = {}

Made = Tensor | Sequence[Tensor]
Spec = tuple[tuple[Any, ...], str]


def _add(name: str, family: str, what: str, build: Callable[[], Built]) -> None:
    assert name not in GRAPHS, name
    GRAPHS[name] = Graph(name, family, what, build)


def graph(
    family: str, *specs: Spec, **options: Any
) -> Callable[[Callable[..., Made]], Callable[..., Made]]:
    """A decorator of a function from a placeholder for each (shape, dtype) to the outputs.

    A string in a shape is a symbolic size; equal strings are equal sizes.
    """

    def decorate(function: Callable[..., Made]) -> Callable[..., Made]:
        def build() -> Built:
            sizes: dict[str, Any] = {}
            inputs = [
                placeholder([_size(one, sizes) for one in shape], dtype, name=f"x{number}")
                for number, (shape, dtype) in enumerate(specs)
            ]
            made = function(*inputs)
            outputs = tuple(made) if isinstance(made, (list, tuple)) else (made,)
            return Built(outputs, tuple(inputs), Options(**options))

        _add(function.__name__, family, function.__doc__ or "", build)
        return function

    return decorate


def _size(size: int | str, sizes: dict[str, Any]) -> Any:
    return sizes.setdefault(size, dsl.var(size)) if isinstance(size, str) else size


def operator(family: str, name: str, *specs: Spec, outputs: int = 1, **attributes: Any) -> None:
    """An operator of `tbe_impl.ops` for inputs of these shapes and dtypes."""

    def described(spec: Spec) -> dict[str, Any]:
        shape, dtype = spec
        return {
            "shape": shape,
            "dtype": dtype,
            "format": "ND",
            "ori_shape": shape,
            "ori_format": "ND",
        }

    def build() -> Built:
        given = [described(spec) for spec in specs]
        kernel = ops.load(name).build(*given, *[given[0]] * outputs, soc="cpu", **attributes)
        return Built(
            tuple(kernel.computed), tuple(item.tensor for item in kernel.inputs), kernel.options
        )

    dtype = specs[0][1]
    _add(f"op_{name}_{dtype}", family, f"The operator {name} of {dtype}.", build)


def wide(row: Tensor, like: Tensor) -> Tensor:
    """A tensor broadcast to the shape of another."""
    return dsl.broadcast(row, like.shape)


F32, F16, BF16 = "float32", "float16", "bfloat16"
ROWS = (5, 37)


# --- element by element


@graph("elementwise", ((2, 3, 19), F32), ((2, 3, 19), F32))
def add_and_scale(x: Tensor, y: Tensor) -> Made:
    """A sum, a product with a number, a maximum with a number."""
    return dsl.vmaxs(dsl.vmuls(dsl.vadd(x, y), 0.5), -1.0)


@graph("elementwise", (ROWS, F32), (ROWS, F32), (ROWS, F32), contract=True)
def chain_contracted(x: Tensor, y: Tensor, z: Tensor) -> Made:
    """Products and sums that may be rounded once."""
    return dsl.vadd(dsl.vmul(dsl.vadd(dsl.vmul(x, y), z), x), y)


@graph("elementwise", ((131,), F32), inplace=True)
def in_place(x: Tensor) -> Made:
    """The output lies over the input."""
    return dsl.vadds(dsl.vmul(x, x), 1.0)


@graph("elementwise", ((67,), F32))
def two_outputs(x: Tensor) -> Made:
    """Two outputs that share an intermediate result."""
    power = dsl.vexp(x)
    return [dsl.vadds(power, 1.0), dsl.vmul(power, x)]


@graph("elementwise", (ROWS, F32))
def gelu_by_erf(x: Tensor) -> Made:
    """GELU with the error function."""
    inside = dsl.vadds(ext.erf(dsl.vmuls(x, 0.7071067811865476)), 1.0)
    return dsl.vmuls(dsl.vmul(x, inside), 0.5)


@graph("elementwise", (ROWS, F16))
def gelu_by_tanh_float16(x: Tensor) -> Made:
    """GELU with tanh, in float16."""
    cube = dsl.vmul(dsl.vmul(x, x), x)
    inside = dsl.vmuls(dsl.vadd(x, dsl.vmuls(cube, 0.044715)), 0.7978845608028654)
    return dsl.vmuls(dsl.vmul(x, dsl.vadds(ext.tanh(inside), 1.0)), 0.5)


@graph("elementwise", (ROWS, BF16), (ROWS, BF16))
def gated_silu_bfloat16(x: Tensor, gate: Tensor) -> Made:
    """A product with x times its sigmoid, in bfloat16."""
    return dsl.vmul(x, dsl.vmul(gate, ext.sigmoid(gate)))


@graph("elementwise", ((3, 41), F16), float16_tables=False)
def silu_float16(x: Tensor) -> Made:
    """x times its sigmoid in float16, without tables."""
    return dsl.vmul(x, ext.sigmoid(x))


@graph("elementwise", ((3, 41), F16))
def silu_from_tables(x: Tensor) -> Made:
    """x times its sigmoid in float16, from tables where the processor computes with halves."""
    return dsl.vmul(x, ext.sigmoid(x))


@graph("elementwise", (ROWS, F32))
def functions_of_one(x: Tensor) -> Made:
    """Logarithm, exponentials, roots and trigonometric functions."""
    above = dsl.vadds(dsl.vabs(x), 0.5)
    roots = dsl.vadd(dsl.vsqrt(above), dsl.vrsqrt(above))
    logs = dsl.vadd(dsl.vlog(above), ext.log1p(above))
    waves = dsl.vadd(ext.sin(x), ext.cos(x))
    return dsl.vadd(dsl.vadd(roots, logs), dsl.vadd(waves, ext.expm1(x)))


@graph("elementwise", ((19,), "float64"), ((19,), "float64"))
def powers_float64(x: Tensor, y: Tensor) -> Made:
    """Powers, quotients and remainders of float64."""
    return dsl.vadd(ext.pow(dsl.vabs(x), y), ext.fmod(x, dsl.vadds(dsl.vabs(y), 1.0)))


@graph("elementwise", ((131,), F32), vector_bits=128, unroll=2)
def narrow_vectors_unrolled(x: Tensor) -> Made:
    """Vectors of 128 bits, two at once."""
    return ext.tanh(x)


@graph("elementwise", ((131,), F16), rounding="device")
def device_rounding(x: Tensor) -> Made:
    """Each stage is rounded to float16."""
    return dsl.vmul(dsl.vadds(dsl.vexp(x), 1.0), x)


# --- select, compare, integers, mixed dtypes


@graph("integers", (ROWS, F32), (ROWS, F32))
def compare_and_select(x: Tensor, y: Tensor) -> Made:
    """Comparisons, logic of truth values, and a choice by them."""
    below = dsl.vcmp(x, y, "lt", "bool")
    both = dsl.vlogic(below, dsl.vcmp(x, 0.0, "ge", "bool"), "logic_and")
    return [dsl.vsel(both, x, y), both]


@graph("integers", ((43,), F16), ((43,), F16))
def compare_in_one_word(x: Tensor, y: Tensor) -> Made:
    """The larger of two by a comparison that chooses."""
    return dsl.vcmpsel(x, y, "gt", x, y)


@graph("integers", (ROWS, "int32"), (ROWS, "int32"))
def integer_arithmetic(x: Tensor, y: Tensor) -> Made:
    """Sums, products, bits and quotients of int32."""
    whole = dsl.vadd(dsl.vmul(x, y), dsl.vand(x, y))
    return ext.floor_divide(whole, dsl.vadds(dsl.vabs(y), 1))


@graph("integers", ((77,), "uint8"), ((77,), "uint8"))
def small_unsigned(x: Tensor, y: Tensor) -> Made:
    """Sums that wrap around, minimum and bits of uint8."""
    return dsl.vxor(dsl.vmin(dsl.vadd(x, y), x), y)


@graph("integers", ((21,), "int64"), ((21,), "int64"))
def long_integers(x: Tensor, y: Tensor) -> Made:
    """Products and maxima of int64."""
    return dsl.vmax(dsl.vmul(x, y), dsl.vsub(x, y))


@graph("integers", (ROWS, "int8"), ((1, 37), F32), ((1, 37), F32))
def dequantised(x: Tensor, scale: Tensor, shift: Tensor) -> Made:
    """int8 to float32 with a scale and a shift for each column."""
    return dsl.vadd(dsl.vmul(dsl.cast_to(x, F32), wide(scale, x)), wide(shift, x))


@graph("integers", (ROWS, F32))
def quantised(x: Tensor) -> Made:
    """float32 to int8: scaled, rounded, clipped."""
    return dsl.cast_to(dsl.clip(dsl.round(dsl.vmuls(x, 16.0)), 127, -128), "int8")


@graph("integers", (ROWS, F16), (ROWS, F32), (ROWS, BF16))
def mixed_floats(x: Tensor, y: Tensor, z: Tensor) -> Made:
    """float16, float32 and bfloat16 in one loop; results of all three."""
    whole = dsl.vadd(dsl.vadd(dsl.cast_to(x, F32), y), dsl.cast_to(z, F32))
    return [whole, dsl.cast_to(whole, F16), dsl.cast_to(whole, BF16)]


@graph("integers", (ROWS, F32), (ROWS, "uint8"))
def dropout_mask(x: Tensor, keep: Tensor) -> Made:
    """A mask of bytes keeps elements, which are scaled."""
    kept = dsl.vcmp(keep, 0, "ne", "bool")
    return dsl.vsel(kept, dsl.vmuls(x, 1.25), 0.0)


@graph("integers", (ROWS, F32))
def special_values(x: Tensor) -> Made:
    """NaN and infinities are found, and replaced."""
    return [dsl.vsel(ext.isnan(x), 0.0, x), ext.isfinite(x)]


# --- broadcasts, transposes, movements


@graph("moving", ((4, 3, 19), F32), ((19,), F32), ((4, 1, 1), F32))
def broadcast_row_and_column(x: Tensor, row: Tensor, column: Tensor) -> Made:
    """A row and a column beside a tensor of three axes."""
    return dsl.vadd(dsl.vmul(x, wide(row, x)), wide(column, x))


@graph("moving", ((33, 21), F32))
def transposed(x: Tensor) -> Made:
    """Rows become columns."""
    return dsl.transpose(dsl.vadds(x, 1.0), (1, 0))


@graph("moving", ((2, 5, 3, 8), F16))
def heads_in_front(x: Tensor) -> Made:
    """The middle axes change places: heads of an attention."""
    return dsl.transpose(x, (0, 2, 1, 3))


@graph("moving", ((17, 9), F32), ((9, 17), F32))
def transposed_and_added(x: Tensor, y: Tensor) -> Made:
    """A transposed tensor beside one that is not."""
    return dsl.vrelu(dsl.vadd(dsl.transpose(x, (1, 0)), y))


@graph("moving", ((3, 13), F32), ((3, 6), F32))
def joined(x: Tensor, y: Tensor) -> Made:
    """Two tensors behind each other along the last axis."""
    return dsl.concat([dsl.vrelu(x), y], 1)


@graph("moving", ((4, 21), F32))
def padded(x: Tensor) -> Made:
    """Numbers around a tensor."""
    return ext.pad(x, [(1, 2), (3, 0)], 0.5)


@graph("moving", ((4, 42), F32))
def halves_gated(x: Tensor) -> Made:
    """The halves of a tensor: one times the sigmoid of the other."""
    _, (left, right) = dsl.split(x, 1, [21, 21])
    return dsl.vmul(left, ext.sigmoid(right))


@graph("moving", ((6, 20), F32))
def sliced_reversed_tiled(x: Tensor) -> Made:
    """Every second row, turned round, and repeated."""
    return ext.tile(ext.reverse(ext.strided_slice(x, [0, 1], None, [2, 3]), [1]), [1, 2])


@graph("moving", ((2, 3, 4, 5), F32))
def reshaped(x: Tensor) -> Made:
    """Four axes become two."""
    return dsl.vmuls(ext.reshape(dsl.vadds(x, 1.0), [6, 20]), 2.0)


@graph("moving", ((11, 24), F32), ((7,), "int32"))
def gathered_rows(table: Tensor, numbers: Tensor) -> Made:
    """Rows of a table by number."""
    return dsl.vmuls(dsl.gather(table, numbers, 0), 2.0)


@graph("moving", ((13,), "int32"))
def one_hot_rows(numbers: Tensor) -> Made:
    """A row with a single one for each number."""
    return ext.one_hot(numbers, 6)


# --- sums


@graph("sums", ((5, 133), F32))
def sum_of_rows(x: Tensor) -> Made:
    """The sum along the last axis."""
    return dsl.reduce_sum(x, 1)


@graph("sums", ((21, 37), F32))
def sum_of_columns(x: Tensor) -> Made:
    """The sum along the first axis."""
    return dsl.reduce_sum(dsl.vmul(x, x), 0)


@graph("sums", ((3, 7, 19), F32))
def sum_of_the_middle(x: Tensor) -> Made:
    """The sum along the middle axis."""
    return dsl.reduce_sum(x, 1, True)


@graph("sums", ((9, 35), F32))
def sum_of_all(x: Tensor) -> Made:
    """The sum of all elements."""
    return dsl.reduce_sum(dsl.vabs(x), (0, 1))


@graph("sums", ((4, 53), F16))
def mean_float16(x: Tensor) -> Made:
    """The mean of rows of float16."""
    return dsl.reduce_mean(x, 1, True)


@graph("sums", ((4, 53), F32))
def extremes_and_product(x: Tensor) -> Made:
    """Maximum, minimum and product of rows."""
    return [dsl.reduce_max(x, 1), dsl.reduce_min(x, 1), dsl.reduce_prod(x, 1)]


@graph("sums", ((6, 29), "int32"))
def integer_sums_both_ways(x: Tensor) -> Made:
    """Sums of int32 along rows and along columns."""
    return [dsl.reduce_sum(x, 0), dsl.reduce_sum(x, 1)]


@graph("sums", ((5, 43), F32))
def places_of_extremes(x: Tensor) -> Made:
    """The place of the largest of a row and of the smallest of a column."""
    return [ext.argmax(x, 1), ext.argmin(x, 0)]


@graph("sums", ((64, 48), F32), parallel_elements=0, portions=3)
def shared_sum_of_columns(x: Tensor) -> Made:
    """Threads share a sum along the first axis."""
    return dsl.reduce_sum(dsl.vexp(x), 0)


@graph("sums", ((4, 37), F32), accumulators=2, jam_factor=2)
def two_rows_together(x: Tensor) -> Made:
    """Two rows at once with two accumulators."""
    return dsl.reduce_sum(dsl.vexp(x), 1)


# --- softmax and norms


def softmax_of(x: Tensor) -> Tensor:
    """The softmax of rows."""
    powers = dsl.vexp(dsl.vsub(x, wide(dsl.reduce_max(x, -1, True), x)))
    return dsl.vdiv(powers, wide(dsl.reduce_sum(powers, -1, True), x))


@graph("norms", ((5, 67), F32))
def softmax(x: Tensor) -> Made:
    """The softmax of rows."""
    return softmax_of(x)


@graph("norms", ((5, 67), F32), keep_rows=False, prefetch=False, loop_fission=False)
def softmax_nothing_kept(x: Tensor) -> Made:
    """The softmax of rows, computed anew in each loop."""
    return softmax_of(x)


@graph("norms", ((64, 1040), F32), stream_bytes=1)
def softmax_staggered(x: Tensor) -> Made:
    """The softmax of long rows, which are written past the caches."""
    return softmax_of(x)


@graph("norms", ((3, 45), F16))
def log_softmax_float16(x: Tensor) -> Made:
    """The logarithm of a softmax of float16."""
    rest = dsl.vsub(x, wide(dsl.reduce_max(x, -1, True), x))
    return dsl.vsub(rest, wide(dsl.vlog(dsl.reduce_sum(dsl.vexp(rest), -1, True)), x))


@graph("norms", ((6, 50), F32), ((50,), F32), ((50,), F32))
def layer_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> Made:
    """Layer normalisation with mean and reciprocal deviation as outputs."""
    mean = dsl.vmuls(dsl.reduce_sum(x, -1, True), 1 / 50)
    rest = dsl.vsub(x, wide(mean, x))
    square = dsl.vmuls(dsl.reduce_sum(dsl.vmul(rest, rest), -1, True), 1 / 50)
    factor = dsl.vrsqrt(dsl.vadds(square, 1e-5))
    normal = dsl.vmul(rest, wide(factor, x))
    return [dsl.vadd(dsl.vmul(normal, wide(gamma, x)), wide(beta, x)), mean, factor]


@graph("norms", ((4, 61), BF16), ((4, 61), BF16), ((61,), BF16))
def add_rms_norm_bfloat16(x: Tensor, residual: Tensor, gamma: Tensor) -> Made:
    """A sum of two, and its root mean square normalisation, in bfloat16."""
    whole = dsl.vadd(dsl.cast_to(x, F32), dsl.cast_to(residual, F32))
    square = dsl.vmuls(dsl.reduce_sum(dsl.vmul(whole, whole), -1, True), 1 / 61)
    normal = dsl.vmul(whole, wide(dsl.vrsqrt(dsl.vadds(square, 1e-6)), whole))
    scaled = dsl.vmul(normal, wide(dsl.cast_to(gamma, F32), whole))
    return [dsl.cast_to(scaled, BF16), dsl.cast_to(whole, BF16)]


@graph("norms", ((3, 8, 5, 7), F32), ((8,), F32), ((8,), F32))
def batch_norm_of_images(x: Tensor, gamma: Tensor, beta: Tensor) -> Made:
    """Statistics of each channel of images, and the images normalised by them."""
    count = 3 * 5 * 7
    mean = dsl.vmuls(dsl.reduce_sum(x, (0, 2, 3), True), 1 / count)
    rest = dsl.vsub(x, wide(mean, x))
    variance = dsl.vmuls(dsl.reduce_sum(dsl.vmul(rest, rest), (0, 2, 3), True), 1 / count)
    scale = dsl.vmul(dsl.vrsqrt(dsl.vadds(variance, 1e-5)), ext.reshape(gamma, [1, 8, 1, 1]))
    shift = wide(ext.reshape(beta, [1, 8, 1, 1]), x)
    return dsl.vadd(dsl.vmul(rest, wide(scale, x)), shift)


# --- attention and products


@graph("attention", ((2, 3, 9, 9), F16), ((2, 1, 9, 9), "uint8"))
def scale_mask_softmax(scores: Tensor, mask: Tensor) -> Made:
    """Scaled scores of an attention, masked, and their softmax in float32."""
    scaled = dsl.vmuls(dsl.cast_to(scores, F32), 0.125)
    seen = dsl.vcmp(mask, 0, "ne", "bool")
    return dsl.cast_to(softmax_of(dsl.vsel(wide(seen, scores), scaled, -10000.0)), F16)


@graph("attention", ((2, 7, 16), F32), ((2, 11, 16), F32), ((2, 11, 16), F32))
def attention(query: Tensor, key: Tensor, value: Tensor) -> Made:
    """Products of queries and keys, a softmax, and the product with values."""
    depth, place = reduce_axis((0, 16), "d"), reduce_axis((0, 11), "p")
    scores = compute(
        (2, 7, 11),
        lambda b, i, j: Reduce("sum", query(b, i, depth) * key(b, j, depth), [depth]),
        name="scores",
    )
    weights = softmax_of(dsl.vmuls(scores, 0.25))
    return compute(
        (2, 7, 16),
        lambda b, i, k: Reduce("sum", weights(b, i, place) * value(b, place, k), [place]),
        name="mixed",
    )


@graph("attention", ((9, 20), F32), ((20, 33), F32), ((33,), F32))
def product_with_epilogue(a: Tensor, b: Tensor, bias: Tensor) -> Made:
    """A product of matrices, a bias and ReLU."""
    k = reduce_axis((0, 20), "k")
    product = compute((9, 33), lambda i, j: Reduce("sum", a(i, k) * b(k, j), [k]), name="product")
    return dsl.vrelu(dsl.vadd(product, wide(bias, product)))


@graph("attention", ((2, 5, 4, 16), F32), ((5, 16), F32), ((5, 16), F32))
def rotary_embedding(x: Tensor, cosine: Tensor, sine: Tensor) -> Made:
    """Halves of each head turned by angles of their place."""

    def turned(b: Any, t: Any, h: Any, d: Any) -> Any:
        other = x(b, t, h, make_binary("floormod", d + 8, 16))
        sign = select(d < 8, const(-1.0, F32), const(1.0, F32))
        return x(b, t, h, d) * cosine(t, d) + other * sign * sine(t, d)

    return compute(x.shape, turned, name="turned")


# --- convolutions


@graph("convolutions", ((2, 6, 5, 7), F32), ((6,), F32), ((2, 6, 5, 7), F32))
def convolution_epilogue(x: Tensor, bias: Tensor, residual: Tensor) -> Made:
    """The bias of channels, a residual and ReLU behind a convolution."""
    biased = dsl.vadd(x, wide(ext.reshape(bias, [1, 6, 1, 1]), x))
    return dsl.vrelu(dsl.vadd(biased, residual))


@graph("convolutions", ((2, 6, 5, 7), F32), ((6,), F32), ((6,), F32))
def convolution_norm_silu(x: Tensor, scale: Tensor, shift: Tensor) -> Made:
    """A folded batch norm and SiLU behind a convolution."""
    scaled = dsl.vmul(x, wide(ext.reshape(scale, [1, 6, 1, 1]), x))
    made = dsl.vadd(scaled, wide(ext.reshape(shift, [1, 6, 1, 1]), x))
    return dsl.vmul(made, ext.sigmoid(made))


@graph("convolutions", ((1, 3, 9, 17), F32), ((4, 3, 3, 3), F32))
def direct_convolution(x: Tensor, weight: Tensor) -> Made:
    """A convolution of windows of 3 by 3 with zeros around, written out."""
    c, h, w = (reduce_axis((0, 3), name) for name in "chw")
    around = ext.pad(x, [(0, 0), (0, 0), (1, 1), (1, 1)])
    return compute(
        (1, 4, 9, 17),
        lambda n, o, i, j: Reduce(
            "sum", around(n, c, i + h, j + w) * weight(o, c, h, w), [c, h, w]
        ),
        name="image",
    )


@graph("convolutions", ((1, 2, 8, 18), F32))
def largest_of_windows(x: Tensor) -> Made:
    """The largest of each window of 2 by 2."""
    return dsl.reduce_window(x, "MAX", (2, 3), (2, 2), (2, 2))


# --- sizes that are known at run time only


@graph("dynamic", (("n",), F32), (("n",), F32))
def unknown_length(x: Tensor, y: Tensor) -> Made:
    """A chain of unknown length."""
    return dsl.vmul(dsl.vadds(x, 1.0), ext.tanh(y))


@graph("dynamic", (("n", "m"), F32))
def unknown_softmax(x: Tensor) -> Made:
    """The softmax of rows, neither size of which is known."""
    return softmax_of(x)


@graph("dynamic", (("n", 24), F16), ((24,), F16))
def unknown_rows(x: Tensor, bias: Tensor) -> Made:
    """An unknown number of rows with a bias, in float16."""
    return dsl.vrelu(dsl.vadd(x, wide(bias, x)))


@graph("dynamic", (("n", "m"), F32))
def unknown_sum_of_columns(x: Tensor) -> Made:
    """The sum along the first of two unknown sizes."""
    return dsl.reduce_sum(x, 0)


# --- scatter, segments, running sums


@graph("by_number", ((23, 7), F32), ((23,), "int32"))
def segment_sums(x: Tensor, numbers: Tensor) -> Made:
    """Rows are added to the segment of their number."""
    return dsl.vmuls(dsl.unsorted_segment_sum(dsl.vadds(x, 1.0), numbers, 5, 0.0), 2.0)


@graph("by_number", ((23,), F32), ((23,), "int64"))
def segment_maxima(x: Tensor, numbers: Tensor) -> Made:
    """The largest of each segment."""
    return dsl.unsorted_segment_max(x, numbers, 4, 0.0)


@graph("by_number", ((9, 12), F32), ((5, 1), "int32"), ((5, 1, 12), F32))
def scattered_rows(x: Tensor, numbers: Tensor, new: Tensor) -> Made:
    """Rows are added to a tensor at numbered places."""
    return dsl.scatter(x, numbers, new, "add")


@graph("by_number", ((6, 37), F32))
def running_sums(x: Tensor) -> Made:
    """Running sums along rows between two loops."""
    return dsl.vmuls(ext.cumsum(dsl.vabs(x), 1), 0.5)


@graph("by_number", ((8, 5), "int32"))
def running_products_backwards(x: Tensor) -> Made:
    """Running products from the end, without the element itself."""
    return ext.cumprod(x, 0, True, True)


@graph("by_number", ((4, 9), F32))
def sorted_rows(x: Tensor) -> Made:
    """A library sorts rows between two loops."""
    found, _ = ext.sort(dsl.vadds(x, 1.0), 1)
    return dsl.vmuls(found, 2.0)


# --- gradients and optimisers


@graph("gradients", ((6, 50), F32), ((6, 50), F32), ((50,), F32), ((6, 1), F32), ((6, 1), F32))
def layer_norm_gradients(
    grad: Tensor, x: Tensor, gamma: Tensor, mean: Tensor, factor: Tensor
) -> Made:
    """Gradients of layer normalisation: of the input, of the scale and of the shift."""
    normal = dsl.vmul(dsl.vsub(x, wide(mean, x)), wide(factor, x))
    scaled = dsl.vmul(grad, wide(gamma, x))
    mean_of_scaled = dsl.vmuls(dsl.reduce_sum(scaled, -1, True), 1 / 50)
    mean_of_product = dsl.vmuls(dsl.reduce_sum(dsl.vmul(scaled, normal), -1, True), 1 / 50)
    inner = dsl.vsub(scaled, wide(mean_of_scaled, x))
    inner = dsl.vsub(inner, dsl.vmul(normal, wide(mean_of_product, x)))
    of_gamma = dsl.reduce_sum(dsl.vmul(grad, normal), 0)
    return [dsl.vmul(inner, wide(factor, x)), of_gamma, dsl.reduce_sum(grad, 0)]


@graph("gradients", ((5, 43), F16), ((5, 43), F16))
def softmax_gradient_float16(grad: Tensor, y: Tensor) -> Made:
    """The gradient of a softmax of float16, computed in float32."""
    slope, share = dsl.cast_to(grad, F32), dsl.cast_to(y, F32)
    total = dsl.reduce_sum(dsl.vmul(slope, share), -1, True)
    return dsl.cast_to(dsl.vmul(dsl.vsub(slope, wide(total, slope)), share), F16)


@graph("gradients", ((7, 19), F32), ((7, 19), F32))
def bias_and_relu_gradients(grad: Tensor, y: Tensor) -> Made:
    """The gradient of ReLU, and of a bias in front of it."""
    passed = dsl.vsel(dsl.vcmp(y, 0.0, "gt", "bool"), grad, 0.0)
    return [passed, dsl.reduce_sum(passed, 0)]


@graph("gradients", ((5, 12), F32), ((5,), "int32"))
def cross_entropy(x: Tensor, labels: Tensor) -> Made:
    """The loss of labels by a softmax, and its gradient."""
    shares = softmax_of(x)
    hot = ext.one_hot(labels, 12)
    logs = dsl.vlog(dsl.vadds(shares, 1e-12))
    loss = dsl.vmuls(dsl.reduce_sum(dsl.vmul(hot, logs), (0, 1)), -0.2)
    return [loss, dsl.vmuls(dsl.vsub(shares, hot), 0.2)]


operator(
    "gradients",
    "layer_norm_grad",
    ((4, 34), F16),
    ((4, 34), F16),
    ((4, 1), F16),
    ((4, 1), F16),
    ((34,), F16),
    outputs=3,
)
operator("gradients", "gelu_grad", (ROWS, F32), (ROWS, F32))
operator("gradients", "softmax_grad", (ROWS, F32), (ROWS, F32))
operator(
    "gradients",
    "apply_momentum",
    (ROWS, F32),
    (ROWS, F32),
    ((1,), F32),
    (ROWS, F32),
    ((1,), F32),
    outputs=2,
)


# --- schedules by hand


def scheduled(
    name: str,
    make: Callable[[], tuple[Tensor, list[Tensor]]],
    ask: Callable[[Schedule, Tensor], Any],
) -> None:
    """A graph with a schedule by hand."""

    def build() -> Built:
        made, inputs = make()
        schedule = create_schedule([made])
        ask(schedule, made)
        return Built((made,), tuple(inputs), options_of(schedule.record(), [made], inputs))

    _add(name, "schedules", (ask.__doc__ or "").strip(), build)


def _blocks() -> tuple[Tensor, list[Tensor]]:
    x, w = placeholder((3, 40, 37), F32, name="x"), placeholder((40, 37), F32, name="w")
    return compute(x.shape, lambda i, j, k: x(i, j, k) * w(j, k), name="y"), [x, w]


def _product() -> tuple[Tensor, list[Tensor]]:
    a, b = placeholder((24, 20), F32, name="a"), placeholder((20, 37), F32, name="b")
    twice = compute(a.shape, lambda i, k: a(i, k) + a(i, k), name="twice")
    k = reduce_axis((0, 20), "k")
    y = compute((24, 37), lambda i, j: Reduce("sum", twice(i, k) * b(k, j), [k]), name="y")
    return y, [a, b]


def _ask_for_blocks(schedule: Schedule, y: Tensor) -> None:
    """Blocks of rows outside, threads share them."""
    stage = schedule[y]
    i, j, k = stage.op.axis
    outer, inner = stage.split(j, factor=8)
    stage.reorder(outer, i, inner, k)
    stage.parallel(outer)
    stage.vectorize(k)


def _ask_for_fused_loops(schedule: Schedule, y: Tensor) -> None:
    """Fused loops are bound to blocks, the inner one stands four times in the code."""
    stage = schedule[y]
    i, j, k = stage.op.axis
    outer, inner = stage.split(j, factor=4)
    stage.reorder(outer, i, inner, k)
    stage.bind(stage.fuse(outer, i), thread_axis("blockIdx.x"))
    stage.unroll(inner)


def _ask_for_tiles(schedule: Schedule, y: Tensor) -> None:
    """Tiles of a product of matrices, with what it reads computed in a loop over tiles."""
    stage = schedule[y]
    i_outer, j_outer, i_inner, j_inner = stage.tile(*stage.op.axis, 8, 16)
    k_outer, k_inner = stage.split(stage.op.reduce_axis[0], factor=4)
    stage.reorder(i_outer, j_outer, k_outer, i_inner, k_inner, j_inner)
    schedule[stage.op.input_tensors[0]].compute_at(stage, k_outer)


def _ask_for_a_stored_stage(schedule: Schedule, y: Tensor) -> None:
    """What a product of matrices reads is stored first."""
    schedule[schedule[y].op.input_tensors[0]].compute_root()


scheduled("schedule_blocks", _blocks, _ask_for_blocks)
scheduled("schedule_fused", _blocks, _ask_for_fused_loops)
scheduled("schedule_tiles", _product, _ask_for_tiles)
scheduled("schedule_stored", _product, _ask_for_a_stored_stage)


@graph("schedules", ((6, 45), F32), stored=(0,))
def stored_by_option(x: Tensor) -> Made:
    """An exponential that two sums read is stored because an option asks for it."""
    power = dsl.vexp(x)
    return [dsl.reduce_sum(power, 0), dsl.reduce_sum(power, 1)]


@graph("schedules", ((5, 21), F32), ((21,), "int32"))
def index_as_a_number(x: Tensor, shift: Tensor) -> Made:
    """Indices with division, and an index beside elements."""
    return compute(
        (5, 21),
        lambda i, j: (
            x(i, make_binary("floordiv", j, 2)) + cast(F32, j * 2 + i) + cast(F32, shift(j))
        ),
        name="indexed",
    )


FAMILIES: dict[str, list[Graph]] = {}
for _one in GRAPHS.values():
    FAMILIES.setdefault(_one.family, []).append(_one)
