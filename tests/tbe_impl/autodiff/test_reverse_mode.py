"""Every differentiable DSL operation against central differences; others raise an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.autodiff.reverse_mode import gradients
from tbe_impl.cpu import prepared_kernel
from tbe_impl.dsl import ext
from tbe_impl.dsl.expr import IterVar, Range, Reduce, Var, call, cast, const, make_binary, select
from tbe_impl.dsl.tensor import Tensor, compute
from tbe_impl.errors import InputError
from tbe_impl.interpreter import evaluate
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.tbe_impl.dsl.differences import Derived, assert_derivatives, derived, weights_of

RNG = np.random.default_rng(7)


def array(*shape: int, low: float = -2, high: float = 2) -> np.ndarray:
    """Random float64, no two equal."""
    return RNG.uniform(low, high, shape)


A, B, C = array(3, 4), array(3, 4), array(3, 4)
POSITIVE = array(3, 4, low=0.3, high=2)
SMALL = array(3, 4, low=-0.9, high=0.9)
ABOVE_ONE = array(3, 4, low=1.2, high=3)
CUBE, MATRIX, VECTOR = array(2, 3, 4), array(4, 5), array(6)
IDS = np.array([2, 0, 2, 5, -1, 1], np.int32)

Case = tuple[str, Callable[..., Any], tuple[np.ndarray, ...]]


def compared(x: Tensor, y: Tensor) -> Tensor:
    """Index of the larger side."""
    return dsl.vcmp(x, y, "gt")


ELEMENTWISE: list[Case] = [
    *(
        (name, dsl.OPERATIONS[name], (A, B))
        for name in "vadd vsub vmul vmax vmin vaddrelu vsubrelu".split()
    ),
    ("vdiv", dsl.vdiv, (A, POSITIVE)),
    ("vmod", dsl.vmod, (A, POSITIVE)),
    *(
        (name, lambda x, word=name: dsl.OPERATIONS[word](x, 0.7), (A,))
        for name in "vadds vmuls vmaxs vmins".split()
    ),
    *((name, dsl.OPERATIONS[name], (A,)) for name in "vexp vabs vrelu".split()),
    *((name, dsl.OPERATIONS[name], (POSITIVE,)) for name in "vlog vrec vsqrt vrsqrt".split()),
    ("vlrelu", lambda x: dsl.vlrelu(x, 0.3), (A,)),
    ("vaxpy", lambda x, y: dsl.vaxpy(x, y, 1.5), (A, B)),
    *((name, dsl.OPERATIONS[name], (A, B, C)) for name in "vmla vmadd vmaddrelu".split()),
    ("clip", lambda x: dsl.clip(x, 1.0, -0.5), (A,)),
    ("cast_to", lambda x: dsl.cast_to(dsl.cast_to(x, "float64"), "float64"), (A,)),
    ("vsel", lambda x, y: dsl.vsel(compared(x, y), dsl.vmul(x, x), y), (A, B)),
    (
        "vsel of bits",
        lambda x, y: dsl.vsel(dsl.vcmp(x, y, "gt", "bit"), x, dsl.vexp(y)),
        (array(3, 8), array(3, 8)),
    ),
    ("vcmpsel", lambda x, y: dsl.vcmpsel(x, y, "lt", dsl.vmul(x, y), 2.0), (A, B)),
    ("where", lambda x, y: ext.where(compared(x, y), x, 1.0), (A, B)),
    *(
        (name, dsl.EXT_OPERATIONS[name], (A,))
        for name in "tanh sigmoid erf erfc ndtr ndtr_tanh tanh_softplus sin cos tan atan sinh cosh "
        "asinh exp2 expm1 sign neg rint square".split()
    ),
    *((name, dsl.EXT_OPERATIONS[name], (SMALL,)) for name in "asin acos atanh log1p".split()),
    *((name, dsl.EXT_OPERATIONS[name], (POSITIVE,)) for name in "log2 log10 reciprocal".split()),
    ("acosh", ext.acosh, (ABOVE_ONE,)),
    ("atan2", ext.atan2, (A, B)),
    ("pow", ext.pow, (POSITIVE, A)),
    ("fmod", ext.fmod, (A, POSITIVE)),
    ("floor_divide", ext.floor_divide, (A, POSITIVE)),
    ("floor", lambda x: dsl.vsub(x, dsl.cast_to(dsl.floor(x), "float64")), (A,)),
]
MOVING: list[Case] = [
    ("broadcast", lambda x: dsl.broadcast(x, (2, 3, 4)), (array(3, 1),)),
    ("broadcast in front", lambda x: dsl.broadcast(x, (2, 3, 4)), (array(4),)),
    ("broadcast of one", lambda x: dsl.broadcast(x, (2, 3)), (array(1),)),
    ("transpose", lambda x: dsl.transpose(x, (2, 0, 1)), (CUBE,)),
    ("concat", lambda x, y, z: dsl.concat([x, y, z], 1), (A, array(3, 2), B)),
    ("concat with itself", lambda x: dsl.concat([x, dsl.vexp(x), x], -1), (A,)),
    ("split", lambda x: dsl.split(x, 1, [1, 3])[1], (A,)),
    ("a part of a split", lambda x: dsl.split(x, 1, [1, 2, 1])[1][1], (A,)),
    ("set_value", lambda x: dsl.set_value(x, lambda i, j: j < 2, 3.0), (A,)),
    ("strided_slice", lambda x: ext.strided_slice(x, [0, 3], [3, 0], [2, -2]), (A,)),
    ("pad", lambda x: ext.pad(x, [(1, 0), (2, 3)], 1.0), (A,)),
    ("reverse", lambda x: ext.reverse(x, [0, 1]), (A,)),
    ("tile", lambda x: ext.tile(x, [2, 3]), (A,)),
    ("reshape", lambda x: ext.reshape(dsl.vexp(x), [2, 6]), (A,)),
    ("gather", lambda x, i: dsl.gather(x, i, 0), (array(6, 2), IDS)),
    ("gather on the last axis", lambda x, i: dsl.gather(x, i, 1), (array(2, 6), IDS.reshape(2, 3))),
    ("gather from the back", lambda x, i: dsl.gather(x, i, 1, 0, True), (array(2, 6, 2), IDS)),
    (
        "gather in batches",
        lambda x, i: dsl.gather(x, i, 2, 1),
        (array(2, 3, 6, 2), IDS.reshape(2, 3)),
    ),
    (
        "gather of a function",
        lambda x, i: dsl.gather(dsl.vlog(x), i, 0),
        (array(6, 2, low=1, high=2), IDS),
    ),
    (
        "gather_nd",
        lambda x, i: dsl.gather_nd(x, i),
        (array(3, 4, 2), np.array([[0, 1], [2, 3], [0, 1], [3, 0]], np.int32)),
    ),
    ("scatter", lambda x, i, u: dsl.scatter(x, i, u, "add"), (array(6, 2), IDS, array(6, 2))),
    ("scatter sub", lambda x, i, u: dsl.scatter(x, i, u, "sub"), (array(6, 2), IDS, array(6, 2))),
    ("inplace_add", lambda x, u: dsl.inplace_add(x, [1, 4], u), (array(6, 2), array(2, 2))),
    ("inplace_sub", lambda x, u: dsl.inplace_sub(x, [1, 4], u), (array(6, 2), array(2, 2))),
    *(
        (
            f"unsorted_segment_{kind}",
            lambda x, i, kind=kind: dsl.OPERATIONS[f"unsorted_segment_{kind}"](x, i, 7, 0),
            (array(6, 3), IDS),
        )
        for kind in ("sum", "mean", "max", "min")
    ),
    ("segments of a list", lambda x: dsl.unsorted_segment_sum(x, [1, 0, 1], 2), (A,)),
]
REDUCING: list[Case] = [
    *(
        (
            f"{name} {axes} {keep}",
            lambda x, name=name, axes=axes, keep=keep: dsl.OPERATIONS[name](x, axes, keep),
            (CUBE,),
        )
        for name in "reduce_sum reduce_mean reduce_max reduce_min reduce_prod".split()
        for axes, keep in (([1], False), ([0, 2], True), ([0, 1, 2], False))
    ),
    ("reduce_prod with a zero", lambda x: dsl.reduce_prod(x, 1), (A * (B > -1.2),)),
    ("reduce_prod with zeros", lambda x: dsl.reduce_prod(x, 1), (A * (B > 0.5),)),
    ("tuple_sum", lambda x, y: dsl.tuple_sum([x, dsl.vmul(x, y)], 1), (A, B)),
    ("cumsum", lambda x: ext.cumsum(x, 1), (A,)),
    ("cumsum of the others", lambda x: ext.cumsum(x, 0, True, True), (A,)),
    (
        "reduce_window",
        lambda x: dsl.reduce_window(x, "AVG", (0, 1), (2, 3), (1, 2)),
        (array(5, 7),),
    ),
    (
        "reduce_window of overlapping maxima",
        lambda x: dsl.reduce_window(x, "MAX", (0, 1), (3, 3), (2, 2), None, "SAME"),
        (array(5, 7),),
    ),
    ("matmul", lambda x, y: dsl.matmul(x, y, dst_dtype="float64"), (A, MATRIX)),
    *(
        (
            f"matmul turned {i}{j}",
            lambda x, y, i=i, j=j: dsl.matmul(x, y, i, j, alpha_num=1.5, dst_dtype="float64"),
            (A.T.copy() if i else A, MATRIX.T.copy() if j else MATRIX),
        )
        for i in (False, True)
        for j in (False, True)
    ),
    (
        "matmul with a bias",
        lambda x, y, z: dsl.matmul(x, y, dst_dtype="float64", tensor_bias=z),
        (A, MATRIX, array(5)),
    ),
    ("matmul of a row", lambda x, y: dsl.matmul(x, y, dst_dtype="float64"), (array(4), MATRIX)),
    (
        "gemm",
        lambda x, y, z: dsl.gemm(
            x, y, {"alpha": 2.0, "beta": 0.5, "tensor_c": z, "dst_dtype": "float64"}
        ),
        (A, MATRIX, array(3, 5)),
    ),
    (
        "batch_matmul",
        lambda x, y: dsl.batch_matmul(x, y, dst_dtype="float64"),
        (CUBE, array(2, 4, 5)),
    ),
    *(
        (
            f"batch_matmul with one matrix {turned}",
            lambda x, y, turned=turned: dsl.batch_matmul(x, y, False, turned, dst_dtype="float64"),
            (CUBE, array(5, 4) if turned else array(4, 5)),
        )
        for turned in (False, True)
    ),
    (
        "batch_matmul with a bias",
        lambda x, y, z: dsl.batch_matmul(x, y, dst_dtype="float64", tensor_bias=z),
        (CUBE, array(4, 5), array(5)),
    ),
    (
        "batch_matmul repeated",
        lambda x, y: dsl.batch_matmul(x, y, True, dst_dtype="float64"),
        (array(2, 1, 4, 3), array(5, 4, 2)),
    ),
]


def of(table: list[Case]) -> Any:
    """The cases under their names."""
    return cases("build, arrays", [pytest.param(*case[1:], id=case[0]) for case in table])


@of(ELEMENTWISE + MOVING + REDUCING)
def test_derivatives_agree_with_central_differences(
    build: Callable[..., Any], arrays: tuple[np.ndarray, ...]
) -> None:
    assert_derivatives(derived(build, *arrays), arrays)


def raw(shape: Any, *bodies: Callable[..., Any]) -> Callable[..., Any]:
    """A raw compute whose function takes the tensors first."""
    (body,) = bodies
    return lambda *tensors: compute(shape, lambda *index: body(*tensors, *index))


def axis(*bounds: int) -> IterVar:
    """An axis to reduce over."""
    return IterVar(Range(*bounds), "k", "reduce")


def product_of_matrices(x: Tensor, y: Tensor) -> Tensor:
    k = axis(4)
    return compute((3, 5), lambda i, j: Reduce("sum", x(i, k) * y(k, j), [k]))


def convolution(x: Tensor, w: Tensor) -> Tensor:
    k = axis(3)
    inside = lambda at: make_binary("and", at >= 0, at < 9)  # noqa: E731
    return compute(
        (5,), lambda i: Reduce("sum", x(i * 2 + k - 1) * w(k), [k], inside(i * 2 + k - 1))
    )


def part_of_an_axis(x: Tensor, y: Tensor) -> Tensor:
    k = axis(1, 4)
    return compute((3,), lambda i: Reduce("max", x(i, k) * y(i, k - 1), [k]))


def conditional(x: Tensor) -> Tensor:
    k = axis(4)
    return compute((3,), lambda i: Reduce("sum", x(i, k) * x(i, k), [k], make_binary("gt", k, i)))


RAW: list[Case] = [
    (
        "several reads of one element",
        raw((3, 4), lambda x, i, j: x(i, j) * x(i, j) + call("exp", x(i, j))),
        (A,),
    ),
    (
        "neighbours",
        raw(
            (3, 4),
            lambda x, i, j: x(i, j) + select(j > 0, x(i, j - 1) * x(i, j), const(2.0, "float64")),
        ),
        (A,),
    ),
    ("a diagonal", raw((3,), lambda x, i: x(i, i) * 2.0), (A,)),
    ("one element", raw((3, 4), lambda x, i, j: x(2, 1) * x(i, 0)), (A,)),
    ("flattened", raw((12,), lambda x, i: call("sin", x(i // 4, i % 4))), (A,)),
    ("unflattened", raw((3, 4), lambda x, i, j: call("sin", x(i * 4 + j))), (array(12),)),
    (
        "regrouped",
        raw((2, 6), lambda x, i, j: call("sin", x((i * 6 + j) // 4, (i * 6 + j) % 4))),
        (A,),
    ),
    ("in blocks", raw((2, 2, 3), lambda x, i, j, k: x(k, i * 2 + j)), (A,)),
    ("coarse", raw((6, 4), lambda x, i, j: x(i // 2, j)), (A,)),
    ("coarse with a rest", raw((5, 4), lambda x, i, j: x(i // 2, j)), (A,)),
    ("periodic", raw((7, 4), lambda x, i, j: x(i % 3, j)), (A,)),
    ("steps with gaps", raw((2, 3), lambda x, i, j: x(i * 9 + j * 2)), (array(15),)),
    ("overlapping", raw((4, 3), lambda x, i, j: call("exp", x(i * 2 + j * 3))), (array(14),)),
    ("crooked", raw((3, 4), lambda x, i, j: x((i * j) % 3, j)), (A,)),
    (
        "crooked and guarded",
        raw(
            (3, 4),
            lambda x, i, j: select(
                i * j < 3, x(make_binary("min", i * j, 9), j), const(0.0, "float64")
            ),
        ),
        (A,),
    ),
    ("an index as a number", raw((3, 4), lambda x, i, j: x(i, j) * cast("float64", j)), (A,)),
    (
        "several outputs",
        lambda x, y: compute((3, 4), lambda i, j: [x(i, j) * y(i, j), x(i, j) / y(i, j), y(i, j)]),
        (A, POSITIVE),
    ),
    ("a product of matrices", product_of_matrices, (A, MATRIX)),
    ("a convolution", convolution, (array(9), array(3))),
    ("an extreme of products", part_of_an_axis, (A, B)),
    ("a condition", conditional, (A,)),
    (
        "looked up",
        raw((3, 4), lambda x, i, r, c: x(make_binary("max", i(r), 0), c) * 2.0),
        (A, np.array([2, 2, -1], np.int32)),
    ),
]


@of(RAW)
def test_a_raw_compute(build: Callable[..., Any], arrays: tuple[np.ndarray, ...]) -> None:
    assert_derivatives(derived(build, *arrays), arrays)


def test_the_backwards_of_raw_computes_are_the_same_in_c(full: bool, cache: Store) -> None:
    pairs: list[tuple[Tensor, np.ndarray]] = []
    found: list[Tensor] = []
    for _, build, arrays in RAW if full else RAW[::4]:
        graph = derived(build, *arrays)
        given = [*arrays, *weights_of(graph.outputs)]
        tensors = [*graph.inputs, *graph.given]
        pairs += [(t, a) for t, a in zip(tensors, given, strict=True) if t is not None]
        found += [one for one in graph.found if one is not None]
    kernel = prepared_kernel.prepare(
        found, [tensor for tensor, _ in pairs], name="raw_backwards", cache=cache
    )
    wanted = evaluate.run(found, {id(tensor): array for tensor, array in pairs})
    for one, other in zip(kernel.run([array for _, array in pairs], {}, 1), wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13, atol=1e-13)


def evaluated(graph: Derived, arrays: Any, values: Any = None) -> list[np.ndarray]:
    """The gradients of Σ outputs."""
    ones = [None if one is None else np.ones([len(arrays[0])], one.dtype) for one in graph.given]
    return list(evaluate.run(graph.found, graph.feed(arrays, ones), values))


NAN, INF = np.nan, np.inf
EDGES: list[tuple[str, Callable[..., Any], list[list[float]], list[list[float]]]] = [
    (
        "vmax",
        dsl.vmax,
        [[1, 2, 3, NAN, 1], [2, 2, 2, 1, NAN]],
        [[0, 0.5, 1, 1, 1], [1, 0.5, 0, 1, 1]],
    ),
    (
        "vmin",
        dsl.vmin,
        [[1, 2, 3, NAN, 1], [2, 2, 2, 1, NAN]],
        [[1, 0.5, 0, 1, 1], [0, 0.5, 1, 1, 1]],
    ),
    ("vmaxs", lambda x: dsl.vmaxs(x, 0.0), [[0, -0.0, 1, -1, NAN]], [[0.5, 0.5, 1, 0, 1]]),
    ("vrelu", dsl.vrelu, [[0, 1, -1, NAN]], [[0, 1, 0, 0]]),
    ("vaddrelu", dsl.vaddrelu, [[0, 1, -1], [0, 1, -1]], [[0, 1, 0], [0, 1, 0]]),
    ("vabs", dsl.vabs, [[0, 1, -1]], [[0, 1, -1]]),
    ("vsqrt", dsl.vsqrt, [[0, 1, -1]], [[INF, 0.5, NAN]]),
    ("vlog", dsl.vlog, [[0, 2, INF]], [[INF, 0.5, 0]]),
    ("vdiv", dsl.vdiv, [[1, 0], [0, 0]], [[INF, INF], [-INF, NAN]]),
    (
        "pow",
        ext.pow,
        [[0, 0, 2, -2, 0], [0, 2, 0, 2, -1]],
        [[0, 0, 0, -4, -INF], [0, 0, np.log(2), NAN, -INF]],
    ),
    (
        "log beside 0",
        lambda x: dsl.vsel(dsl.vcmp(x, 0.0, "gt"), dsl.vlog(x), x),
        [[0, 1, -1]],
        [[1, 1, 1]],
    ),
    (
        "a root of a root",
        lambda x: dsl.vsqrt(dsl.vmaxs(dsl.vsqrt(x), 1.0)),
        [[0, 16]],
        [[0, 1 / 32]],
    ),
    (
        "a product with inf",
        lambda x, y: dsl.vcmpsel(y, 9.0, "lt", dsl.vmul(x, y), 0.0),
        [[1, 1], [INF, 3]],
        [[0, 3], [0, 1]],
    ),
    (
        "a chain beside NaN",
        lambda x: dsl.vcmpsel(x, 0.0, "gt", dsl.vexp(dsl.vsqrt(dsl.vlog(x))), 0.0),
        [[-1, 0]],
        [[0, 0]],
    ),
    (
        "a constant power",
        lambda x: ext.pow(x, dsl.broadcast(const(2.0, "float64"), (2,))),
        [[0, -3]],
        [[0, -6]],
    ),
    (
        "both sides",
        lambda x: dsl.vsel(dsl.vcmp(x, 0.0, "ge"), dsl.vsqrt(x), dsl.vsqrt(dsl.vmuls(x, -1.0))),
        [[4, -4]],
        [[0.25, -0.25]],
    ),
    (
        "a row that is left out",
        lambda x: dsl.vcmpsel(
            x, 0.0, "gt", dsl.broadcast(dsl.vlog(dsl.reduce_sum(x, 0, True)), (2,)), x
        ),
        [[0, 0]],
        [[1, 1]],
    ),
    ("a part", lambda x: dsl.split(dsl.vlog(x), 0, [1, 2])[1][1], [[0, 1, 2]], [[0, 1, 0.5]]),
    ("a pad", lambda x: ext.strided_slice(dsl.vsqrt(x), [1], None), [[0, 4]], [[0, 0.25]]),
    (
        "looked up",
        lambda x: dsl.gather(dsl.vlog(x), dsl.vcmp(x, 0.0, "gt") and ext.iota([1]), 0),
        [[2, 0]],
        [[0.5, 0]],
    ),
    (
        "reshaped",
        lambda x: dsl.vcmpsel(x, 0.0, "gt", ext.reshape(ext.reshape(dsl.vlog(x), [2, 1]), [2]), x),
        [[2, 0]],
        [[0.5, 1]],
    ),
]


@cases("case", EDGES, ids=lambda case: case[0])
def test_derivatives_at_edges_have_the_chosen_values(case: Any) -> None:
    _, build, given, wanted = case
    arrays = [np.array(item, np.float64) for item in given]
    graph = derived(build, *arrays)
    weights = [np.ones([size.value for size in one.shape]) for one in graph.outputs]
    found = evaluate.run(graph.found, graph.feed(arrays, weights))
    for one, values in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, values, rtol=1e-15)


@cases("word", ["reduce_max", "reduce_min"])
def test_equal_extremes_share(word: str) -> None:
    sign = 1 if word == "reduce_max" else -1
    x = sign * np.array([[1.0, 2, 2], [1, NAN, 3], [0, 0, 0]])
    graph = derived(lambda t: dsl.OPERATIONS[word](t, 1), x)
    (found,) = evaluated(graph, [x])
    # beside NaN everything counts as extreme
    np.testing.assert_array_equal(found, [[0, 0.5, 0.5], [1 / 3] * 3, [1 / 3] * 3])


@pytest.mark.mindspore
@cases(
    "name", ["Maximum", "Minimum", "ReLU", "Abs", "ReduceMax", "ReduceMin", "ReduceProd", "Sqrt"]
)
def test_edges_are_those_of_mindspore(name: str) -> None:
    ms = pytest.importorskip("mindspore")
    words = {
        "Maximum": dsl.vmax,
        "Minimum": dsl.vmin,
        "ReLU": dsl.vrelu,
        "Abs": dsl.vabs,
        "Sqrt": dsl.vsqrt,
        "ReduceMax": lambda x: dsl.reduce_max(x, 1),
        "ReduceMin": lambda x: dsl.reduce_min(x, 1),
        "ReduceProd": lambda x: dsl.reduce_prod(x, 1),
    }
    reduces = name.startswith("Reduce")
    arrays = [np.array([[1, 2, 2], [0, 3, 0], [-1, 0, 2], [0, 0, 0]], np.float32)]
    if name in ("Maximum", "Minimum"):
        arrays.append(np.array([[2, 2, 1], [0, 0, 0], [-1, 1, 1], [0, 1, -1]], np.float32))
    graph = derived(words[name], *arrays)
    operation = getattr(ms.ops, name)()

    def formula(*tensors: Any) -> Any:
        return operation(*tensors, 1) if reduces else operation(*tensors)

    with np.errstate(all="ignore"):
        weights = [np.ones([size.value for size in one.shape], np.float32) for one in graph.outputs]
        found = evaluate.run(graph.found, graph.feed(arrays, weights))
    tensors = [ms.Tensor(item) for item in arrays]
    theirs = ms.grad(formula, grad_position=tuple(range(len(arrays))))(*tensors)
    for one, other in zip(found, theirs if isinstance(theirs, tuple) else (theirs,), strict=True):
        np.testing.assert_allclose(one, other.asnumpy(), rtol=1e-6)


def test_integers_get_no_gradient_and_unused_inputs_get_zeros() -> None:
    x, n, unused = (
        dsl.placeholder((3,)),
        dsl.placeholder((3,), "int32"),
        dsl.placeholder((2, 2), "float16"),
    )
    y = dsl.vadd(x, dsl.cast_to(n, "float32"))
    found = gradients([y], [x, n, unused], [dsl.placeholder((3,))])
    assert found[1] is None
    assert found[2] is not None
    (zeros,) = evaluate.run([found[2]], {})
    np.testing.assert_array_equal(zeros, np.zeros((2, 2), np.float16))


def test_a_gradient_for_a_tensor_in_the_middle() -> None:
    x = dsl.placeholder((3,), "float64")
    middle = dsl.vexp(x)
    y, g = dsl.vmul(middle, middle), dsl.placeholder((3,), "float64")
    found = gradients([y, middle], [middle, x], [g, None])
    given = {id(x): np.array([0.0, 1, 2]), id(g): np.ones(3)}
    one, other = evaluate.run(found, given)  # type: ignore[arg-type]
    np.testing.assert_allclose(one, 2 * np.exp([0, 1, 2]))
    np.testing.assert_allclose(other, 2 * np.exp([0, 2, 4]))


def test_steps_have_the_derivative_0_and_positions_have_none() -> None:
    x = np.array([[1.5, 2.5], [0.5, -1]])
    graph = derived(lambda t: dsl.vmul(t, dsl.cast_to(dsl.floor(t), "float64")), x)
    weights = [np.ones((2, 2))]
    np.testing.assert_array_equal(
        evaluate.run(graph.found, graph.feed([x], weights))[0], np.floor(x)
    )
    counted = derived(lambda t: dsl.vmul(t, dsl.cast_to(dsl.vcmp(t, 1.0, "gt"), "float64")), x)
    np.testing.assert_array_equal(evaluate.run(counted.found, counted.feed([x], weights))[0], x > 1)


def argmax_as_a_value(x: Tensor) -> Tensor:
    return dsl.cast_to(ext.argmax(x, 1), "float32")


def place_in_order(x: Tensor) -> Tensor:
    return dsl.cast_to(ext.sort(x)[1], "float32")


@cases(
    "build, what",
    [
        (lambda x: ext.sort(x)[0], "sort cannot be differentiated"),
        (lambda x: ext.topk(x, 2)[0], "topk cannot be differentiated"),
        (lambda x: ext.cumprod(x), "cumprod cannot be differentiated"),
        (lambda x: dsl.vmul(x, dsl.vexp(ext.sort(x)[0])), "sort cannot be differentiated"),
        (argmax_as_a_value, "argmax.* cannot be differentiated: its whole numbers say where"),
        (place_in_order, "sort cannot be differentiated: its whole numbers say where"),
        (
            lambda x: dsl.scatter(x, ext.iota([3]), x, "max"),
            "scatter cannot be differentiated: with the reduction max",
        ),
        (
            lambda x: dsl.unsorted_segment_prod(x, [0, 0, 1], 2),
            "unsorted_segment_prod cannot be differentiated",
        ),
    ],
)
def test_what_has_no_derivative_says_so(build: Callable[..., Any], what: str) -> None:
    x = dsl.placeholder((3, 4))
    y = build(x)
    with pytest.raises(InputError, match=what) as caught:
        gradients([y], [x], [dsl.placeholder(y.shape)])
    assert "test_reverse_mode.py:" in str(caught.value)
    # it does not matter for another tensor
    z = dsl.placeholder(y.shape)
    assert gradients([dsl.vmul(y, z)], [z], [dsl.placeholder(y.shape)])[0] is not None


def test_positions_may_be_looked_up() -> None:
    x = array(3, 4)
    assert_derivatives(derived(lambda t: dsl.gather(t, ext.argmax(t, 1), 1, 1), x), [x])


@cases(
    "gradient, expected",
    [
        (dsl.placeholder((3, 4)), r"float32 \(3,\), got float32 \(3, 4\)"),
        (dsl.placeholder((3,), "float16"), r"float32 \(3,\), got float16 \(3,\)"),
    ],
)
def test_a_gradient_that_does_not_fit(gradient: Tensor, expected: str) -> None:
    x = dsl.placeholder((3,))
    with pytest.raises(InputError, match=expected):
        gradients([dsl.vexp(x)], [x], [gradient])
    with pytest.raises(InputError, match="every output needs a gradient"):
        gradients([dsl.vexp(x)], [x], [])


def test_sizes_that_are_known_late() -> None:
    n = Var("n", bound=(1, None))
    x, y, row = (dsl.placeholder(shape, "float64") for shape in ((3, n), (n, 3), (1, n)))
    wide = dsl.vmul(x, dsl.transpose(y, (1, 0)))
    scaled = dsl.vmul(wide, dsl.broadcast(row, (3, n)))
    mean = dsl.broadcast(dsl.reduce_mean(scaled, 1, True), (3, n))
    joined = dsl.concat([dsl.vsub(scaled, mean), ext.reshape(dsl.vexp(y), [3, n])], 1)
    graph = Derived([joined, dsl.reduce_max(ext.strided_slice(x, [0, 2], None), 0)], [x, y, row])
    assert_derivatives(graph, [array(3, 5), array(5, 3), array(1, 5)], {id(n): 5})


@cases("size", [1, 4])
def test_a_size_that_may_turn_out_to_be_one(size: int) -> None:
    n, m = Var("n", bound=(1, None)), Var("m", bound=(1, None))
    x, y = dsl.placeholder((3, n), "float64"), dsl.placeholder((3, m), "float64")
    graph = Derived(dsl.vmul(dsl.broadcast(x, (3, m)), y), [x, y])
    assert_derivatives(graph, [array(3, size), array(3, 4)], {id(n): size, id(m): 4})
