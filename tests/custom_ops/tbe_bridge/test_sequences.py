"""Operators and gradients as sequences of TBE operators on Ascend: results and graphs."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec
from tbe_impl.dsl.layouts import (
    from_blocked_channels,
    from_fractal_z,
    to_blocked_channels,
    to_fractal_z,
)
from tbe_impl.errors import MissingError
from tests.cases import FULL, cases
from tests.custom_ops.core.test_operator_specs import close
from tests.custom_ops.spec_cases import (
    SPECS,
    arrays_of,
    as_tuple,
    attributes_of,
    in_float64,
    name_of,
    run_by,
)
from tests.tbe_impl.ops.calls import describe

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops import ascend  # noqa: E402
from custom_ops.ascend import AscendPrimitive, encode_attribute, registration_name  # noqa: E402
from custom_ops.core.cell import VisibleOutputsCell  # noqa: E402
from custom_ops.operators.conv2d import CONV2D_GRAD_WEIGHT, CONV2D_GRAD_X  # noqa: E402
from custom_ops.tbe_bridge.sequence_cell import SequenceCell  # noqa: E402
from tests.custom_ops.test_ascend import Called, Sloped, operator  # noqa: E402

FORWARD = [pytest.param(spec, id=name) for name, spec in SPECS.items() if spec.tbe_steps]
BACKWARD = [pytest.param(spec, id=name) for name, spec in SPECS.items() if spec.tbe_gradient_steps]
DTYPE = "float16"


@cache
def built(spec, described, own, soc):
    """The TBE operator for tensors (shape, dtype) with these attributes, on a chip."""
    return operator(spec).build(*(describe(*one) for one in described), soc=soc, **dict(own))


def run_step(spec, given, arrays, soc, backend):
    """The results of a step's TBE operator."""
    attributes = spec.with_defaults(given)
    made = computation_of(spec, attribute_key(spec, given)).describe(
        [ArraySpec.from_array(one) for one in arrays]
    )
    own = {name: encode_attribute(name, attributes[name]) for name in ascend.attributes_of(spec)}
    own = tuple((name, tuple(one) if isinstance(one, list) else one) for name, one in own.items())
    described = tuple((tuple(one.shape), str(one.dtype)) for one in (*arrays, *made))
    found = as_tuple(built(spec, described, own, soc)(*arrays, backend=backend))
    return [np.reshape(array, one.shape) for array, one in zip(found, made, strict=True)]


def primitives(soc, backend):
    """A factory of primitives for PyNative mode on this machine: each runs its TBE operator as on
    the chip.
    """

    def primitive(spec, attributes, forward=None):
        def called(*tensors):
            arrays = [tensor.asnumpy() for tensor in tensors]
            made = [ms.Tensor(one) for one in run_step(spec, attributes, arrays, soc, backend)]
            return made[0] if len(made) == 1 else tuple(made)

        return called

    return primitive


def run_steps(spec, given, arrays, soc="Ascend910A", backend="numpy"):
    """The results of the Cell that MindSpore builds graphs of."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    row = SequenceCell(spec.tbe_steps(**given), spec.inputs, spec.outputs, primitives(soc, backend))
    return [one.asnumpy() for one in as_tuple(row(*map(ms.Tensor, arrays)))]


def check(spec, given, arrays, wanted, soc, backend):
    """The steps against the expected results."""
    found = run_steps(spec, given, arrays, soc, backend)
    for got, want in zip(found, wanted, strict=False):
        assert got.shape == np.shape(want)
        close(got, want, DTYPE)


def check_gradient(spec, given, shapes, soc="Ascend910A", backend="numpy"):
    """Against the operator's own gradient in float64, which finite differences confirm."""
    gradient = gradient_of(spec)
    kinds = ascend.dtypes_of(gradient, DTYPE, forward=spec)
    arrays = arrays_of(spec, shapes, DTYPE)
    made = run_by("numpy", spec, given, *in_float64(spec, arrays))
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    rng = np.random.default_rng(2)
    known |= {
        f"grad_{name}": rng.standard_normal(np.shape(known[name])) for name in spec.visible_outputs
    }
    rounded = [np.asarray(known[name]).astype(kinds[name]) for name in gradient.inputs]
    exact = [one if one.dtype.kind in "ib" else one.astype(np.float64) for one in rounded]
    check(gradient, given, rounded, run_by("numpy", gradient, given, *exact), soc, backend)


def tries(specs, tried_elsewhere=()):
    """Operator, attributes, shapes, chip, back end; `make test-all` compiles one sample.

    `make test` skips the operators in `tried_elsewhere`.
    """
    for one in specs:
        spec = one.values[0]
        for given in attributes_of(spec):
            label = f"{one.id}-{name_of(given)}"
            yield pytest.param(
                spec,
                given,
                spec.samples[1],
                "Ascend910A",
                "numpy",
                id=f"{label}-numpy",
                marks=FULL if spec.name in tried_elsewhere else [],
            )
            yield pytest.param(
                spec,
                given,
                spec.samples[0],
                "Ascend910B",
                "cpu",
                id=f"{label}-cpu",
                marks=FULL,
            )


