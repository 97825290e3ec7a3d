"""Defines `GraphKernelFlags`, which has a typed field for each flag of graph kernel fusion.

`GraphKernelFlags.render` returns the flag string that MindSpore reads, for example
``--opt_level=2 --enable_cluster_ops=Div,Erf``; `GraphKernelFlags.parse` reads such a string.
MindSpore silently ignores most mistakes in a flag string. `ms_fusion.mindspore.flags.lint.lint`
finds such mistakes.

This module exceeds 500 lines because the list of all flags, its parser and its printer belong
together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from tbe_impl.errors import InputError

TOKEN = re.compile(r"\S+")
FLAG_FILE_BYTES_MAX = 1 << 20
"""Largest number of bytes that are read from the file of ``--path``."""


def _flag(
    doc: str,
    kind: str,
    *,
    default: object,
    choices: tuple[int | str, ...] = (),
    names: str = "",
    minimum: int | None = None,
    killed_by: tuple[object, ...] = (),
) -> Any:
    """Returns a dataclass field for a flag.

    The metadata of the field describe the flag in MindSpore 2.10.

    The default value of the field is None.

    Args:
        doc: effect of the flag.
        kind: ``int``, ``bool``, ``str`` or ``list`` (of names, separated by commas).
        default: MindSpore's own value when the flag is absent.
        choices: allowed values; empty if all values of the kind are allowed.
        names: for a list, the kind of its items: ``operator``, ``pass``, ``pattern`` or ``number``.
        minimum: smallest allowed number, or None if there is no minimum.
        killed_by: values of the flag that make MindSpore end the process on CPU.
    """
    return field(
        default=None,
        metadata={
            "doc": doc,
            "kind": kind,
            "default": default,
            "choices": choices,
            "names": names,
            "minimum": minimum,
            "killed_by": killed_by,
        },
    )


@dataclass(frozen=True)
class GraphKernelFlags:
    """A set of flags for graph kernel fusion. MindSpore uses its default for a field that is None.

    The ``metadata`` of each field contain the flag's documentation, kind, default and allowed
    values. `describe` returns them as a string.
    """

    opt_level: int | None = _flag(
        "Level of fusion: 0 off, 1 basic, 2 all that is stable, 3 experimental too. Flags in "
        "`MS_DEV_GRAPH_KERNEL_FLAGS` without `--opt_level` fuse nothing. "
        "With `enable_graph_kernel`, "
        "flags in the context without it have level 2.",
        "int",
        default=0,
        choices=(0, 1, 2, 3),
    )
    fusion_ops_level: int | None = _flag(
        "How many operators are clustered by default: 0 few, 1 more (Ascend: matrix products "
        "too), 2 most.",
        "int",
        default=0,
        choices=(0, 1, 2),
    )
    enable_expand_ops: tuple[str, ...] | None = _flag(
        "Operators expanded into basic ones besides the default list.",
        "list",
        default=(),
        names="operator",
    )
    enable_expand_ops_only: tuple[str, ...] | None = _flag(
        "The only operators expanded; overrides the two other expand lists.",
        "list",
        default=(),
        names="operator",
    )
    disable_expand_ops: tuple[str, ...] | None = _flag(
        "Operators of the default list that are not expanded.", "list", default=(), names="operator"
    )
    enable_cluster_ops: tuple[str, ...] | None = _flag(
        "Operators clustered besides the default list.", "list", default=(), names="operator"
    )
    enable_cluster_ops_only: tuple[str, ...] | None = _flag(
        "The only operators clustered; overrides the two other cluster lists.",
        "list",
        default=(),
        names="operator",
    )
    disable_cluster_ops: tuple[str, ...] | None = _flag(
        "Operators of the default list that are not clustered.",
        "list",
        default=(),
        names="operator",
    )
    enable_pass: tuple[str, ...] | None = _flag(
        "Passes switched on, as `stage.pass` (`split.graph_kernel_cse`), as numbers (`3.7`) or by "
        "the name alone "
        "for the backend's own fusion passes.",
        "list",
        default=(),
        names="pass",
    )
    disable_pass: tuple[str, ...] | None = _flag(
        "Passes switched off, written as for enable_pass.", "list", default=(), names="pass"
    )
    enable_fusion_pattern_only: tuple[str, ...] | None = _flag(
        "The only patterns by which the splitter joins operators.",
        "list",
        default=(),
        names="pattern",
    )
    disable_fusion_pattern: tuple[str, ...] | None = _flag(
        "Patterns by which the splitter does not join operators.",
        "list",
        default=(),
        names="pattern",
    )
    enable_simplify_exprs_only: tuple[str, ...] | None = _flag(
        "The only algebraic rewritings done, by their numbers in MindSpore's source "
        "(`arithmetic_simplify.cc`).",
        "list",
        default=(),
        names="number",
    )
    disable_simplify_exprs: tuple[str, ...] | None = _flag(
        "Algebraic rewritings that are not done, by number.", "list", default=(), names="number"
    )
    exact_precision_mode: bool | None = _flag(
        "Leave out the algebraic rewritings that change a result's rounding.", "bool", default=True
    )
    kernel_generator: str | None = _flag(
        "Who builds the fused kernels: AKG (CPU, GPU), DVM (Ascend), AKG_V2 (needs a module "
        "`akg_v2`).",
        "str",
        default="AKG",
        choices=("AKG", "AKG_V2", "DVM"),
        killed_by=("DVM",),
    )
    composite_op_limit_size: int | None = _flag(
        "Largest number of operators in one kernel.", "int", default=200, minimum=1
    )
    reduce_fuse_depth: int | None = _flag(
        "How many operators may be joined in front of a reduction; -1: 20 on CPU and GPU, 10 on "
        "Ascend.",
        "int",
        default=-1,
        minimum=-1,
    )
    enable_dynamic_shape_fusion: bool | None = _flag(
        "Fuse operators whose shapes are not known before run time.",
        "bool",
        default=False,
        killed_by=(True,),
    )
    enable_dynamic_batch: bool | None = _flag(
        "Kernels that take any size of the first dimension.", "bool", default=False
    )
    enable_stitch_fusion: bool | None = _flag(
        "Join reductions and what follows them through on-chip memory (GPU, Ascend).",
        "bool",
        default=False,
    )
    enable_recompute_fusion: bool | None = _flag(
        "Compute a value again in each kernel rather than store it; on from opt_level 2.",
        "bool",
        default=False,
    )
    recompute_increment_threshold: int | None = _flag(
        "Growth of memory in bytes from which a value is computed again.",
        "int",
        default=0,
        minimum=0,
    )
    recompute_peak_threshold: int | None = _flag(
        "Peak of memory in bytes from which a value is computed again.", "int", default=0, minimum=0
    )
    enable_parallel_fusion: bool | None = _flag(
        "Put independent kernels side by side in one launch; on at opt_level 3.",
        "bool",
        default=False,
    )
    parallel_ops_level: int | None = _flag(
        "How kernels for parallel fusion are found: 0 near each other, 1 in the whole graph (more "
        "memory).",
        "int",
        default=0,
        choices=(0, 1),
    )
    enable_horizontal_fusion: bool | None = _flag(
        "Join operators that read the same input.", "bool", default=False
    )
    enable_auto_tensor_inplace: bool | None = _flag(
        "Write an output over an input that is not needed any more (not on Ascend).",
        "bool",
        default=False,
    )
    enable_csr_fusion: bool | None = _flag(
        "Join operators on sparse CSR tensors (GPU).", "bool", default=False
    )
    disable_matmul_post_fusion: bool | None = _flag(
        "Keep what follows a matrix product out of its kernel (Ascend).", "bool", default=False
    )
    enable_allreduce_prologue_fusion: bool | None = _flag(
        "Join an AllReduce with the operators before it (Ascend).", "bool", default=True
    )
    enable_allreduce_epilogue_fusion: bool | None = _flag(
        "Join an AllReduce with the operators after it (Ascend).", "bool", default=True
    )
    enable_packet_ops_only: tuple[str, ...] | None = _flag(
        "The only operators put into kernel packets (dynamic shapes, Ascend).",
        "list",
        default=(),
        names="operator",
    )
    disable_packet_ops: tuple[str, ...] | None = _flag(
        "Operators never put into kernel packets.", "list", default=(), names="operator"
    )
    enable_cce_lib: bool | None = _flag(
        "Use the hand-written kernels of the CCE library (Ascend).", "bool", default=False
    )
    enable_cce_lib_ops: tuple[str, ...] | None = _flag(
        "Operators taken from the CCE library besides the default list.",
        "list",
        default=(),
        names="operator",
    )
    enable_cce_lib_ops_only: tuple[str, ...] | None = _flag(
        "The only operators taken from the CCE library.", "list", default=(), names="operator"
    )
    disable_cce_lib_ops: tuple[str, ...] | None = _flag(
        "Operators never taken from the CCE library.", "list", default=(), names="operator"
    )
    enable_vectorization: bool | None = _flag(
        "Let the generator use vector instructions.", "bool", default=True
    )
    enable_lite_conv_tuning: bool | None = _flag(
        "Tune convolutions (MindSpore Lite).", "bool", default=False
    )
    online_tuning: int | None = _flag(
        "Search for better kernels while compiling: 0 off, 1 to 3 ever longer.",
        "int",
        default=0,
        choices=(0, 1, 2, 3),
        killed_by=(1, 2, 3),
    )
    repository_path: str | None = _flag(
        "File of tuned kernels that the generator reads.", "str", default=""
    )
    target_os: str | None = _flag(
        "Operating system the kernels run on (CPU).", "str", default="linux"
    )
    cpu_arch: str | None = _flag(
        "Architecture the kernels run on (`x86_64`, `aarch64`).", "str", default=""
    )
    cpu_feature: str | None = _flag(
        "Instruction set of the kernels.",
        "str",
        default="",
        choices=("sse", "avx", "avx512", "neon"),
    )
    cpu_type: str | None = _flag("Processor the kernels are built for.", "str", default="")
    cpu_refer_thread_num: int | None = _flag(
        "Number of threads assumed when a kernel is cut into parts (CPU).",
        "int",
        default=8,
        minimum=1,
    )
    dump_as_text: bool | None = _flag(
        "Write what the splitter did to the directory `graph_kernel_dump`.", "bool", default=False
    )
    enable_debug_mode: bool | None = _flag(
        "Wait after each launch and print what failed (GPU).", "bool", default=False
    )
    path: str | None = _flag(
        "JSON file with the flags, each value as a string; every other flag is then ignored.",
        "str",
        default="",
    )

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if item.metadata["kind"] == "list" and value is not None:
                if isinstance(value, str) or not all(
                    isinstance(name, str) and _is_word(name) for name in value
                ):
                    raise InputError(
                        "a list of names is needed",
                        place=item.name,
                        expected="a tuple of words",
                        got=repr(value),
                    )
                object.__setattr__(self, item.name, tuple(value))
            elif value is not None:
                problem = value_problem(item.name, value)
                if problem:
                    raise InputError(
                        "wrong value", place=item.name, expected=problem, got=repr(value)
                    )

    def render(self) -> str:
        """Returns the flag string that MindSpore reads, without unset flags and empty lists."""
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value is None or value == ():
                continue
            if isinstance(value, bool):
                text = "true" if value else "false"
            elif isinstance(value, tuple):
                text = ",".join(value)
            else:
                text = str(value)
            parts.append(f"--{item.name}={text}")
        return " ".join(parts)

    __str__ = render

    @classmethod
    def parse(cls, text: str) -> GraphKernelFlags:
        """Parses a flag string.

        Raises:
            InputError: a flag is unknown or repeated, or a value has the wrong kind. The error
                names the column. This function does not check the names in lists;
                `ms_fusion.mindspore.flags.lint.lint` does.
        """
        found: dict[str, Any] = {}
        for column, key, value in split_flags(text):
            place = f"flag string, column {column}"
            if key is None:
                raise InputError(
                    "this is not a flag", place=place, expected="--key=value", got=repr(value)
                )
            if key not in FLAGS:
                from ms_fusion.spelling import advise, near_names

                raise InputError(
                    "MindSpore has no such flag",
                    place=place,
                    got=f"--{key}",
                    remedy=advise(f"--{one}" for one in near_names(key, FLAGS)),
                )
            if key in found:
                raise InputError("a flag is given twice", place=place, got=f"--{key}")
            try:
                found[key] = convert(key, value)
            except ValueError as problem:
                raise InputError(
                    "wrong value", place=f"{place}, --{key}", expected=str(problem), got=repr(value)
                ) from None
        return cls(**found)

    @classmethod
    def coerce(cls, flags: GraphKernelFlags | str | None) -> GraphKernelFlags:
        """Converts `flags` to a `GraphKernelFlags`: parses a string, and converts None to no flags.

        Raises:
            InputError: `flags` has another type, or the string is malformed.
        """
        if isinstance(flags, str):
            return cls.parse(flags)
        if flags is None or isinstance(flags, cls):
            return flags or cls()
        raise InputError(
            "graph kernel flags are not a string",
            place="flags",
            expected='such as "--opt_level=2"',
            got=repr(flags),
            remedy="Write them as in `ms-fusion presets auto`",
        )

    def merge(self, other: GraphKernelFlags) -> GraphKernelFlags:
        """Returns these flags merged with `other` by `merge_values`; `other` takes precedence."""
        return GraphKernelFlags(**merge_values(self.set_flags(), other.set_flags()))

    def changes(self, base: GraphKernelFlags) -> tuple[str, ...]:
        """Returns short strings that describe how these flags differ from the flags `base`.

        For example, ``+Reshape`` means that these flags cluster the operator Reshape. ``−Sub``
        means that these flags do not cluster Sub. ``+expand:Softmax`` means that these flags expand
        Softmax into basic operators. For a flag of another kind, the string is the whole flag. If
        only `base` has the flag, the string is ``no --NAME``.

        >>> GraphKernelFlags(enable_cluster_ops=("Div", "Reshape")).changes(
        ...     GraphKernelFlags(enable_cluster_ops=("Div",))
        ... )
        ('+Reshape',)
        """
        found: list[str] = []
        for name in FLAGS:
            value, was = (flags.set_flags().get(name, ()) for flags in (self, base))
            way, _, family = name.partition("_")
            if family not in _NAME_PREFIXES:
                if value != was:
                    flag = GraphKernelFlags(**{name: value}).render() if value != () else ""
                    found.append(flag or f"no --{name}")
            elif not getattr(self, f"enable_{family}_only"):
                more, less = ("+", "−") if way == "enable" else ("−", "+")
                mark = _NAME_PREFIXES[family]
                found += [f"{more}{mark}{one}" for one in value if one not in was]
                found += [f"{less}{mark}{one}" for one in was if one not in value]
        return tuple(dict.fromkeys(found))

    def set_flags(self) -> dict[str, Any]:
        """Returns a dict from name to value of the flags that are not None."""
        return {
            item.name: getattr(self, item.name)
            for item in fields(self)
            if getattr(self, item.name) is not None
        }


FLAGS = {item.name: item for item in fields(GraphKernelFlags)}
"""Maps the name of each flag to its dataclass field, which has the metadata."""

_NAME_PREFIXES = {"cluster_ops": "", "expand_ops": "expand:"}
"""Maps a family in `_FAMILIES` to the prefix that `changes` writes before each list item."""
_FAMILIES = dict.fromkeys(
    name.partition("_")[2].removesuffix("_only")
    for name, item in FLAGS.items()
    if item.metadata["kind"] == "list"
)
"""Names of the families, which are groups of three flags with lists of names.

