"""Document 004, 3.2.2 verbatim: the error, without and with MS_FUSION=off."""

import sys
from pathlib import Path

import mindspore as ms

import custom_ops  # noqa: F401

# the same primitive; its compute function is in the file beside this one
sys.path.append(str(Path(__file__).parents[1] / "tbe_primitive"))
x = ms.Tensor([1.0, 2.0], ms.float32)
for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
    ms.set_context(mode=mode)
    try:
        from swish import Net, Swish

        print(Net(Swish())(x))
    except Exception as error:  # noqa: BLE001 - whatever it raises is shown
        print(f"{type(error).__name__}: {error}".splitlines()[0])
