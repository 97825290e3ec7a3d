"""Checks of operators' arguments and shapes, and the errors in the toolkit's form."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tbe_impl import compat
from tbe_impl.compat import classify, error_manager, para_check, shape_util
from tbe_impl.compat.operator_context import variable_shape
from tbe_impl.errors import InputError
from tests.cases import cases

GOOD = {
    "shape": (2, 3),
    "dtype": "float16",
    "format": "ND",
    "ori_shape": (2, 3),
    "ori_format": "ND",
}


@pytest.fixture(autouse=True)
def names() -> Iterator[None]:
    with compat.installed():
        yield


def operator(*kinds: Any) -> Any:
    """A checked function with one argument of each kind."""
    code = f"def op({', '.join(f'a{index}' for index in range(len(kinds)))}): return 'ran'"
    space: dict[str, Any] = {}
    exec(code, space)  # noqa: S102 -- the check reads the names of parameters
    return para_check.check_op_params(*kinds)(space["op"])


@cases(
    "kind, value, code",
    [
        ("REQUIRED_INPUT", GOOD, None),
        ("REQUIRED_INPUT", None, "E80001"),
        ("REQUIRED_INPUT", [GOOD], "E80003"),
        ("REQUIRED_INPUT", {**GOOD, "shape": 3}, "E80003"),
        ("REQUIRED_INPUT", {**GOOD, "shape": (2.0,)}, "E80003"),
        ("REQUIRED_INPUT", {key: GOOD[key] for key in GOOD if key != "format"}, "E80004"),
        ("REQUIRED_INPUT", {**GOOD, "dtype": "float17"}, "E80008"),
        ("REQUIRED_INPUT", {**GOOD, "format": "XY"}, "E80015"),
        ("REQUIRED_INPUT", {**GOOD, "ori_format": "XY"}, "E80014"),
        ("REQUIRED_INPUT", {**GOOD, "shape": (1,) * 9}, "E80012"),
        ("REQUIRED_INPUT", {**GOOD, "shape": (0, 4)}, None),
        ("OPTION_INPUT", None, None),
        ("OPTION_INPUT", 3, "E80003"),
        ("DYNAMIC_INPUT", [GOOD, GOOD], None),
        ("DYNAMIC_INPUT", [], "E80001"),
        ("DYNAMIC_INPUT", GOOD, "E80003"),
        ("REQUIRED_OUTPUT", None, "E80001"),
        ("OPTION_OUTPUT", None, None),
        ("REQUIRED_ATTR_FLOAT", 1.5, None),
        ("REQUIRED_ATTR_FLOAT", None, "E80001"),
        ("REQUIRED_ATTR_FLOAT", "1.5", "E80003"),
        ("REQUIRED_ATTR_FLOAT", float("inf"), "E80000"),
        ("OPTION_ATTR_INT", 1.5, "E80003"),
        ("OPTION_ATTR_INT", None, None),
        ("REQUIRED_ATTR_BOOL", True, None),
        ("REQUIRED_ATTR_STR", 3, "E80003"),
        ("REQUIRED_ATTR_LIST_INT", [1, 2], None),
        ("REQUIRED_ATTR_LIST_INT", 0, None),
        ("OPTION_ATTR_LIST_INT", False, None),
        ("REQUIRED_ATTR_LIST_INT", 1, "E80003"),
        ("REQUIRED_ATTR_LIST_INT", [1, 2.0], "E80003"),
        ("REQUIRED_ATTR_LIST_LIST_INT", [[1], (2, 3)], None),
        ("REQUIRED_ATTR_LIST_LIST_INT", [1], "E80003"),
        ("OPTION_ATTR_TYPE", "float32", None),
        ("OPTION_ATTR_TYPE", "floaty", "E80003"),
        ("KERNEL_NAME", "exp_1", None),
        ("KERNEL_NAME", "1exp", "E80020"),
        ("KERNEL_NAME", "x" * 201, "E80002"),
        ("KERNEL_NAME", 3, "E80003"),
        ("KERNEL_NAME", 'a"; system("x', "E80020"),
    ],
)
def test_check_op_params(kind: str, value: Any, code: str | None) -> None:
    checked = operator(getattr(para_check, kind))
    if code is None:
        assert checked(value) == "ran"
        return
    with pytest.raises(RuntimeError) as error:
        checked(a0=value)
    assert isinstance(error.value, InputError)
    assert error.value.args[0]["errCode"] == code
    assert error.value.args[0]["op_name"] == "op"
    assert "op" in str(error.value) and "test_checks.py" in str(error.value)


def test_kinds_that_are_alternatives() -> None:
    checked = operator(
        (para_check.OPTION_ATTR_FLOAT, para_check.OPTION_ATTR_LIST_FLOAT, para_check.NONE_TYPE)
    )
    assert checked(1.0) == checked([1.0]) == checked(None) == "ran"
    with pytest.raises(compat.OperatorError, match="a0"):
        checked("text")


def test_unknown_sizes_need_a_range() -> None:
    checked = operator(para_check.REQUIRED_INPUT)
    unknown = {**GOOD, "shape": (-1, 3), "ori_shape": (-1, 3)}
    with pytest.raises(compat.OperatorError, match="range"):
        checked(unknown)
    assert checked({**unknown, "range": [(1, None), (3, 3)]}) == "ran"
    with pytest.raises(compat.OperatorError, match="range of a0"):
        checked({**unknown, "range": [(5, 2), (3, 3)]})


@cases(
    "name, arguments",
    [
        ("check_shape_rule", ((),)),
        ("check_shape_rule", ((2, 0),)),
        ("check_shape_rule", ((2, 2.5),)),
        ("check_shape_rule", ("ab",)),
        ("check_shape_rule", ((1,) * 9,)),
        ("check_dtype_rule", ("int64", ("float16",))),
        ("check_dtype_rule", (None, ("float16",))),
        ("check_dtype", ("int64", ("float16",))),
        ("check_dtype", (None,)),
        ("check_kernel_name", ("a-b",)),
        ("check_shape_size", ((2**16, 2**16),)),
        ("check_reduce_shape_rule", ((2**20, 2**10),)),
        ("check_format", ("XY",)),
        ("check_shape", ((2, -1),)),
        ("check_shape", ((2, 3), 0, 9, 3)),
        ("check_range", ((2,), [(1, 2), (3, 4)])),
    ],
)
def test_other_checks_refuse(name: str, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(compat.OperatorError):
        getattr(para_check, name)(*arguments)


def test_other_checks_pass() -> None:
    para_check.check_shape_rule([2, 3])
    para_check.check_dtype_rule("Float16", ("float16",))
    para_check.check_dtype("float32", ("float32"))
    para_check.check_kernel_name(None)
    assert para_check.check_tensor_shape_size((2, 3)) == 6
    checked = para_check.check_input_type(dict, (list, tuple), str)(
        lambda x, axes, kernel_name="k": kernel_name
    )
    assert checked({"shape": [2]}, (1,), kernel_name="n") == "n"
    with pytest.raises(compat.OperatorError, match="axes"):
        checked({"shape": [2]}, 1)
    with pytest.raises(compat.OperatorError, match="shape"):
        checked({"shape": 2}, [1])


@cases(
    "one, other, both",
    [
        ((2, 3), (2, 3), [2, 3]),
        ((3,), (2, 1), [2, 3]),
        ((), (2,), [2]),
        ((2, 1, 4), (5, 1), [2, 5, 4]),
    ],
)
def test_shapes_that_broadcast(one: Any, other: Any, both: list[int]) -> None:
    first, second, found = shape_util.broadcast_shapes(one, other)
    assert found == both and len(first) == len(second) == len(both)
    assert shape_util.unify_broadcast_shapes([one, other])[-1] == both
    merged = shape_util.refine_shapes_for_broadcast(first, second)
    assert shape_util.get_shape_size(merged[0]) == shape_util.get_shape_size(first)
    assert shape_util.get_shape_size(merged[1]) == shape_util.get_shape_size(second)


def test_shapes_that_do_not_broadcast() -> None:
    with pytest.raises(compat.OperatorError, match=r"\(2, 3\).*\(2, 4\)") as error:
        shape_util.broadcast_shapes((2, 3), (2, 4), "Add", "x1", "x2")
    assert error.value.info["errCode"] == "E80013"


@cases(
    "name, arguments, expected",
    [
        ("refine_shape_axes", ((2, 1, 3, 4), [2, 3]), ([2, 12], [1])),
        ("refine_shape_axes", ((1, 1), [0]), ([1], [])),
        ("simplify_axis_shape", ([2, 3, 4], range(3)), ([24], [0])),
        ("shape_refine", ((1, 1),), [1]),
        ("shape_refine", ((2, 1, 3), [1], True), ((2, 1, 3), [1])),
        ("shape_refine", ((2, 1, 3), [1, 2], False), ([2, 3], [1])),
        ("axis_check", (3, -1), 2),
        ("axis_check", (3, [-1, 0, 2]), [0, 2]),
        ("scalar2tensor_one", ((),), [1]),
        ("scalar2tensor_one", ((2,),), (2,)),
        ("wrap_axes_to_positive", ([-1, 0], 3), [2, 0]),
        ("axis_transform_5d", (-1, "NHWC"), -4),
        ("squeeze_shape", ((1, 2, 1),), [2]),
    ],
)
def test_axes(name: str, arguments: tuple[Any, ...], expected: Any) -> None:
    assert getattr(shape_util, name)(*arguments) == expected


def test_axes_outside() -> None:
    with pytest.raises(compat.OperatorError, match="axis 3"):
        shape_util.axis_check(3, 3)


def test_descriptions_that_differ() -> None:
    shape_util.compare_tensor_dict_key({"dtype": "float16"}, {"dtype": "FLOAT16"}, "dtype")
    with pytest.raises(compat.OperatorError, match="dtype"):
        shape_util.compare_tensor_dict_key({"dtype": "float16"}, {"dtype": "int8"}, "dtype")
    with pytest.raises(compat.OperatorError, match="lacks"):
        shape_util.compare_tensor_dict_key({"dtype": "float16"}, {}, "dtype")


RAISING = {
    name: function
    for name, function in {**error_manager.VECTOR_FUNCTIONS, **error_manager.CUBE_FUNCTIONS}.items()
    if name.startswith("raise_err_") and name != "raise_err_message_cube"
}


@cases("name", RAISING)
def test_every_error_that_operators_raise_has_a_code(name: str) -> None:
    with pytest.raises(RuntimeError) as error:
        RAISING[name](*(f"given{index}" for index in range(7)))
    assert str(error.value.args[0]["errCode"]).startswith(("E", "given"))
    assert "given" in str(error.value)


def test_an_error_that_operators_raise_says_what_was_expected() -> None:
    with pytest.raises(RuntimeError, match="x has to have one of the dtypes int8") as one:
        error_manager.VECTOR_FUNCTIONS["raise_err_input_dtype_not_supported"](
            "Add", "x", "int8", "float16"
        )
    assert one.value.args[0] == {
        "errCode": "E80008",
        "op_name": "Add",
        "param_name": "x",
        "excepted_dtype_list": "int8",
        "dtype": "float16",
    }


def test_classify_keeps_what_it_is_given() -> None:
    x, y = (
        {"shape": (2, 3, 4), "range": [(2, 2), (3, 3), (4, 4)]},
        {"shape": (4,), "range": [(4, 4)]},
    )
    ((one, other),) = classify.classify([x, y], "broadcast")
    assert (one["shape"], other["shape"], other["mode"]) == ([2, 3, 4], [1, 1, 4], "const")
    assert y["shape"] == (4,)
    ((_, axes),) = classify.classify([x, [-1, 0]], "norm")
    assert axes == [0, 2]
    ((_, described),) = classify.classify(
        [x, {"shape": (1,), "rel_pos_to_reduce": "axis", "const_value": (-1,)}], "reduce"
    )
    assert (described["value"], described["shape"]) == ([2], [1])
    for wrong in ({"shape": (-2,)},):
        with pytest.raises(compat.OperatorError, match="rank"):
            classify.classify([wrong], "elewise")
    with pytest.raises(compat.OperatorError, match="axes"):
        classify.classify([x, "unknown"], "norm")


def test_axes_that_stay_apart_are_told_for_each_variant() -> None:
    extra = {"disable_fuse_axes": [1, 4]}
    ((_, axes),) = classify.classify([{"shape": (2, 1, 3, 4, 16)}, [1, 4]], "norm", extra)
    assert (axes, extra["disable_fuse_axes"]) == ([1, 4], [[1, 4]])


def test_operators_hang_names_of_their_own_on_tensors() -> None:
    with compat.installed():
        from te import tvm

        x = tvm.placeholder((2, 3), "float16", "x")
        x.ori_shape = (6,)
    assert x.ori_shape == (6,)


def test_sizes_at_the_same_place_are_one_variable() -> None:
    x = {"shape": (-1, 3), "range": [(1, 9), (3, 3)]}
    one, other = variable_shape([x, {"shape": (2, -1, 3), "range": [(2, 2), (1, None), (3, 3)]}])
    assert one[0] is other[1] and one[1] == 3 and one[0].bound == (1, 9)
    assert bool(one[0] == other[1]) and not bool(one[0] == 1)


def test_patterns_with_answers_of_their_own() -> None:
    x, y = (
        {"shape": (-1, 6), "range": [(1, 9), (6, 6)]},
        {"shape": (-1, 6), "range": [(1, 9), (6, 6)]},
    )
    ((listed, axis),) = classify.classify([[x, y]], "concat", {"axis": -2})
    one, other = variable_shape([listed], "concat")
    assert axis == 0 and one[0] is not other[0] and one[1] == 6
    assert classify.classify(
        [x, {"const_value": [1]}], "split", {"avg_split": True, "num_split": 3}
    )[0][1:] == [1, [2, 2, 2]]
    assert classify.classify([x, 1, {"const_value": [4, -1]}], "split", {"num_split": 2})[0][
        1:
    ] == [1, [4, 2]]
    ((only,),) = classify.classify([{"shape": (2, 6)}, 1], "sort")
    assert variable_shape([only], "sort") == [2, 6]
    begin, size = {"const_value": [0, 1], "shape": (2,)}, {"const_value": [1, 2], "shape": (2,)}
    assert variable_shape([{"shape": (2, 6)}, begin, size], "slice") == [[2, 6], [0, 1], [1, 2]]
    assert variable_shape([only, {"shape": (2,)}, {"const_value": [5]}], "segment")[2] == 5


def test_known_sizes_of_tensors_are_numbers_again() -> None:
    with compat.installed():
        from tbe import tvm
        from tbe.common.utils import shape_util

        x, y = tvm.placeholder((2, 3), "float32"), tvm.placeholder((3,), "float32")
        shapes = shape_util.unify_broadcast_shapes([x.shape, y.shape])
        assert shapes == [[2, 3], [1, 3], [2, 3]]
        assert all(type(size) is int for shape in shapes for size in shape)
