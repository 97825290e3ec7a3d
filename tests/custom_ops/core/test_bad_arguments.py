"""A non-tensor for each argument of every operator and Cell raises an error.

The error names operator and argument, and what was expected and given.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

import custom_ops
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.modes import set_mode
from tests.custom_ops.spec_cases import SPECS, arrays_of

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops.core.cell import FusedCell  # noqa: E402
from custom_ops.core.primitive import primitive  # noqa: E402
from tests.custom_ops.core.test_amp_rewriting import CELLS as OF_CELLS  # noqa: E402
from tests.fork_server import ROOT, run_program  # noqa: E402

Q = np.ones((1, 2, 3, 4), np.float32)
X = np.ones((2, 8), np.float32)
BOXES = np.float32([[0, 0, 1, 1]])
OTHERS = {
    "AddReLU": ((), (X, X)),
    "BiasDropoutAdd": ((), (X, X[0], X)),
    "BoxDecode": ((((2.0, 3.0),), 8), (np.ones((1, 2, 2, 1, 6), np.float32),)),
    "GELU": ((), (X,)),
    "GeGLU": ((), (X, X)),
    "HardSwish": ((), (X,)),
    "IoU": ((), (BOXES, BOXES)),
    "Mish": ((), (X,)),
    "MulSigmoid": ((), (X, X)),
    "MyOp": ((), (X, X)),
    "NMS": ((), (BOXES, np.float32([0.5]))),
    "RotaryEmbedding": ((), (Q, Q[0, 0], Q[0, 0])),
    "ScaleMaskSoftmax": ((), (X, X)),
    "ScaledDotProductAttention": ((), (Q, Q, Q, Q[0, 0, :, :3])),
    "SwiGLU": ((), (X, X)),
    "Swish": ((), (X,)),
}
CELLS = {**OF_CELLS, **OTHERS}
BAD = {"a number": 1.5, "None": None, "a list": [1.0, 2.0], "an array": X, "a text": "x"}


def names_both(error, operator, argument):
    text = str(error.value)
    assert f"{operator}: {argument} is not a tensor; expected a mindspore.Tensor, got " in text, (
        text
    )


TRIED = [
    pytest.param(
        spec,
        route,
        bad,
        id=f"{spec.name}-{route}-{label}",
        marks=FULL if (number + place) % 3 else [],
    )
    for number, spec in enumerate(SPECS.values())
    for route in ("native", "composite")
    for place, (label, bad) in enumerate(BAD.items())
    if spec.samples and (route == "native" or spec.composite is not None)
]
"""`make test` takes a third of the non-tensors for each operator, alternating."""


@cases("spec, route, bad", TRIED, per_item=100)
def test_operators(spec, route, bad):
    ms.set_context(mode=ms.PYNATIVE_MODE)
    tensors = [ms.Tensor(array) for array in arrays_of(spec, spec.samples[0], "float32")]
    for place, argument in enumerate(spec.inputs):
        given = [*tensors[:place], bad, *tensors[place + 1 :]]
        with pytest.raises(InputError) as error:
            FusedCell(spec, {}, route)(*given)
        names_both(error, spec.name, argument)
        if route == "native":
            with pytest.raises(InputError) as error:
                primitive(spec, {})(*given)
            names_both(error, spec.name, argument)


@cases("mode", ["pynative", pytest.param("graph", marks=FULL)])
@cases("name", CELLS)
def test_a_cell_refuses_a_non_tensor_for_each_argument(name, mode, subtests):
    """An argument whose default is None may be None."""
    set_mode(mode)
    arguments, arrays = CELLS[name]
    cell = getattr(custom_ops, name)(*arguments)
    tensors = [ms.Tensor(array) for array in arrays]
    for place in range(len(tensors)):
        for bad in BAD.values():
            may_be_none = (
                name in ("GeGLU", "SwiGLU", "ScaleMaskSoftmax", "ScaledDotProductAttention")
                and place == len(tensors) - 1
            )
            if bad is None and may_be_none:
                continue
            with (
                subtests.test(place=place, bad=bad),
                pytest.raises(
                    InputError,
                    match=rf"{name}: \w+ is not a tensor; expected a mindspore.Tensor, got",
                ),
            ):
                cell(*tensors[:place], bad, *tensors[place + 1 :])


def test_every_public_cell_is_tried():
    public = {name: getattr(custom_ops, name) for name in custom_ops.__all__}
    cells = {
        name
        for name, one in public.items()
        if isinstance(one, type)
        and one.__name__ == name
        and one.__module__.startswith("custom_ops.operators")
        and issubclass(one, ms.nn.Cell)
    }
    assert cells == set(CELLS)


class Doubled(ms.nn.Cell):
    def __init__(self, call):
        super().__init__()
        self.call = call

    def construct(self, x):
        return self.call(x, 2.0)


def test_a_number_in_a_graph():
    ms.set_context(mode=ms.GRAPH_MODE)
    with pytest.raises(
        InputError, match=r"AddReLU: y is not a tensor; expected a mindspore.Tensor, got 2\.0"
    ):
        Doubled(custom_ops.AddReLU())(ms.Tensor(X))


def test_another_shape_or_dtype_than_the_other():
    add_relu = custom_ops.AddReLU()
    with pytest.raises(
        InputError, match=r"^AddReLU: y has a wrong shape; expected \(2, 8\), got \(8,\)\.$"
    ):
        add_relu(ms.Tensor(X), ms.Tensor(X[0]))
    with pytest.raises(
        InputError,
        match=r"^AddReLU: the dtypes of y and x differ; expected float32, got float16\.$",
    ):
        add_relu(ms.Tensor(X), ms.Tensor(X.astype(np.float16)))


@cases("axis", [1.0, (0, 1), True], ids=str)
def test_an_axis_that_is_no_whole_number(axis):
    """The value is not confused with the equal number, now or in later calls."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    for function in (custom_ops.functional.softmax, custom_ops.functional.log_softmax):
        with pytest.raises(
            InputError, match="oftmax: axis is not an integer; expected an integer, got"
        ):
            function(ms.Tensor(X), axis=axis)
        assert function(ms.Tensor(X), axis=1).shape == X.shape


