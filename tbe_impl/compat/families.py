"""The two families of words: ``te.lang.cce``, which casts by itself, and ``tbe.dsl``, which refuses.

Words themselves take every dtype and know no chip; what a chip does to them is here.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbe_impl.compat.faults import OperatorError, fault
from tbe_impl.compat.session import current_soc, is_in_variant, session
from tbe_impl.dsl.dtypes import common
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import Word
from tbe_impl.dsl.tensor import Tensor, TensorSlice, shape_text, stages_of
from tbe_impl.errors import InputError
from tbe_impl.soc import Soc, convert_supported, word_supports

SYNONYMS = {
    "sum": "reduce_sum",
    "split_compute_com": "split",
    "round_to": "clip",
    "round_d": "round_half_up",
}
"""Older names of words."""

_MADE_OF = {
    "vmaxs": "vmax",
    "vmins": "vmin",
    "vdiv": "vrec",
    "vsqrt": "vrec",
    "vlrelu": "vmax",
    "vaddrelu": "vadd",
    "vsubrelu": "vsub",
    "vmod": "vmul",
}
"""Word → the instruction whose dtypes count where a chip lacks the word's own."""

_CAST_ALL = frozenset(
    "vadd vsub vmul vdiv vmax vmin vmod vadds vmuls vmaxs vmins vexp vlog vabs vrec vsqrt vrsqrt vrelu vlrelu vaxpy vmla vmadd "
    "vmaddrelu vaddrelu vsubrelu vcmp vsel vcmpsel".split()
)
_WITH_CHECKS_OF_THEIR_OWN = frozenset("vsel vcmpsel conv matmul".split())
_ROUNDING = frozenset("floor ceil round trunc round_half_up".split())
_REDUCTIONS = frozenset("reduce_sum reduce_max reduce_min reduce_prod".split())


def word_named(name: str) -> Word | None:
    """A word of the language by any of its names, None when there is none."""
    from tbe_impl.dsl.operation_table import WORDS

    return WORDS.get(SYNONYMS.get(name, name)) or WORDS.get(name)


def names() -> list[str]:
    """Every name that both families have."""
    from tbe_impl.dsl.operation_table import WORDS

    return sorted({*WORDS, *(old for old, new in SYNONYMS.items() if new in WORDS)})


