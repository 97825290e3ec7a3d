"""The TBE operators that operators name.

Each has the same semantics and MindSpore's registration format, or an exemption.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from custom_ops import formula, register_operator
from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec
from tbe_impl.dsl.layouts import from_blocked_channels, to_blocked_channels, to_fractal_z
from tbe_impl.loading.operator import load_operator
from tests.cases import FULL, cases
from tests.custom_ops.core.test_operator_specs import close
from tests.custom_ops.spec_cases import (
    SPECS,
    arrays_of,
    as_tuple,
    attributes_of,
    in_float64,
    name_of,
)
from tests.tbe_impl.ops.calls import describe

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops import ascend  # noqa: E402
from custom_ops.ascend import (  # noqa: E402
    AscendPrimitive,
    build_op_info,
    encode_attribute,
    registration_name,
)
from custom_ops.core import cell  # noqa: E402
from tbe_impl.errors import MissingError  # noqa: E402


def has_own_gradient(spec):
    """Whether its gradient is one TBE operator."""
    return spec.has_tbe_gradient and not (spec.tbe_steps or spec.tbe_gradient_steps)


FORWARD = [
    pytest.param(spec, id=name)
    for name, spec in SPECS.items()
    if spec.has_tbe and spec.tbe_steps is None
]
BACKWARD = [pytest.param(spec, id=name) for name, spec in SPECS.items() if has_own_gradient(spec)]
RANGES = ((2, 3, 4, 5), (3, 4, 5), (3, 4, 5))
IMAGE = ((3, 4, 5, 6), *((4,),) * 2)
LAST = ((3, 5, 6, 4), *((4,),) * 2)
# name of the operator, other attributes, shapes of its inputs
VARIED = [
    ("Softmax", {"axis": 1}, ((3, 4, 5),)),
    ("LogSoftmax", {"axis": 0}, ((3, 4, 5),)),
    ("LayerNorm", {"begin_norm_axis": 2, "begin_params_axis": 1, "epsilon": 0.1}, RANGES),
    ("LayerNorm", {"begin_norm_axis": 0}, ((8,), (8,), (8,))),
    ("AddLayerNorm", {"begin_norm_axis": 1, "begin_params_axis": 1}, (RANGES[0], *RANGES)),
    ("RMSNorm", {"epsilon": 0.1}, ((2, 3, 4, 5), (4, 5))),
    ("AddRMSNorm", {}, ((2, 3, 5), (2, 3, 5), (3, 5))),
    ("GroupNorm", {"num_groups": 2, "eps": 0.1}, IMAGE),
    *(
        ("BatchNormTraining", {"activation": activation, "alpha": 0.3}, IMAGE)
        for activation in ("relu", "leaky_relu", "silu")
    ),
    ("BatchNormTraining", {"data_format": "NHWC", "eps": 0.1}, LAST),
    ("BatchNormInference", {"data_format": "NHWC", "activation": "silu"}, (*LAST, (4,), (4,))),
    ("BatchNormInference", {"activation": "leaky_relu", "alpha": 0.3}, (*IMAGE, (4,), (4,))),
    ("MyOp", {}, ((2, 1, 4), (3, 1))),
    ("MulSigmoid", {}, ((6,), (5, 6))),
    ("SwiGLU", {}, ((5, 6), (6,))),
    ("ScaleAddSoftmax", {"scale": 0.5}, ((2, 3, 5, 7), (2, 1, 5, 7))),
    ("ScaleMaskSoftmax", {"scale": 0.5}, ((3, 129), (129,))),
    ("RotaryEmbedding", {"layout": "interleaved"}, ((2, 3, 5, 16), (5, 16), (5, 16))),
    ("TokenEmbedding", {"scale": 2.0}, ((5,), (10, 64))),
    *(
        (
            "SoftmaxCrossEntropy",
            {"reduction": reduction, "label_smoothing": 0.1, "ignore_index": 3},
            ((9, 10, 4), (9, 4)),
        )
        for reduction in ("none", "mean", "sum")
    ),
    ("SoftmaxCrossEntropy", {}, ((12,), ())),
    *(
        (
            "SoftmaxCrossEntropyWeighted",
            {"reduction": reduction, "label_smoothing": 0.1, "ignore_index": 3},
            ((9, 10, 4), (9, 4), (10,)),
        )
        for reduction in ("none", "mean", "sum")
    ),
    *(
        (
            "SoftmaxCrossEntropyDense",
            {"reduction": reduction, "label_smoothing": 0.1},
            ((5, 10, 4), (5, 10, 4)),
        )
        for reduction in ("none", "mean", "sum")
    ),
    ("SoftmaxCrossEntropyDense", {}, ((12,), (12,))),
    *(
        ("MatMulBias", {"activation": activation}, ((2, 3, 9), (4, 9), (4,)))
        for activation in ("relu", "silu", "gelu", "gelu_tanh")
    ),
    ("IoU", {}, ((40, 4), (33, 4))),
    ("BoxDecode", {"version": "v3", "stride": 16.0}, ((2, 3, 5, 3, 9),)),
    ("BoxDecode", {"anchors": ((2.0, 3.0),)}, ((1, 2, 2, 1, 6),)),
    (
        "Conv2dBias",
        {"stride": (2, 1), "padding": (1, 0, 2, 1), "groups": 2},
        ((2, 6, 9, 8), (10, 3, 3, 3), (10,)),
    ),
    ("Conv2d", {"stride": 2, "padding": "same", "dilation": (1, 2)}, ((2, 6, 9, 8), (10, 6, 3, 3))),
    ("Conv2d", {"padding": "valid"}, ((2, 6, 9, 8), (10, 6, 3, 3))),
]


@cache
def operator(spec):
    file, function = ascend.operator_file(spec)
    return load_operator(file, function=function)


def dtypes(spec):
    """The dtype in which its TBE operator computes."""
    return ascend.operator_file_globals(spec).get("DTYPES", ("float16", "float32"))


def check(spec, given, dtype, kinds, arrays, wanted, **chips):
    """The TBE operator of each chip, on a back end, against the expected results.

    Args:
        spec: operator that names it.
        given: attributes.
        dtype: dtype of the values.
        kinds: name → dtype of inputs and outputs.
        arrays: the inputs.
        wanted: the first outputs in float64.
        chips: name of a chip → back end.
    """
    outputs = list(zip(spec.outputs, wanted, strict=False))
    described = [
        describe(array.shape, kinds[name]) for name, array in zip(spec.inputs, arrays, strict=True)
    ]
    described += [describe(np.shape(one), kinds[name]) for name, one in outputs]
    described += [describe((1,), kinds[name]) for name in spec.outputs[len(outputs) :]]
    own = {name: encode_attribute(name, given[name]) for name in ascend.attributes_of(spec)}
    for soc, backend in chips.items():
        kernel = operator(spec).build(*described, soc=soc, **own)
        found = as_tuple(kernel(*arrays, backend=backend))
        assert len(found) == len(spec.outputs)
        for got, (name, want) in zip(found, outputs, strict=False):
            assert str(got.dtype) == kinds[name] and got.size == np.size(want)
            close(np.reshape(got, np.shape(want)), want, dtype)


def check_forward(spec, given, shapes, dtype, **chips):
    arrays = arrays_of(spec, shapes, dtype)
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    check(spec, given, dtype, ascend.dtypes_of(spec, dtype), arrays, wanted, **chips)


def by_numpy(spec, given, arrays):
    """The operator's own kernel on the back end without a compiler."""
    computation = computation_of(spec, attribute_key(spec, given))
    kernel = computation.build_for_fixed_sizes([ArraySpec.from_array(array) for array in arrays])
    return as_tuple(kernel(*arrays, backend="numpy"))


