"""Document 004, 3: the primitive and its file in nets; prints the results as JSON."""

import json
import os

import mindspore as ms
import numpy as np
from mindspore import ops
from mindspore.ops._grad_experimental.grad_base import bprop_getters
from swish import Net, Swish, half, known_sizes, variant

import ms_fusion as mf

X = np.linspace(-3, 3, 12).reshape(3, 4)
x = ms.Tensor(X, ms.float32)
MODES = {"graph": ms.GRAPH_MODE, "pynative": ms.PYNATIVE_MODE}
found = {}


def get_bprop(self):
    def bprop(x, out, dout):
        return (dout * 100,)

    return bprop


def bprop(self, x, out, dout):
    return (dout * 200,)


def message(call):
    try:
        return str(call())
    except Exception as error:  # noqa: BLE001 - whatever it raises is shown
        return f"{type(error).__name__}: {error}"


swish = Swish(beta=2.0)


@ms.jit
def jitted(x):
    return swish(x)


for name, mode in MODES.items():
    ms.set_context(mode=mode)
    net = Net(Swish(beta=2.0))
    narrow = Net(variant(infer_dtype=half)(2.0))
    own = [
        ms.grad(Net(one(2.0)))(x).asnumpy().max()
        for one in (variant(get_bprop=get_bprop), variant(bprop=bprop))
    ]
    from swish_impl import SwishImpl

    custom = Net(ops.Custom(SwishImpl, lambda x: x, lambda x: x, func_type="tbe"))
    found[name] = {
        "net": net(x).asnumpy().tolist(),
        "grad": ms.grad(net)(x).asnumpy().tolist(),
        "narrow": [str(narrow(x).dtype), narrow(x).asnumpy().tolist()],
        "grad of narrow": [str(ms.grad(narrow)(x).dtype), ms.grad(narrow)(x).asnumpy().tolist()],
        "own": [float(one) for one in own],
        "custom": custom(x).asnumpy().tolist(),
        "grad of custom": ms.grad(custom)(x).asnumpy().tolist(),
        "int32": message(lambda: Net(Swish(2.0))(ms.Tensor([1, 2], ms.int32))),
        "twice": message(lambda: ms.grad(ms.grad(Net(Swish(2.0))))(x)),
    }
found["jit"] = jitted(x).asnumpy().tolist()
ms.set_context(mode=ms.GRAPH_MODE)
refusing = Net(variant(infer_shape=known_sizes)(2.0))
refusing.set_inputs(ms.Tensor(shape=[None, 4], dtype=ms.float32))
found["dynamic, refused"] = message(lambda: refusing(x))
taking = Net(Swish(2.0))
taking.set_inputs(ms.Tensor(shape=[None, 4], dtype=ms.float32))
found["dynamic"] = [taking(one).asnumpy().tolist() for one in (x, x[:2])]
ledger = mf.explain(Net(Swish(2.0)), x, measure=False, accuracy=False)
(kernel,) = ledger.carried
found["explained"] = [kernel.name, str(kernel.kernel_source), "child" in " ".join(ledger.notes)]
found["texts"] = [str(ledger), ledger.to_html()]
found["left"] = sorted(set(os.listdir()) - {"rank_0"})
Getter = variant()


@bprop_getters.register(Getter)
def get_bprop_of_getter(self):
    beta = self.beta

    def bprop(x, out, dout):
        return (dout * 300 * beta,)

    return bprop


for name, mode in MODES.items():
    ms.set_context(mode=mode)
    found[name]["own"].append(float(ms.grad(Net(Getter(2.0)))(x).asnumpy().max()))
print(json.dumps(found))
