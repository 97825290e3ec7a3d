"""Effect of a Reshape on the groups of the preset `auto`, and with Reshape excluded."""

import sys

import mindspore as ms
import numpy as np
from mindspore import nn, ops

import ms_fusion as mf
from ms_fusion.cli.demo_block import Block
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
x = ms.Tensor(np.random.default_rng(0).uniform(0.5, 1.0, (16, 32)).astype(np.float32))


def between(x):
    """A Reshape between fused operators."""
    return ops.exp(ops.reshape(ops.exp(x) * 0.5, (32, 16))) * 2.0


def alone(x):
    """A Reshape without fusable neighbours."""
    first, _ = ops.sort(x)
    second, _ = ops.sort(ops.reshape(first, (32, 16)))
    return second


def of_an_input(x):
    first, _ = ops.sort(ops.reshape(x, (32, 16)))
    return first


def at_the_end(x):
    return ops.reshape(ops.exp(x) * 0.5, (32, 16))


def beside_its_source(x):
    """The reshaped value is also a result."""
    made = ops.exp(x) * 0.5
    return made, ops.reshape(made, (32, 16))


def behind_a_library(x):
    first, _ = ops.sort(x)
    return ops.exp(ops.reshape(first, (32, 16)))


def seen(net, *inputs, **asked):
    ledger = mf.explain(net, *inputs, measure=False, accuracy=False, isolate=False, **asked)
    flags = {edge.suggestion.flags for edge in ledger.unfused if edge.suggestion}
    return [ledger.after.launches, ledger.after.bytes_moved, ledger.output_max_rel, sorted(flags)]


for net in (between, alone, of_an_input, at_the_end, beside_its_source, behind_a_library):
    name = net.__name__
    if name in sys.argv:
        RESULT[name] = [seen(net, x, flags="--disable_cluster_ops=Reshape"), seen(net, x)]


class Small(nn.Cell):
    def __init__(self):
        super().__init__()
        self.block = Block(64, 4, 16)

    def construct(self, x):
        return self.block(x)


tokens = ms.Tensor(np.random.default_rng(1).standard_normal((2, 16, 64)).astype(np.float32))
block = Small().set_train(False)
RESULT["block"] = [seen(block, tokens, flags="--disable_cluster_ops=Reshape"), seen(block, tokens)]

answer()
