"""Compiles an operator's host file, and runs the tiling function of this file for given shapes."""

from __future__ import annotations

import ctypes
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tbe_impl.ascendc.kernel_source import read_text
from tbe_impl.ascendc.launch import run_in_child
from tbe_impl.ascendc.native_build import HOST_MODEL, build_library, preprocess
from tbe_impl.ascendc.translation_unit import GE_DTYPES, TranslationUnit
from tbe_impl.errors import InputError
from tbe_impl.runtime.shared_library_check import load_library
from tbe_impl.soc import Soc, find_soc

CAPACITY_BYTES = 1 << 16
SYMBOL = "host_model_tiling"
_STRUCTURE = re.compile(
    r"\bBEGIN_TILING_DATA_DEF\s*\(\s*(\w+)\s*\).*?\bEND_TILING_DATA_DEF\b", re.DOTALL
)
_REGISTERED = re.compile(r"\bREGISTER_TILING_DATA_CLASS\s*\(\s*(\w+)\s*,\s*(\w+)\s*\)")
_ARRAY_SIZE = re.compile(r"\bTILING_DATA_FIELD_DEF_ARR\s*\(\s*\w+\s*,\s*([A-Za-z_]\w*)\s*,")
_CHECK = "Check the shapes, dtypes and attributes that are given"
_REMEDIES = {
    "tiling": _CHECK,
    "shape": _CHECK,
    "missing": "Give them: --attr NAME=VALUE, or attributes={…} in Python",
}
"""Maps the kind of error that host_model/host/entry.h returns to a remedy."""


@dataclass(frozen=True)
class HostTiling:
    """Result of a tiling function.

    Attributes:
        operator: name of the operator.
        blocks: number of cores that the tiling function set; 0 if the function set no number.
        key: the tiling key, an integer that selects a variant of the kernel.
        workspace_bytes: size of the workspace in bytes.
        data: bytes of the tiling data.
        zero_outputs: whether the operator's definition fills an output with zeros before the
            kernel.
        template_values: values of the kernel's template arguments, if the tiling function chose
            them.
        notes: differences between the declared and the inferred shapes; chips for which the
            operator's definition has no configuration.
        aliases: pairs (output, input) with the same name in the operator's definition. The two
            arrays of a pair share memory.
    """

    operator: str
    blocks: int
    key: int
    workspace_bytes: int
    data: bytes
    zero_outputs: bool
    template_values: tuple[int, ...] = ()
    notes: tuple[str, ...] = ()
    aliases: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class TilingStructures:
    """Tiling structures that a host file declares by macros.

    Attributes:
        text: C++ that declares the structures for a kernel; empty if the host file declares none.
        default: the structure that is registered for the operator; None if none is registered.
    """

    text: str
    default: str | None


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("sizes", ctypes.POINTER(ctypes.c_int64)),
        ("dimensions", ctypes.c_uint32),
        ("type", ctypes.c_int32),
        ("data", ctypes.c_void_p),
    )


class _Attribute(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char_p), ("text", ctypes.c_char_p))


class _Request(ctypes.Structure):
    _fields_ = (
        ("name", ctypes.c_char_p),
        ("tensors", ctypes.POINTER(_Tensor)),
        ("inputs", ctypes.c_uint32),
        ("outputs", ctypes.c_uint32),
        ("attributes", ctypes.POINTER(_Attribute)),
        ("attribute_count", ctypes.c_uint32),
        ("vector_cores", ctypes.c_uint32),
        ("cube_cores", ctypes.c_uint32),
        ("memory_bytes", ctypes.c_uint64 * 8),
        ("soc", ctypes.c_char_p),
        ("data", ctypes.c_void_p),
        ("capacity", ctypes.c_uint64),
    )


@dataclass(frozen=True)
class HostTensor:
    """Shape and dtype of an input or output, and its values if the user gives them."""

    shape: tuple[int, ...]
    dtype: str
    array: np.ndarray | None = None


def read_tiling_structures(
    host: Path, include: Sequence[Path] = (), defines: Sequence[str] = ()
) -> TilingStructures:
    """Returns the tiling structures that a host file and its included files declare by macros.

    Raises:
        InputError: the file is missing, or includes a missing file.
        MissingError: there is no C++ compiler.
    """
    path = str(host).replace("\\", "\\\\").replace('"', '\\"')
    text = preprocess(
        f'#line 1 "{path}"\n{read_text(host)}', host, include, ("HOST_MODEL_KEEP_MACROS", *defines)
    )
    structures = {found[1]: f"{found[0]};" for found in _STRUCTURE.finditer(text)}
    registered = _REGISTERED.findall(text)
    if not structures:
        return TilingStructures("", None)
    sizes = {name for one in structures.values() for name in _ARRAY_SIZE.findall(one)}
    constants = [line for name in sorted(sizes) for line in _constant(name, text)]
    own = [name for operator, name in registered if name in structures and operator != f"{name}Op"]
    return TilingStructures(
        "\n".join(
            [
                '#include "kernel_tiling/kernel_tiling.h"',
                "namespace optiling {",
                *constants,
                *_in_order(structures),
                "}",
                "using namespace optiling;",
            ]
        ),
        own[0] if own else next(iter(structures)),
    )


