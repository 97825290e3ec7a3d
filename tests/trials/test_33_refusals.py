"""Each rule of the operator checks: one accepted call, one refused, and its code."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

from tbe_impl import compat, dsl
from tbe_impl.compat import (
    building,
    classify,
    error_manager,
    gather_variants,
    newer_operations,
    operator_context,
    para_check,
    platform,
    shape_util,
    transdata,
    window_sizes,
)
from tbe_impl.compat.modules import names_of
from tbe_impl.compat.session import operator_scope
from tbe_impl.compat.tvm import blocked_images, device_functions, sparse_rows, tensor_language
from tbe_impl.dsl.tensor import reduce_axis
from tbe_impl.errors import InputError
from tbe_impl.loading.operator import load_operator
from tests.cases import cases
from tests.trials.operators import described

X = described((2, 3))
UNKNOWN = described((-1, 3))
LONG = "x" * 201


def without(key: str, given: dict[str, Any] = X) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name != key}


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    with compat.installed(soc="Ascend910A"):
        yield


def checked(kind: str, value: Any) -> None:
    """An operator of one parameter, under ``check_op_params``."""

    def operator(given: Any) -> None:
        pass

    para_check.check_op_params(getattr(para_check, kind))(operator)(value)


# kind | accepted | refused | code
KINDS: list[tuple[str, Any, Any, str]] = [
    ("REQUIRED_INPUT", X, None, "E80001"),
    ("REQUIRED_INPUT", X, [X], "E80003"),
    ("REQUIRED_INPUT", X, without("shape"), "E80004"),
    ("REQUIRED_INPUT", X, without("dtype"), "E80004"),
    ("REQUIRED_INPUT", X, without("format"), "E80004"),
    ("REQUIRED_INPUT", X, without("ori_shape"), "E80004"),
    ("REQUIRED_INPUT", X, without("ori_format"), "E80004"),
    ("REQUIRED_INPUT", UNKNOWN, without("range", UNKNOWN), "E80004"),
    ("REQUIRED_INPUT", {**X, "shape": [2]}, {**X, "shape": 2}, "E80003"),
    ("REQUIRED_INPUT", {**X, "shape": (0,)}, {**X, "shape": (2.0,)}, "E80003"),
    ("REQUIRED_INPUT", {**X, "shape": (1,) * 8}, {**X, "shape": (1,) * 9}, "E80012"),
    ("REQUIRED_INPUT", {**X, "ori_shape": (1,) * 8}, {**X, "ori_shape": (1,) * 9}, "E80012"),
    ("REQUIRED_INPUT", UNKNOWN, {**UNKNOWN, "shape": (-1, -3)}, "E80002"),
    ("REQUIRED_INPUT", UNKNOWN, {**UNKNOWN, "range": [(1, None)]}, "E80021"),
    ("REQUIRED_INPUT", UNKNOWN, {**UNKNOWN, "range": [(5, 2), (3, 3)]}, "E80022"),
    ("REQUIRED_INPUT", UNKNOWN, {**UNKNOWN, "range": [(1, None, 2), (3, 3)]}, "E80023"),
    ("REQUIRED_INPUT", UNKNOWN, {**UNKNOWN, "range": None}, "E80003"),
    ("REQUIRED_INPUT", {**X, "format": "NC1HWC0"}, {**X, "format": "NC1HWC1"}, "E80015"),
    ("REQUIRED_INPUT", {**X, "ori_format": "NHWC"}, {**X, "ori_format": "HNWC"}, "E80014"),
    ("REQUIRED_INPUT", {**X, "dtype": "INT8"}, {**X, "dtype": "int9"}, "E80008"),
    ("REQUIRED_INPUT", X, {**X, "dtype": None}, "E80003"),
    ("OPTION_INPUT", None, 3, "E80003"),
    ("DYNAMIC_INPUT", [X], [], "E80001"),
    ("DYNAMIC_INPUT", (X, X), X, "E80003"),
    ("DYNAMIC_INPUT", [X], [X, None], "E80003"),
    ("REQUIRED_OUTPUT", X, None, "E80001"),
    ("OPTION_OUTPUT", None, [X], "E80003"),
    ("DYNAMIC_OUTPUT", [X], (), "E80001"),
    ("REQUIRED_ATTR_INT", 3, None, "E80001"),
    ("REQUIRED_ATTR_INT", 3, 3.0, "E80003"),
    ("OPTION_ATTR_INT", None, "3", "E80003"),
    ("REQUIRED_ATTR_FLOAT", 3.0, None, "E80001"),
    ("REQUIRED_ATTR_FLOAT", 3.0, 3, "E80003"),
    ("OPTION_ATTR_FLOAT", 0, True, "E80003"),
    ("OPTION_ATTR_FLOAT", 1e38, float("nan"), "E80000"),
    ("OPTION_ATTR_FLOAT", -1e38, float("-inf"), "E80000"),
    ("REQUIRED_ATTR_STR", "sum", 3, "E80003"),
    ("REQUIRED_ATTR_BOOL", True, 1, "E80003"),
    ("OPTION_ATTR_BOOL", False, "true", "E80003"),
    ("OPTION_ATTR_TYPE", "float16", "half", "E80003"),
    ("REQUIRED_ATTR_LIST_INT", [1, -1], 1, "E80003"),
    ("REQUIRED_ATTR_LIST_INT", (1, 2), (1, 2.0), "E80003"),
    ("REQUIRED_ATTR_LIST_INT", [1], None, "E80001"),
    ("OPTION_ATTR_LIST_FLOAT", [1.0], [1], "E80003"),
    ("OPTION_ATTR_LIST_FLOAT", [1.0], [float("inf")], "E80000"),
    ("OPTION_ATTR_LIST_BOOL", [True], [1], "E80003"),
    ("OPTION_ATTR_LIST_LIST_INT", [[1], (2, 3)], [1], "E80003"),
    ("OPTION_ATTR_LIST_LIST_INT", [[1]], [[1.0]], "E80003"),
    ("OPTION_ATTR_STR", None, b"sum", "E80003"),
    ("REQUIRED_ATTR_TYPE", "int8", None, "E80001"),
    ("OPTION_ATTR_TYPE", "bfloat16", "BFLOAT16", "E80003"),
    ("OPTION_ATTR_LIST_INT", None, [True, "1"], "E80003"),
    ("REQUIRED_ATTR_LIST_FLOAT", [], None, "E80001"),
    ("REQUIRED_ATTR_LIST_BOOL", (True, False), (True, None), "E80003"),
    ("REQUIRED_ATTR_LIST_STR", ["a"], "a", "E80003"),
    ("OPTION_ATTR_LIST_STR", ["a", ""], ["a", 1], "E80003"),
    ("REQUIRED_ATTR_LIST_LIST_INT", [[1], []], [[1], None], "E80003"),
    ("KERNEL_NAME", "_add_1", "add-1", "E80020"),
    ("KERNEL_NAME", "add", "", "E80020"),
    ("KERNEL_NAME", "add", "add\n", "E80020"),
    ("KERNEL_NAME", None, "1add", "E80020"),
    ("KERNEL_NAME", LONG[1:], LONG, "E80002"),
    ("KERNEL_NAME", "add", 1, "E80003"),
]


@cases("kind, accepted, refused, code", KINDS)
def test_parameters(kind: str, accepted: Any, refused: Any, code: str) -> None:
    checked(kind, accepted)
    with pytest.raises(RuntimeError) as caught:
        checked(kind, refused)
    assert caught.value.args[0]["errCode"] == code
    assert caught.value.args[0]["op_name"] == "operator" or code == "E80021"


# types | accepted | refused | code
TYPES: list[tuple[Any, Any, Any, str]] = [
    (int, 3, 3.0, "E60038"),
    ((list, tuple), (1,), {1}, "E60038"),
    (dict, X, None, "E60038"),
    (dict, X, {**X, "shape": 2}, "E60037"),
    (dict, X, {**X, "dtype": None}, "E60037"),
]


@cases("types, accepted, refused, code", TYPES)
def test_types_of_parameters(types: Any, accepted: Any, refused: Any, code: str) -> None:
    def operator(given: Any) -> Any:
        return given

    wrapped = para_check.check_input_type(types)(operator)
    assert wrapped(accepted) is accepted
    for call in (lambda: wrapped(refused), lambda: wrapped(given=refused)):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert caught.value.args[0]["errCode"] == code


TENSOR = {"shape": (2, -1), "range": [(2, 2), (1, 9)]}
PARAMETERS = {"checks": para_check, "shapes": shape_util, "windows": window_sizes}
# module.function | accepted | refused | code
CALLS: list[tuple[str, tuple[Any, ...], tuple[Any, ...], str]] = [
    ("checks.check_shape", ((2, 3),), ("23",), "E80003"),
    ("checks.check_shape", ((2, 3),), ((2, None),), "E80003"),
    ("checks.check_shape", ((0,),), ((-1,),), "E80002"),
    ("checks.check_shape", ((5,), 1, 3), ((0,), 1, 3), "E80002"),
    ("checks.check_shape", ((2,), 2), ((1,), 2), "E80002"),
    ("checks.check_shape", ((2,), 0, 9, 1), ((), 0, 9, 1), "E80012"),
    ("checks.check_shape", ((2,), 0, 9, 1, 2), ((2, 2, 2), 0, 9, 1, 2), "E80012"),
    ("checks.check_shape", ((2, 3), 0, 9, 0, 8, 6), ((2, 2), 0, 9, 0, 8, 6), "E80011"),
    # the toolkit gives max_size no effect
    ("checks.check_shape", ((2, 3), 0, 9, 0, 8, 1, 5), ((2, 0), 0, 9, 0, 8, 1, 5), "E80011"),
    ("checks.check_dynamic_shape", ((-1, 0, -2),), ((-3,),), "E80002"),
    ("checks.check_dynamic_shape", ((-1, 9), 9), ((-1, 10), 9), "E80002"),
    ("checks.check_dynamic_shape", ((-1, 9), 9, 2), ((-1, 9, 9), 9, 2), "E80012"),
    ("checks.check_range", ((2,), [(2, 2)]), ((2,), [(2, 2), (3, 3)]), "E80021"),
    ("checks.check_range", ((-1,), [(0, None)]), ((-1,), [(-1, None)]), "E80022"),
    ("checks.check_range", ((-1,), [(1, 2**63 - 1)]), ((-1,), [(1, 2**63)]), "E80022"),
    ("checks.check_range", ((-1,), [(1, None)]), ((-1,), [(None, 1)]), "E80003"),
    ("checks.check_range", ((-1,), [(1, None)]), ((-1,), [3]), "E80023"),
    ("checks.check_dtype", ("Float16", ("float16",)), ("float32", ("float16",)), "E80008"),
    ("checks.check_dtype", ("float32", "float32"), (None, "float32"), "E80007"),
    ("checks.check_dtype", ("int8",), (8,), "E80003"),
    ("checks.check_format", ("ND",), ("DN",), "E80015"),
    ("checks.check_format", ("NHWC", ["NHWC"]), ("ND", ["NHWC"]), "E80015"),
    ("checks.check_format", ("NHWC", "NHWC"), (None, "NHWC"), "E80017"),
    ("checks.check_elewise_shape_range", ([TENSOR],), ([TENSOR, 3],), "E80003"),
    (
        "checks.check_elewise_shape_range",
        ([TENSOR, TENSOR],),
        ([TENSOR, without("range", TENSOR)],),
        "E80004",
    ),
    (
        "checks.check_elewise_shape_range",
        ([TENSOR, {"shape": (9,), "range": [(9, 9)]}],),
        ([TENSOR, {"shape": (10,), "range": [(10, 10)]}],),
        "E80024",
    ),
    (
        "checks.check_elewise_shape_range",
        ([TENSOR, {"shape": (3, 1), "range": [(2, 2), (5, 5)]}], True),
        ([TENSOR, {"shape": (3, 5), "range": [(3, 3), (5, 5)]}], True),
        "E80024",
    ),
    (
        "checks.check_elewise_shape_range",
        ([TENSOR, TENSOR],),
        ([TENSOR, {"shape": (1,), "range": [(1,)]}],),
        "E80023",
    ),
    (
        "checks.check_elewise_shape_range",
        ([TENSOR, TENSOR],),
        ([TENSOR, {"shape": (2, -1), "range": [(2, 2)]}],),
        "E80021",
    ),
    ("checks.check_dtype_rule", ("INT8", ("int8",)), (None, ("int8",)), "E60038"),
    ("checks.check_dtype_rule", ("int8", ("int8",)), ("int32", ("int8",)), "E60038"),
    ("checks.check_dtype_rule", ("int8", ("int8",), "x"), ("int32", ("int8",), "x"), "E60005"),
    ("checks.check_shape_rule", ([2, 3],), ("23",), "E60037"),
    ("checks.check_shape_rule", ((1,) * 8,), ((1,) * 9,), "E60011"),
    ("checks.check_shape_rule", ((2, 2), 2, 3), ((2,), 2, 3), "E60011"),
    ("checks.check_shape_rule", ((2,),), ((True,),), "E60037"),
    ("checks.check_shape_rule", ((2,),), ((0,),), "E60039"),
    ("checks.check_kernel_name", (None,), ("a b",), "E60038"),
    ("checks.check_kernel_name", (LONG[1:],), (LONG,), "E60039"),
    ("checks.check_shape_size", ((2, 3), 7), ((2, 3), 6), "E60039"),
    ("checks.check_reduce_shape_rule", ((200, 1000, 1000),), ((201, 1000, 1000),), "E60039"),
    (
        "checks.check_and_init_5hdc_reduce_support",
        ({**X, "format": "NC1HWC0"}, (1, 4)),
        ({**without("ori_shape"), "format": "NC1HWC0"}, (1, 4)),
        "E60040",
    ),
    ("shapes.wrap_axes_to_positive", ([-1, 2], 3), ([3], 3), "E90001"),
    ("shapes.wrap_axes_to_positive", (-3, 3), (-4, 3), "E90001"),
    ("shapes.axis_check", (3, [-1, 0]), (3, [-4, 0]), "E90001"),
    ("shapes.axis_check", (3, 2), (3, 2.0), "E90001"),
    ("shapes.axis_check", (3, (0, 1)), (3, (0, True)), "E90001"),
    ("shapes.refine_shape_axes", ((2, 3), [-2]), ((2, 3), [2]), "E90001"),
    ("shapes.simplify_axis_shape", ([2, 3], [-2]), ([2, 3], [-3]), "E90001"),
    ("shapes.shape_refine", ((2, 3), [1]), ((2, 3), [2]), "E90001"),
    ("shapes.broadcast_shapes", ((2, 1), (3,)), ((2, 2), (3,)), "E80013"),
    ("shapes.produce_shapes", ((2, 1), (3,)), ((2, 2), (3,)), "E80013"),
    ("shapes.unify_broadcast_shapes", ([(2, 1), (3,), ()],), ([(2, 1), (3,), (4,)],), "E80013"),
    (
        "shapes.compare_tensor_dict_key",
        (X, {"shape": [2, 3]}, "shape"),
        (X, {"shape": [3, 2]}, "shape"),
        "E80017",
    ),
    (
        "shapes.compare_tensor_dict_key",
        (X, {"dtype": "FLOAT16"}, "dtype"),
        (X, {"dtype": "int8"}, "dtype"),
        "E80018",
    ),
    ("shapes.compare_tensor_dict_key", (X, X, "dtype"), (X, {}, "dtype"), "E80004"),
    ("shapes.compare_tensor_dict_key", (X, X, "dtype"), (3, X, "dtype"), "E80004"),
    ("shapes.check_input_tensor_shape", ((2, 3),), ((2, 0),), "E90001"),
    ("shapes.check_input_tensor_shape", ([1],), ([1.0],), "E90001"),
    ("shapes.ceil_div", (7, 2), (7, 0), "E90001"),
    ("shapes.align", (7, 2), (7, 0), "E90001"),
    ("windows.windowed_output_size", (7, 3, 2, "SAME"), (7, 3, 2, "EXPLICIT"), "E90001"),
    ("windows.windowed_output_size", (7, 3, 2, "SAME"), (7, 3, 0, "SAME"), "E90001"),
    (
        "windows.windowed_output_size_dilated",
        (7, 3, 1, 2, "VALID"),
        (7, 3, 0, 2, "VALID"),
        "E90001",
    ),
    (
        "windows.caffe_output_size",
        (0, 8, 8, 3, 3, 2, 2, 1, 1, 0, 0, 0, 0),
        (0, 8, 8, 3, 3, 0, 2, 1, 1, 0, 0, 0, 0),
        "E90001",
    ),
]


@cases("name, accepted, refused, code", CALLS)
def test_each_rule_accepts_one_call_and_refuses_another(
    name: str, accepted: Any, refused: Any, code: str
) -> None:
    module, _, function = name.partition(".")
    call = getattr(PARAMETERS[module], function)
    with operator_scope([UNKNOWN] if "elewise" in name else [X]):
        call(*accepted)
        with pytest.raises(RuntimeError) as caught:
            call(*refused)
    assert caught.value.args[0]["errCode"] == code


@cases(
    "module, name",
    [
        ("te.lang.cce.te_compute.util", "check_input_tensor_shape"),
        ("tbe.dsl.compute.util", "align"),
        ("te.lang.cce.te_compute.util", "int_ceil_div"),
        ("te.utils.para_check", "check_shape"),
        ("tbe.common.utils.shape_util", "axis_check"),
        ("topi.cce.util", "check_shape_rule"),
    ],
)
def test_helpers_stand_in_the_modules_of_the_toolkit(module: str, name: str) -> None:
    found = names_of(module)[name]
    assert found.__module__.startswith("tbe_impl.compat."), found
    assert found.__name__ != "<lambda>"


def of(*shape: int, **more: Any) -> dict[str, Any]:
    return described(shape, **more)


# pattern | accepted | refused; each: inputs, extra parameters
PATTERNS: list[tuple[str, tuple[Any, Any], tuple[Any, Any]]] = [
    ("elewise", ([of(2, 3), of(2, 3)], None), ([of(2, 3), of(2, 4)], None)),
    ("elewise", ([of(-1, 3), of(2, -1)], None), ([of(-1, 3), of(-1, 4)], None)),
    ("elewise", ([of(2, 3), of(2, 3)], None), ([of(2, 3), of(3)], None)),
    ("elewise", ([of(2)], {}), ([of(2)], {"disable_optimization": True})),
    ("ElemWise", ([of(2, 3), of(2, 3)], None), ([of(2, 3), of(2, 4)], None)),
    ("broadcast", ([of(2, 1), of(3)], None), ([of(2, 2), of(3)], None)),
    ("Broadcast", ([of(2, 1), of(3)], None), ([of(2, 2), of(3)], None)),
    ("broadcast", ([of(-1), of(3)], None), ([of(-1, range=[(4, 9)]), of(3)], None)),
    ("broadcast", ([of(-1, range=[(1, 2)]), of(3)], None), ([of(-1, range=[(2, 2)]), of(3)], None)),
    ("norm", ([of(2, 3), [-1]], None), ([of(2, 3), [2]], None)),
    ("tuple_reduce", ([of(2, 3), of(2, 3), [1]], None), ([of(2, 3), of(2, 3), [-3]], None)),
    (
        "reduce",
        ([of(2, 3), {"shape": (1,), "value": [1], "rel_pos_to_reduce": "axis"}], None),
        ([of(2, 3), {"shape": (1,), "value": [2], "rel_pos_to_reduce": "axis"}], None),
    ),
    ("concat", ([[of(2, 3), of(2, 4)]], {"axis": -1}), ([[of(2, 3), of(2, 4)]], {"axis": 0})),
    ("concat", ([[of(2, 3)]], {"axis": 1}), ([[of(2, 3)]], {"axis": 2})),
    ("concat", ([[of(2)]], {"axis": 0}), ([[of(2)]], None)),
    ("concat", ([[of(2)] * 63], {"axis": 0}), ([[of(2)] * 64], {"axis": 0})),
    ("concat", ([[of(2)]], {"axis": 0}), ([[]], {"axis": 0})),
    ("split", ([of(4), 0, [1, 3]], {"num_split": 2}), ([of(4), 0, [1, 3]], None)),
    (
        "split",
        ([of(4), 0], {"num_split": 2, "avg_split": True}),
        ([of(4), 1], {"num_split": 2, "avg_split": True}),
    ),
    ("split", ([of(4), 0, [1, 3]], {"num_split": 2}), ([of(4)], {"num_split": 2})),
    ("transpose", ([of(2, 3)], {"axes": [1, 0]}), ([of(2, 3)], {"axes": [1, 2]})),
    ("transpose", ([of(2, 3)], {"axes": [1, 0]}), ([of(2, 3)], None)),
    ("transpose", ([of(2, 3)], {"axes": [1, 0]}), ([of(2, 3), of(2)], {"axes": [1, 0]})),
    (
        "slice",
        ([of(4), {"shape": (1,), "const_value": [0]}, {"shape": (1,), "const_value": [2]}], None),
        ([of(4)], None),
    ),
    ("gather", ([of(4, 3), of(2), 0, 0], None), ([of(4, 3), of(2), 2, 0], None)),
    ("gather_nd", ([of(4, 3), of(5, 2), 0], None), ([of(4, 3), of(5, 3), 0], None)),
    (
        "scatter_nd",
        ([of(2, 1), of(2), {"shape": (1,), "const_value": [4]}], {"op_name": "scatter_nd"}),
        ([of(2, 1), of(2), {"shape": (1,)}], {"op_name": "scatter_nd"}),
    ),
]


@cases("pattern, accepted, refused", PATTERNS)
def test_classifiers(pattern: str, accepted: Any, refused: Any) -> None:
    inputs, extra = accepted
    assert len(classify.classify(inputs, pattern, extra)) == 1
    inputs, extra = refused
    with pytest.raises(RuntimeError) as caught:
        classify.classify(inputs, pattern, extra)
    assert caught.value.args[0]["errCode"] == "E90001"


@cases(
    "pattern, accepted, refused, code",
    [
        (True, [of(2, 3), of(3)], [of(2, 3)], "E80027"),
        ("transpose", [of(2, 3)], [of(2, 3), of(2, 3)], "E90001"),
        ("concat", [[of(2), of(3)]], [of(2), of(3)], "E90001"),
        ("split", [of(2), [1, 1]], [of(2)], "E90001"),
        ("elewise", [of(2)], [of(-2)], "E90001"),
        ("slice", [of(2), *[{"const_value": [0]}] * 2], [of(2), {"const_value": [0]}], "E90001"),
        ("transdata", [of(2, 3), [3, 2], {0: 1, 1: 0}], [of(2, 3), [3, 2]], "E90001"),
    ],
)
def test_shapes_of_variants(pattern: Any, accepted: Any, refused: Any, code: str) -> None:
    operator_context.variable_shape(accepted, pattern)
    with pytest.raises(RuntimeError) as caught:
        operator_context.variable_shape(refused, pattern)
    assert caught.value.args[0]["errCode"] == code


def flat(*shape: int, dtype: str = "float32") -> Any:
    return dsl.placeholder(shape, dtype)


def reduced(combine: Callable[..., Any]) -> Any:
    """The rows of a tensor, reduced by a combiner."""
    x, axis = flat(2, 3), reduce_axis((0, 3))
    reducer = tensor_language.comm_reducer(combine, lambda dtype: 0)
    return tensor_language.compute((2,), lambda i: reducer(x[i, axis], axis=axis))


def updated(matches: Callable[..., Any]) -> Any:
    """A tensor with updated rows; `matches` compares an index with the first axis."""
    x, numbers = flat(4, 3), flat(2, dtype="int32")
    axis = sparse_rows.sparse_axis((0, 2))

    def body(i: Any, j: Any) -> Any:
        choice = tensor_language.select(matches(numbers[axis], i), x[axis, j] * 2)
        return sparse_rows.sparse(choice, axis=[axis])

    return sparse_rows.scatter_rows(x.shape, body)


def device(name: str, *numbers: float, tensors: int = 1) -> Any:
    def call(inputs: Any, outputs: Any) -> Any:
        return device_functions.call_extern("int32", name, *inputs, outputs[0])

    scalars = [device_functions.create_param_ptr([one], "float32", "p") for one in numbers]
    return device_functions.extern((4,), [*[flat(4)] * tensors, *scalars], call, dtype="float32")


def reused(*results: str) -> None:
    for result in results:
        building.reuse_input_as_output(result, "x", f"kernel_{len(results)}")


X4, PLACES = flat(4), flat(2, dtype="int32")
FOUR, PARAMS, PICKED = flat(1, 17, 2, 3), of(4, 3), of(2)
Helper = tuple[Any, Callable[[], Any], Callable[[], Any], str]
# function | accepted | refused | the message has
HELPERS: list[Helper] = [
    (newer_operations.sort, lambda: newer_operations.sort(X4, direction="descend"),
     lambda: newer_operations.sort(X4, direction="down"), "ascend or descend"),
    (newer_operations.sort, lambda: newer_operations.sort(X4, return_type="both"),
     lambda: newer_operations.sort(X4, return_type="all"), "value, indices or both"),
    (newer_operations.topk, lambda: newer_operations.topk(X4, 2),
     lambda: newer_operations.topk(X4, 2, direction="up"), "ascend or descend"),
    (newer_operations.segment,
     lambda: newer_operations.segment(flat(2, 3), PLACES, 4, op="segmentensor_max"),
     lambda: newer_operations.segment(flat(2, 3), PLACES, 4, op="segmentensor_any"), "segments of"),
    (newer_operations.slice_tensor, lambda: newer_operations.slice_tensor(X4, [1], [3]),
     lambda: newer_operations.slice_tensor(X4, [1], [3], [1]), "no stride"),
    (newer_operations.slice_tensor, lambda: newer_operations.slice_tensor(X4, [1], (3,)),
     lambda: newer_operations.slice_tensor(X4, [1], [3, 4]), "end of slice has to be a list of 1"),
    (transdata.transdata, lambda: transdata.transdata(flat(2, 3), (3, 2), {0: 1, 1: 0}, 0),
     lambda: transdata.transdata(flat(2, 3), (3, 2), [1, 0], 0), "axes_map of transdata"),
    (transdata.infer_shapes, lambda: transdata.infer_shapes([2, 3], [3, 2], {0: 1, 1: 0}, str),
     lambda: transdata.infer_shapes([2, 3], [3, 2], {0: 1, 1: 1}, str), "once"),
    (gather_variants.gather_variant, lambda: gather_variants.gather_variant(PARAMS, PICKED, 1, 0),
     lambda: gather_variants.gather_variant(PARAMS, PICKED, 2, 0), "axis 2 is outside"),
    (gather_variants.gather_variant,
     lambda: gather_variants.gather_variant(of(2, 3), of(2, 5), None, 1),
     lambda: gather_variants.gather_variant(of(2, 3), of(2, 5), None, 3), "batch"),
    (gather_variants.gather_nd_variant,
     lambda: gather_variants.gather_nd_variant(PARAMS, of(5, 2), 0),
     lambda: gather_variants.gather_nd_variant(PARAMS, of(5, 3), 0), "gather_nd"),
    (platform.get_soc_spec, lambda: platform.get_soc_spec("UB_SIZE"),
     lambda: platform.get_soc_spec("UB"), "unknown key of get_soc_spec: 'UB'"),
    (platform.get_product_spec, lambda: platform.get_product_spec("CORE_NUM"),
     lambda: platform.get_product_spec(""), "unknown key"),
    (platform.api_check_support, lambda: platform.api_check_support("tbe.dsl.vadd", "float16"),
     lambda: platform.api_check_support("tbe.dsl.vadd", None), "takes texts, not NoneType"),
    (building.auto_schedule, lambda: building.auto_schedule([dsl.vabs(X4), None]),
     lambda: building.auto_schedule([]), "at least one output"),
    (building.auto_schedule, lambda: building.auto_schedule(dsl.vabs(X4)),
     lambda: building.auto_schedule([dsl.vabs(X4), 3]), "takes the output tensors, but got int"),
    (building.casting_auto_schedule, lambda: building.casting_auto_schedule(dsl.vabs(X4)),
     lambda: building.casting_auto_schedule(None), "at least one output"),
    (building.split_schedule_com,
     lambda: building.split_schedule_com(X4, 0, [[2], [2]], [dsl.vabs(X4)]),
     lambda: building.split_schedule_com(X4, 0, [[2], [2]], []), "at least one output"),
    (building.build,
     lambda: building.build(building.auto_schedule(dsl.vabs(X4)), {"tensor_list": [X4]}),
     lambda: building.build(building.auto_schedule(dsl.vabs(X4)), {"name": "x"}), "tensor_list"),
    (building.build, lambda: building.build([None], {"tensor_list": [X4]}),
     lambda: building.build([None, None], {"tensor_list": [X4]}), "2 schedules were built with 1"),
    (building.reuse_input_as_output, lambda: reused("y"), lambda: reused("y", "y"), "written over"),
    (blocked_images.compute_four2five,
     lambda: blocked_images.compute_four2five(FOUR, (1, 17, 2, 3)),
     lambda: blocked_images.compute_four2five(FOUR, (1, 17, 6)), "four sizes of an image"),
    (blocked_images.compute_five2four,
     lambda: blocked_images.compute_five2four(flat(1, 2, 2, 3, 16), (1, 17, 2, 3)),
     lambda: blocked_images.compute_five2four(flat(1, 2, 2, 3, 16), 17), "four sizes of an image"),
    (device_functions.extern, lambda: device("DeviceExp", 1, 0, -1), lambda: device("DeviceNothing"),
     "unknown device function DeviceNothing"),
    (device_functions.extern, lambda: device("cc_device_pow", 1, 0, 2),
     lambda: device("cc_device_pow", 1, 0), "tensors: 1 or 2, numbers: 3, got tensors: 1, numbers: 2"),
    (device_functions.extern, lambda: device("cc_device_floormod_float", tensors=2),
     lambda: device("cc_device_floormod_float"), "expected tensors: 2, numbers: 0, got tensors: 1"),
    (device_functions.extern, lambda: device("cc_device_sqrt_float"),
     lambda: device("cc_device_sqrt_float", tensors=2), "expected tensors: 1, numbers: 0, got tensors: 2"),
    (device_functions.call_extern, lambda: device("DeviceExp", 1, 0, -1),
     lambda: device_functions.call_extern("int32", "DeviceExp"), "call_extern"),
    (sparse_rows.scatter_rows, lambda: updated(lambda number, i: number == i),
     lambda: updated(lambda number, i: number < i), "tvm.sparse takes tvm.select"),
    (sparse_rows.sparse, lambda: updated(lambda number, i: i == number),
     lambda: sparse_rows.sparse(1.0, axis=[]), "one axis made by tvm.sparse_axis"),
    (tensor_language.comm_reducer, lambda: reduced(lambda a, b: a + b),
     lambda: reduced(lambda a, b: a - b), "only +, *, max and min"),
]  # fmt: skip


@cases("function, accepted, refused, says", HELPERS, ids=lambda row: row[0].__name__)
def test_each_helper_accepts_one_call_and_refuses_another(
    function: Any, accepted: Callable[[], Any], refused: Callable[[], Any], says: str
) -> None:
    with operator_scope([X]):
        accepted()
        with pytest.raises(InputError) as caught:
            refused()
    assert says in str(caught.value)


COMPAT = Path(operator_context.__file__).parent
RAISERS = {"refusal", "fault", "InputError"}
NO_CHECK = {
    "operator_errors": "makes the errors",
    "error_manager": "raises the error that its caller names",
    "session": "is no function of the toolkit",
    "operation_families": "wraps operations of the DSL",
    "testing": "runs kernels",
}
"""Module → why its functions have no row."""
OTHER_TABLES = {
    "para_check.check_op_params": "KINDS",
    "para_check.check_input_type": "TYPES",
    "operator_context.variable_shape": "test_shapes_of_variants",
    "classify.classify": "PATTERNS",
    "classify.check_call": "PATTERNS",
    "classify.check_elementwise": "PATTERNS",
    "classify.check_broadcast": "PATTERNS",
    "classify.check_concat": "PATTERNS",
    "classify.classify_error": "PATTERNS",
}
"""Function → the table of this file with its rows."""


def checking_functions(text: str) -> set[str]:
    """The public functions of a module that raise an error, also through functions they call."""
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    called = {
        function.name: {
            node.func.id
            for node in ast.walk(function)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        }
        for function in functions
    }
    raising = set(RAISERS)
    while more := {name for name, names in called.items() if names & raising} - raising:
        raising |= more
    top = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    return {name for name in top & raising if not name.startswith("_")}


def test_each_function_that_checks_has_a_row() -> None:
    rows = {name.replace("checks.", "para_check.") for name, *_ in CALLS}
    rows = {name.replace("shapes.", "shape_util.") for name in rows}
    rows = {name.replace("windows.", "window_sizes.") for name in rows} | OTHER_TABLES.keys()
    for function, *_ in HELPERS:
        assert isinstance(function, FunctionType)
        rows.add(f"{function.__module__.rpartition('.')[2]}.{function.__name__}")
    found = {
        f"{file.stem}.{name}"
        for file in COMPAT.rglob("*.py")
        if file.stem not in NO_CHECK
        for name in checking_functions(file.read_text())
    }
    assert len(found) > 50
    assert sorted(found - rows) == []
    assert not OTHER_TABLES.keys() - found


def test_each_kind_and_code_of_para_check_has_a_row() -> None:
    kinds = {*para_check.ATTRIBUTE_NAMES, "KERNEL_NAME"} | {
        f"{need}_{what}"
        for need in ("REQUIRED", "OPTION", "DYNAMIC")
        for what in ("INPUT", "OUTPUT")
    }
    assert sorted(kinds - {kind for kind, *_ in KINDS}) == []
    codes = {row[-1] for row in (*KINDS, *TYPES, *CALLS)}
    source = Path(para_check.__file__).read_text()
    assert sorted(set(re.findall(r'"(E[68]\d{4})"', source)) - codes) == []


def test_each_pattern_with_a_rule_has_a_row() -> None:
    ruled = {*classify.REQUIRED_PARAMETERS, *classify.INPUT_COUNTS}
    assert sorted(ruled - {pattern for pattern, *_ in PATTERNS}) == []


def volume(channels: int = 32, *, depth: int = 8, batch: int = 1) -> Any:
    return dsl.placeholder((batch, depth, channels // 16, 12, 10, 16), "float16")


def back(filter_size: Any, dy: Any, **more: Any) -> None:
    """The input gradient of a convolution (1, 8, 12, 10, 32) → 64 channels, with stride 2."""
    para = {"strides": [1, 2, 2, 2, 1], "pads": [0] * 6, "dilations": [1] * 5, **more}
    weight = dsl.placeholder((16, 4, 16, 16), "float16")
    dsl.conv3d_backprop_input(weight, dy, filter_size, (1, 8, 12, 10, 32), para)


def made(
    depth: int = 4, height: int = 6, width: int = 5, channels: int = 64, batch: int = 1
) -> Any:
    return dsl.placeholder((batch, depth, channels // 16, height, width, 16), "float16")


def packed(outer: int) -> dict[str, int]:
    return {"real_g": 1, "mag_factor": 1, "cin_ori": 32, "cout_ori": outer}


FILTER = [64, 32, 2, 2, 2]
WEIGHT = dsl.placeholder((16, 4, 16, 16), "float16")
PLAIN = dsl.placeholder((1, 32, 9, 9), "float16"), dsl.placeholder((8, 32, 3, 3), "float16")
BLOCKS = dsl.placeholder((1, 2, 9, 9, 16), "float16")
PACKED = dsl.placeholder((18, 1, 16, 16), "float16")
SLOPES = dsl.placeholder((1, 8, 7, 7), "float16")
GROUPED = dsl.placeholder((1, 32, 9, 9)), dsl.placeholder((8, 16, 3, 3))


def plain(para: dict[str, Any]) -> None:
    dsl.conv(*PLAIN, para)


def volumes(para: dict[str, Any]) -> None:
    dsl.conv3d(volume(), WEIGHT, FILTER, para)


def blocked(weight: tuple[int, ...]) -> None:
    shape = {"weight_ori_shape_nchw": [8, 32, 3, 3]}
    dsl.conv(BLOCKS, dsl.placeholder(weight, "float16"), shape)


def to_input(weight: tuple[int, ...], size: Any = (1, 32, 9, 9), **more: Any) -> None:
    filters = dsl.placeholder(weight, "float16")
    dsl.conv2d_backprop_input(filters, SLOPES, [8, 32, 3, 3], size, None, **more)


def to_filter(image: tuple[int, ...]) -> None:
    dsl.conv2d_backprop_filter(dsl.placeholder(image, "float16"), SLOPES, [8, 32, 3, 3])


def depthwise(weight: tuple[int, ...], **more: Any) -> None:
    dsl.depthwise_conv2d(PLAIN[0], dsl.placeholder(weight, "float16"), **more)


def old(third: int, block: int) -> None:
    """A depthwise convolution of six axes."""
    image = dsl.placeholder((1, 2, third, 9, 9, 16), "float16")
    dsl.depthwise_conv2d(image, dsl.placeholder((2, 3, 3, 1, block), "float16"))


def in_groups(groups: int | None = None, **packing: int) -> None:
    """32 groups of one channel each."""
    x, w = dsl.placeholder((1, 32, 2, 9, 9)), dsl.placeholder((32, 1, 1, 3, 3))
    para = {"groups": groups, "group_dict": {**packing, "cin_ori": 32, "cout_ori": 32}}
    dsl.conv3d(x, w, [32, 1, 1, 3, 3], para)


def shared(groups: int | None) -> None:
    """90 channels, with the same packing for 9 and 15 groups; the filter has a whole block."""
    x, w = dsl.placeholder((1, 2, 6, 9, 9, 16)), dsl.placeholder((2 * 5 * 9, 5, 16, 16))
    packing = {"real_g": 2, "mag_factor": 8, "cin_ori": 90, "cout_ori": 90}
    dsl.conv3d(x, w, [96, 16, 1, 3, 3], {"groups": groups, "group_dict": packing})


@cases(
    "accepted, refused, says",
    [
        (lambda: back(FILTER, made()), lambda: back(FILTER, made(batch=2)), "one batch"),
        (
            lambda: back(FILTER, made()),
            lambda: back(FILTER, made(channels=32)),
            "output channels; expected 64, got 32",
        ),
        (
            lambda: back(FILTER, made()),
            lambda: back([64, 64, 2, 2, 2], made()),
            "channels of the image; expected 32, got 64",
        ),
        (lambda: back(FILTER, made()), lambda: back(FILTER, made(depth=8)), "along D"),
        (lambda: back(FILTER, made()), lambda: back(FILTER, made(height=5)), "along H"),
        (lambda: back(FILTER, made()), lambda: back(FILTER, made(width=9)), "expected 5, got 9"),
        (
            lambda: back(FILTER, made(depth=1), strides=[1, 8, 2, 2, 1]),
            lambda: back([64, 32, 9, 2, 2], made(depth=1)),
            "within the padded image along D; expected at most 8, got 9",
        ),
        (
            lambda: back(FILTER, made(3), dilations=[1, 2, 1, 1, 1]),
            lambda: back(FILTER, made(), dilations=[2, 1, 1, 1, 2]),
            "1 for N and C of NDHWC, got (2, 1, 1, 1, 2)",
        ),
        (
            lambda: back(FILTER, made(), group_dict=packed(64)),
            lambda: back([32, 32, 2, 2, 2], made(), group_dict=packed(64)),
            "64 output channels, 32 input channels of a group, got 32 and 32",
        ),
        (
            lambda: dsl.conv3d_backprop_filter(
                volume(), made(), [64, 2, 32, 2, 2], {"strides": [2, 2, 2]}
            ),
            lambda: dsl.conv3d_backprop_filter(
                volume(), made(), [64, 32, 2, 2, 2], {"strides": [2, 2, 2]}
            ),
            "channels of the image",
        ),
        (
            lambda: dsl.conv(*PLAIN, {"stride_h": 1, "stride_w": 1}),
            lambda: dsl.conv(*PLAIN, {"stride_h": 0, "stride_w": 1}),
            "strides are positive",
        ),
        (
            lambda: dsl.conv(*PLAIN, {"bias_tensor": dsl.placeholder((8,), "float16")}),
            lambda: dsl.conv(*PLAIN, {"bias_tensor": dsl.placeholder((8, 8), "float16")}),
            "one number for each output channel; expected 8, got 64",
        ),
        (
            lambda: dsl.conv3d(
                volume(), WEIGHT, FILTER, {"tensor_bias": dsl.placeholder((64,), "float16")}
            ),
            lambda: dsl.conv3d(
                volume(), WEIGHT, FILTER, {"tensor_bias": dsl.placeholder((32,), "float16")}
            ),
            "one number for each output channel; expected 64, got 32",
        ),
        (
            lambda: dsl.depthwise_conv2d(BLOCKS, dsl.placeholder((2, 3, 3, 1, 16), "float16")),
            lambda: dsl.depthwise_conv2d(BLOCKS, dsl.placeholder((3, 3, 3, 1, 16), "float16")),
            "channels of the image",
        ),
        (
            lambda: dsl.depthwise_conv2d(BLOCKS, dsl.placeholder((2, 9, 9, 1, 16), "float16")),
            lambda: dsl.depthwise_conv2d(BLOCKS, dsl.placeholder((2, 10, 9, 1, 16), "float16")),
            "along H; expected at most 9, got 10",
        ),
        (
            lambda: plain({"filter_shape": [8, 32, 3, 3]}),
            lambda: plain({"filter_shape": [8, 32, 1, 1]}),
            "the filter has the declared shape; expected (8, 32, 1, 1), got (8, 32, 3, 3)",
        ),
        (
            lambda: blocked((18, 1, 16, 16)),
            lambda: blocked((2, 1, 16, 16)),
            "expected (18, 1, 16, 16), got (2, 1, 16, 16)",
        ),
        (lambda: blocked((18, 1, 16, 16)), lambda: blocked((18, 1, 16, 32)), "got (18, 1, 16, 32)"),
        (
            lambda: to_input((8, 32, 3, 3)),
            lambda: to_input((8, 32, 5, 5)),
            "expected (8, 32, 3, 3), got (8, 32, 5, 5)",
        ),
        (
            lambda: plain({"strides": [1, 1, 2, 2]}),
            lambda: plain({"strides": [1, 1, 2, 1]}),
            "strides of all axes fit several layouts; expected 2 numbers, got (1, 1, 2, 1)",
        ),
        (
            lambda: plain({"strides": [1, 2, 2, 1]}),
            lambda: plain({"strides": [2, 2, 1, 1]}),
            "1 for N and C of NCHW or NHWC",
        ),
        (
            lambda: volumes({"dilations": [1, 1, 1, 1, 1]}),
            lambda: volumes({"dilations": [1, 1, 2, 2, 1]}),
            "several layouts",
        ),
        (
            lambda: volumes({"strides": [1, 2, 2, 2, 1]}),
            lambda: volumes({"strides": [2, 2]}),
            "1 or 3 or 5 numbers, got [2, 2]",
        ),
        (
            lambda: plain({"pads": [1, 1]}),
            lambda: plain({"pads": [0, 0, 0, 0, 1, 1, 1, 1]}),
            "expected 1 or 2 or 4 numbers",
        ),
        (
            lambda: depthwise((32, 1, 3, 3), stride=[1, 1, 2, 2]),
            lambda: depthwise((32, 1, 3, 3), stride=[1, 2, 1, 2]),
            "N and C",
        ),
        (
            lambda: in_groups(real_g=2, mag_factor=16),
            lambda: in_groups(real_g=5, mag_factor=3),
            "fits no number of groups",
        ),
        (
            lambda: in_groups(32, real_g=2, mag_factor=16),
            lambda: in_groups(16, real_g=2, mag_factor=16),
            "no number of",
        ),
        (
            lambda: in_groups(real_g=2, mag_factor=16),
            lambda: in_groups(real_g=2),
            "group_dict lacks mag_factor",
        ),
        (lambda: shared(9), lambda: shared(None), "fits 9 or 15 groups"),
        (
            lambda: plain({"strides": [2]}),
            lambda: plain({"strides": [1, 1, 1]}),
            "expected 1 or 2 or 4 numbers, got [1, 1, 1]",
        ),
        (
            lambda: plain({"pads": [1]}),
            lambda: plain({"pads": [1, 1, 1]}),
            "pads have a wrong length",
        ),
        (
            lambda: plain({"pads": ((1, 1), (1, 1))}),
            lambda: plain({"pads": "SAME"}),
            "needs pads as integers",
        ),
        (
            lambda: volumes({"pads": [1] * 6}),
            lambda: volumes({"pads": [1] * 4}),
            "expected 1 or 3 or 6 numbers",
        ),
        (
            lambda: plain({"strides": np.array([1, 1])}),
            lambda: plain({"strides": [1.9, 1.9]}),
            "strides as integers",
        ),
        (
            lambda: plain({"filter_shape": [8, 32, 3, 3]}),
            lambda: plain({"filter_shape": [8, 32, 3]}),
            "expected 4 numbers",
        ),
        (
            lambda: to_input((8, 32, 3, 3)),
            lambda: to_input((8, 32, 3, 3), size=[1, 32, 9]),
            "sizes of the input",
        ),
        (
            lambda: dsl.conv(BLOCKS, PACKED, {"filter_h": 3, "filter_w": 3}),
            lambda: dsl.conv(BLOCKS, PACKED, {}),
            "sizes of the filter as integers",
        ),
        (
            lambda: plain({"group_dict": {"filter_batch_ori": 8, "filter_c_ori": 32}}),
            lambda: plain({"group_dict": {"filter_batch_ori": 8}}),
            "group_dict lacks filter_c_ori",
        ),
        (
            lambda: to_filter((1, 32, 9, 9)),
            lambda: to_filter((32,)),
            "is not an image; expected 4 axes, or 5 in blocks",
        ),
        (
            lambda: plain({"bias_tensor": dsl.placeholder((8,))}),
            lambda: plain({"bias_tensor": np.ones(8)}),
            "got ndarray",
        ),
        (
            lambda: plain({"bias": dsl.placeholder((8,))}),
            lambda: plain({"bias": [100.0] * 8}),
            "a tensor for bias, got list",
        ),
        (
            lambda: to_input((8, 32, 3, 3), pads=0),
            lambda: to_input((8, 32, 3, 3), stride=[1, 1]),
            "no such option",
        ),
        (
            lambda: dsl.conv2d_backprop_input(
                PLAIN[1], SLOPES, [8, 32, 3, 3], [1, 32, 9, 9], [1, 1], [0] * 4
            ),
            lambda: dsl.conv2d_backprop_input(
                PLAIN[1], SLOPES, [8, 32, 3, 3], [1, 32, 9, 9], {}, [0] * 4
            ),
            "got 1 positional",
        ),
        (
            lambda: dsl.conv(*GROUPED, {"groups": 2}),
            lambda: dsl.conv(*GROUPED, {"groups": 3}),
            "a multiple of 3, got 8",
        ),
        (lambda: plain({"groups": 1}), lambda: plain({"groups": 0}), "groups are positive"),
        (
            lambda: plain({"pads": [0] * 4}),
            lambda: plain({"pads": [-1, 0, 0, 0]}),
            "pads are not negative; expected 0 or more",
        ),
        (
            lambda: depthwise((32, 1, 3, 3)),
            lambda: depthwise((32, 32, 3, 3)),
            "expected (32, 1, 3, 3), got (32, 32, 3, 3)",
        ),
        (
            lambda: depthwise((32, 1, 3, 3)),
            lambda: depthwise((32, 1, 0, 3)),
            "sizes of the kernel are positive",
        ),
        (
            lambda: depthwise((32, 1, 3, 3)),
            lambda: depthwise((32, 1)),
            "expected 2 numbers, got []",
        ),
        (
            lambda: old(1, 16),
            lambda: old(2, 16),
            "the image has the declared shape; expected (1, 2, 1, 9, 9, 16)",
        ),
        (lambda: old(1, 16), lambda: old(1, 8), "the filter has the"),
    ],
)
def test_sizes_of_convolutions(accepted: Any, refused: Any, says: str) -> None:
    accepted()
    with pytest.raises(InputError) as caught:
        refused()
    assert says in str(caught.value)


def refuses_by_hand(x: Any, y: Any, kernel_name: str = "by_hand") -> None:
    info = {"errCode": "E60024"}
    raise RuntimeError(info, error_manager.get_error_message(info))


def fails_alike(x: Any, y: Any, kernel_name: str = "alike") -> None:
    raise IndexError(f"no axis of {kernel_name}")


@cases(
    "operator, says",
    [
        (refuses_by_hand, "refuses_by_hand: its arguments are refused (E60024)"),
        (fails_alike, "fails_alike fails: IndexError: no axis of alike"),
    ],
)
def test_unknown_sizes_put_no_refusal_off(operator: Any, says: str) -> None:
    """A refusal by the operator itself, or a failure for all sizes, is not a kernel for later."""
    with pytest.raises(InputError) as caught:
        load_operator(operator).build(UNKNOWN, UNKNOWN)
    assert says in str(caught.value)
