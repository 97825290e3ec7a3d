"""Operators inside MindSpore: modes, dynamic shapes, gradients, errors, copies."""

import copy

import numpy as np
import pytest

from custom_ops.core.operator_spec import OpSpec
from tbe_impl import dsl
from tbe_impl.errors import InputError, MissingError
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode

ms = pytest.importorskip("mindspore")
pytestmark = pytest.mark.mindspore

from mindspore import Tensor, nn, ops  # noqa: E402

from custom_ops.core import dispatch  # noqa: E402
from custom_ops.core.cell import FusedCell  # noqa: E402
from custom_ops.core.computation import Computation  # noqa: E402
from custom_ops.core.dispatch import NUMBER_OF_DTYPE  # noqa: E402
from custom_ops.core.primitive import primitive  # noqa: E402

SCALED = OpSpec(
    "ScaledSum",
    ("x", "y"),
    ("total", "difference"),
    forward=lambda x, y, *, scale: (dsl.vmuls(dsl.vadd(x, y), scale), dsl.vsub(x, y)),
    backward=lambda x, g, h, *, scale: (
        dsl.vadd(dsl.vmuls(g, scale), h),
        dsl.vsub(dsl.vmuls(g, scale), h),
    ),
    saves=("x",),
    attributes={"scale": 2.0},
    place="here.py:1",
)
SQUARE = OpSpec(
    "CustomSquare",
    ("x",),
    ("y",),
    forward=lambda x: dsl.vmul(x, x),
    backward=lambda x, g: dsl.vmuls(dsl.vmul(x, g), 2.0),
    saves=("x",),
)
NO_GRADIENT = OpSpec(
    "Indexed", ("x",), ("y",), forward=lambda x: dsl.vabs(x), undifferentiable=frozenset("x")
)


GRAPH_IN_FULL = [pytest.param("graph", marks=FULL), "pynative"]
"""`make test` compiles no graph if another test has a similar one."""
PYNATIVE_IN_FULL = ["graph", pytest.param("pynative", marks=FULL)]
"""`make test` uses a graph only where graph mode is the harder case."""


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Both(nn.Cell):
    def __init__(self, scale):
        super().__init__()
        self.op = FusedCell(SCALED, {"scale": scale})

    def construct(self, x, y):
        total, difference = self.op(x, y)
        return total * difference


@cases("mode", MODES)
def test_several_outputs_and_their_gradients(mode):
    set_mode(mode)
    a, b = floats(5, 7), floats(5, 7, seed=1)
    net = Both(3.0)
    assert np.allclose(net(Tensor(a), Tensor(b)).asnumpy(), 3 * (a + b) * (a - b), atol=1e-5)
    da, db = ms.grad(net, (0, 1))(Tensor(a), Tensor(b))
    assert np.allclose(da.asnumpy(), 6 * a, atol=1e-5)
    assert np.allclose(db.asnumpy(), -6 * b, atol=1e-5)


@cases("mode", GRAPH_IN_FULL)
def test_an_error_is_the_operators_own(mode):
    set_mode(mode)
    with pytest.raises(InputError, match=r"expected \(5, 7\), got \(5, 3\)"):
        Both(1.0)(Tensor(floats(5, 7)), Tensor(floats(5, 3)))


@cases("mode", PYNATIVE_IN_FULL)
def test_shapes_that_come_later(mode):
    set_mode(mode)
    net = Both(2.0)
    unknown = Tensor(shape=[None, 7], dtype=ms.float32)
    net.set_inputs(unknown, unknown)
    for rows in (5, 1, 12, 5):
        a, b = floats(rows, 7), floats(rows, 7, seed=1)
        assert np.allclose(net(Tensor(a), Tensor(b)).asnumpy(), 2 * (a + b) * (a - b), atol=1e-5)


@cases("dtype", ("float16", "bfloat16", "float64"))
@cases("mode", GRAPH_IN_FULL)
def test_dtypes_stay(mode, dtype):
    set_mode(mode)
    x = Tensor(floats(4, 8)).astype(getattr(ms, dtype))
    total, difference = FusedCell(SCALED, {})(x, x)
    assert total.dtype == difference.dtype == x.dtype