IN_BLOCKS = ("LinearCrossEntropy", "MaskedScaledDotProductAttention")
"""Operators whose gradients test_blocks.py tests in `make test`."""


@cases("spec, given, shapes, soc, backend", list(tries(FORWARD)))
def test_forward_sequences_agree_with_the_formula(spec, given, shapes, soc, backend):
    arrays = arrays_of(spec, shapes, DTYPE)
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    check(spec, given, arrays, wanted, soc, backend)


@cases("spec, given, shapes, soc, backend", list(tries(BACKWARD, IN_BLOCKS)))
def test_gradients(spec, given, shapes, soc, backend):
    check_gradient(spec, given, shapes, soc, backend)


@cases(
    "given",
    [
        {"stride": (2, 1), "padding": (1, 0, 2, 1), "groups": 2},
        {"stride": 2, "padding": "same", "dilation": (1, 2), "groups": 2},
        {"padding": "valid", "groups": 2},
    ],
)
def test_gradients_of_convolutions(given):
    spec = SPECS["Conv2dBiasSiLU"]
    check_gradient(spec, spec.with_defaults(given), ((2, 6, 9, 8), (10, 3, 3, 3), (10,)))


@cases("spec", [CONV2D_GRAD_X, CONV2D_GRAD_WEIGHT], ids=lambda spec: spec.name)
def test_gradients_of_convolutions_as_the_cube_lays_tensors_out(spec):
    given = spec.with_defaults({"padding": "same"})
    arrays = arrays_of(spec, ((2, 20, 9, 8), (24, 20, 3, 3), (2, 24, 9, 8)), DTYPE)
    (want,) = run_by("numpy", spec, given, *in_float64(spec, arrays))
    x, weight, grad = arrays
    laid = [to_blocked_channels(x), to_fractal_z(weight), to_blocked_channels(grad)]
    described = [describe(one.shape, DTYPE) for one in laid]
    described[1]["ori_shape"] = weight.shape
    is_image = ascend.operator_file_globals(spec)["FORMATS"][spec.outputs[0]] == "5HD"
    made = laid[0] if is_image else laid[1]
    own = {key: encode_attribute(key, given[key]) for key in ascend.attributes_of(spec)}
    kernel = operator(spec).build(*described, describe(made.shape, DTYPE), **own)
    found = kernel(*laid, backend="numpy")
    plain = from_blocked_channels(found, 20) if is_image else from_fractal_z(found, weight.shape, 1)
    close(plain, want, DTYPE)


def held_by(net, spec, tmp_path, shapes=()):
    """MindSpore's graph of a net before it needs a device."""
    ms.set_context(mode=ms.GRAPH_MODE)
    kinds = ascend.dtypes_of(spec, DTYPE)
    shapes = dict(zip(spec.inputs, shapes or spec.samples[0], strict=True))
    inputs = [ms.Tensor(np.ones(shape, kinds[name])) for name, shape in shapes.items()]
    file = tmp_path / f"{spec.name}.mindir"
    assert not file.exists()
    ms.export(net, *inputs, file_name=str(file.with_suffix("")), file_format="MINDIR")
    return file.read_bytes()


def names_of(steps, spec):
    whole = steps(**spec.with_defaults({}))
    return [registration_name(one.spec).encode() for one in whole.operators]


@cases("spec", FORWARD, quick=1)
def test_graphs_hold_the_steps(spec, tmp_path):
    net = ascend.build_call(spec, {"max_output": 3} if spec.name == "NMS" else {})
    assert isinstance(net, SequenceCell)
    held = held_by(net, spec, tmp_path)
    assert all(name in held for name in names_of(spec.tbe_steps, spec))


@cases(
    "spec",
    [
        pytest.param(*one.values, id=one.id, marks=[] if one.id == "MatMulBiasSiLU" else FULL)
        for one in BACKWARD
    ],
)
def test_graphs_hold_the_steps_of_gradients(spec, tmp_path):
    net = ascend.build_call(spec, {})
    net = VisibleOutputsCell(net, len(spec.visible_outputs)) if spec.hidden else net
    held = held_by(Sloped(net if spec.tbe_steps else Called(net)), spec, tmp_path)
    assert all(name in held for name in names_of(spec.tbe_gradient_steps, spec))


def test_the_gradient_of_steps_is_that_of_each(tmp_path):
    """For operators without their own."""
    spec = SPECS["LayerNormLinear"]
    held = held_by(Sloped(ascend.build_call(spec, {})), spec, tmp_path)
    assert all(name in held for name in (b"LayerNormGrad", b"ProductOfRows"))


def test_what_a_step_lacks_is_refused():
    with pytest.raises(MissingError, match="has no lowering; expected lowering=auto"):
        ascend.build_call(SPECS["LayerNormLinear"], {"lowering": "im2col"})
    assert isinstance(ascend.build_call(SPECS["MatMulBias"], {}), AscendPrimitive)
