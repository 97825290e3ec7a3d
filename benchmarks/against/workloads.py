"""Timed workloads: nets, operators and models, by public names that both commits have.

A group runs in one process. The `make` of a workload compiles it and returns the timed call. The
call returns the result that both sides must agree on.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Call = Callable[[], Any]
ROWS = (1024, 1000)
"""Shape of the operators' inputs; the rows have a tail for every vector length."""


@dataclass(frozen=True)
class Workload:
    """A line of the table.

    Attributes:
        name: name of the line.
        make: compiles the workload and returns the call.
        tolerance: limit of |one − other| ÷ (1 + |other|) between both sides.
    """

    name: str
    make: Callable[[], Call]
    tolerance: float = 1e-4


def _normal(*shape: int, dtype: str = "float32", seed: int = 0) -> Any:
    from mindspore import Tensor

    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(dtype))


def _net(construct: Callable[..., Any], *inputs: Any) -> Call:
    """A compiled Cell with this function as its `construct`."""
    from mindspore import nn

    class Net(nn.Cell):
        def construct(self, *arrays: Any) -> Any:
            return construct(*arrays)

    net = Net()
    return lambda: net(*inputs)


def swish() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return x * ops.sigmoid(x)

    return _net(construct, _normal(*ROWS))


def chain() -> Call:
    from mindspore import ops

    def construct(x: Any, y: Any) -> Any:
        b = ops.maximum((x + y) * 0.5 * x - y, 0.0) + 1.0
        return (ops.minimum(b * b, 6.0) + x) * 0.25

    return _net(construct, _normal(*ROWS), _normal(*ROWS, seed=1))


def gelu() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return 0.5 * x * (1.0 + ops.erf(x * 0.7071067811865476))

    return _net(construct, _normal(*ROWS))


def adam_update() -> Call:
    from mindspore import ops

    def construct(w: Any, g: Any, m: Any, v: Any) -> Any:
        m = m * 0.9 + g * 0.1
        v = v * 0.999 + g * g * 0.001
        return w - m * 0.01 / (ops.sqrt(ops.abs(v)) + 1e-8), m, v

    return _net(construct, *(_normal(*ROWS, seed=seed) for seed in range(4)))


def swiglu() -> Call:
    import custom_ops

    cell, inputs = custom_ops.SwiGLU(), [_normal(*ROWS, seed=seed) for seed in range(2)]
    return lambda: cell(*inputs)


def softmax() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return ops.softmax(x, -1)

    return _net(construct, _normal(*ROWS))


def log_softmax() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return ops.log_softmax(x, -1)

    return _net(construct, _normal(*ROWS))


def layer_norm() -> Call:
    from mindspore import ops

    norm = ops.LayerNorm(1, 1, 1e-5)

    def construct(x: Any, g: Any, b: Any) -> Any:
        return norm(x, g, b)[0]

    return _net(construct, _normal(*ROWS), _normal(ROWS[1], seed=1), _normal(ROWS[1], seed=2))


def rms_norm() -> Call:
    from mindspore import ops

    def construct(x: Any, g: Any) -> Any:
        return x * ops.rsqrt(ops.mean(x * x, -1, True) + 1e-6) * g

    return _net(construct, _normal(*ROWS), _normal(ROWS[1]))


def row_sums() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return ops.sum(x * x + 1.0, -1)

    return _net(construct, _normal(*ROWS))


def column_sums() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return ops.sum(x * x + 1.0, 0)

    return _net(construct, _normal(*ROWS))


def mean_and_variance() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        mean = ops.mean(x, (0, 2, 3), True)
        return mean, ops.mean((x - mean) * (x - mean), (0, 2, 3), True)

    return _net(construct, _normal(8, 64, 43, 43))


def layer_norm_gradient() -> Call:
    import mindspore as ms
    from mindspore import ops

    norm = ops.LayerNorm(1, 1, 1e-5)

    def apply_norm(x: Any, g: Any, b: Any) -> Any:
        return norm(x, g, b)[0]

    slope = ms.grad(apply_norm, (0, 1, 2))
    return _net(slope, _normal(*ROWS), _normal(ROWS[1], seed=1), _normal(ROWS[1], seed=2))


def swish_float16() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return x * ops.sigmoid(x)

    return _net(construct, _normal(*ROWS, dtype="float16"))


def softmax_float16() -> Call:
    from mindspore import ops

    def construct(x: Any) -> Any:
        return ops.softmax(x, -1)

    return _net(construct, _normal(*ROWS, dtype="float16"))


def swish_bfloat16() -> Call:
    import mindspore as ms

    import custom_ops

    cell, x = custom_ops.Swish(), _normal(*ROWS).astype(ms.bfloat16)
    return lambda: cell(x).astype(ms.float32)