def test_inside_a_jit_function():
    op = FusedCell(SQUARE, {})

    @ms.jit
    def step(x):
        return op(x) + 1.0

    a = floats(3, 4)
    assert np.allclose(step(Tensor(a)).asnumpy(), a * a + 1, atol=1e-6)


@cases("mode", MODES)
def test_no_gradient_is_refused_not_zero(mode):
    set_mode(mode)
    op = FusedCell(NO_GRADIENT, {})
    with pytest.raises(Exception, match="Indexed has no gradient"):
        ms.grad(op)(Tensor(floats(2, 3)))


@cases("mode", GRAPH_IN_FULL)
def test_copies_share_their_kernels(mode):
    set_mode(mode)
    net = Both(2.0)
    again = copy.deepcopy(net)
    a = Tensor(floats(2, 3))
    assert np.array_equal(net(a, a).asnumpy(), again(a, a).asnumpy())
    assert again.op.run is net.op.run


def test_a_primitive_is_made_once_for_its_attributes():
    assert primitive(SCALED, {}) is primitive(SCALED, {"scale": 2.0})
    assert primitive(SCALED, {}) is not primitive(SCALED, {"scale": 2.5})
    with pytest.raises(InputError, match="no argument factor; expected scale"):
        primitive(SCALED, {"factor": 1.0})


def test_numbers_of_dtypes_are_mindspores():
    from mindspore._c_expression import typing

    for name, number in NUMBER_OF_DTYPE.items():
        own = getattr(ms, "bool_" if name == "bool" else name)
        assert typing.type_to_type_id(own) == number, name


def test_routes_that_are_not_there():
    with pytest.raises(InputError, match="ScaledSum has no composite"):
        FusedCell(SCALED, {}, "composite")
    with pytest.raises(InputError, match="expected native or composite, got 'fast'"):
        FusedCell(SCALED, {}, "fast")


def test_the_primitive_for_ascend_says_so_on_a_cpu():
    from dataclasses import replace

    from custom_ops.ascend import AscendPrimitive, build_op_info

    spec = OpSpec(
        "SwishOnAscend",
        ("x",),
        ("y",),
        forward=lambda x, *, beta: x,
        attributes={"beta": 1.0},
        tbe="swish",
    )
    known = AscendPrimitive(spec, {"beta": 1.5})
    with pytest.raises(MissingError, match="primitive for Ascend; expected device_target Ascend"):
        known(Tensor(floats(2, 3)))
    info = build_op_info(spec)
    assert "swish.so" in str(info) and "beta" in str(info)
    with pytest.raises(MissingError, match="has no TBE operator"):
        AscendPrimitive(replace(spec, name="Other", tbe="", made_by="user"), {})


@FULL  # a child process; presets/test_carried.py explains operators in `make test`
def test_a_net_with_an_operator_can_be_explained():
    import ms_fusion as mf

    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.op = FusedCell(SQUARE, {})

        def construct(self, x):
            return ops.neg(self.op(x * 2.0) + 1.0)

    ledger = mf.explain(Net(), Tensor(floats(8, 16)), measure=False, accuracy=False)
    (carried,) = ledger.carried
    assert carried.name == SQUARE.name and carried.by == "custom_ops"
    assert {edge.reason for edge in ledger.unfused} == {"carried"}
    assert ("Add", "Neg") in [kernel.operators for kernel in ledger.kernels]


@cases("mode", PYNATIVE_IN_FULL)
def test_calls_of_kernels_are_counted(mode):
    set_mode(mode)
    from custom_ops.core import dispatch

    op = FusedCell(SQUARE, {})
    x = Tensor(floats(3, 5))
    before = dispatch.count_calls()
    for _ in range(3):
        op(x).asnumpy()
    assert dispatch.count_calls() - before == 3