@cases("wrong", ["1", None, True, 1j, np.complex64(1), np.True_], ids=repr)
def test_a_factor_that_is_no_number(wrong):
    with pytest.raises(InputError, match="Swish: beta is not a number; expected a number, got"):
        custom_ops.Swish(beta=wrong)


NO_TENSOR = {
    "functional.swish(v.shape[0] * 0.5)": "Swish: x",
    "functional.swish(None)": "Swish: x",
    "functional.swish([1.0, 2.0])": "Swish: x",
    "functional.swish(array)": "Swish: x",
    "functional.swish('a')": "Swish: x",
    "swish(0.5)": "Swish: x",
    "functional.softmax(v.shape)": "Softmax: x",
    "functional.softmax([v, v])": "Softmax: x",
    "functional.add_relu(1.0, 2.0)": "AddReLU: x",
    "functional.add_relu(1.0, v)": "AddReLU: x",
    "functional.add_relu(v, None)": "AddReLU: y",
    "functional.dense(1.0, 2.0)": "MatMul: x",
    "functional.conv2d(1.0, 2.0)": "Conv2d: x",
    "functional.token_embedding(1, 2.0)": "TokenEmbedding: ids",
    "functional.scaled_dot_product_attention(1.0, 2.0, 3.0)": "ScaledDotProductAttention: q",
    "functional.group_norm(1.0, 1, 2.0, 3.0)": "GroupNorm: x",
    "functional.add_layer_norm(1.0, 2.0, 3.0, 4.0)": "AddLayerNorm: x",
    "functional.batch_norm(None, None, None)": "BatchNormTraining: x",
    "functional.nms(1.0, 2.0)": "NMS: boxes",
    "functional.box_decode(1.0, ((1.0, 2.0),), 8)": "BoxDecode: x",
}
"""Calls with a non-tensor in one place or in none, and the argument at that place."""
PROGRAM = ROOT / "tests" / "programs" / "custom_ops" / "calls_without_tensors.py"


@FULL
@cases("how", ["graph", "jit"])
def test_nothing_that_a_graph_hands_over_is_a_tensor(how, tmp_path):
    """In a child: MindSpore passes invalid memory for these shapes."""
    functions = [f"def call{i}(v):\n    return {call}" for i, call in enumerate(NO_TENSOR)]
    names = ", ".join(f"call{i}" for i in range(len(NO_TENSOR)))
    script = tmp_path / f"{how}.py"
    script.write_text(
        PROGRAM.read_text("utf-8").replace(
            "CALLS = ()", "\n\n".join([*functions, f"CALLS = ({names},)"])
        ),
        "utf-8",
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(script, how, cwd=tmp_path, environment=environment, timeout_s=150)
    assert done.returncode == 0, (done.returncode, done.output[-2000:])
    said = [line for line in done.output.splitlines() if line.startswith(("InputError", "nothing"))]
    assert len(said) == len(NO_TENSOR), done.output
    for (call, argument), line in zip(NO_TENSOR.items(), said, strict=True):
        assert line.startswith(
            f"InputError {argument} is not a tensor; expected a mindspore.Tensor, got "
        ), (call, line)
