"""Every operator under a mean.

MindSpore passes a broadcast output gradient, and the operator receives it expanded.
"""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of, inputs_with_own_gradient
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, tail_of

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from tests.custom_ops.core.test_amp_rewriting import mean_of  # noqa: E402
from tests.custom_ops.core.test_operator_specs import close  # noqa: E402
from tests.custom_ops.nets import Net  # noqa: E402

CASES = [
    pytest.param(spec, id=name)
    for name, spec in SPECS.items()
    if spec.has_kernel and spec.samples and spec.differentiable_inputs
]


def wanted(spec, arrays):
    """The sum of the means of the outputs, and its gradients, on arrays."""
    attributes = attribute_key(spec, {})
    made = as_tuple(computation_of(spec, attributes)(*arrays))
    visible = made[: len(spec.visible_outputs)]
    grads = [np.full(one.shape, 1 / max(one.size, 1), one.dtype) for one in visible]
    gradient = gradient_of(spec)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    saved = [known[name] for name in gradient.inputs if name in known]
    found = as_tuple(computation_of(gradient, attributes)(*saved, *grads))
    own = dict(zip(inputs_with_own_gradient(spec), found, strict=True))
    names = [spec.inputs[place] for place in spec.differentiable_inputs]
    return sum(float(one.mean()) for one in visible), [
        own[spec.same_gradient.get(name, name)] for name in names
    ]


HOW = [(mode, level) for mode in MODES for level in ("", "O1")]
ROWS = [
    *(
        pytest.param(
            one.values[0],
            tail_of(one.values[0]),
            *how,
            id=f"{one.id}-tail-{how}",
            marks=FULL if number % 16 != 2 or how != HOW[number // 8 % 4] else [],
        )
        for number, one in enumerate(CASES)
        for how in dict.fromkeys((HOW[number // 4 % 4], HOW[number // 8 % 4]))
        if number % 4 == 2
    ),
    *(
        pytest.param(
            one.values[0], one.values[0].samples[0], *how, id=f"{one.id}-{how}", marks=FULL
        )
        for one in CASES
        for how in HOW
    ),
]


@cases("spec, shapes, mode, level", ROWS)
def test_a_mean_of_results_has_right_value_and_gradients(
    spec, shapes, mode, level, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)  # MindSpore writes the rewritten nets here
    set_mode(mode)
    arrays = arrays_of(spec, shapes, "float32")
    net = Net(spec)
    if level:
        net = ms.amp.auto_mixed_precision(net, level)

    derive = ms.value_and_grad(mean_of(net), spec.differentiable_inputs)
    value, grads = derive(*map(ms.Tensor, arrays))
    number, slopes = wanted(spec, arrays)
    close(value.asnumpy(), np.float32(number), "float32")
    for got, want in zip(as_tuple(grads), slopes, strict=True):
        close(got.asnumpy(), want, "float32")