For example, the family ``cluster_ops`` has the flags ``enable_cluster_ops``,
``disable_cluster_ops`` and ``enable_cluster_ops_only``.
"""

NO_OPERATOR = "None"
"""A name that no operator has.

An ``…_only`` list with this name alone allows no operator. An empty list would have no effect,
since MindSpore treats it as an absent list.
"""


def merge_values(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Merges the flags `over` into the flags `base` and returns a dict from name to value.

    A single value in `over` replaces the value in `base`. Lists come in families of three, such as
    ``enable_cluster_ops``, ``disable_cluster_ops`` and ``enable_cluster_ops_only``. A name in an
    ``enable…`` list of `over` is added to the same list of `base` and removed from the ``disable…``
    list. A name in a ``disable…`` list is treated conversely. If `base` has an ``…_only`` list, an
    enabled name is instead added to this list, and a disabled name is removed from this list. An
    ``…_only`` list in `over` replaces all three lists.

    >>> merge_values({"disable_cluster_ops": ("Exp", "Log")}, {"enable_cluster_ops": ("Exp",)})
    {'disable_cluster_ops': ('Log',), 'enable_cluster_ops': ('Exp',)}
    """
    found = {**base, **over}
    for family in _FAMILIES:
        enable, disable, only = f"enable_{family}", f"disable_{family}", f"enable_{family}_only"
        names = (enable, disable, only)
        if over.get(only):
            merged = dict(over)
        elif any(over.get(name) for name in names):
            more, less = over.get(enable) or (), over.get(disable) or ()
            merged = {
                enable: _join_names(more, base.get(enable), less),
                disable: _join_names(less, base.get(disable), more),
            }
            if base.get(only):
                merged = {
                    only: _join_names(more, base[only], (*less, NO_OPERATOR)) or (NO_OPERATOR,)
                }
        else:
            continue
        for name in names:
            if merged.get(name):
                found[name] = merged[name]
            else:
                found.pop(name, None)
    return found