def check_backward(spec, given, shapes, dtype, **chips):
    """Against the operator's own gradient in float64, which finite differences confirm."""
    gradient = gradient_of(spec)
    kinds = ascend.dtypes_of(gradient, dtype, forward=spec)
    arrays, rng = arrays_of(spec, shapes, dtype), np.random.default_rng(2)
    made = by_numpy(spec, given, in_float64(spec, arrays))
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    known |= {
        f"grad_{name}": rng.standard_normal(np.shape(known[name])) for name in spec.visible_outputs
    }
    rounded = [np.asarray(known[name]).astype(kinds[name]) for name in gradient.inputs]
    exact = [one if one.dtype.kind in "ib" else one.astype(np.float64) for one in rounded]
    wanted = by_numpy(gradient, given, exact)
    check(gradient, given, dtype, kinds, rounded, wanted, **chips)


HALF = ("AddReLU", "RMSNorm", "Swish")
"""Cheap operators that `make test` also tests in float16."""


def tries(specs, compiled):
    """Operator, attributes, dtype, chip, back end.

    One dtype with defaults is compiled, in `make test` for `compiled` only.
    """
    for one in specs:
        spec = one.values[0]
        for number, given in enumerate(attributes_of(spec)):
            for dtype in dtypes(spec):
                once = number == 0 and dtype == dtypes(spec)[-1]
                is_half = spec.name in HALF and dtype == "float16"
                hows = [("Ascend910A", "numpy", number > 0 or not (once or is_half))]
                if once:
                    hows += [
                        ("Ascend910B", "numpy", True),
                        ("Ascend910B", "cpu", spec.name != compiled),
                    ]
                else:
                    hows += [("Ascend910B", "numpy", number == 0)]
                for chip, backend, is_full in hows:
                    label = f"{one.id}-{name_of(given)}-{dtype}-{chip}-{backend}"
                    yield pytest.param(
                        spec, given, dtype, chip, backend, id=label, marks=FULL if is_full else []
                    )


