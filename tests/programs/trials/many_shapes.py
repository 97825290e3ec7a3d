"""A function compiled for many shapes, and a specialised one that keeps few compilations."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor, ops

import ms_fusion as mf

mf.enable()


@ms.jit
def growing(x):
    return ops.tanh(x) * 2.0


with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for size in (*range(2, 11), *range(2, 11)):
        growing(Tensor(np.ones(size, np.float32)))
told = [str(one.message) for one in caught if "sets of input shapes" in str(one.message)]
print("warnings;", len(told))
print("warning;", told[0])
run = mf.specialize(growing, keep=2)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    for size in (2, 3, 4, 2, 3, 4):
        run(Tensor(np.ones(size, np.float32)))
told = [str(one.message) for one in caught if "is compiled again" in str(one.message)]
print("recompiled;", len(told), told[0])
