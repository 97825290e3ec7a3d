"""Writes the files of ``kernels/``: C code, operator files in the TBE DSL, manifest entries."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ms_fusion import __version__
from ms_fusion.graph import Value
from ms_fusion.onnx.fuse.decisions import operator_of
from ms_fusion.onnx.fuse.line_maps import annotate_source, line_map
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.kernels.tbe_source import Line, descriptions, write_tbe_source
from ms_fusion.readers.onnx_graph import ONNX_OP
from tbe_impl.errors import FusionError
from tbe_impl.loading.operator import load_operator
from tbe_impl.runtime import compiler

SOCS: Mapping[str, str] = {"ascend910a": "Ascend910A", "ascend310p": "Ascend310P3"}
"""Device → the chip for which operator files are built; other devices use `OTHER_SOC`."""
OTHER_SOC = "Ascend910B"
_HEAD = """/* {operators} as one kernel, written by ms_fusion {version}.
 * {compile} -I include {name}.c -o {name}.so -lm */
"""
_COMPILE = " ".join(("cc", *compiler.FLAGS, "-march=native", "-ffp-contract=off"))
TRIAL_SIZE = 3
"""Value of a dynamic size in the trial build of an operator file."""


def write_kernel(
    place: Path, alike: Sequence[GroupKernel], device: str, *, debug: bool = False
) -> dict[str, Any]:
    """Writes the files that groups with one kernel share; returns their manifest entry.

    The files and the entry describe the first group. The entry's field ``groups`` lists the
    operators of each group. If the device's chip rejects the operator file but `tbe_impl` runs it
    on the CPU, the file is kept and the entry contains the reason. With `debug`, each line of C
    ends in a comment with its ONNX node, and a line map is written beside the C file.
    """
    kernel = alike[0]
    body = kernel.node.body
    assert body is not None
    operators = ", ".join(re.sub(r"\W", "", operator_of(node)) for node in body.nodes)
    head = _HEAD.format(
        name=kernel.name, operators=operators, version=__version__, compile=_COMPILE
    )
    text, lines = annotate_source(kernel, head.count("\n")) if debug else (kernel.source, ())
    (place / f"{kernel.name}.c").write_text(head + text, "utf-8")
    tbe, tbe_lines = _write_tbe(place, kernel, SOCS.get(device, OTHER_SOC))
    told: dict[str, Any] = {
        "name": kernel.name,
        "rule": kernel.node.op,
        "c": f"{kernel.name}.c",
        "tbe": tbe,
    }
    if debug:
        told["lines"] = f"{kernel.name}.lines.json"
        (place / told["lines"]).write_text(line_map(c=lines, tbe=tbe_lines), "utf-8")
    return {
        **told,
        "inputs": [_describe_value(body.values[name]) for name in body.inputs],
        "outputs": [_describe_value(body.values[name]) for name in body.outputs],
        "nodes": [{"name": node.name, "op": node.attr(ONNX_OP)} for node in body.nodes],
        "groups": [[node.name for node in one.node.body or ()] for one in alike],
    }


def write_headers(place: Path) -> None:
    """Creates the directory `place` and copies the headers that the C kernels include into it."""
    place.mkdir()
    for header in compiler.INCLUDE.glob("*.h"):
        shutil.copyfile(header, place / header.name)


def _describe_value(value: Value) -> dict[str, Any]:
    return {"value": value.name, "dtype": value.dtype, "shape": list(value.shape)}


def _write_tbe(
    place: Path, kernel: GroupKernel, soc: str
) -> tuple[dict[str, Any], tuple[Line, ...]]:
    """Writes the operator file.

    Returns the file's manifest entry and the ONNX node of each line in the file.
    """
    try:
        source = write_tbe_source(kernel)
    except FusionError as error:
        return {"file": None, "refused": error.what}, ()
    file = place / f"{kernel.name}.py"
    file.write_text(source.text, "utf-8")
    refused = _refusals(file, kernel, (soc, "cpu"))
    if refused["cpu"]:
        file.unlink()
        return {"file": None, "refused": refused["cpu"]}, ()
    told: dict[str, Any] = {
        "file": file.name,
        "builds_for": [one for one, why in refused.items() if not why],
    }
    if refused[soc]:
        told["refused"] = f"{soc}: {refused[soc]}"
    if source.has_product:
        told["products_in"] = "float16 where the chip multiplies nothing else"
    return told, source.lines


def _refusals(file: Path, kernel: GroupKernel, socs: Sequence[str]) -> dict[str, str]:
    """Returns for each chip why an operator file does not build; an empty string if it builds."""
    body = kernel.node.body
    assert body is not None
    told = descriptions(
        [body.values[name] for name in (*body.inputs, *body.outputs)], _trial_size_of
    )
    found = dict.fromkeys(socs, "")
    try:
        operator = load_operator(file)
    except FusionError as error:
        return dict.fromkeys(socs, error.what)
    for soc in socs:
        try:
            operator.build(*told, soc=soc)
        except FusionError as error:
            found[soc] = error.what
    return found


def _trial_size_of(size: int | str) -> int:
    return size if isinstance(size, int) and size >= 0 else TRIAL_SIZE