def _as_module(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """A word with itself as attribute.

    In the toolkit some names are a module too, which has the function inside.
    """
    setattr(call, name, call)
    return call


def _as_the_toolkit(name: str, word: Word, build: Callable[..., Any]) -> Callable[..., Any]:
    """Errors of words are ``RuntimeError`` there, and operators that try a word catch that."""

    def call(*args: Any, **keywords: Any) -> Any:
        try:
            return build(*args, **keywords)
        except InputError as error:
            if isinstance(error, RuntimeError):
                raise
            parts = {
                "place": error.place or str(here()),
                "expected": error.expected,
                "got": error.got,
                "remedy": error.remedy,
            }
            info = {"errCode": "E90001", "detailed_cause": error.what}
            raise OperatorError(info, error.what, **parts) from error
        except TypeError as error:
            fits = _fits(word, args, keywords)
            if fits:
                raise
            raise OperatorError(
                {"errCode": "E90001", "detailed_cause": str(error)},
                f"{name} does not take these arguments",
                expected=f"{name}{inspect.signature(word.build, eval_str=False)}".replace("'", ""),
                got=str(error).partition("() ")[2] or str(error),
            ) from error

    return call


def _fits(word: Word, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
    try:
        args, keywords = _renamed(word.name, args, keywords)
        inspect.signature(word.build).bind(*args, **keywords)
    except TypeError:
        return False
    return True


@functools.cache
def casting(name: str) -> Callable[..., Any] | None:
    """A word of ``te.lang.cce``, None when the language lacks it."""
    word = word_named(name)
    if word is None:
        return None

    @functools.partial(_as_module, name)
    @functools.wraps(word.build)
    @functools.partial(_as_the_toolkit, f"te.lang.cce.{name}", word)
    def cast_and_build(*args: Any, **keywords: Any) -> Any:
        if word.name == "vcmp":
            _check_bits(args, keywords)
        exact = bool(keywords.get("priority_flag")) or any(item is True for item in args[3:])
        args, keywords = _renamed(word.name, args, keywords)
        chip = current_soc()
        if word.name in _CAST_ALL:
            args, keywords = _cast_arguments(word, chip, args, keywords)
        elif word.name in _ROUNDING and not chip.unlimited:
            args = (_for_rounding(args[0], chip), *args[1:])
        elif (
            word.name in _REDUCTIONS and not chip.unlimited and args and isinstance(args[0], Tensor)
        ):
            return _reduced(word, chip, args, keywords, exact=exact)
        return _as_a_variant_has_it(word, word(*args, **keywords))

    return cast_and_build


def _check_bits(args: Sequence[Any], keywords: Mapping[str, Any]) -> None:
    """In bit mode this family takes last axes by eights only; the other fills up the last byte."""
    mode = args[3] if len(args) > 3 else keywords.get("mode", "bool")
    tensor = args[0] if args else keywords.get("lhs")
    if mode != "bit" or not isinstance(tensor, Tensor) or not tensor.ndim:
        return
    last = tensor.shape[-1]
    if isinstance(last, Const) and last.value % 8:
        raise InputError(
            "vcmp in bit mode packs the last axis by eights",
            place=str(here()),
            expected="a multiple of 8 elements on the last axis",
            got=shape_text(tensor.shape),
            remedy="Use mode='bool', or pad the last axis",
        )


@functools.cache
def refusing(name: str) -> Callable[..., Any] | None:
    """A word of ``tbe.dsl``, None when the language lacks it."""
    word = word_named(name)
    if word is None:
        return None

    @functools.partial(_as_module, name)
    @functools.wraps(word.build)
    @functools.partial(_as_the_toolkit, f"tbe.dsl.{name}", word)
    def check_and_build(*args: Any, **keywords: Any) -> Any:
        args, keywords = _renamed(word.name, args, keywords)
        chip = current_soc()
        if (
            not chip.unlimited
            and word.name in chip.words
            and word.name not in _WITH_CHECKS_OF_THEIR_OWN
        ):
            for tensor in _tensors((*args, *keywords.values()))[:1]:
                if not word_supports(chip, word.name, tensor.dtype) and not _is_conversion(
                    chip, word.name, tensor, args, keywords
                ):
                    raise _unsupported(
                        f"tbe.dsl.{name}", chip, tensor, sorted(chip.words[word.name])
                    )
        return _as_a_variant_has_it(word, word(*args, **keywords))

    return check_and_build


def _as_a_variant_has_it(word: Word, made: Any) -> Any:
    """In a block of variants split hands back the parts alone, elsewhere their shapes before them."""
    return made[1] if word.name == "split" and is_in_variant() else made


_ROUNDING_MODES = {"round": "r", "floor": "f", "ceil": "c", "trunc": "z", "round_half_up": "a"}


def _is_conversion(
    chip: Soc, word: str, tensor: Tensor, args: Sequence[Any], keywords: Mapping[str, Any]
) -> bool:
    """Whether a rounding word is one conversion of the chip to the dtype that is asked for, such as int64 to float32."""
    mode = _ROUNDING_MODES.get(word)
    target = args[1] if len(args) > 1 else keywords.get("dtype", "int32")
    return mode is not None and convert_supported(chip, mode, tensor.dtype, str(target))


def _unsupported(name: str, chip: Soc, tensor: Tensor, known: Sequence[str]) -> Exception:
    return fault(
        "E90002",
        f"{name} does not take {tensor.dtype} on {chip.name}, only {', '.join(known)}",
        api=name,
        soc_version=chip.name,
        dtype=tensor.dtype,
        detailed_cause=f"[{name}] does not support dtype [{tensor.dtype}]",
    )


_CHOICES = frozenset("priority_flag impl_mode optim_flag is_precision".split())
"""Parameters that only choose between instructions of the device."""
_PARAMETER_NAMES = {
    "input_shape": "shape",
    "input_tensor": "raw_tensor",
    "filter": "filters",
    "filter_size": "filter_sizes",
    "input_size": "input_sizes",
    "x": "input_x",
}
"""Other names of parameters, for words that lack them → the word's own."""


@functools.cache
def _parameters_of(word: str) -> frozenset[str]:
    found = word_named(word)
    return frozenset(inspect.signature(found.build).parameters) if found else frozenset()


def _renamed(
    word: str, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Arguments without those that only choose between instructions of the device."""
    # an element of a tensor that the operator hands over as a scalar
    args = tuple(item.as_expr() if isinstance(item, TensorSlice) else item for item in args)
    if not keywords:
        return args, keywords
    own = _parameters_of(word)
    kept = {
        _PARAMETER_NAMES[key] if key not in own and _PARAMETER_NAMES.get(key) in own else key: value
        for key, value in keywords.items()
        if key not in _CHOICES
    }
    for first in ("raw_tensor", "data"):
        # the first argument is called differently from release to release
        if first in kept and not args:
            args = (kept.pop(first),)
    if "scalar" in kept and word in ("vadds", "vmuls", "vmaxs", "vmins") and len(args) == 1:
        args = (*args, kept.pop("scalar"))
    return args, kept


def _tensors(values: Sequence[Any]) -> list[Tensor]:
    return [value for value in values if isinstance(value, Tensor)]


def _cast_arguments(
    word: Word, chip: Soc, args: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Operands in the one dtype in which the chip computes the word."""
    skip = 1 if word.name == "vsel" else 0
    operands = _tensors((*args[skip:], *(v for k, v in keywords.items() if k != "condition")))
    if not operands:
        return args, keywords
    given = {tensor.dtype for tensor in operands}
    if chip.unlimited:
        target = functools.reduce(common, sorted(given))
    else:
        target = _target(word, chip, sorted(given), operands[0])
    if given == {target}:
        return args, keywords

    def changed(value: Any) -> Any:
        return auto_cast(value, target) if isinstance(value, Tensor) else value

    return (
        (*args[:skip], *map(changed, args[skip:])),
        {key: value if key == "condition" else changed(value) for key, value in keywords.items()},
    )


def _takes(word: Word, chip: Soc) -> frozenset[str]:
    own = chip.instructions.get(word.instruction or word.name)
    if own is None:
        own = chip.instructions.get(_MADE_OF.get(word.name, ""), frozenset())
    # on the smallest chip a series stands in for the logarithm of float32
    return own | {"float32"} if word.name == "vlog" else own


def _target(word: Word, chip: Soc, given: Sequence[str], tensor: Tensor) -> str:
    takes = _takes(word, chip)
    if not takes or (len(given) == 1 and given[0] in takes):
        return given[0]
    if (
        len(given) == 1
        and given[0] in ("int64", "uint64")
        and word_supports(chip, word.name, given[0])
    ):
        return given[0]
    for wanted in ("float32", "float16"):
        if wanted in takes and all(_converts(chip, dtype, wanted) for dtype in given):
            return wanted
    raise _unsupported(f"te.lang.cce.{word.name}", chip, tensor, sorted(takes))


def converts(source: str, target: str) -> bool:
    """Whether the chip at hand converts one dtype to another in one step."""
    return _converts(current_soc(), source, target)


def _converts(chip: Soc, source: str, target: str) -> bool:
    return any(convert_supported(chip, mode, source, target) for mode in ("", *"rafcz"))


def auto_cast(tensor: Tensor, dtype: str) -> Tensor:
    """A cast that the family adds by itself: the output may be cast back (see `cast_back`)."""
    if tensor.dtype == dtype:
        return tensor
    cast_to = word_named("cast_to")
    assert cast_to is not None
    made: Tensor = cast_to(tensor, dtype)
    made.op.tag = made.op.tag.replace("|not_auto_cast", "")
    session().auto_casts.add(id(made.op))
    session().kept.append(made.op)
    return made


def _for_rounding(tensor: Any, chip: Soc) -> Any:
    if not isinstance(tensor, Tensor) or tensor.dtype == "float16":
        return tensor
    if tensor.dtype == "float32":
        return (
            tensor
            if convert_supported(chip, "z", "float32", "int32")
            else auto_cast(tensor, "float16")
        )
    return auto_cast(tensor, "float32") if _converts(chip, tensor.dtype, "float32") else tensor


def _reduced(
    word: Word, chip: Soc, args: tuple[Any, ...], keywords: dict[str, Any], *, exact: bool
) -> Any:
    """A reduction in the dtype of the chip, cast back to the tensor's own; `exact` asks for float32 where that is slow."""
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
        if wanted in takes and _converts(chip, tensor.dtype, wanted):
            break
    else:
        return word(*args, **keywords)
    made = word(auto_cast(tensor, wanted), *args[1:], **keywords)
    return auto_cast(made, tensor.dtype)


def cast_back(outputs: Sequence[Tensor]) -> list[Tensor]:
    """Outputs as ``te.lang.cce.auto_schedule`` leaves them: in one input's dtype when the operator cast nothing itself.

    That input is the last placeholder of the depth-first walk from the outputs, operands from left to right: the toolkit puts
    each placeholder that it meets in front of its list, and takes the first of the list.
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
        output if _keeps_dtype(output, dtype) else auto_cast(output, dtype) for output in outputs
    ]


def _keeps_dtype(output: Tensor, dtype: str) -> bool:
    """Whether an output stays as it is beside an input of that dtype."""
    return (
        not output.op.input_tensors
        or output.dtype in ("bool", "uint8", "int8")
        or (dtype in ("float16", "float32") and output.dtype == "int32")
    )
