"""Random sequences of reads and in-place writes of parameters, as nets; seeds (JSON) and presets.

The four short nets besides are those in which MindSpore's passes lose the order, most of them each
time.
"""

import json
import sys

import mindspore as ms
import numpy as np
from mindspore import Parameter, ParameterTuple, Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer

ASSIGN, ADD, SUM, RESHAPED, REDUCED = range(5)
PARAMETERS = 3
SHORT = {
    "read through a reshape": ((RESHAPED, 0, 0), (ASSIGN, 0, 0)),
    "written three times": ((ASSIGN, 1, 0), (ADD, 1, 0), (ASSIGN, 1, 0)),
    "read after another's write": ((RESHAPED, 2, 0), (SUM, 1, 0), (ADD, 2, 2)),
    "written with a value that is written over": (
        (REDUCED, 0, 0),
        (ASSIGN, 0, 1),
        (ASSIGN, 0, 0),
        (SUM, 1, 1),
        (ASSIGN, 2, 1),
    ),
}
"""Steps: operation, parameter, value; values are the argument and earlier results, in order."""


def draw(seed):
    random, steps, values = np.random.default_rng(seed), [], 1
    for _ in range(random.integers(6, 22)):
        kind = int(random.choice(5, p=[0.2, 0.15, 0.25, 0.25, 0.15]))
        steps.append((kind, int(random.integers(PARAMETERS)), int(random.integers(values))))
        values += kind >= SUM
    return tuple(steps)


class Net(nn.Cell):
    def __init__(self, steps):
        super().__init__()
        self.steps = steps
        self.p = ParameterTuple(
            [Parameter(Tensor(start), name=f"p{k}") for k, start in enumerate(starts())]
        )

    def construct(self, x):
        values = (x,)
        for kind, at, which in self.steps:
            p, value = self.p[at], values[which]
            if kind == ASSIGN:
                ops.assign(p, value * 0.5)
            elif kind == ADD:
                ops.assign_add(p, value)
            elif kind == SUM:
                values += (p + value * 0.25,)
            elif kind == RESHAPED:
                values += (ops.tanh(p.reshape(8, 4)).reshape(4, 8) - value,)
            else:
                values += (ops.reduce_sum(value, 1).reshape(4, 1) * 0.1 + p,)
        return values


def starts():
    return [np.full((4, 8), k + 1, np.float32) for k in range(PARAMETERS)]


def expected(steps, x, p):
    "Values in float64; `p` is changed."
    values = [x]
    for kind, at, which in steps:
        value = values[which]
        if kind == ASSIGN:
            p[at] = value * 0.5
        elif kind == ADD:
            p[at] = p[at] + value
        elif kind == SUM:
            values.append(p[at] + value * 0.25)
        elif kind == RESHAPED:
            values.append(np.tanh(p[at]) - value)
        else:
            values.append(value.sum(1, keepdims=True) * 0.1 + p[at])
    return values


def distance(steps):
    "Returns the largest relative error of results and parameters in two calls, against float64."
    net, largest = Net(steps), 0.0
    x = np.random.default_rng(7).standard_normal((4, 8)).astype(np.float32)
    p = [one.astype(np.float64) for one in starts()]
    for _ in range(2):
        found = net(Tensor(x))
        found = found if isinstance(found, tuple) else (found,)
        for one, right in zip(
            [*found, *net.p], [*expected(steps, x.astype(np.float64), p), *p], strict=True
        ):
            largest = max(largest, np.max(np.abs(one.asnumpy() - right) / (1 + np.abs(right))))
    return float(largest)


ms.set_context(mode=ms.GRAPH_MODE)
programs = {**SHORT, **{f"seed {seed}": draw(seed) for seed in json.loads(sys.argv[2])}}
for preset, generator in json.loads(sys.argv[3]):
    mf.enable(preset, generator=generator)
    RESULT[f"{preset} {generator}"] = {name: distance(steps) for name, steps in programs.items()}

answer()
