"""The fast call path in PyNative: its use, the fallback to MindSpore's dispatch, equal results."""

import numpy as np
import pytest

ms = pytest.importorskip("mindspore")
pytestmark = [pytest.mark.mindspore, pytest.mark.usefixtures("pynative")]

from mindspore import Tensor, mint, nn, ops  # noqa: E402

from custom_ops.core import dispatch, pynative_fast_path  # noqa: E402
from custom_ops.core.cell import FusedCell  # noqa: E402
from custom_ops.core.lru_cache import LruCache  # noqa: E402
from custom_ops.core.operator_spec import OpSpec  # noqa: E402
from tbe_impl import dsl  # noqa: E402
from tbe_impl.errors import InputError  # noqa: E402
from tests.cases import cases  # noqa: E402

PRODUCT = OpSpec("DirectProduct", ("x", "y"), ("z",), forward=lambda x, y: dsl.vmul(x, y))
SHIFTED = OpSpec(
    "DirectShifted",
    ("x", "by"),
    ("y", "kept"),
    forward=lambda x, by: (dsl.vexp(dsl.vadd(x, by)), dsl.vexp(dsl.vadd(x, by))),
    backward=lambda kept, g: (dsl.vmul(kept, g), None),
    saves=("kept",),
    undifferentiable=frozenset({"by"}),
    hidden=frozenset({"kept"}),
)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


@pytest.fixture
def dispatched(monkeypatch):
    """Calls through MindSpore's dispatch."""
    seen, whole = [], ops.Custom.__call__
    monkeypatch.setattr(
        ops.Custom, "__call__", lambda self, *given: seen.append(self) or whole(self, *given)
    )
    return seen


def test_a_call_is_a_call_of_the_kernel(dispatched):
    op, a, b = FusedCell(PRODUCT, {}), floats(3, 4), floats(3, 4, seed=1)
    before = dispatch.count_calls()
    made = op(op(Tensor(a), Tensor(b)), Tensor(b))
    assert np.array_equal(made.asnumpy(), a * b * b)
    assert dispatch.count_calls() - before == 2 and not dispatched


def test_inputs_that_are_still_computed_are_waited_for():
    op, a = FusedCell(PRODUCT, {}), floats(500, 500)
    ms.set_context(pynative_synchronize=False)  # the next test of `make test` sets it again
    for _ in range(3):
        late = ops.matmul(Tensor(a), Tensor(a))
        assert np.array_equal(op(late, late).asnumpy(), late.asnumpy() ** 2)


def test_tensors_that_lie_otherwise(dispatched):
    op, a = FusedCell(PRODUCT, {}), floats(4, 6)
    across, part = Tensor(a).T, mint.narrow(Tensor(floats(6, 9)), 1, 2, 4)
    assert not across.is_contiguous() and not part.is_contiguous()
    assert np.array_equal(op(across, part).asnumpy(), a.T * floats(6, 9)[:, 2:6])
    parameter = ms.Parameter(Tensor(a), name="p")
    assert np.array_equal(op(parameter, parameter).asnumpy(), a * a) and not dispatched


@cases("dtype", ["float16", "bfloat16", "float64"])
def test_dtypes(dtype, dispatched):
    x = Tensor(floats(4, 8)).astype(getattr(ms, dtype))
    made = FusedCell(PRODUCT, {})(x, x)
    assert made.dtype == x.dtype and not dispatched
    assert np.allclose(
        made.astype(ms.float32).asnumpy(), x.astype(ms.float32).asnumpy() ** 2, rtol=1e-2
    )


def test_large_results_lie_in_memory_of_mindspores(dispatched):
    a = floats(pynative_fast_path.LARGE_BYTES // 4 + 5)
    assert np.array_equal(FusedCell(PRODUCT, {})(Tensor(a), Tensor(a)).asnumpy(), a * a)
    assert not dispatched


def test_gradients_are_recorded(dispatched):
    a, b = floats(3, 4), floats(3, 4, seed=1)
    op = FusedCell(PRODUCT, {})

    def cubed(x, y):
        return op(op(x, x), op(x, ops.exp(y)))

    dx, dy = ms.grad(cubed, (0, 1))(Tensor(a), Tensor(b))
    assert np.allclose(dx.asnumpy(), 3 * a * a * np.exp(b), rtol=1e-5)
    assert np.allclose(dy.asnumpy(), a**3 * np.exp(b), rtol=1e-5)
    second = ms.grad(lambda x: ms.grad(cubed)(x, Tensor(b)).sum())(Tensor(a))
    assert np.allclose(second.asnumpy(), 6 * a * np.exp(b), rtol=1e-5)
    assert not dispatched


def test_gradients_of_hidden_outputs_and_of_inputs_without_one(dispatched):
    a, b = floats(3, 4), floats(3, 4, seed=1)
    dx, dby = ms.grad(FusedCell(SHIFTED, {}), (0, 1))(Tensor(a), Tensor(b))
    assert np.allclose(dx.asnumpy(), np.exp(a + b), rtol=1e-5)
    assert np.array_equal(dby.asnumpy(), np.zeros_like(b)) and not dispatched


def test_weights_get_gradients():
    class Net(nn.Cell):
        def __init__(self):
            super().__init__()
            self.weight = ms.Parameter(Tensor(floats(5, 5)), name="weight")
            self.op = FusedCell(PRODUCT, {})

        def construct(self, x):
            return self.op(ops.matmul(x, self.weight), x).sum()

    net, x = Net(), floats(5, 5, seed=2)
    _, (found,) = ms.value_and_grad(net, None, net.trainable_params())(Tensor(x))
    assert np.allclose(found.asnumpy(), x.T @ x, rtol=1e-4, atol=1e-5)


def test_mixed_precision_is_mindspores(dispatched):
    op, a = FusedCell(PRODUCT, {}), Tensor(floats(3, 4))
    net = nn.SequentialCell(FusedCell(OpSpec("DirectOdd", ("x",), ("y",), forward=dsl.vabs), {}))
    net.to_float(ms.float16)
    assert net(a).dtype == ms.float16
    assert dispatched and pynative_fast_path._CastDepth.depth == 0
    dispatched.clear()
    assert op(a, a).dtype == ms.float32 and not dispatched


def test_errors_are_the_operators():
    with pytest.raises(InputError, match="DirectProduct"):
        FusedCell(PRODUCT, {})(Tensor(floats(3, 4)), Tensor(floats(2, 5)))


def test_a_non_tensor_argument_is_refused_by_name():
    op = FusedCell(PRODUCT, {})
    with pytest.raises(
        InputError,
        match=r"DirectProduct: y is not a tensor; expected a mindspore\.Tensor, got 'text'",
    ):
        op(Tensor(floats(3, 4)), "text")


def test_what_is_remembered_is_bounded():
    op = FusedCell(PRODUCT, {})
    for rows in range(2, 2 + pynative_fast_path.MAX_SIGNATURES + 20):
        x = Tensor(floats(rows, 1))
        assert op(x, x).shape == (rows, 1)
    assert len(op.run._direct._known) == pynative_fast_path.MAX_SIGNATURES


def test_recent_forgets_what_was_not_used_for_longest():
    table = LruCache(2)
    table["a"], table["b"] = 1, 2
    assert table.get("a") == 1
    table["c"] = 3
    assert (table.get("a"), table.get("b"), table.get("c"), len(table)) == (1, None, 3, 2)
