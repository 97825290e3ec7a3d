"""Wraps the DSL operations in two API families: ``te.lang.cce`` and ``tbe.dsl``.

``te.lang.cce`` inserts casts to dtypes that the chip supports. ``tbe.dsl`` rejects dtypes that the
chip does not support. The DSL operations take every dtype and do not depend on a chip; chip limits
are applied here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbe_impl.compat.operator_errors import OperatorError, fault
from tbe_impl.compat.session import current_soc, is_in_variant, session
from tbe_impl.dsl.dtypes import common_dtype
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation
from tbe_impl.dsl.tensor import Tensor, TensorSlice, shape_text, stages_of
from tbe_impl.errors import InputError
from tbe_impl.soc import Soc, is_conversion_supported, is_operation_supported

SYNONYMS = {
    "sum": "reduce_sum",
    "split_compute_com": "split",
    "round_to": "clip",
    "round_d": "round_half_up",
}
"""Maps an older name to the name of the DSL operation."""

_FALLBACK_INSTRUCTIONS = {
    "vmaxs": "vmax",
    "vmins": "vmin",
    "vdiv": "vrec",
    "vsqrt": "vrec",
    "vlrelu": "vmax",
    "vaddrelu": "vadd",
    "vsubrelu": "vsub",
    "vmod": "vmul",
}
"""Maps a DSL operation to a substitute for its instruction.

The substitute is used on a chip that lacks the instruction of the operation. On such a chip, the
operation supports the dtypes that the substitute supports.
"""

_OPERATIONS_WITH_CAST_OPERANDS = frozenset(
    "vadd vsub vmul vdiv vmax vmin vmod vadds vmuls vmaxs vmins vexp vlog vabs vrec vsqrt vrsqrt "
    "vrelu vlrelu vaxpy vmla vmadd vmaddrelu vaddrelu vsubrelu vcmp vsel vcmpsel".split()
)
_SELF_CHECKING_OPERATIONS = frozenset("vsel vcmpsel conv matmul".split())
_ROUNDING_OPERATIONS = frozenset("floor ceil round trunc round_half_up".split())
_REDUCTIONS = frozenset("reduce_sum reduce_max reduce_min reduce_prod".split())


def find_operation(name: str) -> DslOperation | None:
    """Returns the DSL operation with this name or synonym, or None if there is none."""
    from tbe_impl.dsl.operations.operation_table import OPERATIONS

    return OPERATIONS.get(SYNONYMS.get(name, name)) or OPERATIONS.get(name)


def operation_names() -> list[str]:
    """Returns the names of the DSL operations that ``te.lang.cce`` and ``tbe.dsl`` provide."""
    from tbe_impl.dsl.operations.operation_table import OPERATIONS

    return sorted({*OPERATIONS, *(old for old, new in SYNONYMS.items() if new in OPERATIONS)})


def _add_self_attribute(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Sets the attribute `name` of a callable to the callable itself.

    In the CANN toolkit, `name` is a module with a function of the same name, so that both
    ``name(…)`` and ``name.name(…)`` occur.
    """
    setattr(call, name, call)
    return call


def _translate_errors(
    name: str, word: DslOperation, build: Callable[..., Any]
) -> Callable[..., Any]:
    """Wraps `build` so that an `InputError` is re-raised as `OperatorError`.

    ``RuntimeError`` is a base class of `OperatorError`, and operators catch ``RuntimeError``.
    """

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return build(*args, **keywords)
        except InputError as error:
            if isinstance(error, RuntimeError):
                raise
            parts = {
                "place": error.place or str(user_location()),
                "expected": error.expected,
                "got": error.got,
                "remedy": error.remedy,
            }
            info = {"errCode": "E90001", "detailed_cause": error.what}
            raise OperatorError(info, error.what, **parts) from error
        except TypeError as error:
            fits = _can_bind(word, args, keywords)
            if fits:
                raise
            raise OperatorError(
                {"errCode": "E90001", "detailed_cause": str(error)},
                f"{name} does not take these arguments",
                expected=f"{name}{inspect.signature(word.build, eval_str=False)}".replace("'", ""),
                got=str(error).partition("() ")[2] or str(error),
            ) from error

    return call


