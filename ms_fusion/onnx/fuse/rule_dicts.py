"""Reads fusion rules and constraints from dicts.

A rule is a dict such as ``{"pattern": [...], "condition": f, "fusion_type": ...}``.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from types import MappingProxyType
from typing import Any

from ms_fusion.cost import CAPACITY_SHARE, FUSION_TYPES, has_rule
from ms_fusion.graph import Value
from ms_fusion.ops import ONNX_OPERATORS, record_name
from ms_fusion.rewrite import Chain, Match, OneOf, Op, Pattern, Rule
from ms_fusion.rules import DEFAULT_RULES
from ms_fusion.rules.activation import activation, silu
from ms_fusion.rules.attention import attention
from ms_fusion.rules.gelu import gelu
from ms_fusion.rules.layer_norm import layer_norm
from ms_fusion.rules.linear import check_bias_rank, linear
from ms_fusion.rules.rms_norm import rms_norm
from ms_fusion.spelling import near_names
from tbe_impl.errors import InputError

PLACE = "fusion_rules"
PARTS: Mapping[str, tuple[Pattern, ...]] = MappingProxyType(
    {
        "Activation": activation("x").patterns,
        "Attention": (
            Op("Attention", "x"),
            attention("x", "k", "v"),
            attention("q", "x", "v"),
            attention("q", "k", "x"),
        ),
        "GELU": gelu("x").patterns,
        "LayerNorm": layer_norm("x").patterns,
        "Linear": linear("x").patterns,
        "RMSNorm": rms_norm("x").patterns,
        "SiLU": silu("x").patterns,
    }
)
"""Maps the name of a composite operator to the patterns that match it."""
SUBLAYERS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "Attention": ("Attention", "Linear?", "Add?"),
        "FFN": ("LayerNorm|RMSNorm?", "Linear", "Activation", "Linear", "Add?"),
    }
)
"""Maps the name of a sublayer to the chain of its elements; ``?`` marks an optional element."""
FusionRules = str | Sequence[str | Rule | Mapping[str, Any]]
KEYS = ("pattern", "condition", "fusion_type", "name")
BOUND = re.compile(r"\s*(L1|UB)_usage\s*<=?\s*(\d*\.?\d+)\s*\*\s*\1_capacity\s*")


@dataclass(frozen=True)
class Part:
    """One element of a pattern, as it is passed to a condition.

    Attributes:
        name: name of the element in the pattern.
        input_shape: shape of the element's input value; unknown sizes are names.
        output_shape: shape of the element's output value.
        dtype: dtype of the output value.
    """

    name: str
    input_shape: tuple[int | str, ...]
    output_shape: tuple[int | str, ...]
    dtype: str


def read_rules(
    wanted: FusionRules,
) -> tuple[tuple[str | Rule, ...], float]:
    """Returns a pair: the rules, and the largest share of the on-chip memory that a tile may fill.

    Each rule is a name or a `Rule` object.

    A constraint is a dict such as ``{"constraint": "L1_usage < 0.8 * L1_capacity"}`` or
    ``{"constraint": 0.8}``. The number is an upper bound of the share of the on-chip memory that a
    tile may fill. If there are several constraints, the smallest bound applies. L1 and UB both
    denote the on-chip memory of the device. If the sequence contains only constraints, the
    constraints apply to all rules.

    Raises:
        InputError: a dict is not a valid rule or constraint, or an element is of another type than
            a name, a `Rule` or a dict.

    >>> read_rules(["GELU", {"constraint": "L1_usage < 0.5 * L1_capacity"}])[1]
    0.5
    """
    rules: list[str | Rule] = []
    shares: list[float] = []
    if isinstance(wanted, str):
        wanted = wanted.split(",")
    elif isinstance(wanted, Rule | Mapping) or not isinstance(wanted, Iterable):
        wanted = (wanted,)
    for one in wanted:
        if isinstance(one, str | Rule):
            rules.append(one)
        elif not isinstance(one, Mapping):
            raise InputError(
                "this is not a rule",
                place=PLACE,
                expected="a name, a Rule, a dict, or a list of them",
                got=repr(one),
            )
        elif "constraint" in one:
            shares.append(_read_share(one))
        else:
            rules.append(rule_of(one))
    return tuple(rules) or ("all",) * bool(shares), min(shares, default=CAPACITY_SHARE)


def rule_of(written: Mapping[str, Any]) -> Rule:
    """Converts a dict to a rule.

    ``pattern`` lists operators in the order of the data flow. An element is the ONNX or MindSpore
    name of an operator, or a name in `PARTS` or `SUBLAYERS`. ``condition`` is a function that
    receives a `Part` for each element and returns whether the elements may be fused.

    Raises:
        InputError: a key, the pattern, the condition or the fusion type is wrong.
    """
    unknown = [key for key in written if key not in KEYS]
    if unknown:
        raise InputError(
            "a rule has no such key",
            place=PLACE,
            expected=f"{', '.join(KEYS)}; or constraint in a dict of its own",
            got=repr(unknown[0]),
        )
    names = written.get("pattern")
    if not isinstance(names, list | tuple) or not names or not all(map(_is_name, names)):
        raise InputError(
            "the pattern of a rule is a list of operators",
            place=PLACE,
            expected='"pattern": ["LayerNorm", "Linear"], alternatives as in "Gelu|Erf"',
            got=repr(names),
            remedy="For an operator that may be absent write a second rule, without it",
        )
    kind = written.get("fusion_type", "cross_operator")
    if not isinstance(kind, str) or kind not in FUSION_TYPES:
        raise InputError(
            "unknown fusion_type", place=PLACE, expected=" or ".join(FUSION_TYPES), got=repr(kind)
        )
    condition = written.get("condition", lambda *parts: True)
    _check_condition(condition, names)
    elements = [list(_spellings(name)) for name in names]
    chains = (
        Chain(tuple((str(at), part) for at, parts in enumerate(one) for part in parts))
        for one in product(*elements)
    )
    found = sorted(chains, key=lambda chain: -len(chain.parts))
    name = str(written.get("name") or re.sub(r"\W", "", "".join(names)))
    return Rule(
        name, FUSION_TYPES[kind], OneOf(*found), partial(_refusal_reason, condition, tuple(names))
    )


def _is_name(one: object) -> bool:
    return isinstance(one, str) and all(part and part[-1] != "?" for part in one.split("|"))


def _check_condition(condition: object, names: Sequence[str]) -> None:
    """Raises `InputError` unless `condition` can be called with one argument for each name."""
    try:
        inspect.signature(condition).bind(*names)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise InputError(
            "the condition of a rule cannot be called",
            place=PLACE,
            expected=f"a function of {len(names)} arguments, one for each of {', '.join(names)}",
            got=str(error) if callable(condition) else repr(condition),
        ) from error


def _refusal_reason(condition: Callable[..., Any], names: Sequence[str], match: Match) -> str:
    """Returns the reason why the rule rejects a match, or "" if the rule accepts the match."""
    parts = [
        _part(name, match.value(f"input {at}"), match.value(f"output {at}"))
        for at, name in enumerate(names)
    ]
    try:
        holds = bool(condition(*parts))
    except Exception as error:
        raise InputError(
            f"the condition of {' + '.join(names)} fails",
            place=PLACE,
            got=f"{type(error).__name__}: {error}",
            remedy="Return a bool; an operator has name, input_shape, output_shape and dtype",
        ) from error
    return check_bias_rank(match) if holds else "its condition does not hold"


def _part(name: str, given: Value, made: Value) -> Part:
    return Part(name, given.shape, made.shape, made.dtype)


def _spellings(name: str) -> list[tuple[Op | OneOf, ...]]:
    """Returns all chains of patterns that match one element of a rule.

    An element with optional parts has one chain for each combination of present and absent parts.
    In each pattern, ``"x"`` stands for the input.
    """
    parts = SUBLAYERS.get(name, (name,))
    may_lack = [one.endswith("?") for one in parts]
    patterns = [_pattern(one.removesuffix("?")) for one in parts]
    ways = product(*((True, False) if optional else (True,) for optional in may_lack))
    return [tuple(one for one, held in zip(patterns, way, strict=True) if held) for way in ways]


def _pattern(names: str) -> OneOf:
    return OneOf(*(one for name in names.split("|") for one in PARTS.get(name) or _operator(name)))


def _operator(name: str) -> tuple[Op, ...]:
    """Returns three patterns for an operator.

    The pattern variable ``"x"`` is the operator's first input in the first pattern, its second
    input in the second pattern, and its third input in the third pattern.
    """
    op = record_name(name)
    known = {*PARTS, *SUBLAYERS, *ONNX_OPERATORS, *map(record_name, ONNX_OPERATORS)}
    named = {one for rule in DEFAULT_RULES for one in rule.pattern.names}
    near = near_names(name, known | named)
    if near and op not in known | named and not has_rule(op):
        raise InputError(
            "unknown operator in a pattern",
            place=PLACE,
            got=repr(name),
            remedy=f"Did you mean {' or '.join(near)}?",
        )
    return Op(op, "x"), Op(op, "_", "x"), Op(op, "_", "_", "x")


def _read_share(written: Mapping[str, Any]) -> float:
    bound = written["constraint"]
    said = BOUND.fullmatch(bound) if isinstance(bound, str) else None
    share = float(said[2]) if said else bound
    is_number = isinstance(share, int | float) and not isinstance(share, bool)
    if len(written) > 1 or not is_number or not 0 < share <= 1:
        raise InputError(
            "this constraint is not understood",
            place=PLACE,
            expected='{"constraint": "L1_usage < 0.8 * L1_capacity"}, or UB, or a share: 0.8',
            got=repr(dict(written)),
        )
    return float(share)