def _join_names(
    more: Sequence[str], known: Sequence[str] | None, gone: Sequence[str]
) -> tuple[str, ...]:
    """Returns the names in `more`, then those in `known` that are not in `gone`, each name once."""
    return tuple(dict.fromkeys((*more, *(name for name in known or () if name not in gone))))


def is_list(name: str) -> bool:
    """Returns whether a flag is a list of names."""
    return name in FLAGS and FLAGS[name].metadata["kind"] == "list"


def describe(name: str) -> str:
    """Returns one line about the flag `name`: kind, default, allowed values and effect."""
    data = FLAGS[name].metadata
    values = f", one of {', '.join(map(str, data['choices']))}" if data["choices"] else ""
    return f"--{name} ({data['kind']}, default {data['default']!r}{values}): {data['doc']}"


def split_flags(text: str) -> list[tuple[int, str | None, str | None]]:
    """Splits a flag string into tokens; returns (column, key, value) of each token.

    Columns are counted from 1. A token that is not a flag has the key None; its value is the whole
    token. A flag without ``=`` has the value None.
    """
    found: list[tuple[int, str | None, str | None]] = []
    for word in TOKEN.finditer(text):
        column, token = word.start() + 1, word.group()
        if not token.startswith("--") or len(token) == 2 or token[2] == "=":
            found.append((column, None, token))
            continue
        key, equals, value = token[2:].partition("=")
        found.append((column, key, value if equals else None))
    return found


