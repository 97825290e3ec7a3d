"""Second derivatives of every differentiable operator, against float64 finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of, inputs_with_own_gradient
from custom_ops.core.kernel_interface import ArraySpec
from tbe_impl.kernel import Kernel
from tests.cases import FULL, cases
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple

STEP = 1e-5


def has_second(spec):
    return bool(
        spec.has_kernel
        and spec.differentiable_inputs
        and "float64" in spec.dtypes
        and gradient_of(spec).differentiable_inputs
    )


SECOND = [spec for spec in SPECS.values() if has_second(spec)]
TRIED = [
    pytest.param(
        spec,
        backend,
        id=f"{spec.name}-{backend}",
        marks=FULL if backend == "cpu" and spec.name != "Swish" else [],
    )
    for backend in ("numpy", "cpu")
    for spec in SECOND
]
"""The formulas without a compiler, and compiled."""
HIDDEN = {
    "AddLayerNorm",
    "AddRMSNorm",
    "GroupNorm",
    "LayerNorm",
    "RMSNorm",
    "SoftmaxCrossEntropy",
    "SoftmaxCrossEntropyDense",
    "SoftmaxCrossEntropyWeighted",
}


def test_operators_with_hidden_outputs_are_among_them():
    assert {spec.name for spec in SPECS.values() if spec.hidden and has_second(spec)} == HIDDEN


def runner_of(backend):
    """The callable of an operator on a back end."""

    def run(spec, given, *arrays):
        computation = computation_of(spec, attribute_key(spec, given))
        kernel = computation.kernel([ArraySpec.from_array(array) for array in arrays])
        keywords = {"backend": backend} if isinstance(kernel, Kernel) else {}
        return as_tuple(kernel(*arrays, **keywords))

    return run


@cases("spec, backend", TRIED)
def test_against_differences(spec, backend):
    """Hidden outputs follow their inputs: differences along the saved values and the gradient."""
    run = runner_of(backend)
    given, gradient = spec.with_defaults({}), gradient_of(spec)
    rng = np.random.default_rng(4)
    arrays = arrays_of(spec, spec.samples[0], "float64", seed=3)
    made = dict(
        zip((*spec.inputs, *spec.outputs), (*arrays, *run(spec, given, *arrays)), strict=True)
    )
    known = {name: made[name] for name in gradient.inputs if name in made}
    known |= {
        name: rng.standard_normal(made[name.removeprefix("grad_")].shape)
        for name in gradient.inputs
        if name not in known
    }
    outputs = run(gradient, given, *known.values())
    weights = [rng.standard_normal(one.shape) for one in outputs]
    second = gradient_of(gradient)
    found = dict(
        zip(
            inputs_with_own_gradient(gradient),
            run(second, given, *known.values(), *weights),
            strict=True,
        )
    )
    # the results of a relu lie at its kink
    moving = {
        name: rng.standard_normal(known[name].shape)
        for name in found
        if name not in spec.outputs or name == "sum"
    }

    def loss(step):
        moved = {
            name: one + step * moving[name] if name in moving else one
            for name, one in known.items()
        }
        moved |= recompute_hidden_outputs(spec, given, moved, run)
        return sum(
            float(np.sum(a * b))
            for a, b in zip(run(gradient, given, *moved.values()), weights, strict=True)
        )

    slope = (loss(STEP) - loss(-STEP)) / (2 * STEP)
    along = sum(float(np.sum(found[name] * moving[name])) for name in moving)
    size = sum(float(np.abs(found[name] * moving[name]).sum()) for name in moving)
    assert abs(along - slope) <= 1e-6 * size + 1e-7


def recompute_hidden_outputs(spec, given, moved, run):
    """Hidden outputs of moved inputs, from the operator; a sum counts as the sum and zero."""
    if not spec.hidden:
        return {}
    inputs = [moved.get(name) for name in spec.inputs]
    if "sum" in spec.saves:
        inputs[:2] = moved["sum"], np.zeros_like(moved["sum"])
    inputs = [np.zeros_like(moved["gamma"]) if one is None else one for one in inputs]
    made = dict(zip(spec.outputs, run(spec, given, *inputs), strict=True))
    return {name: made[name] for name in spec.hidden}
