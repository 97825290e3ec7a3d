"""Every operator of the table in a mixed-precision net.

It runs in the narrow dtype and computes in float32 internally.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.cases import FULL, cases
from tests.custom_ops.spec_cases import (
    BY_INTERPRETER,
    SPECS,
    arrays_of,
    as_tuple,
    half_of,
    in_float64,
    tail_of,
)

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from tbe_impl.comparing import TOLERANCE  # noqa: E402
from tbe_impl.dsl.dtypes import dtype_of  # noqa: E402

CASES = [
    pytest.param(spec, id=name)
    for name, spec in SPECS.items()
    if spec.has_kernel and spec.samples and {"float16", "bfloat16"} <= set(spec.dtypes)
]


def close(got, want, tolerance):
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    scale = np.sqrt(np.mean(want * want)) if want.size else 0.0
    assert np.all(np.abs(got - want) <= tolerance * (np.abs(want) + scale))


LEVELS = [("O1", "float16"), ("O2", "float16"), ("O2", "bfloat16"), ("O3", "bfloat16")]


@cases(
    "spec, level, dtype",
    [
        pytest.param(
            one.values[0],
            *pair,
            id=f"{one.id}-{pair[0]}-{pair[1]}",
            marks=[] if number % 13 == 2 and number // 13 % 4 == place else FULL,
        )
        for number, one in enumerate(CASES)
        for place, pair in enumerate(LEVELS)
    ],
    sample=3,
)
def test_levels(spec, level, dtype, tmp_path, monkeypatch, full):
    """Inputs, outputs and gradients are float32.

    In graph mode; ``make test`` takes PyNative, which compiles no graphs.
    """
    from tests.custom_ops.nets import Net

    monkeypatch.chdir(tmp_path)  # MindSpore writes the rewritten nets here
    ms.set_context(mode=ms.GRAPH_MODE if full else ms.PYNATIVE_MODE)
    # values that the narrow dtype represents exactly: one rounding could change a selection
    arrays = [
        array if name in spec.integers else array.astype(np.float32)
        for name, array in zip(spec.inputs, arrays_of(spec, spec.samples[0], dtype), strict=True)
    ]
    net = ms.amp.auto_mixed_precision(Net(spec), level, getattr(ms, dtype))
    tensors = [ms.Tensor(array) for array in arrays]
    made = as_tuple(net(*tensors))
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **spec.with_defaults({})))
    for got, want in zip(made, wanted, strict=True):
        if np.asarray(want).dtype.kind != "f":
            continue  # the selection, which rounding may change
        assert got.dtype == ms.float32
        close(got.asnumpy(), want, 2 * TOLERANCE["float32" if level == "O1" else dtype])
    if not spec.differentiable_inputs:
        return
    sens = tuple(ms.Tensor(np.ones(item.shape, np.float32)) for item in made)
    derive = ms.ops.GradOperation(get_all=True, sens_param=True)(net)
    grads = derive(*tensors, sens if len(sens) > 1 else sens[0])
    for place in spec.differentiable_inputs:
        assert grads[place].dtype == ms.float32
        assert grads[place].shape == arrays[place].shape
        assert np.isfinite(grads[place].asnumpy()).all()


@cases(
    "spec, shapes, dtype",
    [
        pytest.param(
            one.values[0],
            shapes,
            dtype,
            id=f"{one.id}-{label}-{dtype}",
            marks=FULL
            if label == "sample" or dtype != half_of(one.values[0]) or one.id in BY_INTERPRETER
            else [],
        )
        for one in CASES
        for label, shapes in [
            ("tail", tail_of(one.values[0])),
            ("sample", one.values[0].samples[0]),
        ]
        for dtype in ("float16", "bfloat16")
        if label == "tail" or shapes != tail_of(one.values[0])
    ],
    sample=8,
)
def test_one_rounding(spec, shapes, dtype):
    """Nearly every element is the float64 result rounded once: no intermediate was rounded."""
    arrays = arrays_of(spec, shapes, dtype)
    from tests.custom_ops.core.test_operator_specs import run

    given = spec.with_defaults({})
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    for got, want in zip(
        run(spec, given, *arrays)[: len(spec.visible_outputs)], wanted, strict=True
    ):
        if str(got.dtype) != dtype or not got.size:
            continue
        rounded = np.asarray(want).astype(dtype_of(dtype).numpy)
        assert np.mean(rounded == got) >= 0.97
