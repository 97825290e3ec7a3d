"""Generates the ``raise_err_*`` functions of the CANN toolkit from one table.

Each row of the table gives the name, error code, arguments and message of one function.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

from tbe_impl.compat.operator_errors import CheckError

# name | code | arguments | message; with the code *, the caller passes the code first
_TABLE = """
input_value_invalid|E80000|op_name param_name excepted_value real_value|parameter {param_name} has to be {excepted_value}, but is {real_value}
miss_mandatory_parameter|E80001|op_name param_name|the mandatory parameter {param_name} is missing
input_param_not_in_range|E80001|op_name param_name min_value max_value value|parameter {param_name} has to be in [{min_value}, {max_value}], but is {value}
input_dtype_not_supported|E80008|op_name param_name excepted_dtype_list dtype|parameter {param_name} has to have one of the dtypes {excepted_dtype_list}, but has {dtype}
check_params_rules|E80009|op_name rule_desc param_name param_value|the rule is: {rule_desc}; but {param_name} is {param_value}
input_param_range_invalid|E80012|op_name param_name min_value max_value real_value|input {param_name} has to have {min_value} to {max_value} dimensions, but has {real_value}
input_format_invalid|E80015|op_name param_name excepted_format_list format|input {param_name} has to have one of the formats {excepted_format_list}, but has {format}
inputs_shape_not_equal|E80017|op_name param_name1 param_name2 param1_shape param2_shape expect_shape|{param_name1} {param1_shape} and {param_name2} {param2_shape} do not match, expected {expect_shape}
inputs_dtype_not_equal|E80018|op_name param_name1 param_name2 param1_dtype param2_dtype|{param_name1} is {param1_dtype} and {param_name2} is {param2_dtype}, but they have to have one dtype
input_shape_invalid|E80028|op_name param_name error_detail|the shape of input {param_name} is invalid: {error_detail}
two_input_shape_invalid|E80029|op_name param_name1 param_name2 error_detail|the shapes of {param_name1} and {param_name2} are invalid: {error_detail}
two_input_dtype_invalid|E80030|op_name param_name1 param_name2 error_detail|the dtypes of {param_name1} and {param_name2} are invalid: {error_detail}
two_input_format_invalid|E80031|op_name param_name1 param_name2 error_detail|the formats of {param_name1} and {param_name2} are invalid: {error_detail}
specific_reson|E61001|op_name reason|{reason}
pad_mode_invalid|E60021|op_name expected_pad_mode actual_pad_mode|the padding mode has to be {expected_pad_mode}, but is {actual_pad_mode}
dtype_invalid|E60005|op_name param_name expected_dtype_list dtype|the dtype of {param_name} has to be one of {expected_dtype_list}, but is {dtype}
one_para|*|op_name para1|{para1}
two_paras|*|op_name para1 para2|{para1}, {para2}
three_paras|*|op_name para1 para2 para3|{para1}, {para2}, {para3}
four_paras|*|op_name para1 para2 para3 para4|{para1}, {para2}, {para3}, {para4}
input_params_not_expected|E60000|op_name param_name expected_value input_value|parameter {param_name} has to be {expected_value}, but is {input_value}
input_params_not_supported|E60036|op_name expected_value input_value|scale {expected_value} with sqrt mode {input_value} is not supported
attr_range_invalid|E60011|op_name range attr_name value|{attr_name} has to be in {range}, but is {value}
should_4d|E60107|op_name param_name|{param_name} has to be a list of four
should_be_4d|E61000|op_name param_name|{param_name} has to be a list of four
specific|E60108|op_name reason|{reason}
common|E60114|op_name reason value|{reason}, but it is {value}
specific_user|E61001|op_name reason|{reason}
input_mem_type|E61500|op_name input_memory_type|input memory type {input_memory_type} is not supported
output_mem_type|E61501|op_name output_memory_type|output memory type {output_memory_type} is not supported
check_the_validity_of_variable|E61203|op_name sence_params param_1 param_2|{sence_params}: {param_1} and {param_2}
check_the_validity_of_one_variable|E61204|op_name sence_params param_1|{sence_params}: {param_1}
specific_input_shape|E61205|op_name reason|{reason}
value_or_format_invalid|E61300|op_name param_name expect_value condition|{param_name} has to be {expect_value} when {condition}
equal_invalid|E61301|op_name param_name_1 param_name_2|{param_name_1} has to be equal to {param_name_2}
scene_limitation|E61601|op_name scene param_name claim|for {scene}, {param_name} has to be {claim}
check_type|E61602|op_name param_name optype_1 optype_2|parameter {param_name} has to be {optype_1}, but is {optype_2}
scene_equal_limitation|E61603|op_name optype_1 optype_2|{optype_1} has to be equal to {optype_2}
contain_key_invalid|E60029|op_name param_name key|{param_name} lacks the key {key}
param_should_be_equal|E65007|param1 param2 param1_value param2_value|{param1} ({param1_value}) has to be equal to {param2} ({param2_value})
dilation_invalid|E60023|dilation_n dilation_c|dilations of batch and depth have to be 1, but are {dilation_n} and {dilation_c}
format_not_in_list|E60008|param_name op_name expected_format_list format|the format of {param_name} has to be one of {expected_format_list}, but is {format}
exceed_l1_buffer|E60026|op_name|the input is too large for the L1 buffer
"""

_CUBE = """
input_format_invalid|E60004|op_name param_name expected_format_list format|the format of {param_name} has to be one of {expected_format_list}, but is {format}
"""


def _make_raiser(
    name: str, code: str, arguments: tuple[str, ...], sentence: str
) -> Callable[..., Any]:
    def raise_error(*values: Any, **keywords: Any) -> NoReturn:
        given = list(values)
        if code == "*":
            chosen = given.pop(0) if given else keywords.pop("err_code", "E90001")
        else:
            chosen = code
        # positional arguments get the names of the table; keyword arguments keep their names
        info = {**dict(zip(arguments, given, strict=False)), **keywords}
        operator = str(info.get("op_name", "")) or "operator"
        shown = {argument: info.get(argument, "?") for argument in arguments}
        raise CheckError(
            {"errCode": chosen, **info}, f"{operator}: {sentence.format(**shown)}".rstrip(".")
        )

    raise_error.__name__ = raise_error.__qualname__ = name
    raise_error.__doc__ = f"Raises `OperatorError` with code {code}: {sentence}."
    return raise_error


def _parse_error_table(table: str) -> dict[str, Callable[..., Any]]:
    found = {}
    for line in table.strip().splitlines():
        name, code, arguments, sentence = line.split("|", 3)
        full = f"raise_err_{name}"
        found[full] = _make_raiser(full, code, tuple(arguments.split()), sentence)
    return found


def get_error_message(args: Mapping[str, Any]) -> str:
    """Returns the error message for a dict with the key ``errCode`` and further keys."""
    code = args.get("errCode", "")
    rest = ", ".join(f"{key}: {value}" for key, value in args.items() if key != "errCode")
    return f"[{code}] {rest}"


def raise_runtime_error(args_dict: dict[str, Any], *messages: Any) -> NoReturn:
    """Raises `CheckError` with the dict `args_dict`.

    The message of the error is `messages`, joined by spaces. If there are no `messages`, the
    message is the formatted dict.
    """
    text = " ".join(map(str, messages)) or get_error_message(args_dict)
    raise CheckError(dict(args_dict), text.rstrip("."))


def raise_err_message_cube(*messages: Any) -> NoReturn:
    """Raises `CheckError` with the code E69999; the message is `messages`, joined by spaces."""
    raise CheckError({"errCode": "E69999"}, " ".join(map(str, messages)).rstrip("."))


_SHARED_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "get_error_message": get_error_message,
    "raise_runtime_error": raise_runtime_error,
    "raise_runtime_error_cube": raise_runtime_error,
    "raise_err_message_cube": raise_err_message_cube,
}
VECTOR_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        **_SHARED_FUNCTIONS,
        **_parse_error_table(_TABLE),
        "raise_invalid_range": _make_raiser(
            "raise_invalid_range",
            "E67016",
            ("op_name", "attr_name", "range", "name"),
            "the range of {attr_name} of {name} is invalid: {range}",
        ),
    }
)
"""Functions of ``error_manager_vector``, and of the package that contains this module."""
CUBE_FUNCTIONS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {**VECTOR_FUNCTIONS, **_parse_error_table(_CUBE)}
)
"""Functions of ``error_manager_cube``.

The functions equal those of `VECTOR_FUNCTIONS`, except for the error code of
``raise_err_input_format_invalid``.
"""