@cases("mode", GRAPH_IN_FULL)
def test_fifty_batch_sizes_are_few_kernels(mode, full):
    """``make test`` takes twenty, with gradients of seven."""
    last, last_with_gradient = (51, 8 if mode == "graph" else 16) if full else (21, 8)
    set_mode(mode)
    rows_sum = OpSpec(
        f"RowsTimes{mode}",
        ("x", "y"),
        ("z",),
        forward=lambda x, y: dsl.vmul(
            x, dsl.broadcast(dsl.reduce_sum(y, [1], keepdims=True), x.shape)
        ),
    )
    net = FusedCell(rows_sum, {})
    unknown = Tensor(shape=[None, 7], dtype=ms.float32)
    net.set_inputs(unknown, unknown)
    both = ms.grad(net, (0, 1))
    for rows in range(2, last + 1):
        a, b = floats(rows, 7), floats(rows, 7, seed=1)
        made = net(Tensor(a), Tensor(b)).asnumpy()
        assert np.allclose(made, a * b.sum(1, keepdims=True), atol=1e-5)
        if rows > last_with_gradient:
            continue  # each size compiles a graph of the gradient
        da, db = both(Tensor(a), Tensor(b))
        assert np.allclose(
            da.asnumpy(), np.broadcast_to(b.sum(1, keepdims=True), a.shape), atol=1e-5
        )
        assert np.allclose(
            db.asnumpy(), np.broadcast_to(a.sum(1, keepdims=True), a.shape), atol=1e-5
        )
    assert net.run.computation.built <= 4


def test_kernels_that_were_not_used_for_longest_are_given_back():
    from custom_ops.core.computation import KERNEL_CACHE_SIZE

    def doubled(x, y):
        y[...] = 2 * x

    known = OpSpec(
        "DoubledRows",
        ("x",),
        ("y",),
        procedure=doubled,
        infer_shape=lambda x: (x,),
        infer_dtype=lambda x: (x,),
    )
    dispatched = primitive(known, {}, eager=True)
    before = {id(bank): len(bank._records) for bank in dispatch._banks}
    for rows in range(2, KERNEL_CACHE_SIZE + 12):
        made = dispatched(Tensor(np.ones((rows, 2), np.float32))).asnumpy()
        assert made.shape == (rows, 2) and np.all(made == 2)
    more = sum(len(bank._records) - before.get(id(bank), 0) for bank in dispatch._banks)
    assert more == KERNEL_CACHE_SIZE


def second_of(net, x):
    """The gradient of Σ gradient²."""
    first = ms.grad(net)

    def product(x):
        return (first(x) * first(x)).sum()

    return ms.grad(product)(x).asnumpy()


@cases("mode", GRAPH_IN_FULL)
def test_a_second_derivative_that_does_not_exist_says_what_to_do(mode):
    set_mode(mode)
    from custom_ops import MatMulBiasReLU

    with pytest.raises(
        Exception,
        match=r"MatMulBiasReLU has no derivative of order 2 as a kernel: .*route=\"composite\"",
    ):
        second_of(MatMulBiasReLU(4, 2), Tensor(floats(3, 4)))


@cases("mode", GRAPH_IN_FULL)
def test_second_derivatives_of_operators_with_hidden_outputs(mode, full):
    """``make test`` takes the second operator alone."""
    set_mode(mode)
    from custom_ops import LayerNorm, RMSNorm

    x = Tensor(floats(3, 4))
    for make in (LayerNorm, RMSNorm) if full else (RMSNorm,):
        weights = Tensor(floats(3, 4) ** 2)
        got, want = (
            second_of(Weighted(make((4,), route=route), weights), x)
            for route in ("native", "composite")
        )
        assert np.abs(want).max() > 0.01
        np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4 * np.abs(want).max())


class Weighted(ms.nn.Cell):
    def __init__(self, net, weights):
        super().__init__()
        self.net, self.weights = net, weights

    def construct(self, x):
        return self.net(x) * self.weights


def test_the_reason_of_a_failed_kernel_is_logged(monkeypatch, caplog):
    """MindSpore itself shows only the code that the library returned."""

    def refuse(*_, **__):
        raise InputError("there is no kernel today")

    monkeypatch.setattr(Computation, "kernel", refuse)
    set_mode("graph")
    with pytest.raises(RuntimeError):
        FusedCell(SCALED, {"scale": 1.625})(Tensor(floats(2, 3)), Tensor(floats(2, 3)))
    assert "ScaledSum failed: there is no kernel today" in caplog.text
