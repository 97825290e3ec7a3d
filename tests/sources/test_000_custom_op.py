"""Document 000: operators registered with custom-op, on arrays and as Cells."""

from __future__ import annotations

import copy
import runpy
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import custom_ops as cop
from custom_ops.core import registry
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.custom_ops.modes import MODES, set_mode

pytestmark = pytest.mark.filterwarnings("ignore:.*back on the host")
TEXT = Path(__file__).parents[1] / "programs" / "sources" / "custom_op_fusion.py"
X, Y, GRAD = np.random.default_rng(0).standard_normal((3, 4, 5)).astype(np.float32)


@pytest.fixture(scope="module")
def text() -> dict[str, Any]:
    """The definitions after all code of the document has run."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(registry, "_operators", {})
        return runpy.run_path(str(TEXT))


def convolution(x: np.ndarray, *given: np.ndarray) -> np.ndarray:
    """Convolution, then batch normalisation with given statistics, in float64."""
    weight, bias, gamma, beta, mean, var = given
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], (2, 3))
    y = np.einsum("nchwij,ocij->nohw", windows, weight)
    scale = gamma / np.sqrt(var + 1e-5)
    return np.asarray(y * scale[:, None, None] + ((bias - mean) * scale + beta)[:, None, None])


def test_2_1_elementwise_fusion(text: dict[str, Any]) -> None:
    fusion = text["ElementwiseFusion"]()
    for ours, formula in (
        (cop.FusedAddReLU(), fusion.fuse_add_relu),
        (cop.FusedMulSigmoid(), fusion.fuse_mul_sigmoid),
    ):
        np.testing.assert_allclose(ours.forward(X, Y), formula(X, Y), rtol=1e-5, atol=1e-6)


def test_2_2_convolution_with_batch_norm(text: dict[str, Any]) -> None:
    rng = np.random.default_rng(1)
    x, weight = rng.standard_normal((2, 3, 5, 5)), rng.standard_normal((4, 3, 3, 3))
    given = (weight, *rng.standard_normal((4, 4)), rng.random(4) + 0.5)
    want = convolution(x, *given)
    ours = cop.FusedConvBN(*given)
    for made in (
        text["ConvFusion"]().fuse_conv_bn(x, *given),
        text["FusedConvBN"](*given).forward(x),
        ours.forward(x),
    ):
        np.testing.assert_allclose(made, want, rtol=1e-10)
    for array in given:
        array[...] = 0
    np.testing.assert_allclose(ours.forward(x), want, rtol=1e-10)  # folded at construction


def test_3_1_on_arrays(text: dict[str, Any]) -> None:
    op = text["FusedAddReLU"]()
    assert np.array_equal(op.forward(X, Y), np.maximum(X + Y, 0))
    assert op.x is X and op.y is Y
    for got, want in zip(op.backward(GRAD), cop.FusedAddReLU().backward(GRAD, X, Y), strict=True):
        assert np.array_equal(got, want)


@pytest.mark.mindspore
@cases("mode", MODES)
@cases("kind", ["method", "formula", "copy"])
def test_3_1_as_a_cell(text: dict[str, Any], mode: str, kind: str) -> None:
    ms = pytest.importorskip("mindspore")
    set_mode(mode)
    written = text["FusedAddReLU"]

    class AsKernel(cop.Operator):
        forward = cop.formula(vars(written)["_forward"].__wrapped__)
        backward = vars(written)["_backward"]

    op = AsKernel() if kind == "formula" else written()

    class Net(ms.nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.op = copy.deepcopy(op) if kind == "copy" else op

        def construct(self, x: Any, y: Any) -> Any:
            return self.op(x, y) * 2.0

    net, given = Net(), (ms.Tensor(X), ms.Tensor(Y))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        made = net(*given).asnumpy()
        gradients = ms.grad(net, (0, 1))(*given)
    assert np.array_equal(made, 2 * np.maximum(X + Y, 0))
    assert all(np.array_equal(one.asnumpy(), 2.0 * (X + Y > 0)) for one in gradients)
    told = [str(one.message) for one in said if "on the host" in str(one.message)]
    assert len(told) <= (kind != "formula")


@pytest.mark.mindspore
def test_3_1_the_host_is_named_once() -> None:
    ms = pytest.importorskip("mindspore")

    class Once(cop.Operator):
        def forward(self, x: Any) -> Any:
            return x + 1

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for op, rows in ((Once(), 2), (Once(), 3)):
            op(ms.Tensor(np.ones((rows, 2), np.float32)))
    (told,) = [str(one.message) for one in said if "on the host" in str(one.message)]
    assert told.startswith("Once: ") and "which is slow; with @custom_ops.formula" in told


def test_3_1_what_is_refused() -> None:
    class Forgetful(cop.Operator):
        def forward(self, x: Any) -> Any:
            return x

    with pytest.raises(InputError, match=r"Forgetful has no backward.*Write backward"):
        Forgetful().backward(GRAD)
    with pytest.raises(InputError, match=r"Empty has no forward.*Write one"):
        cop.register_operator("Empty")(type("Empty", (cop.Operator,), {}))
    with pytest.raises(InputError, match=r"Taken\.forward: spec is a name of Operator"):

        class Taken(cop.Operator):
            def forward(self, spec: Any) -> Any:
                return spec

    with pytest.raises(InputError, match="names of inputs are not those of forward; expected x"):
        cop.register_operator("Forgetful", inputs=("a",))(Forgetful)


@pytest.mark.mindspore
def test_3_1_methods_that_do_not_fit() -> None:
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.PYNATIVE_MODE)

    class Wrong(cop.Operator):
        def forward(self, x: Any, y: Any) -> Any:
            return x + y[:, :3]

    with pytest.raises(InputError, match=r"Wrong\.forward fails: ValueError: .*got x \(4, 5\)"):
        Wrong()(ms.Tensor(X), ms.Tensor(Y))

    class Unsummed(cop.Operator):
        def forward(self, x: Any, y: Any) -> Any:
            return x * y

        def backward(self, grad: Any) -> Any:
            return grad * self.y, grad * self.x

    rows = ms.Tensor(Y[:1])
    with pytest.raises(Exception, match=r"Unsummed\.backward gives what does not fit.*expected y"):
        ms.grad(Unsummed(), (0, 1))(ms.Tensor(X), rows)


@pytest.mark.mindspore
def test_3_1_an_error_of_a_method_is_seen(caplog: pytest.LogCaptureFixture) -> None:
    """In a graph MindSpore raises only an error number, so the error itself is logged."""
    ms = pytest.importorskip("mindspore")

    class Refusing(cop.Operator):
        def forward(self, x: Any) -> Any:
            if x.max() > 1:
                raise ValueError("larger than 1")
            return x

    op, x = Refusing(), ms.Tensor(np.full((2, 2), 3, np.float32))
    set_mode("pynative")
    with pytest.raises(ValueError, match="larger than 1"):
        op(x)
    set_mode("graph")
    with pytest.raises(RuntimeError):
        op(x).asnumpy()
    assert "Refusing failed" in caplog.text and "ValueError: larger than 1" in caplog.text


@pytest.mark.mindspore
def test_3_1_several_outputs_and_an_input_without_gradient(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ms = pytest.importorskip("mindspore")
    monkeypatch.setattr(registry, "_operators", {})

    @cop.register_operator("Pair", outputs=("total", "product"), undifferentiable=("k",))
    class Pair(cop.Operator):
        def forward(self, x: Any, k: Any) -> Any:
            return x + k, x * k

        def backward(self, of_total: Any, of_product: Any) -> Any:
            return of_total + of_product * self.k, None

    op, k = Pair(), ms.Tensor(np.full((4, 5), 2, np.float32))

    def both(x: Any, k: Any) -> Any:
        total, product = op(x, k)
        return total.sum() + product.sum()

    assert np.array_equal(ms.grad(both)(ms.Tensor(X), k).asnumpy(), np.full((4, 5), 3))
    with pytest.raises(RuntimeError, match="no derivative of order 2: its backward runs in NumPy"):
        ms.grad(ms.grad(both))(ms.Tensor(X), k)


@pytest.mark.mindspore
def test_3_1_dtypes_that_a_class_infers() -> None:
    ms = pytest.importorskip("mindspore")
    ms.set_context(mode=ms.PYNATIVE_MODE)

    class Wide(cop.Operator):
        def forward(self, x: Any) -> Any:
            return np.zeros(x.shape) + x

    class Narrow(Wide):
        def infer_dtype(self, x: str) -> str:
            return x

    assert [op(ms.Tensor(X)).dtype for op in (Wide(), Narrow())] == [ms.float64, ms.float32]


def test_3_2_an_optimizer_over_our_graph(text: dict[str, Any]) -> None:
    from ms_fusion.graph import Graph, Node, Value

    values = {name: Value(name, (4, 5), "float32") for name in ("x", "y", "sum", "out")}
    nodes = (Node("add", "Add", ("x", "y"), ("sum",)), Node("relu", "ReLU", ("sum",), ("out",)))
    graph = Graph("main", nodes, values, ("x", "y"), ("out",))
    optimizer = text["FusionOptimizer"]()
    assert optimizer.identify_fusion_opportunities(graph) == list(nodes)
    assert optimizer.optimize_fusion(graph) is graph


def test_4_what_an_operator_has_no_switch_for(text: dict[str, Any]) -> None:
    op = cop.FusedAddReLU()
    assert text["FusionMemoryOptimizer"]().optimize_memory(op) is op
    assert text["FusionComputeOptimizer"]().optimize_compute(op) is op
    assert not hasattr(op, "use_gpu")


def test_5_1_ready_elementwise_operator(text: dict[str, Any]) -> None:
    op, x, y, output = text["ELEMENTWISE"]
    assert type(op) is cop.AddReLU and output.shape == (32, 64)
    assert np.array_equal(output, np.maximum(x + y, 0))


def test_5_2_ready_convolution(text: dict[str, Any]) -> None:
    given, x, output = text["CONVOLUTION"]
    assert output.shape == (32, 64, 30, 30)
    np.testing.assert_allclose(output[:1], convolution(x[:1], *given), rtol=1e-9, atol=1e-9)


@cases("name", ["AddReLU", "FusedAddReLU", "FusedConvBN", "MulSigmoid"])
def test_3_1_operators_are_found_by_name(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_operators", {})
    assert cop.get(name) is getattr(cop, name)
    own = cop.register_operator(name)(type("Own", (cop.Operator,), {"forward": lambda self, x: x}))
    assert cop.get(name) is own is not getattr(cop, name)


def test_3_1_a_registered_class_is_an_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_operators", {})
    with pytest.raises(AttributeError, match="no attribute 'ScaledTanh'"):
        _ = cop.ScaledTanh
    own = cop.register_operator("ScaledTanh")(
        type("Own", (cop.Operator,), {"forward": lambda self, x: np.tanh(x)})
    )
    assert cop.ScaledTanh is own
    assert "ScaledTanh" not in cop.__all__


def test_3_1_a_name_that_is_no_operator() -> None:
    with pytest.raises(InputError, match=r"no operator of that name.*such as AddReLU, got 'patch'"):
        cop.get("patch")
