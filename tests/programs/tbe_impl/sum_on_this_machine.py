"""Runs exp(x) + x as a kernel; prints its error, compiler flags and processor features."""

import json

import numpy as np

from tbe_impl.arguments import Argument
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.kernel import Kernel
from tbe_impl.runtime import machine
from tbe_impl.runtime.compiler import recipe

x = placeholder((1000,), "float32", "x")
y = OPERATIONS["vadd"](OPERATIONS["vexp"](x), x)
kernel = Kernel("narrow", "cpu", (Argument(x, (1000,), "x"),), (Argument(y, (1000,), "y"),))
given = np.linspace(-3, 3, 1000, dtype=np.float32)
found, wide = kernel(given), given.astype(np.float64)
told = {
    "off": float(np.max(np.abs(found - (np.exp(wide) + wide)))),
    "flags": recipe("0" * 64).flags,
    "features": machine.cpu_features(),
}
print(json.dumps(told))
