"""Constructors have the argument names, order and defaults of MindSpore's Cells; examples run."""

from __future__ import annotations

import doctest
import inspect

import pytest

import custom_ops
from tests.cases import cases

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")
nn = ms.nn

STAND_FOR = {
    "Adam": nn.Adam,
    "AdamWeightDecay": nn.AdamWeightDecay,
    "BatchNorm": nn.BatchNorm2d,
    "BiasDropoutAdd": nn.Dropout,
    "Conv2d": nn.Conv2d,
    "ConvBNLeakyReLU": nn.Conv2d,
    "ConvBNReLU": nn.Conv2d,
    "ConvBNSiLU": nn.Conv2d,
    "Dense": nn.Dense,
    "GELU": nn.GELU,
    "GroupNorm": nn.GroupNorm,
    "HardSwish": nn.HSwish,
    "LayerNorm": nn.LayerNorm,
    "LinearResidual": nn.Dense,
    "LogSoftmax": nn.LogSoftmax,
    "MatMulBiasGELU": nn.Dense,
    "MatMulBiasReLU": nn.Dense,
    "MatMulBiasSiLU": nn.Dense,
    "Mish": nn.Mish,
    "Momentum": nn.Momentum,
    "Softmax": nn.Softmax,
    "SoftmaxCrossEntropy": nn.CrossEntropyLoss,
    "Swish": nn.SiLU,
    "TokenEmbedding": nn.Embedding,
}
"""Omits Cells without a MindSpore counterpart."""
PUBLIC = [
    name
    for name, home in custom_ops._HOMES.items()
    if name[0].isupper() and name != "FusedCell" and home != "aliases"
]


def arguments(kind):
    """Name → default, in order; None stands for MindSpore's own dtype to keep imports lazy."""
    constructor = kind.__init__
    if constructor.__name__ == "deco":  # the wrapper of MindSpore's optimizer registration
        constructor = inspect.getclosurevars(constructor).nonlocals["fn"]
    found = list(inspect.signature(constructor).parameters.values())[1:]
    return [(one.name, None if one.default is ms.float32 else one.default) for one in found]


@cases("name", STAND_FOR)
def test_arguments_are_those_of_the_cell(name):
    wanted = arguments(STAND_FOR[name])
    assert arguments(getattr(custom_ops, name))[: len(wanted)] == wanted


@cases("name", PUBLIC, quick=7)
def test_examples(name):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    kind = getattr(custom_ops, name)
    found = doctest.DocTestFinder(recurse=False).find(kind, name, globs={name: kind})
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    assert len(found) == 1
    assert found[0].examples
    assert not runner.run(found[0]).failed
