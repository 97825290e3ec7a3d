"""Compiles new nets while signals arrive every 2 ms; checks results and timers."""

import os
import signal

import mindspore as ms
import numpy as np
from mindspore import nn, ops

import ms_fusion as mf


class Net(nn.Cell):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def construct(self, x):
        return ops.tanh(x * self.factor) * x + ops.exp(x)


EVERY_S = 0.002
ticks = {signal.SIGALRM: 0, signal.SIGPROF: 0}


def tick(number, frame):
    ticks[number] += 1


ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()
x = np.linspace(-1, 1, 4096, dtype=np.float32)
for number, timer in ((signal.SIGALRM, signal.ITIMER_REAL), (signal.SIGPROF, signal.ITIMER_PROF)):
    signal.signal(number, tick)
    signal.setitimer(timer, EVERY_S, EVERY_S)
    for factor in (1 + os.getpid() % 4096 / 4096, 2 + os.getpid() % 4096 / 4096):
        found = Net(factor)(ms.Tensor(x)).asnumpy()
        assert np.allclose(found, np.tanh(x * factor) * x + np.exp(x), atol=1e-5)
    assert signal.getitimer(timer)[1] == EVERY_S, signal.getitimer(timer)
    assert signal.getsignal(number) is tick and not signal.pthread_sigmask(signal.SIG_BLOCK, ())
    before = ticks[number]
    while ticks[number] < before + 10:
        np.dot(x, x)
    signal.setitimer(timer, 0)
print("right, timers as they were")