@cases("spec, given, dtype, chip, backend", list(tries(FORWARD, "BatchNormTraining")))
def test_forward_operators_agree_with_the_formula(spec, given, dtype, chip, backend):
    check_forward(spec, given, spec.samples[0], dtype, **{chip: backend})


@cases("spec, given, dtype, chip, backend", list(tries(BACKWARD, "")))
def test_gradient_operators_agree_with_the_formula(spec, given, dtype, chip, backend):
    check_backward(spec, given, spec.samples[0], dtype, **{chip: backend})


CHIPS = ("Ascend310P3", "Ascend310B1")


@cases(
    "spec, soc",
    [
        pytest.param(
            *one.values, soc, id=f"{one.id}-{soc}", marks=FULL if number % 2 != place else []
        )
        for number, one in enumerate(FORWARD)
        for place, soc in enumerate(CHIPS)
    ],
)
def test_other_chips_have_the_words(spec, soc):
    """Nothing runs: building a kernel reports what the chip lacks."""
    dtype, given = dtypes(spec)[-1], spec.with_defaults({})
    arrays = [ArraySpec.from_array(one) for one in arrays_of(spec, spec.samples[0], dtype)]
    made = computation_of(spec, attribute_key(spec, {})).describe(arrays)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    known |= {f"grad_{name}": one for name, one in known.items()}
    for one in (spec, gradient_of(spec)) if has_own_gradient(spec) else (spec,):
        kinds = ascend.dtypes_of(one, dtype, forward=None if one is spec else spec)
        described = [
            describe(known[name].shape, kinds[name]) for name in (*one.inputs, *one.outputs)
        ]
        own = {name: encode_attribute(name, given[name]) for name in ascend.attributes_of(one)}
        operator(one).build(*described, soc=soc, **own)


@cases("name, given, shapes", VARIED, sample=24)
def test_tbe_operators_accept_varied_attributes(name, given, shapes):
    spec = SPECS[name]
    given, dtype = spec.with_defaults(given), dtypes(spec)[-1]
    check_forward(spec, given, shapes, dtype, Ascend910A="numpy")
    if has_own_gradient(spec):
        check_backward(spec, given, shapes, dtype, Ascend910A="numpy")


@cases("name", ["SoftmaxCrossEntropy", "SoftmaxCrossEntropyWeighted"])
def test_what_is_not_named_or_counted_may_be_infinite(name):
    spec = SPECS[name]
    given = spec.with_defaults({})
    logits = np.random.default_rng(5).standard_normal((4, 10)).astype(np.float32)
    logits[:, 7], logits[2] = -np.inf, np.inf
    labels = np.int32([1, 0, -100, 9])
    weights = np.linspace(0.5, 2, 10, dtype=np.float32)
    is_weighted = name.endswith("Weighted")
    counting, finite = labels >= 0, np.delete(logits.astype(np.float64), 7, 1)
    named = logits[counting, labels[counting]]
    shares = weights[labels[counting]] if is_weighted else None
    want = np.average(np.log(np.exp(finite[counting]).sum(1)) - named, weights=shares)
    kinds = ascend.dtypes_of(spec, "float32")
    arrays = [logits, labels, weights] if is_weighted else [logits, labels]
    check(spec, given, "float32", kinds, arrays, [want], Ascend910A="numpy")


@cases("spec", [*FORWARD, *BACKWARD])
def test_registration(spec):
    for one, forward in (
        (spec, None),
        (gradient_of(spec), spec) if has_own_gradient(spec) else (spec, None),
    ):
        info = build_op_info(one, forward)
        info = info if isinstance(info, dict) else json.loads(info)
        assert info["op_name"] == registration_name(one)
        assert f"{ascend.operator_file(one)[1]}.so" in str(info)
        assert [item["name"] for item in info["inputs"]] == list(one.inputs)
        assert [item["name"] for item in info["outputs"]] == list(one.outputs)
        assert [item["name"] for item in info["attr"]] == ascend.attributes_of(one)


