"""Prints, for each of some operators, how many programs were written so far and the bytes of the results."""

import numpy as np

from benchmarks.operators import OPERATORS
from tbe_impl.backends.cpu import program

count = 0


class Counted(program._Writer):
    def __init__(self, *args):
        global count
        count += 1
        super().__init__(*args)


program._Writer = Counted
for name in ("softmax", "layer_norm", "chain", "swish", "layer_norm_grad"):
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