def attention(*shape: int) -> Callable[[], Call]:
    def make() -> Call:
        import custom_ops

        cell = custom_ops.ScaledDotProductAttention()
        inputs = [_normal(*shape, seed=seed) for seed in range(3)]
        return lambda: cell(*inputs)

    return make


def attention_spelled_out() -> Call:
    from mindspore import ops

    def construct(q: Any, k: Any, v: Any) -> Any:
        scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * 0.125
        return ops.matmul(ops.softmax(scores, -1), v)

    return _net(construct, *(_normal(2, 8, 200, 64, seed=seed) for seed in range(3)))


def convolution_block(train: bool) -> Callable[[], Call]:
    def make() -> Call:
        from mindspore import nn, ops

        class Block(nn.Cell):
            def __init__(self) -> None:
                super().__init__()
                self.first, self.second = (_layer(nn.Conv2d(32, 32, 3), seed) for seed in (1, 2))
                self.norms = nn.CellList([nn.BatchNorm2d(32), nn.BatchNorm2d(32)])

            def construct(self, x: Any) -> Any:
                y = ops.relu(self.norms[0](self.first(x)))
                return ops.relu(x + self.norms[1](self.second(y)))

        net, x = Block().set_train(train), _normal(4, 32, 30, 30)
        return _step(net, x) if train else lambda: net(x)

    return make


def _layer(layer: Any, seed: int) -> Any:
    """Initialises the weights identically on both sides."""
    from mindspore import Tensor

    for parameter in layer.get_parameters():
        scale = np.sqrt(1 / np.prod(parameter.shape[1:])) if len(parameter.shape) > 1 else 0.1
        random = np.random.default_rng(seed).standard_normal(parameter.shape) * scale
        parameter.set_data(Tensor(random.astype(np.float32)))
    return layer


