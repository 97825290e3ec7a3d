"""Writes a kernel's C++ translation unit: the kernel's text, tiling structure and entry point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tbe_impl.ascendc.kernel_source import KernelFunction, KernelSource, symbol_of
from tbe_impl.errors import InputError

CPP_TYPES = {
    "float16": "half",
    "bfloat16": "bfloat16_t",
    "float32": "float",
    "float64": "double",
    "bool": "bool",
    **{f"{kind}{bits}": f"{kind}{bits}_t" for kind in ("int", "uint") for bits in (8, 16, 32, 64)},
}
"""Maps a NumPy dtype to the C++ type of its elements in a kernel."""
GE_DTYPES = {
    "float32": 0,
    "float16": 1,
    "int8": 2,
    "int32": 3,
    "uint8": 4,
    "int16": 6,
    "uint16": 7,
    "uint32": 8,
    "int64": 9,
    "uint64": 10,
    "float64": 11,
    "bool": 12,
    "bfloat16": 27,
}
"""Maps a NumPy dtype to the number of the data type in CANN's interfaces."""
DEFAULT_TILING = "HostModelTiling"
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*\Z")
_FIELD = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*\Z")


TYPE_OF_GE_DTYPE = {number: CPP_TYPES[dtype] for dtype, number in GE_DTYPES.items()}
"""Maps the number of a data type in CANN's interfaces to the C++ type of its elements."""


@dataclass(frozen=True)
class TranslationUnit:
    """C++ text, and the ``-D`` definitions that it needs."""

    text: str
    definitions: tuple[str, ...]


def instance_of(function: KernelFunction, values: Sequence[int]) -> str:
    """Returns the instance of a template kernel as C++ text, such as ``add<float, 8, true>``.

    `values` are the template arguments. The value for a ``typename`` parameter is the number of a
    data type.

    Raises:
        InputError: the number of arguments differs from the number of template parameters.
    """
    if len(values) != len(function.template):
        raise InputError(
            f"the tiling function chooses {len(values)} template arguments",
            place=f"{function.name}, line {function.line}",
            expected=str(len(function.template)),
        )
    arguments = [
        TYPE_OF_GE_DTYPE.get(value, "void") if kind in ("typename", "class") else f"({kind}){value}"
        for kind, value in zip(function.template, values, strict=True)
    ]
    return f"{function.name}<{', '.join(arguments)}>"


def write_translation_unit(
    source: KernelSource,
    function: KernelFunction,
    *,
    instance: str | None = None,
    tiling: Mapping[str, str] | None = None,
    tiling_text: str = "",
    default_tiling: str | None = None,
    dtypes: Mapping[str, str] | None = None,
    defines: Sequence[str] = (),
) -> TranslationUnit:
    """Returns the translation unit of a kernel function.

    Args:
        source, function: the kernel file and the kernel function.
        instance: the function with template arguments, such as ``add<float>``.
        tiling: field of the tiling structure → its value as text.
        tiling_text: C++ that defines tiling structures, such as the operator's tiling header.
        default_tiling: name of the structure in `tiling_text` that GET_TILING_DATA reads.
        dtypes: maps the name of an input or output to its NumPy dtype. For a name x, this defines
            ``DTYPE_X`` and ``ORIG_DTYPE_X``.
        defines: definitions of the user, ``NAME`` or ``NAME=VALUE``.

    Raises:
        InputError: a name is no C++ identifier, or template arguments are missing.
    """
    _check_instance(function, instance or function.name, source)
    fields = dict(tiling or {})
    for name in fields:
        if not _FIELD.match(name):
            raise InputError(
                "the name of a tiling field is not a C++ name", place="--tiling", got=repr(name)
            )
    named = source.tiling_type(function)
    own = ""
    if not named or (source.reads_default_tiling and not default_tiling):
        own = _structure(fields)
    default = default_tiling or (DEFAULT_TILING if own else named)
    structure = named or default_tiling or DEFAULT_TILING
    path = str(source.path).replace("\\", "\\\\").replace('"', '\\"')
    parts = [
        '#include "kernel_operator.h"',
        tiling_text,
        own,
        f"using HostModelDefaultTiling = {default};" if default and (own or default_tiling) else "",
        f'#line 1 "{path}"',
        source.compilable_text(),
        '#line 1 "entry"',
        _entry(
            symbol_of(instance or function.name),
            structure,
            fields,
            is_needed=bool(fields) or bool(named),
        ),
    ]
    return TranslationUnit("\n".join(parts) + "\n", _definitions(dtypes or {}, defines))