def _can_bind(word: DslOperation, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    try:
        args, keywords = _normalize_arguments(word.name, args, keywords)
        inspect.signature(word.build).bind(*args, **keywords)
    except TypeError:
        return False
    return True


@functools.cache
def find_casting_operation(name: str) -> Callable[..., Any] | None:
    """Wraps the DSL operation `name` so that it casts its operands as ``te.lang.cce`` does.

    Returns None for an unknown name.
    """
    word = find_operation(name)
    if word is None:
        return None

    @functools.partial(_add_self_attribute, name)
    @functools.wraps(word.build)
    @functools.partial(_translate_errors, f"te.lang.cce.{name}", word)
    def cast_and_build(*args: Any, **keywords: Any) -> Any:
        if word.name == "vcmp":
            _check_bit_mode(args, keywords)
        exact = bool(keywords.get("priority_flag")) or any(item is True for item in args[3:])
        args, keywords = _normalize_arguments(word.name, args, keywords)
        chip = current_soc()
        if word.name in _OPERATIONS_WITH_CAST_OPERANDS:
            args, keywords = _cast_arguments(word, chip, args, keywords)
        elif word.name in _ROUNDING_OPERATIONS and not chip.is_unlimited:
            args = (_cast_for_rounding(args[0], chip), *args[1:])
        elif (
            word.name in _REDUCTIONS
            and not chip.is_unlimited
            and args
            and isinstance(args[0], Tensor)
        ):
            return _cast_and_reduce(word, chip, args, keywords, exact=exact)
        return _adapt_split_result(word, word(*args, **keywords))

    return cast_and_build


def _check_bit_mode(args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """Raises `InputError` if the size of the last axis is unsuitable for ``vcmp`` in bit mode.

    A constant size of the last axis must be a multiple of 8. Only ``te.lang.cce`` rejects other
    sizes; ``tbe.dsl`` pads the axis.
    """
    mode = args[3] if len(args) > 3 else keywords.get("mode", "bool")
    tensor = args[0] if args else keywords.get("lhs")
    if mode != "bit" or not isinstance(tensor, Tensor) or not tensor.ndim:
        return
    last = tensor.shape[-1]
    if isinstance(last, Const) and last.value % 8:
        raise InputError(
            "vcmp in bit mode packs the last axis by eights",
            place=str(user_location()),
            expected="a multiple of 8 elements on the last axis",
            got=shape_text(tensor.shape),
            remedy="Use mode='bool', or pad the last axis",
        )


@functools.cache
def find_checking_operation(name: str) -> Callable[..., Any] | None:
    """Wraps the DSL operation `name` so that it checks operand dtypes as ``tbe.dsl`` does.

    Returns None for an unknown name.
    """
    word = find_operation(name)
    if word is None:
        return None

    @functools.partial(_add_self_attribute, name)
    @functools.wraps(word.build)
    @functools.partial(_translate_errors, f"tbe.dsl.{name}", word)
    def check_and_build(*args: Any, **keywords: Any) -> Any:
        args, keywords = _normalize_arguments(word.name, args, keywords)
        chip = current_soc()
        if (
            not chip.is_unlimited
            and word.name in chip.words
            and word.name not in _SELF_CHECKING_OPERATIONS
        ):
            for tensor in _tensors((*args, *keywords.values()))[:1]:
                if not is_operation_supported(chip, word.name, tensor.dtype) and not _is_conversion(
                    chip, word.name, tensor, args, keywords
                ):
                    raise _unsupported_dtype_error(
                        f"tbe.dsl.{name}", chip, tensor, sorted(chip.words[word.name])
                    )
        return _adapt_split_result(word, word(*args, **keywords))

    return check_and_build


def _adapt_split_result(word: DslOperation, made: Any) -> Any:
    """Adapts the result `made` of the DSL operation `word`: only the result of a split changes.

    The result of a split is the pair (shapes, parts). Inside a variant block
    (``with tbe.dsl.compute():``), operator files expect only the parts.
    """
    return made[1] if word.name == "split" and is_in_variant() else made


_ROUNDING_MODES = {"round": "r", "floor": "f", "ceil": "c", "trunc": "z", "round_half_up": "a"}


def _is_conversion(
    chip: Soc, word: str, tensor: Tensor, args: Sequence[Any], keywords: Mapping[str, Any]
) -> bool:
    """Whether the operation `word` is a rounding that the chip does in a single instruction.

    The target dtype of the conversion is the dtype in the arguments, or int32 by default.
    """
    mode = _ROUNDING_MODES.get(word)
    target = args[1] if len(args) > 1 else keywords.get("dtype", "int32")
    return mode is not None and is_conversion_supported(chip, mode, tensor.dtype, str(target))


def _unsupported_dtype_error(
    name: str, chip: Soc, tensor: Tensor, known: Sequence[str]
) -> Exception:
    return fault(
        "E90002",
        f"{name} does not take {tensor.dtype} on {chip.name}, only {', '.join(known)}",
        api=name,
        soc_version=chip.name,
        dtype=tensor.dtype,
        detailed_cause=f"[{name}] does not support dtype [{tensor.dtype}]",
    )


_IGNORED_PARAMETERS = frozenset("priority_flag impl_mode optim_flag is_precision".split())
"""Parameters that only select device instructions."""
_PARAMETER_ALIASES = {
    "input_shape": "shape",
    "input_tensor": "raw_tensor",
    "filter": "filters",
    "filter_size": "filter_sizes",
    "input_size": "input_sizes",
    "x": "input_x",
}
"""Maps a parameter alias to the name that DSL operations use."""


@functools.cache
def _parameters_of(word: str) -> frozenset[str]:
    found = find_operation(word)
    return frozenset(inspect.signature(found.build).parameters) if found else frozenset()


def _normalize_arguments(
    word: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Removes parameters that only select device instructions, and resolves parameter aliases."""
    # an element of a tensor may be passed as a scalar argument
    args = tuple(item.as_expr() if isinstance(item, TensorSlice) else item for item in args)
    if not keywords:
        return args, keywords
    own = _parameters_of(word)
    kept = {
        _PARAMETER_ALIASES[key]
        if key not in own and _PARAMETER_ALIASES.get(key) in own
        else key: value
        for key, value in keywords.items()
        if key not in _IGNORED_PARAMETERS
    }
    for first in ("raw_tensor", "data"):
        # the name of the first parameter differs between releases of the CANN toolkit
        if first in kept and not args:
            args = (kept.pop(first),)
    if "scalar" in kept and word in ("vadds", "vmuls", "vmaxs", "vmins") and len(args) == 1:
        args = (*args, kept.pop("scalar"))
    return args, kept


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor)]


def _cast_arguments(
    word: DslOperation, chip: Soc, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Casts the operands to the dtype in which the chip computes the operation."""
    skip = 1 if word.name == "vsel" else 0
    operands = _tensors((*args[skip:], *(v for k, v in keywords.items() if k != "condition")))
    if not operands:
        return args, keywords
    given = {tensor.dtype for tensor in operands}
    if chip.is_unlimited:
        target = functools.reduce(common_dtype, sorted(given))
    else:
        target = _target_dtype(word, chip, sorted(given), operands[0])
    if given == {target}:
        return args, keywords

    def cast_argument(value: Any) -> Any:
        return auto_cast(value, target) if isinstance(value, Tensor) else value

    return (
        (*args[:skip], *map(cast_argument, args[skip:])),
        {
            key: value if key == "condition" else cast_argument(value)
            for key, value in keywords.items()
        },
    )


def _supported_dtypes(word: DslOperation, chip: Soc) -> frozenset[str]:
    own = chip.instructions.get(word.instruction or word.name)
    if own is None:
        own = chip.instructions.get(_FALLBACK_INSTRUCTIONS.get(word.name, ""), frozenset())
    # a chip without a float32 logarithm computes it by a series
    return own | {"float32"} if word.name == "vlog" else own


def _target_dtype(word: DslOperation, chip: Soc, given: Sequence[str], tensor: Tensor) -> str:
    takes = _supported_dtypes(word, chip)
    if not takes or (len(given) == 1 and given[0] in takes):
        return given[0]
    if (
        len(given) == 1
        and given[0] in ("int64", "uint64")
        and is_operation_supported(chip, word.name, given[0])
    ):
        return given[0]
    for wanted in ("float32", "float16"):
        if wanted in takes and all(_can_convert_on(chip, dtype, wanted) for dtype in given):
            return wanted
    raise _unsupported_dtype_error(f"te.lang.cce.{word.name}", chip, tensor, sorted(takes))


def can_convert(source: str, target: str) -> bool:
    """Whether the current chip converts one dtype to another in one instruction."""
    return _can_convert_on(current_soc(), source, target)


def _can_convert_on(chip: Soc, source: str, target: str) -> bool:
    return any(is_conversion_supported(chip, mode, source, target) for mode in ("", *"rafcz"))


def auto_cast(tensor: Tensor, dtype: str) -> Tensor:
    """Casts a tensor to `dtype`.

    A cast in the code of an operator disables `cast_back`; this cast does not.
    """
    if tensor.dtype == dtype:
        return tensor
    cast_to = find_operation("cast_to")
    assert cast_to is not None
    made: Tensor = cast_to(tensor, dtype)
    made.op.tag = made.op.tag.replace("|not_auto_cast", "")
    session().auto_casts.add(id(made.op))
    session().keepalive.append(made.op)
    return made


def _cast_for_rounding(tensor: Any, chip: Soc) -> Any:
    if not isinstance(tensor, Tensor) or tensor.dtype == "float16":
        return tensor
    if tensor.dtype == "float32":
        return (
            tensor
            if is_conversion_supported(chip, "z", "float32", "int32")
            else auto_cast(tensor, "float16")
        )
    return (
        auto_cast(tensor, "float32") if _can_convert_on(chip, tensor.dtype, "float32") else tensor
    )


def _cast_and_reduce(
    word: DslOperation, chip: Soc, args: tuple[Any, ...], keywords: dict[str, Any], *, exact: bool
) -> Any:
    """Reduces in a dtype that the chip supports, and casts back to the dtype of the operand.

    If `exact` is True, maxima and minima along the last axis may also be computed in float32.
    Maxima and minima in float32 are slow on the device.
    """
    tensor = args[0]
    axis = args[1] if len(args) > 1 else keywords.get("axis")
    listed = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    last = any(
        isinstance(item, int) and item % max(tensor.ndim, 1) == tensor.ndim - 1 for item in listed
    )
    if word.name in ("reduce_max", "reduce_min"):
        takes = {"float16", "float32", "int32"} if not last else set(chip.instructions["vcmax"])
        if exact:
            takes.add("float32")
    elif word.name == "reduce_sum":
        takes = {"float16", "float32"} | (set() if last else {"int32"})
    else:
        takes = {"float16", "float32"}
    if tensor.dtype in takes:
        return word(*args, **keywords)
    for wanted in ("float32", "float16"):
        if wanted in takes and _can_convert_on(chip, tensor.dtype, wanted):
            break
    else:
        return word(*args, **keywords)
    made = word(auto_cast(tensor, wanted), *args[1:], **keywords)
    return auto_cast(made, tensor.dtype)


def cast_back(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Casts the outputs to the dtype of one input, as ``te.lang.cce.auto_schedule`` does.

    The outputs stay unchanged if the operator itself contains a cast. The input is selected as in
    the CANN toolkit: it is the last placeholder that a depth-first search from the outputs finds.
    The search visits operands from left to right.
    """
    stages = stages_of(outputs)
    inputs = [op.outputs[0] for op in stages if op.kind == "placeholder"]
    made = [op for op in stages if op.kind != "placeholder"]
    dtype = inputs[-1].dtype if inputs else ""
    if (
        dtype in ("", "bool", "uint64")
        or all(output.dtype == dtype for output in outputs)
        or len(made) < 2
        or any(op.kind != "compute" or "not_auto_cast" in op.tag for op in made)
        or all(op.tag == "elewise_single_cast" for op in made)
    ):
        return list(outputs)
    return [
        output if _is_exempt_from_cast_back(output, dtype) else auto_cast(output, dtype)
        for output in outputs
    ]


def _is_exempt_from_cast_back(output: Tensor, dtype: str) -> bool:
    """Whether `cast_back` keeps the dtype of this output instead of casting it to `dtype`."""
    return (
        not output.op.input_tensors
        or output.dtype in ("bool", "uint8", "int8")
        or (dtype in ("float16", "float32") and output.dtype == "int32")
    )
