"""Writes the files of ``kernels/``: C code, TBE operator files, line maps, manifest entries."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ms_fusion import __version__
from ms_fusion.graph import Node, Value
from ms_fusion.onnx.fuse.decisions import operator_of
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.kernels.tbe_source import Line, descriptions, write_tbe_source
from ms_fusion.onnx.ort_library.operator_library import SOURCES
from ms_fusion.ops.call import ONNX_OP
from tbe_impl.cann.python_names import quote_name
from tbe_impl.dsl.tensor import stages_of
from tbe_impl.errors import FusionError
from tbe_impl.loading.operator import load_operator
from tbe_impl.runtime import compiler

SOCS: Mapping[str, str] = {"ascend910a": "Ascend910A", "ascend310p": "Ascend310P3"}
"""Maps a device to the chip for which operator files are built; others use `OTHER_SOC`."""
OTHER_SOC = "Ascend910B"
_HEAD = """/* {operators} as one kernel, written by ms_fusion {version}.
 * {compile} -I include {name}.c -o {name}.so -lm */
"""
_COMPILE = " ".join(("cc", *compiler.FLAGS, "-march=native", "-ffp-contract=off"))
_STAGE_MARK = re.compile(r" /\* stage (\d+) \*/$")
TRIAL_SIZE = 3
"""Value of a dynamic size in the trial build of an operator file."""


def write_kernel(
    place: Path, alike: Sequence[GroupKernel], device: str, *, debug: bool = False
) -> dict[str, Any]:
    """Writes the files of a kernel that equal groups share, and returns its manifest entry.

    The files and the entry describe the first group in `alike`. The entry's field ``groups`` lists
    the operators of each group. The TBE operator file may build for the CPU but not for the
    device's chip. In this case the file is kept, and the entry contains the reason why the file
    does not build for the chip. If `debug` is true, each line of C ends in a comment with its ONNX
    node, and a line map is written to a separate file.
    """
    kernel = alike[0]
    body = kernel.node.fused_body
    operators = ", ".join(re.sub(r"\W", "", operator_of(node)) for node in body.nodes)
    head = _HEAD.format(
        name=kernel.name, operators=operators, version=__version__, compile=_COMPILE
    )
    text, lines = _annotate_source(kernel, head.count("\n")) if debug else (kernel.source, ())
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
        (place / told["lines"]).write_text(_line_map(c=lines, tbe=tbe_lines), "utf-8")
    return {
        **told,
        "inputs": [_describe_value(body.values[name]) for name in body.inputs],
        "outputs": [_describe_value(body.values[name]) for name in body.outputs],
        "nodes": [{"name": node.name, "op": node.attr(ONNX_OP)} for node in body.nodes],
        "groups": [[node.name for node in one.node.body or ()] for one in alike],
    }


def header_files() -> tuple[Path, ...]:
    """Returns the files that `write_headers` copies."""
    return (*compiler.INCLUDE.glob("*.h"), *SOURCES.glob("*.[hc]"))


def write_headers(place: Path, *, custom_operators: bool) -> None:
    """Creates the directory `place`, and copies the headers of the C kernels to this directory.

    With `custom_operators`, the sources of the library of custom operators are copied too.
    """
    place.mkdir()
    for header in header_files():
        if custom_operators or header.parent != SOURCES:
            shutil.copyfile(header, place / header.name)


def _annotate_source(kernel: GroupKernel, above: int = 0) -> tuple[str, tuple[Line, ...]]:
    """Appends a comment with the ONNX node to each line of a group's C code.

    Returns a pair: the code with these comments, and the node of each line.

    Args:
        kernel: the kernel of the group.
        above: number of lines that precede the C code in its file.
    """
    stages = stages_of([one.tensor for one in kernel.said.outputs])
    nodes = {op.number: kernel.said.stages.get(id(op.outputs[0])) for op in stages}
    lines: list[str] = []
    found: list[Line] = []
    for line in kernel.kernel.marked_source.splitlines():
        mark = _STAGE_MARK.search(line)
        node = nodes.get(int(mark[1])) if mark else None
        if node is not None:
            found.append(Line(above + len(lines) + 1, node))
        comment = f" /* {_node_comment(node)} */" if node is not None else ""
        lines.append(_STAGE_MARK.sub("", line) + comment)
    return "\n".join(lines) + "\n", tuple(found)


def _line_map(**lines: Iterable[Line]) -> str:
    """Returns JSON with a dict from line numbers to node names, for C code and for TBE code."""
    told = {kind: {str(one.line): one.node.name for one in found} for kind, found in lines.items()}
    return json.dumps(told, indent=1) + "\n"


def _node_comment(node: Node) -> str:
    """Returns the content of a C comment for a node, escaped so that it cannot end the comment."""
    return f"{node.attr(ONNX_OP)} {quote_name(node.name)}".replace("*/", "* /").replace("/*", "/ *")


def _describe_value(value: Value) -> dict[str, Any]:
    return {"value": value.name, "dtype": value.dtype, "shape": list(value.shape)}


def _write_tbe(
    place: Path, kernel: GroupKernel, soc: str
) -> tuple[dict[str, Any], tuple[Line, ...]]:
    """Writes the TBE operator file of a kernel; writes none if the file does not build for the CPU.

    Returns the file's manifest entry and the ONNX node of each line in the file. If no file is
    written, the entry contains the reason.
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
    """Returns a dict from each chip to the reason why an operator file does not build for the chip.

    The reason is "" if the file builds for the chip.
    """
    body = kernel.node.fused_body
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
