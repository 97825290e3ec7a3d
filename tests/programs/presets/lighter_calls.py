"""The Cell methods of the fast call path, and their call times."""

import inspect
import warnings

import mindspore as ms
from mindspore import nn
from mindspore.nn.cell import Cell

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, ones


def methods():
    phase = vars(Cell)["compile_phase"]
    found = vars(Cell)["_check_construct_args"], vars(Cell)["__setattr__"], phase.fset
    return [one.__globals__["__name__"].startswith("ms_fusion") for one in found]


class Sum(nn.Cell):
    def __init__(self, number):
        super().__init__()
        self.number = number

    def construct(self, x, y=2.0):
        return x * y + self.number


asked, signature = [], inspect.signature


def counting(what, *args, **kwargs):
    if getattr(what, "__func__", None) is Sum.construct:
        asked.append(what)
    return signature(what, *args, **kwargs)


def called():
    asked.clear()
    nets = Sum(1.0), Sum(2.0)
    first = [float(net(ones(2))[0]) for net in nets]
    inspect.signature = counting  # compilation calls it too
    again = [float(net(ones(2))[0]) for net in nets for _ in range(10)]
    inspect.signature = signature
    return first, sorted(set(again)), len(asked)


def told():
    try:
        Sum(1.0)(ones(2), ones(2), ones(2))
    except TypeError as error:
        return str(error)


warnings.simplefilter("ignore")
ms.set_context(mode=ms.GRAPH_MODE)
RESULT["imported"], RESULT["plain calls"], RESULT["told"] = methods(), called(), [told()]
mf.enable("off")
RESULT["enabled"], RESULT["calls"] = methods(), called()
mf.disable()
RESULT["disabled"], RESULT["later calls"] = methods(), called()
RESULT["told"].append(told())

answer()