def effective_flags(text: str) -> Mapping[str, str]:
    """Returns the flags that MindSpore takes from a flag string, as texts by name.

    If `text` contains ``--path=FILE``, MindSpore takes the flags from the JSON object in this file,
    and ignores all other flags in `text`. In the file, it ignores values that are not strings. If
    the file cannot be read, MindSpore's compilation fails; the result is then empty.
    """
    found: dict[str, str] = {}
    for _, key, value in split_flags(text):
        if key is not None:
            found.setdefault(key, value or "")
    if not found.get("path"):
        return found
    try:
        with Path(found["path"]).open("rb") as file:
            content = json.loads(file.read(FLAG_FILE_BYTES_MAX))
    except (OSError, ValueError, RecursionError):
        return {}
    if not isinstance(content, dict):
        return {}
    return {key: value for key, value in content.items() if isinstance(value, str)}


def convert(name: str, text: str | None) -> Any:
    """Converts `text` to a value of the flag `name`.

    Raises:
        ValueError: `text` is not a valid value. The message describes the expected value.
    """
    kind = FLAGS[name].metadata["kind"]
    if kind == "bool":
        if text is None or text == "true":
            return True
        if text == "false":
            return False
        raise ValueError("true or false")
    if text is None or text == "":
        raise ValueError("a value after `=`")
    if kind == "list":
        return tuple(part for part in text.split(",") if part)
    value: Any = text
    if kind == "int":
        if not re.fullmatch(r"-?\d{1,18}", text):
            raise ValueError("a whole number")
        value = int(text)
    problem = value_problem(name, value)
    if problem:
        raise ValueError(problem)
    return value


def value_problem(name: str, value: Any) -> str:
    """Checks `value` for the flag `name`.

    Returns a description of the expected value if `value` is invalid, or an empty string.
    """
    data = FLAGS[name].metadata
    kinds: dict[str, Any] = {"int": int, "bool": bool, "str": str}
    if data["kind"] == "list":
        return ""
    if not isinstance(value, kinds[data["kind"]]) or (
        data["kind"] == "int" and isinstance(value, bool)
    ):
        return {"int": "a whole number", "bool": "true or false", "str": "a text"}[data["kind"]]
    if data["kind"] == "str" and (not value.isprintable() or any(part.isspace() for part in value)):
        return "a text without spaces and control codes"
    if data["choices"] and value not in data["choices"]:
        return " or ".join(map(str, data["choices"]))
    if data["minimum"] is not None and value < data["minimum"]:
        return f"{data['minimum']} or more"
    return ""


def _is_word(text: str) -> bool:
    # The blank is the only printable white space.
    return text.isprintable() and " " not in text
