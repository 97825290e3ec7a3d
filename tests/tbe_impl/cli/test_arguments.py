"""Classification of an operator function's parameters, and the arguments of its call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tbe_impl.cli.arguments import ArrayDescription, bind_arguments, parse_attribute
from tbe_impl.compat.mindspore_names import RegisterInformation, op_info_register
from tbe_impl.compat.para_check import check_input_type, check_op_params
from tbe_impl.errors import InputError
from tbe_impl.loading.parameter_roles import OperatorParameter, infer_parameter_roles
from tests.cases import cases

X, Y, W = (
    ArrayDescription((2, 3), "float16"),
    ArrayDescription((3,), "float32"),
    ArrayDescription((4,), "int32"),
)


def unary(x, y, kernel_name="unary"): ...
def binary(input_x, input_y, output_z, kernel_name="binary"): ...
def with_axis(x, y, axis, keep_dims=False, kernel_name="k"): ...
def optional_bias(x1, x2, bias=None, output_y=None, trans_a=False, kernel_name="k"): ...
def listed(values, y, axis, kernel_name="k"):
    return [item.get("shape") for item in values]


def gradient(y, dy, z, kernel_name="k"): ...
def optimiser(var, m, grad, lr, momentum, var_out, m_out, kernel_name="k"):
    return lr.get("shape"), momentum.get("shape")


def empty_dicts(w1_gm, w2_gm, d_w1_gm={}, d_w2_gm={}, kernel_name="k"): ...  # noqa: B006
def oldest(shape, dtype, kernel_name="k", need_build=False, need_print=False): ...
def oldest_two(
    shape_x, shape_y, src_dtype, dst_dtype, axis, kernel_name, need_build, need_print
): ...
def oldest_list(shapes, dtype, axis, kernel_name="k"): ...


@check_op_params(
    "required_input",
    "option_input",
    "required_output",
    "option_output",
    "REQUIRED_ATTR_LIST_INT",
    "OPTION_ATTR_FLOAT",
    "kernel_name",
)
def declared(x, bias, y, mask, axes, scale=1.0, kernel_name="k"): ...
@check_op_params("dynamic_input", "required_output", "kernel_name")
def declared_list(inputs, y, kernel_name="k"): ...
@check_input_type(dict, dict, dict, int, str)
def typed_only(x, batch_std, y, channel, kernel_name="k"): ...


class Wrapped:
    """A decorator that does not expose the wrapped function."""

    @staticmethod
    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **keywords: Any) -> Any:
            return function(*args, **keywords)

        return call


hidden = Wrapped.around(binary)
information = (
    RegisterInformation("Scale")
    .attr("n", "required", "int", "all")
    .input(0, "a", False, "required", "all")
    .output(0, "b", False, "required", "all")
    .get_op_info()
)


@cases(
    "function, inputs, expected",
    [
        (unary, 1, "x:input y:output kernel_name:name"),
        (binary, 2, "input_x:input input_y:input output_z:output kernel_name:name"),
        (with_axis, 1, "x:input y:output axis:attribute keep_dims:attribute kernel_name:name"),
        (
            optional_bias,
            2,
            "x1:input x2:input bias:attribute output_y:output trans_a:attribute kernel_name:name",
        ),
        (listed, 3, "values:inputs y:output axis:attribute kernel_name:name"),
        (gradient, 2, "y:input dy:input z:output kernel_name:name"),
        (empty_dicts, 2, "w1_gm:input w2_gm:input d_w1_gm:output d_w2_gm:output kernel_name:name"),
        (oldest, 1, "shape:shape dtype:dtype kernel_name:name need_build:flag need_print:flag"),
        (
            oldest_two,
            2,
            "shape_x:shape shape_y:shape src_dtype:dtype dst_dtype:dtype axis:attribute "
            "kernel_name:name need_build:flag need_print:flag",
        ),
        (oldest_list, 2, "shapes:shapes dtype:dtype axis:attribute kernel_name:name"),
        (
            declared,
            1,
            "x:input bias:input y:output mask:output axes:attribute scale:attribute "
            "kernel_name:name",
        ),
        (declared_list, 4, "inputs:inputs y:output kernel_name:name"),
        (typed_only, 2, "x:input batch_std:input y:output channel:attribute kernel_name:name"),
        (hidden, 2, "input_x:input input_y:input output_z:output kernel_name:name"),
    ],
)
def test_each_parameter_has_its_role(
    function: Callable[..., Any], inputs: int, expected: str
) -> None:
    found = infer_parameter_roles(function, inputs=inputs)
    assert " ".join(f"{item.name}:{item.role}" for item in found) == expected


def test_a_registration_says_how_many_inputs_there_are() -> None:
    @op_info_register_here
    def scale(first, second, n, kernel_name="scale"): ...

    found = infer_parameter_roles(scale, inputs=1)
    assert [item.role for item in found] == ["input", "output", "attribute", "name"]


def op_info_register_here(function: Callable[..., Any]) -> Callable[..., Any]:
    from tbe_impl import compat

    with compat.installed(soc="Ascend910A"):
        return op_info_register(information)(function)


def positional(function: Callable[..., Any], *inputs: ArrayDescription, **texts: str) -> list[Any]:
    made = bind_arguments(function, inputs, attributes=texts, place="op.py:1")
    return [*made.positional, *(f"{key}={value}" for key, value in made.keywords.items())]


def test_descriptions_become_dicts() -> None:
    first, second = positional(unary, X)
    assert first["shape"] == first["ori_shape"] == (2, 3)
    assert (first["dtype"], first["format"], first["ori_format"]) == ("float16", "ND", "ND")
    assert second["shape"] == (2, 3) and second is not first
    assert ArrayDescription((2, 0)).is_known and not ArrayDescription((2, -1)).is_known
    assert positional(unary, ArrayDescription((0, -1)))[0]["range"] == ((0, 0), (1, None))


def test_the_oldest_take_shapes_and_dtypes() -> None:
    assert positional(oldest, X) == [(2, 3), "float16"]
    found = bind_arguments(
        oldest_two, (X, Y), (W,), {"axis": "1", "kernel_name": "k"}, place="op.py:1"
    )
    assert found.positional == ((2, 3), (3,), "float16", "int32")
    assert dict(found.keywords) == {
        "axis": 1,
        "kernel_name": "k",
        "need_build": True,
        "need_print": False,
    }
    assert positional(oldest_list, X, X, axis="0") == [[(2, 3), (2, 3)], "float16", "axis=0"]


def test_outputs_are_as_wide_as_all_inputs_unless_described() -> None:
    found = bind_arguments(binary, (Y, X), place="op.py:1")
    assert found.outputs == (ArrayDescription((2, 3), "float32", name="output_z"),)
    found = bind_arguments(binary, (Y, X), (W,), place="op.py:1")
    assert (found.outputs[0].shape, found.outputs[0].dtype) == ((4,), "int32")
    found = bind_arguments(optimiser, (X, Y, X, W, W), (), {}, place="op.py:1")
    assert [item.shape for item in found.outputs] == [(2, 3), (3,)]


def test_optional_inputs_are_filled_only_when_enough_are_given() -> None:
    assert positional(declared, X, axes="0")[1] is None
    assert positional(declared, X, Y, axes="0")[1]["shape"] == (3,)
    assert positional(optional_bias, X, X)[2] is None
    assert positional(optional_bias, X, X, Y)[2]["shape"] == (3,)


@cases(
    "text, parameter, value",
    [
        ("1", OperatorParameter("a", "attribute", False, 0.5), 1.0),
        ("1", OperatorParameter("a", "attribute", True, kind="FLOAT"), 1.0),
        ("inf", OperatorParameter("a", "attribute", True, kind="FLOAT"), float("inf")),
        ("3", OperatorParameter("a", "attribute", True), 3),
        ("0.5", OperatorParameter("a", "attribute", False, 1), 0.5),
        ("true", OperatorParameter("a", "attribute", False, False), True),
        ("False", OperatorParameter("a", "attribute", True, kind="BOOL"), False),
        ("1", OperatorParameter("a", "attribute", True, kind="BOOL"), True),
        ("0,-1", OperatorParameter("a", "attribute", True), [0, -1]),
        ("[0, 1]", OperatorParameter("a", "attribute", False, 0), [0, 1]),
        ("2", OperatorParameter("a", "attribute", True, kind="LIST_INT"), [2]),
        ("1,2", OperatorParameter("a", "attribute", False, (0, 0)), (1, 2)),
        ("1,2", OperatorParameter("a", "attribute", True, kind="LIST_FLOAT"), [1.0, 2.0]),
        ("none", OperatorParameter("a", "attribute", False, None), None),
        ("float32", OperatorParameter("a", "attribute", True), "float32"),
        ("7", OperatorParameter("a", "attribute", False, "sum"), "7"),
        ("same,valid", OperatorParameter("a", "attribute", True), ["same", "valid"]),
    ],
)
def test_texts_of_attributes(text: str, parameter: OperatorParameter, value: Any) -> None:
    found = parse_attribute(text, parameter, "op.py:1")
    assert found == value and type(found) is type(value)


@cases(
    "function, inputs, texts, says",
    [
        (unary, [X, X], {}, "too many inputs; expected 1 (x), got 2"),
        (declared, [], {"axes": "0"}, "there is no input for x"),
        (declared, [X], {}, "needs the attribute axes"),
        (declared, [X], {"axis": "0"}, "Did you mean axes?"),
        (declared, [X], {"axes": "0", "scale": "wide"}, "expected a number, got 'wide'"),
        (declared, [X], {"axes": "0.5"}, "expected a whole number, got '0.5'"),
        (declared_list, [], {}, "there is no input for inputs"),
        (oldest_two, [X], {"axis": "0"}, "there is no input for shape_y"),
    ],
)
def test_wrong_arguments(
    function: Callable[..., Any], inputs: list[ArrayDescription], texts: dict[str, str], says: str
) -> None:
    with pytest.raises(InputError) as caught:
        bind_arguments(function, inputs, attributes=texts, place="op.py:1")
    assert says in str(caught.value) and str(caught.value).startswith("op.py:1: ")
