"""Prints for each named operator the number of generated programs so far and its result bytes."""

import sys

import numpy as np

from benchmarks.operators import OPERATORS
from tbe_impl.codegen import program

count = 0


class Counted(program._ProgramWriter):
    def __init__(self, *args):
        global count
        count += 1
        super().__init__(*args)


program._ProgramWriter = Counted
for name in sys.argv[1:]:
    kernel = OPERATORS[name].kernel((4, 24))
    outputs = kernel(*OPERATORS[name].inputs((4, 24)))
    print(
        "written",
        count,
        *[
            np.asarray(item).tobytes().hex()
            for item in (outputs if isinstance(outputs, tuple) else (outputs,))
        ],
    )
