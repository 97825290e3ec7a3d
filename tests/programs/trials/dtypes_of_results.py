"""Runs float16 nets with several results unfused and fused; prints name, dtypes and distance.

Arguments: the generator, and names of nets; without names all run. MindSpore reads the source of
compiled nets, so they are written to a module in the working directory.
"""

import sys
from pathlib import Path

import mindspore as ms
import numpy as np

import ms_fusion as mf

DTYPE = ms.float16
HEAD = """from mindspore import nn, ops
from mindspore.ops.auto_generate import gen_ops_prim as prims
"""
NET = """

class Net{number}(nn.Cell):
    def construct(self, x, y):
        return {results}
"""
BESIDE = "{}, ops.tanh(x)"
GRADIENTS = "ops.grad(lambda a, b: {}, (0, 1))(x, y)"
BESIDE_TANH = {
    "AddN": "ops.addn([x, y, x])",
    "ExpandDims": "ops.expand_dims(x + y, 1)",
    "GeLU": "ops.gelu(x + y)",
    "SqrtGrad, alone": "prims.SqrtGrad()(x, y)",
    "Square": "ops.square(x)",
    "Square, of a difference": "ops.square(x - y)",
    "Square, thrice": "ops.square(x - y), ops.square(y) + x",
    "Tile": "ops.tile(x + y, (2, 1))",
    "OnesLike": "ops.ones_like(x + y)",
    "BiasAdd": "ops.bias_add(x, y[0])",
    "BiasAddGrad, alone": "prims.BiasAddGrad()(ops.exp(y))",
    "BiasAddGrad, image": "prims.BiasAddGrad()(ops.exp(ops.reshape(y, (2, 8, 8, 8))))",
    "BiasAddGrad, channels last": "prims.BiasAddGrad('NHWC')(ops.reshape(y, (2, 8, 16, 4)) * 2)",
    "ReLU": "ops.relu(x + y)",
    "Tanh": "ops.tanh(x + y)",
    "Softplus": "ops.softplus(x + y)",
    "Sigmoid": "ops.sigmoid(x + y)",
    "SquaredDifference": "ops.SquaredDifference()(x, y)",
    "Squeeze": "ops.squeeze(ops.expand_dims(x + y, 1), 1)",
    "Slice": "ops.slice(x + y, (1, 0), (4, 8))",
    "ReduceSum": "ops.ReduceSum(True)(x + y, -1)",
    "ReduceMean": "ops.ReduceMean(True)(x + y, -1)",
    "MeanSquare": "ops.ReduceMean(True)(ops.square(x - y), -1), ops.square(x - y)",
    "Softmax": "ops.softmax(x + y, -1)",
    "LogSoftmax": "ops.log_softmax(x + y, -1)",
    "LayerNorm": "ops.layer_norm(x, (64,), y[0], y[1])",
    "Erf": "ops.erf(x + y)",
    "Erfc": "ops.erfc(x + y)",
    "SiLU": "ops.silu(x + y)",
    "HSigmoid": "ops.hardsigmoid(x + y)",
    "HSwish": "ops.hardswish(x + y)",
    "Sinh": "ops.sinh(x + y)",
    "Cosh": "ops.cosh(x + y)",
    "FastGeLU": "ops.fast_gelu(x + y)",
    "Sort": "ops.sort(ops.square(x - y))[0], ops.square(x - y)",
}
OF_A_SUM = {
    "SquareGrad": "ops.square(ops.tanh(a) - b)",
    "GeLUGrad": "ops.gelu(ops.tanh(a) * b)",
    "SqrtGrad": "ops.sqrt(a * a + b * b)",
    "BiasAddGrad": "ops.tanh(ops.bias_add(a, b[0]))",
    "ReluGrad": "ops.relu(ops.tanh(a) * b)",
    "MaximumGrad": "ops.maximum(ops.tanh(a), b)",
    "MinimumGrad": "ops.minimum(ops.tanh(a), b)",
    "TanhGrad": "ops.tanh(ops.tanh(a) * b)",
    "SoftplusGrad": "ops.softplus(ops.tanh(a) * b)",
    "SigmoidGrad": "ops.sigmoid(ops.tanh(a) * b)",
    "SquaredDifferenceGrad": "ops.SquaredDifference()(ops.tanh(a), b)",
    "SoftmaxGrad": "ops.softmax(ops.tanh(a) * b, -1) * b",
    "LogSoftmaxGrad": "ops.log_softmax(ops.tanh(a) * b, -1) * b",
    "LayerNormGrad": "ops.tanh(ops.layer_norm(a, (64,), b[0], b[1]))",
    "SiLUGrad": "ops.silu(ops.tanh(a) * b)",
    "HSwishGrad": "ops.hardswish(ops.tanh(a) * b)",
}
NETS = {name: BESIDE.format(text) for name, text in BESIDE_TANH.items()}
NETS |= {name: GRADIENTS.format(text) for name, text in OF_A_SUM.items()}


def classes(names):
    """The Cell of each net."""
    texts = (NET.format(number=at, results=NETS[name]) for at, name in enumerate(names))
    Path("nets_of_float16.py").write_text(HEAD + "".join(texts))
    sys.path.insert(0, ".")
    import nets_of_float16

    return [getattr(nets_of_float16, f"Net{at}") for at in range(len(names))]


def distance(one, other):
    """The largest |a − b| / (1 + |a|)."""
    a, b = (tensor.astype(ms.float32).asnumpy() for tensor in (one, other))
    return (np.abs(a - b) / (1 + np.abs(a))).max()


def results_of(net, x, y):
    """Unfused; None where MindSpore refuses it."""
    try:
        return net()(x, y)
    except (TypeError, RuntimeError):
        return None


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    names = sys.argv[2:] or list(NETS)
    rngs = np.random.default_rng(1), np.random.default_rng(2)
    x, y = (ms.Tensor(rng.uniform(0.1, 2, (16, 64)), ms.float32).astype(DTYPE) for rng in rngs)
    made = classes(names)
    plain = [results_of(net, x, y) for net in made]
    mf.enable(generator=sys.argv[1])
    for name, net, expected in zip(names, made, plain, strict=True):
        if expected is None:
            print(name, "MindSpore's CPU has no such operator of float16")
            continue
        fused = net()(x, y)
        dtypes = [",".join(str(one.dtype) for one in results) for results in (expected, fused)]
        apart = max(map(distance, expected, fused))
        print(name, *dtypes, f"{apart:.3g}", sep="; ")


main()
