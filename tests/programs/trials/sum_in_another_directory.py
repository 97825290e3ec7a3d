"""Reads the cache directory, changes directory, runs x + y there; prints back end and sum."""

import os
from pathlib import Path

import numpy as np

from tbe_impl import environment
from tbe_impl.arguments import Argument
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.kernel import Kernel

environment.cache_dir()
Path("elsewhere").mkdir()
os.chdir("elsewhere")
x, y = placeholder((8,), "float32", "x"), placeholder((8,), "float32", "y")
z = OPERATIONS["vadd"](x, y)
kernel = Kernel(
    "sum", "cpu", tuple(Argument(one, (8,), one.name) for one in (x, y)), (Argument(z, (8,), "z"),)
)
found = kernel(np.full(8, 3, np.float32), np.full(8, 4, np.float32))
print("cpu" if kernel.compiled is not None else "numpy", found[0])
