"""Attention in the forms of MindSpore libraries.

Masks that fill, select or subtract, in various shapes.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from tests.cases import FULL, cases

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops import patch  # noqa: E402
from tests.custom_ops.patching import attention_forms as forms  # noqa: E402

BATCH, TOKENS, HEADS = 3, forms.TOKENS, forms.HEADS
RNG = np.random.default_rng(3)
KEPT = np.tril(np.ones((TOKENS, TOKENS), bool))
PADDING = RNG.random((BATCH, TOKENS)) > 0.7
PADDING[:, 0] = False
ADDED = np.where(PADDING, -1e4, 0).astype(np.float32)[:, None, None]
LATER = np.triu(np.full((TOKENS, TOKENS), -1e9, np.float32), 1)


def numbers(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


CASES = {
    "GptNeo": (ADDED,),
    "Bloom": (numbers(BATCH * HEADS, 1, TOKENS), ~KEPT | PADDING[:, None, None]),
    "MindFormers": (np.broadcast_to(KEPT, (BATCH, 1, TOKENS, TOKENS)).astype(np.float32),),
    "MindFormersElsewhere": (np.broadcast_to(KEPT, (BATCH, 1, TOKENS, TOKENS)).astype(np.float32),),
    "DotProduct": (np.broadcast_to(~KEPT, (BATCH * HEADS, TOKENS, TOKENS)),),
    "T5": (ADDED,),
    "Vanilla": (KEPT[None, None],),
    "Fairseq": (PADDING, LATER),
    "Opt": (np.broadcast_to(LATER, (BATCH, 1, TOKENS, TOKENS)),),
    "Swin": (np.where(RNG.random((BATCH, TOKENS, TOKENS)) > 0.6, -100.0, 0).astype(np.float32),),
    "WhereReshaped": (KEPT,),
    "Selected": (KEPT,),
    "SelectedFull": (KEPT,),
    "Subtracted": ((~PADDING).astype(np.int32),),
    "AddedWhere": (KEPT,),
    "MinGpt": (),
    "MinGptWeak": (),
    "ByFunction": (KEPT,),
    "ByCell": (KEPT,),
    "Rotary": (np.broadcast_to(LATER, (BATCH, 1, TOKENS, TOKENS)),),
    "Diffusers": (np.broadcast_to(LATER, (BATCH * HEADS, TOKENS, TOKENS)),),
    "MintWhere": (KEPT,),
    "Gpt2": (),
    "MultipliedCompared": (KEPT.astype(np.float32),),
}
MAY_LACK_ITS_MASK = (
    "GptNeo",
    "MindFormers",
    "DotProduct",
    "Fairseq",
    "Opt",
    "Swin",
    "ByFunction",
    "Diffusers",
)
IN_GRAPH = ("Rotary",)
LIKE_ANOTHER = (
    "MindFormersElsewhere",
    "Opt",
    "SelectedFull",
    "MinGptWeak",
    "MintWhere",
    "Diffusers",
)
"""Forms of ``make test-all`` only.

They resemble tested ones: forms of nearly the same name, Fairseq, ByFunction and DotProduct.
"""


def first(made):
    return (made[0] if isinstance(made, tuple) else made).asnumpy()


def tensors(arrays):
    return [ms.Tensor(np.ascontiguousarray(one)) for one in arrays]


@cases(
    "name, masks",
    [
        *(
            pytest.param(name, masks, id=name, marks=FULL if name in LIKE_ANOTHER else ())
            for name, masks in CASES.items()
        ),
        *(pytest.param(name, (), id=f"{name} plain", marks=FULL) for name in MAY_LACK_ITS_MASK),
    ],
    per_item=8,
)
def test_each_form_is_found_replaced_and_undone(name, masks, full):
    """Found, checked, listed; in graph mode and PyNative, with other inputs; undone.

    ``make test`` compiles the graphs of some only: each takes a second.
    """
    in_graph = name in IN_GRAPH or full
    modes = (ms.GRAPH_MODE, ms.PYNATIVE_MODE) if in_graph else (ms.PYNATIVE_MODE,)
    ms.set_context(mode=modes[0])
    # fixed weights: with some others the results differ by more than the limit
    ms.set_seed(2)
    shape, rng = (BATCH, TOKENS, forms.SIZE), np.random.default_rng([*name.encode()])
    net = getattr(forms, name)().set_train(False)
    given = tensors((rng.standard_normal(shape).astype(np.float32), *masks))
    kind = type(net)
    record = patch(net, *given)
    found = [one for one in record.replaced if one.before == ("attention",)]
    assert [type(one.after).__name__ for one in found] == ["ScaledDotProductAttention"], record
    other = tensors((rng.standard_normal(shape).astype(np.float32), *masks))
    made = []
    for mode in modes:
        ms.set_context(mode=mode)
        made.append(first(net(*other)))
    record.undo()
    assert type(net) is kind
    want = first(net(*other))
    for got in made:
        np.testing.assert_allclose(got, want, atol=2e-6)


@cases(
    "name, reason",
    [
        ("MultipliedGiven", "mask may have values other than 0 and 1"),
        ("MultipliedAlone", "may be more than one number"),
        ("MultipliedElse", "scaled behind a mask|more than one number"),
    ],
)
def test_products_with_masks_that_are_no_attention(name, reason):
    net = getattr(forms, name)().set_train(False)
    given = tensors((numbers(BATCH, TOKENS, forms.SIZE), KEPT.astype(np.float32)))
    want = first(net(*given))
    record = patch(net, *given)
    (refused,) = (one for one in record.refused if one.before == ("attention",))
    assert re.search(reason, refused.reason)
    np.testing.assert_allclose(first(net(*given)), want, atol=2e-6)
