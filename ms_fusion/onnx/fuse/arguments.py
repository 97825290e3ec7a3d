"""Checks the arguments of `auto_fuse` before ONNX and NumPy are imported."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import Any

from ms_fusion.cost import CAPACITY_SHARE
from ms_fusion.devices import check_device
from ms_fusion.onnx.fuse.rule_dicts import FusionRules, read_rules
from ms_fusion.onnx.kernels.clusters import SEARCHES
from ms_fusion.readers.onnx_file_check import check_model_file
from ms_fusion.rewrite import Rule
from ms_fusion.rules import DEFAULT_RULES
from tbe_impl.errors import InputError

LEVELS: Mapping[int, tuple[str, ...]] = {
    0: (),
    1: ("intra-operator",),
    2: ("intra-operator", "cross-operator"),
    3: ("intra-operator", "cross-operator", "pipeline"),
}
"""Maps an optimisation level to the kinds of fusion that are tried."""
LOWERABLE_OPERATORS = ("Conv", "Gemm")
"""Operator types that `ms_fusion.onnx.canonicalization.simpler_operators` can lower on request."""
RUNTIME_RULES = (
    "Attention",
    "AddLayerNorm",
    "LayerNorm",
    "RMSNorm",
    "GELU",
    "SiLU",
    "RotaryEmbedding",
    "Softmax",
)
"""Names of the rules in `ms_fusion.onnx.fuse.ort.table.EQUIVALENTS`.

ONNX Runtime has an equivalent operator for each of these rules.
"""
_RULES = tuple(rule.name for rule in DEFAULT_RULES)
NAMES: Mapping[str, tuple[str, ...]] = {
    "any": (*_RULES, *SEARCHES),
    "ort": tuple(dict.fromkeys((*RUNTIME_RULES, *_RULES))),
    "ort-kernels": (*_RULES, *SEARCHES),
}
"""Maps the target of a fusion to the names of the rules and searches that it supports."""


@dataclass(frozen=True)
class FuseArguments:
    """Checked arguments of `auto_fuse`.

    Attributes:
        source: path of the model's file; symbolic links are resolved.
        place: path of the fused model; None for a dry run.
        sizes: assumed values of dynamic sizes, by name.
        rules: names of fusion rules and of searches (such as ``Cluster``), and `Rule` objects.
        capacity_share: largest share of the on-chip memory that a tile may fill.
        lower: types of the operators to lower.
    """

    source: Path
    place: Path | None
    sizes: Mapping[str, int]
    rules: tuple[str | Rule, ...]
    capacity_share: float
    lower: tuple[str, ...]


def check_arguments(
    input: Path | str,
    output: Path | str | None,
    *,
    fusion_rules: FusionRules = "all",
    opt_level: int = 3,
    device_name: str = "cpu",
    target: str = "any",
    assume: Mapping[str, int] | None = None,
    lower: str | Sequence[str] = (),
    dry_run: bool = False,
    report: Path | str | None = None,
) -> FuseArguments:
    """Checks the arguments of `auto_fuse` and returns them in the form that the fusion uses.

    Raises:
        InputError: an argument is invalid, or the input file is missing, not regular or too large.
    """
    if not isinstance(input, str | os.PathLike):
        raise InputError(
            "this is not an ONNX file",
            place="input",
            expected="the path of a model",
            got=type(input).__name__,
            remedy="Export the net (torch.onnx.export, mindspore.export), or write a graph node by "
            "node with onnx.helper.make_graph; mf.explain shows the graph of a MindSpore net",
        )
    source = Path(os.path.realpath(input))  # a cycle of links raises when the file is opened
    if target not in NAMES:
        raise InputError(
            "unknown target", place="target", expected=" or ".join(NAMES), got=repr(target)
        )
    if target != "any" and device_name != "cpu":
        raise InputError(
            "models for ONNX Runtime are timed on a CPU",
            place="device_name",
            expected="cpu",
            got=device_name,
        )
    rules, capacity_share = read_rules(fusion_rules)
    check_names(rules, NAMES[target])
    if target != "any" and capacity_share != CAPACITY_SHARE:
        raise InputError(
            "a constraint bounds the estimate, and models for ONNX Runtime are timed",
            place="fusion_rules",
            remedy='Leave it out, or fuse for target="any"',
        )
    if opt_level not in LEVELS:
        raise InputError(
            "unknown optimisation level",
            place="opt_level",
            expected="0, 1, 2 or 3",
            got=str(opt_level),
        )
    check_device(device_name)
    sizes = _check_sizes(assume or {})
    lowered = parse_lowered_operators(lower)
    place = None if dry_run else _check_output(source, output)
    if report is not None:
        _check_report(Path(report), source, place)
    check_model_file(source)
    return FuseArguments(source, place, sizes, rules, capacity_share, lowered)


def check_names(wanted: str | Iterable[str | Rule], known: Sequence[str]) -> None:
    """Raises `InputError` if `wanted` contains a name that is neither ``all`` nor in `known`."""
    for one in wanted.split(",") if isinstance(wanted, str) else wanted:
        if isinstance(one, Rule) or (isinstance(one, str) and one.strip() in ("all", *known)):
            continue
        expected = f"all, {', '.join(known)}"
        raise InputError("unknown rule", place="fusion_rules", expected=expected, got=repr(one))


def parse_lowered_operators(wanted: str | Sequence[str]) -> tuple[str, ...]:
    """Returns the types of the operators to lower as a tuple.

    Raises `InputError` for a type that cannot be lowered.
    """
    names = wanted.split(",") if isinstance(wanted, str) else wanted
    found = tuple(name.strip() for name in names)
    for name in found:
        if name not in LOWERABLE_OPERATORS:
            expected = " or ".join(LOWERABLE_OPERATORS)
            raise InputError("unknown operator", place="lower", expected=expected, got=repr(name))
    return found


def _check_sizes(assume: Mapping[str, Any]) -> dict[str, int]:
    for name, size in assume.items():
        if not isinstance(size, Integral) or not 0 < int(size) < 1 << 31:
            raise InputError(
                "this is not a size",
                place=f"assume, {name}",
                expected="a whole number above 0",
                got=repr(size),
            )
    return {name: int(size) for name, size in assume.items()}


def _check_output(source: Path, output: Path | str | None) -> Path:
    """Returns the path of the fused model.

    Raises `InputError` in these cases: no path is given, the path is the input's path, something
    other than a regular file exists at the path, or the directory of the path does not exist.
    """
    if output is None:
        raise InputError(
            "no path is given for the fused model",
            place="output",
            remedy="Name a file, or request a dry run",
        )
    target = Path(output)
    if not target.parent.is_dir():
        raise InputError(
            "the directory of the output does not exist",
            place=str(target.parent),
            remedy=f"Make it first: mkdir -p {target.parent}",
        )
    if target.exists() and (not target.is_file() or (source.exists() and target.samefile(source))):
        raise InputError(
            "the output cannot be written there",
            place=str(target),
            expected="a file other than the input",
        )
    return target


def _check_report(report: Path, source: Path, target: Path | None) -> None:
    """Raises `InputError` if the report would overwrite the input model or the output model."""
    place = os.path.realpath(report)
    if place in {os.path.realpath(one) for one in (source, target) if one is not None}:
        raise InputError(
            "the report cannot be written there",
            place=str(report),
            expected="a file other than the models",
        )