def _check_instance(function: KernelFunction, instance: str, source: KernelSource) -> None:
    """Checks that template arguments follow a template's name, but not another function's name."""
    found = re.fullmatch(r"\s*\w+\s*(<.*>)?\s*", instance, re.DOTALL)
    if found and bool(found[1]) == bool(function.template):
        return
    kinds = ", ".join(function.template)
    example = ", ".join(
        {"typename": "float", "class": "float", "bool": "true"}.get(one, "1")
        for one in function.template
    )
    raise InputError(
        f"{function.name} is a template" if kinds else f"{function.name} is no template",
        place=f"{source.path}:{function.line}",
        expected=f"arguments for its parameters: {kinds}" if kinds else function.name,
        got=instance.strip(),
        remedy=f'Give them: --function "{function.name}<{example}>"' if kinds else None,
    )


def _structure(fields: Mapping[str, str]) -> str:
    """Returns the C++ declaration of a tiling structure with these fields.

    The declaration is used for a kernel that declares no tiling structure itself.
    """
    lines = []
    for name, value in fields.items():
        if "." in name:
            raise InputError(
                "a nested tiling field is set, but the kernel names no tiling structure",
                place="--tiling",
                got=name,
                remedy="Give the file that defines it with --host or --include",
            )
        values = value.split(",")
        kind = (
            "float"
            if any(re.search(r"[.eE]|inf|nan", one) and not one.startswith("0x") for one in values)
            else ("int64_t" if any(_is_large(one) for one in values) else "uint32_t")
        )
        lines.append(f"    {kind} {name}{f'[{len(values)}]' if len(values) > 1 else ''};")
    return "\n".join([f"struct {DEFAULT_TILING} {{", *(lines or ["    uint32_t unused;"]), "};"])


def _is_large(text: str) -> bool:
    try:
        return not 0 <= int(text, 0) < 2**32
    except ValueError:
        return False


def _entry(called: str, structure: str, fields: Mapping[str, str], *, is_needed: bool) -> str:
    lines = [
        "HOST_MODEL_EXPORT const char* "
        "host_model_run(const host_model::HostModelRequest* request) {",
        f"    return host_model::run(&{called}, *request);",
        "}",
        "HOST_MODEL_EXPORT const char* host_model_signature() {",
        f"    static const std::string text = host_model::signature_of(&{called});",
        "    return text.c_str();",
        "}",
    ]
    if is_needed:
        lines += [
            "HOST_MODEL_EXPORT uint64_t host_model_tiling_bytes() { "
            f"return sizeof({structure}); }}",
            "HOST_MODEL_EXPORT int host_model_set_field("
            "void* data, const char* name, const char* value) {",
            f"    auto& tiling = *static_cast<{structure}*>(data);",
            "    (void)tiling;",
            "    (void)value;",
            *(
                f'    if (!std::strcmp(name, "{name}")) '
                f"return host_model::assign_field(tiling.{name}, value);"
                for name in fields
            ),
            "    return -1;",
            "}",
        ]
    return "\n".join(lines)


def _definitions(dtypes: Mapping[str, str], defines: Sequence[str]) -> tuple[str, ...]:
    found = []
    for name, dtype in dtypes.items():
        if dtype in CPP_TYPES and _IDENTIFIER.match(name):
            found.append(f"DTYPE_{name.upper()}={CPP_TYPES[dtype]}")
            found.append(f"ORIG_DTYPE_{name.upper()}={GE_DTYPES[dtype]}")
            found.append(f"FORMAT_{name.upper()}=2")
    for one in defines:
        name, _, value = one.partition("=")
        if not _IDENTIFIER.match(name) or "\n" in value:
            raise InputError(
                "a definition does not have the form NAME or NAME=VALUE",
                place="--define",
                got=repr(one),
            )
        found.append(one)
    return tuple(found)