def _in_order(structures: Mapping[str, str]) -> list[str]:
    """Sorts the declarations so that a nested structure precedes the structure that contains it."""
    done: dict[str, str] = {}

    def add(name: str) -> None:
        if name in done:
            return
        for other in structures:
            if other != name and re.search(rf"_DEF_STRUCT\s*\(\s*{other}\b", structures[name]):
                add(other)
        done[name] = structures[name]

    for name in structures:
        add(name)
    return list(done.values())


def _constant(name: str, text: str) -> list[str]:
    found = re.search(
        rf"^[ \t]*(?:static[ \t]+|inline[ \t]+)?(?:constexpr|const)"
        rf"[ \t]+\w+[ \t]+{name}[ \t]*=[^;(]+;",
        text,
        re.MULTILINE,
    )
    return [found[0].strip()] if found else []


def run_host_tiling(
    host: Path,
    *,
    kernel: str,
    inputs: Sequence[HostTensor],
    outputs: Sequence[HostTensor],
    attributes: Mapping[str, str],
    soc: Soc,
    include: Sequence[Path] = (),
    defines: Sequence[str] = (),
) -> HostTiling:
    """Runs the tiling function, and the shape function if there is one.

    Args:
        host: path of the operator's host file.
        kernel: name of the kernel function. The name selects one of several operators of the file.
        inputs, outputs: shapes and dtypes of the arrays, in the order of the kernel's parameters.
        attributes: attribute of the operator → its value as text.
        soc: name of the chip. The two functions query properties of this chip.
        include, defines: include directories and macro definitions for the compiler.

    Raises:
        InputError: the file does not compile, it defines no operator for the kernel, or one of its
            functions returns an error.
        CrashError: a function of the file crashed.
    """
    path = str(host).replace("\\", "\\\\").replace('"', '\\"')
    text = "\n".join(
        [
            '#include "register/op_def_registry.h"',
            '#include "tiling/tiling_api.h"',
            f'#line 1 "{path}"',
            read_text(host),
            '#line 1 "entry"',
            f'#include "{HOST_MODEL / "host" / "entry.h"}"',
            "",
        ]
    )
    unit = TranslationUnit(text, tuple(defines))
    library = load_library(build_library(unit, host, include=include, symbols=(SYMBOL,)), (SYMBOL,))
    data = np.zeros(CAPACITY_BYTES, np.uint8)
    tensors = (_Tensor * (len(inputs) + len(outputs)))()
    keep = []
    for place, one in zip(tensors, (*inputs, *outputs), strict=True):
        sizes = (ctypes.c_int64 * max(len(one.shape), 1))(*one.shape)
        keep.append(sizes)
        place.sizes, place.dimensions = sizes, len(one.shape)
        place.type = GE_DTYPES.get(one.dtype, 28)
        place.data = one.array.ctypes.data if one.array is not None else None
    named = (_Attribute * max(len(attributes), 1))(
        *(_Attribute(name.encode(), value.encode()) for name, value in attributes.items())
    )
    request = _Request(
        kernel.encode(),
        tensors,
        len(inputs),
        len(outputs),
        named,
        len(attributes),
        soc.vector_cores or soc.cores,
        soc.cores,
        (ctypes.c_uint64 * 8)(
            soc.unified_buffer_bytes,
            soc.l1_bytes,
            soc.l0a_bytes,
            soc.l0b_bytes,
            soc.l0c_bytes,
            1024,
            2048,
            soc.l2_bytes,
        ),
        soc.name.encode(),
        data.ctypes.data,
        CAPACITY_BYTES,
    )
    function = library.host_model_tiling
    function.argtypes, function.restype = (ctypes.POINTER(_Request),), ctypes.c_char_p

    def call() -> bytes:
        found = json.loads(function(ctypes.byref(request)), strict=False)
        found["data"] = data.tobytes()[: found.get("bytes", 0)].hex()
        return json.dumps(found).encode()

    raw = json.loads(
        run_in_child(
            call,
            f"the tiling function of {host}",
            "It gets a null pointer for an input or attribute that was not given: compare "
            "them with the operator's definition",
        )
        if hasattr(os, "fork")
        else call()
    )
    if "error" in raw:
        raise InputError(
            raw["message"],
            place=str(host),
            expected=raw["known"] or None,
            got=kernel if raw["error"] == "operator" else None,
            remedy=_REMEDIES.get(raw["error"]),
        )
    notes = _chip_notes(raw["chips"], soc) + tuple(
        f"the shape function gives output {number} the shape "
        f"{'×'.join(map(str, shape)) or 'scalar'}, and it was given as "
        f"{'×'.join(map(str, one.shape)) or 'scalar'}"
        for number, (shape, one) in enumerate(zip(raw["shapes"], outputs, strict=False))
        if tuple(shape) != one.shape
    )
    return HostTiling(
        raw["operator"],
        raw["blocks"],
        raw["key"],
        raw["workspace"],
        bytes.fromhex(raw["data"]),
        raw["zero_outputs"],
        tuple(raw["template"]),
        notes,
        tuple((output, place) for output, place in raw["aliases"]),
    )


def _chip_notes(chips: Sequence[str], soc: Soc) -> tuple[str, ...]:
    """Returns a note if the operator's definition names chips, and `soc` is not among them.

    Such an operator may depend on the number of cores of another chip.
    """
    families = set()
    for one in chips:
        try:
            families.add(find_soc(one).short_name)
        except InputError:  # a chip that the table lacks
            continue
    if not families or soc.short_name in families:
        return ()
    return (
        f"the operator's definition is for {', '.join(chips)}, and the chip is {soc.name}: "
        f"give --soc {chips[0]}",
    )