def _step(net: Any, *inputs: Any) -> Call:
    """An Adam training step that returns the loss, the mean squared output."""
    from mindspore import nn, ops

    class Loss(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.net = net

        def construct(self, *arrays: Any) -> Any:
            made = self.net(*arrays)
            return ops.mean(made * made)

    step = nn.TrainOneStepCell(Loss(), nn.Adam(net.trainable_params(), 1e-4)).set_train()
    return lambda: step(*inputs)


def perceptron_step() -> Call:
    from mindspore import nn

    layers = [
        layer
        for seed in range(3)
        for layer in (_layer(nn.Dense(256, 256), seed), nn.LayerNorm((256,)), nn.GELU(False))
    ]
    return _step(nn.SequentialCell(layers), _normal(128, 256))


def transformer_step() -> Call:
    from mindspore import nn, ops

    class Block(nn.Cell):
        def __init__(self, size: int = 128, heads: int = 4):
            super().__init__()
            self.heads, self.size = heads, size
            self.dense = nn.CellList([_layer(nn.Dense(size, size), seed) for seed in range(4)])
            self.norms = nn.CellList([nn.LayerNorm((size,)), nn.LayerNorm((size,))])
            self.wide = _layer(nn.Dense(size, 4 * size), 4)
            self.narrow = _layer(nn.Dense(4 * size, size), 5)
            self.gelu = nn.GELU()

        def split(self, x: Any) -> Any:
            parted = ops.reshape(x, (x.shape[0], x.shape[1], self.heads, self.size // self.heads))
            return ops.transpose(parted, (0, 2, 1, 3))

        def construct(self, x: Any) -> Any:
            y = self.norms[0](x)
            q, k, v = (self.split(self.dense[i](y)) for i in range(3))
            scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * 0.176
            mixed = ops.transpose(ops.matmul(ops.softmax(scores, -1), v), (0, 2, 1, 3))
            x = x + self.dense[3](ops.reshape(mixed, x.shape))
            return x + self.narrow(self.gelu(self.wide(self.norms[1](x))))

    return _step(Block(), _normal(4, 100, 128))


def _model(path: Path) -> None:
    """Two layers of LayerNorm, product, bias, GELU from basic operators, and a residual."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    rng, size, nodes, weights = np.random.default_rng(0), 256, [], []

    def weight(name: str, *shape: int) -> str:
        array = (rng.standard_normal(shape) / max(1.0, size**0.5)).astype(np.float32)
        weights.append(numpy_helper.from_array(array, name))
        return name

    def node(kind: str, *inputs: str, **attributes: Any) -> str:
        name = f"{kind}_{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    for name, value in (("root", 0.70710678), ("one", 1.0), ("half", 0.5)):
        weights.append(numpy_helper.from_array(np.array(value, np.float32), name))
    x = "x"
    for layer in range(2):
        gains = weight(f"g{layer}", size), weight(f"b{layer}", size)
        y = node("LayerNormalization", x, *gains, axis=-1)
        y = node(
            "Add", node("MatMul", y, weight(f"w{layer}", size, size)), weight(f"c{layer}", size)
        )
        erf = node("Add", node("Erf", node("Mul", y, "root")), "one")
        x = node("Add", x, node("Mul", node("Mul", y, erf), "half"))
    x = node("Softmax", x, axis=-1)
    floats = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "layers",
        [helper.make_tensor_value_info("x", floats, [256, size])],
        [helper.make_tensor_value_info(x, floats, [256, size])],
        weights,
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def onnx_model(fused: bool) -> Callable[[], Call]:
    def make() -> Call:
        import ms_fusion as mf

        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / "model.onnx"
            _model(path)
            if fused:
                mf.auto_fuse(path, Path(place) / "fused.onnx")
                path = Path(place) / "fused.onnx"
            cell = mf.from_onnx(path)
            x = _normal(256, 256)
            cell(x)
        return lambda: cell(x)

    return make


def operators_in_graph() -> Call:
    """50 operators on small arrays in one graph: measures the call overhead."""
    from mindspore import nn

    import custom_ops

    class Chain(nn.Cell):
        def __init__(self) -> None:
            super().__init__()
            self.operator = custom_ops.AddReLU()

        def construct(self, x: Any, y: Any) -> Any:
            for _ in range(50):
                x = self.operator(x, y)
            return x

    net, inputs = Chain(), [_normal(4, 4, seed=seed) for seed in range(2)]
    return lambda: net(*inputs)


def small_net() -> Call:
    """A small net under `enable`: measures the call overhead of a Cell."""
    from mindspore import nn

    layers = [_layer(nn.Dense(16, 16), 0), nn.LayerNorm((16,)), nn.GELU(False)]
    net, x = nn.SequentialCell(layers), _normal(4, 16)
    return lambda: net(x)


def operators_one_by_one() -> Call:
    """20 operators on small arrays in PyNative mode."""
    import mindspore as ms

    import custom_ops

    operator, inputs = custom_ops.AddReLU(), [_normal(4, 4, seed=seed) for seed in range(2)]
    ms.set_context(mode=ms.PYNATIVE_MODE)

    def call() -> Any:
        x, y = inputs
        for _ in range(20):
            x = operator(x, y)
        return x.asnumpy()

    return call


def cold_kernel(place: Path) -> None:
    """Builds an operator's file with an empty kernel cache and runs it."""
    os.environ["MS_FUSION_CACHE_DIR"] = str(place)
    import tbe_impl

    operator = tbe_impl.load_operator(Path(__file__).with_name("operator_file.py"))
    told = {"shape": (64, 100), "dtype": "float32"}
    operator.build(told, told)(np.ones((64, 100), np.float32))


def cold_net(place: Path) -> None:
    """From `enable` to the first result of a three-layer net, with an empty kernel cache."""
    warm_enable(place)
    small_net()()


def warm_enable(place: Path) -> None:
    """`enable` on a machine where the generator trial is cached."""
    os.environ["MS_FUSION_CACHE_DIR"] = str(place)
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    mf.enable(generator="ms_fusion")


HALF = 1e-2
GROUPS: dict[str, tuple[Workload, ...]] = {
    "element-wise": (
        Workload("swish", swish),
        Workload("chain of ten", chain),
        Workload("GELU", gelu),
        Workload("Adam's update", adam_update),
        Workload("SwiGLU", swiglu),
    ),
    "rows": (
        Workload("softmax", softmax),
        Workload("log-softmax", log_softmax),
        Workload("LayerNorm", layer_norm),
        Workload("RMSNorm", rms_norm),
    ),
    "reductions": (
        Workload("sums of rows", row_sums),
        Workload("sums of columns", column_sums),
        Workload("mean and variance of channels", mean_and_variance),
        Workload("gradients of LayerNorm", layer_norm_gradient),
    ),
    "half precision": (
        Workload("swish float16", swish_float16, HALF),
        Workload("softmax float16", softmax_float16, HALF),
        Workload("swish bfloat16", swish_bfloat16, HALF),
    ),
    "attention": (
        Workload("attention 4×8×128×64", attention(4, 8, 128, 64)),
        Workload("attention 1×4×500×64", attention(1, 4, 500, 64)),
        Workload("attention spelled out", attention_spelled_out),
    ),
    "convolution": (
        Workload("residual block", convolution_block(False)),
        Workload("residual block, training", convolution_block(True), HALF),
    ),
    "training": (
        Workload("MLP", perceptron_step, HALF),
        Workload("transformer block", transformer_step, HALF),
    ),
    "ONNX": (
        Workload("model as it is", onnx_model(False)),
        Workload("model fused", onnx_model(True)),
    ),
    "call overhead": (
        Workload("50 operators in a graph", operators_in_graph),
        Workload("small net", small_net),
    ),
    "call overhead, PyNative": (Workload("20 operators one by one", operators_one_by_one),),
}
"""By group: 25 lines, and call overhead."""