@cases("spec", FORWARD)
def test_the_primitive_accepts_every_attribute(spec):
    """Every attribute is accepted.

    Attributes that its TBE operator lacks apply to the CPU only.
    """
    made = AscendPrimitive(spec, {})
    assert made.name == registration_name(spec)
    assert set(spec.attributes) - set(ascend.attributes_of(spec)) <= {"lowering"}
    for name in ascend.attributes_of(spec):
        assert made.attrs[name] == encode_attribute(name, spec.attributes[name])
    with pytest.raises(MissingError, match="is the primitive for Ascend"):
        made()
    assert callable(made.get_bprop())


def test_what_the_tbe_operator_lacks_is_refused():
    with pytest.raises(MissingError, match="has no lowering; expected lowering=auto"):
        AscendPrimitive(SPECS["Conv2d"], {"lowering": "im2col"})
    with pytest.raises(MissingError, match=r"NMS has no TBE operator, .* got a sequence"):
        AscendPrimitive(SPECS["NMS"], {})


OWN = """
from tbe import dsl, tvm


def own_double(x, y, kernel_name="own_double"):
    data = tvm.placeholder(x.get("shape"), name="data", dtype=x.get("dtype"))
    res = dsl.vadd(data, data)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(res)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, res]})
"""


def test_an_operator_of_ones_own_with_its_file(tmp_path):
    file = tmp_path / "own_double.py"
    file.write_text(OWN)

    @register_operator("OwnDouble", outputs=("y",), tbe_file=file)
    class OwnDouble:
        @formula
        def forward(x):
            return x + x

    spec = OwnDouble.spec
    assert "own_double.so" in str(build_op_info(spec))
    assert AscendPrimitive(spec, {}).name == "CustomOpsOwnDouble"
    lost = replace(spec, name="Lost", tbe=str(tmp_path / "lost.py"))
    with pytest.raises(MissingError, match=r"a file of your own, .* got .*lost.py"):
        AscendPrimitive(lost, {})


def test_names_are_nobody_elses():
    import mindspore.ops as theirs

    taken = {*dir(theirs.operations), *dir(theirs.auto_generate), *dir(theirs)}
    assert "Softmax" in taken
    assert not taken & {registration_name(spec) for spec in SPECS.values()}


@cases("spec", list(SPECS.values()), ids=list(SPECS))
def test_every_operator_has_its_tbe_operators(spec):
    assert spec.has_tbe
    if spec.differentiable_inputs:
        assert spec.has_tbe_gradient
    for steps in filter(None, (spec.tbe_steps, spec.tbe_gradient_steps)):
        for given in attributes_of(spec):
            specs = [step.spec for step in steps(**given).operators]
            assert all(one.has_tbe for one in specs)
            for one in filter(lambda one: one.infer_dtype, specs):
                kinds = one.infer_dtype(*["float16" for _ in one.inputs])
                assert len(kinds) == len(one.outputs), one.name


@cases("name", ["AddReLU", "LayerNorm", "MatMulBiasReLU", "IoU", "GELU"])
def test_cells_on_ascend(monkeypatch, name):
    """Inputs of a Cell with MindSpore set to that device; nothing runs."""
    spec = SPECS[name]
    monkeypatch.setattr(cell, "device_target", lambda: "Ascend")
    run_by = cell.FusedCell(spec, {}).run
    run_by = run_by.call if isinstance(run_by, cell.VisibleOutputsCell) else run_by
    assert isinstance(run_by, AscendPrimitive)


def test_a_cell_without_tbe_and_composite_is_refused(monkeypatch):
    monkeypatch.setattr(cell, "device_target", lambda: "Ascend")
    with pytest.raises(MissingError, match="has no TBE operator"):
        cell.FusedCell(replace(SPECS["NMS"], composite=None, tbe_steps=None), {})


@cases(
    "spec, target, reason",
    [
        (replace(SPECS["NMS"], tbe_steps=None), "Ascend", "CANN builds no kernel of it"),
        (SPECS["AddReLU"], "GPU", "there is no kernel for GPU"),
    ],
    ids=("Ascend", "GPU"),
)
def test_cells_without_a_kernel(monkeypatch, spec, target, reason):
    monkeypatch.setattr(cell, "device_target", lambda: target)
    with pytest.warns(UserWarning, match=f"{reason}, so it runs as basic operators"):
        made = cell.FusedCell(spec, {})
    assert made.route == "composite"


