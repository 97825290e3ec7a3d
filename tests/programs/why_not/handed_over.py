"""Operators that MindSpore passes to our generator, and a reshape between two operators."""

import mindspore as ms
import mindspore.ops.operations as P
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer, bodies

ms.set_context(mode=ms.GRAPH_MODE)


class Every(nn.Cell):
    def construct(self, x, y):
        z = ops.sin(x)
        return (
            P.Abs()(z),
            P.Add()(z, y),
            ops.cast(z, ms.int32),
            P.Equal()(z, y),
            P.Exp()(z),
            P.Log()(z),
            P.Maximum()(z, y),
            P.Minimum()(z, y),
            P.Mul()(z, y),
            P.Neg()(z),
            P.Pow()(z, y),
            P.RealDiv()(z, y),
            P.Reciprocal()(z),
            P.ReduceSum()(z, 1),
            P.Reshape()(z, (32, 6)),
            P.Round()(z),
            P.Rsqrt()(z),
            P.Sqrt()(z),
            P.Sub()(z, y),
            P.Tanh()(z),
            P.Transpose()(z, (1, 0)),
            P.LogicalNot()(z > y),
            P.Mod()(z, y),
            P.ReduceMax()(z, 1),
            P.Select()(ops.isnan(y), z, x),
            P.Less()(z, y),
            P.LessEqual()(z, y),
        )


class Between(nn.Cell):
    def construct(self, x):
        return ops.exp(ops.reshape(ops.exp(x) * 0.5, (32, 6))) * 2.0


mf.enable(generator="ms_fusion")
random = np.random.default_rng(0)
x, y = (random.uniform(0.2, 1.0, (16, 12)).astype(np.float32) for _ in range(2))
plain = (
    "--opt_level=2 --kernel_generator=AKG_V2 "
    "--disable_pass=split.graph_kernel_splitter,highlevelopt1.arithmetic_simplify"
)
with presets.environment_flags(plain):
    Every()(Tensor(x), Tensor(y))
RESULT["handed over"] = sorted({one["name"] for body in bodies() for one in body["op_desc"]})


def apart(**flags):
    with mf.fusion(**flags):
        net = Between()
        ledger = mf.explain(net, Tensor(x), isolate=False, measure=False, accuracy=False)
        found = net(Tensor(x)).asnumpy()
    return [
        [
            [edge.reason, edge.suggestion.flags if edge.suggestion else ""]
            for edge in ledger.unfused
        ],
        float(np.abs(found - np.exp(np.exp(x.astype(np.float64)) * 0.5).reshape(32, 6) * 2).max()),
    ]


RESULT["kept out"] = apart(flags="--disable_cluster_ops=Reshape")
RESULT["as suggested"] = apart(flags=RESULT["kept out"][0][0][1])

answer()
