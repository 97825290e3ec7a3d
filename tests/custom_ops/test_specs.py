"""Every operator of the table: numbers and gradients against float64 formulas, on arrays and inside MindSpore."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.arrays import computation_of, sorted_attributes
from custom_ops.gradient import gradient_of, own_gradients
from tbe_impl.comparing import TOLERANCE
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64

EVERY = [
    pytest.param(spec, shapes, id=f"{name}-{'x'.join(map(str, shapes[0])) or 'scalar'}")
    for name, spec in SPECS.items()
    for shapes in spec.samples
]


def close(got, want, dtype: str) -> None:
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    if not want.size:
        return
    allowed = TOLERANCE[dtype] * (np.abs(want) + np.sqrt(np.mean(want * want)))
    assert np.all(np.abs(got - want) <= allowed), (np.abs(got - want).max(), allowed.min())


def run(spec, *arrays):
    return as_tuple(computation_of(spec, sorted_attributes(spec, {}))(*arrays))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(("spec", "shapes"), EVERY)
def test_numbers(spec, shapes, dtype):
    if dtype not in spec.dtypes or not spec.has_kernel:
        return
    arrays = arrays_of(spec, shapes, dtype)
    want = as_tuple(spec.formula(*in_float64(spec, arrays), **spec.with_defaults({})))
    for got, one in zip(run(spec, *arrays)[: len(spec.visible)], want, strict=True):
        close(got, one, dtype)


@pytest.mark.parametrize(("spec", "shapes"), EVERY)
def test_gradients_by_finite_differences(spec, shapes):
    if not spec.has_kernel or not spec.differentiable or "float64" not in spec.dtypes:
        return
    arrays = arrays_of(spec, shapes, "float64", seed=1)
    rng = np.random.default_rng(2)
    outputs = as_tuple(spec.formula(*arrays, **spec.with_defaults({})))
    grads = [rng.standard_normal(np.shape(one)) for one in outputs]
    gradient = gradient_of(spec)
    made = run(spec, *arrays)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    found = run(gradient, *(known[name] for name in gradient.inputs if name in known), *grads)

    def loss(changed) -> float:
        got = as_tuple(spec.formula(*changed, **spec.with_defaults({})))
        return sum(float(np.sum(one * grad)) for one, grad in zip(got, grads, strict=True))

    own = dict(zip(own_gradients(spec), found, strict=True))
    for place in spec.differentiable:
        got = own[spec.same_gradient.get(spec.inputs[place], spec.inputs[place])]
        step = 1e-6
        for number in rng.permutation(arrays[place].size)[:12]:
            changed = [array.copy() for array in arrays]
            at = np.unravel_index(number, arrays[place].shape)
            changed[place][at] += step
            up = loss(changed)
            changed[place][at] -= 2 * step
            slope = (up - loss(changed)) / (2 * step)
            assert abs(got[at] - slope) <= 1e-3 * abs(slope) + 1e-5, (spec.inputs[place], at)


@pytest.mark.mindspore
@pytest.mark.parametrize("mode", ["graph", "pynative"])
@pytest.mark.parametrize("spec", list(SPECS.values()), ids=SPECS)
def test_both_routes_agree_inside_mindspore(spec, mode):
    ms = pytest.importorskip("mindspore")
    from custom_ops.cell import FusedCell

    if not spec.has_kernel or spec.composite is None or not spec.samples:
        return
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    arrays = arrays_of(spec, spec.samples[0], "float32")
    inputs = [ms.Tensor(array) for array in arrays]
    native, composite = (FusedCell(spec, {}, route) for route in ("native", "composite"))
    one, other = as_tuple(native(*inputs)), as_tuple(composite(*inputs))
    for got, want in zip(one, other, strict=True):
        close(got.asnumpy(), want.asnumpy(), "float32")
    if spec.differentiable:
        rng = np.random.default_rng(3)
        grads = [ms.Tensor(rng.standard_normal(made.shape).astype(np.float32)) for made in one]
        backward = ms.ops.GradOperation(get_all=True, sens_param=True)
        sens = tuple(grads) if len(grads) > 1 else grads[0]
        one, other = (backward(cell)(*inputs, sens) for cell in (native, composite))
        for place in spec.differentiable:
            close(one[place].asnumpy(), other[place].asnumpy(), "float32")