def test_optimizers_are_for_cpu(monkeypatch):
    import custom_ops
    from custom_ops.core import primitive

    monkeypatch.setattr(primitive, "device_target", lambda: "Ascend")
    weights = [ms.Parameter(np.ones(2, np.float32), name="w")]
    with pytest.raises(
        MissingError,
        match="FusedAdam has a kernel for CPU only; expected device_target CPU, got Ascend",
    ):
        custom_ops.Adam(weights)


@cases(
    "name",
    [
        "Conv2dBiasSiLU",
        *(
            pytest.param(name, marks=FULL)
            for name in ("Conv2d", "Conv2dBiasReLU", "Conv2dBiasLeakyReLU")
        ),
    ],
)
def test_convolutions_as_the_cube_lays_tensors_out(name):
    """x and y in NC1HWC0, weight in FRACTAL_Z, as registered."""
    spec = SPECS[name]
    formats = ascend.operator_file_globals(spec)["FORMATS"]
    assert [formats[key] for key in ("x", "weight", "y")] == ["5HD", "FracZ", "5HD"]
    arrays = arrays_of(spec, ((2, 20, 9, 8), (24, 20, 3, 3), (24,))[: len(spec.inputs)], "float16")
    given = spec.with_defaults({"padding": "same"})
    want = spec.formula(*in_float64(spec, arrays), **given)
    weight = arrays[1]
    laid = [to_blocked_channels(arrays[0]), to_fractal_z(weight), *arrays[2:]]
    described = [describe(array.shape, "float16") for array in laid]
    described[1]["ori_shape"] = weight.shape
    made = to_blocked_channels(want)
    own = {key: encode_attribute(key, given[key]) for key in ascend.attributes_of(spec)}
    kernel = operator(spec).build(*described, describe(made.shape, "float16"), **own)
    for backend in ("numpy", "cpu"):
        found = from_blocked_channels(kernel(*laid, backend=backend), want.shape[1])
        close(found, want, "float16")


@cases("spec", FORWARD, quick=1)
def test_graphs_hold_the_primitives(spec, tmp_path):
    """MindSpore's graph of a net before it needs a device.

    Shapes and dtypes are inferred, gradients found.
    """
    ms.set_context(mode=ms.GRAPH_MODE)
    call = AscendPrimitive(spec, {})
    net = cell.VisibleOutputsCell(call, len(spec.visible_outputs)) if spec.hidden else Called(call)
    known = ascend.dtypes_of(spec, dtypes(spec)[0])
    shapes = dict(zip(spec.inputs, spec.samples[0], strict=True))
    inputs = [ms.Tensor(np.ones(shapes[name], known[name])) for name in spec.inputs]
    names = [registration_name(spec)]
    if has_own_gradient(spec):
        net = Sloped(net)
        names.append(registration_name(gradient_of(spec)))
    file = tmp_path / registration_name(spec)
    ms.export(net, *inputs, file_name=str(file), file_format="MINDIR")
    held = file.with_suffix(".mindir").read_bytes()
    assert all(name.encode() in held for name in names)


class Called(ms.nn.Cell):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def construct(self, *inputs):
        return self.call(*inputs)


class Sloped(ms.nn.Cell):
    """The gradients of all inputs."""

    def __init__(self, net):
        super().__init__()
        self.net, self.slope = net, ms.ops.GradOperation(get_all=True)

    def construct(self, *inputs):
        return self.slope(self.net)(*inputs)


def test_on_a_cpu_an_operator_is_known_by_our_library():
    from custom_ops.core.primitive import primitive

    made = primitive(SPECS["Softmax"], {})
    assert made.name == "Custom" and made.uniq_name.startswith("Custom_Softmax_/")


def test_a_gradient_that_cann_cannot_build_is_an_error(tmp_path):
    ms.set_context(mode=ms.GRAPH_MODE)
    spec = replace(SPECS["MatMul"], tbe_gradient_steps=None)
    net = Sloped(Called(AscendPrimitive(spec, {})))
    x, weight = ms.Tensor(np.ones((6, 24), np.float16)), ms.Tensor(np.ones((17, 24), np.float16))
    with pytest.raises(RuntimeError, match="MatMul has no gradient; use the composite route"):
        ms.export(net, x, weight, file_name=str(tmp_path / "net"), file_format="MINDIR")
