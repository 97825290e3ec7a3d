"""From lines of generated code to the ONNX nodes that they compute: comments in the C, and a map beside it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from ms_fusion.formats.onnx_graph import ONNX_OP
from ms_fusion.graph import Node
from ms_fusion.onnx_fusion.kernels import GroupKernel
from ms_fusion.onnx_fusion.python_names import quoted
from ms_fusion.onnx_fusion.tbe_source import Line
from tbe_impl.dsl.tensor import stages_of

_MARK = re.compile(r" /\* stage (\d+) \*/$")


def commented(kernel: GroupKernel, above: int = 0) -> tuple[str, tuple[Line, ...]]:
    """The C of a group, behind its lines the ONNX node that each computes; the code is the same.

    Args:
        kernel: of the group.
        above: lines that stand before the C in its file.
    """
    stages = stages_of([one.tensor for one in kernel.said.outputs])
    nodes = {op.number: kernel.said.stages.get(id(op.outputs[0])) for op in stages}
    lines: list[str] = []
    found: list[Line] = []
    for line in kernel.kernel.marked_source.splitlines():
        mark = _MARK.search(line)
        node = nodes.get(int(mark[1])) if mark else None
        if node is not None:
            found.append(Line(above + len(lines) + 1, node))
        comment = f" /* {_shown(node)} */" if node is not None else ""
        lines.append(_MARK.sub("", line) + comment)
    return "\n".join(lines) + "\n", tuple(found)


def line_map(**lines: Iterable[Line]) -> str:
    """The map as JSON: for each kind of code line number → name of the node."""
    told = {kind: {str(one.line): one.node.name for one in found} for kind, found in lines.items()}
    return json.dumps(told, indent=1) + "\n"


def _shown(node: Node) -> str:
    """A node for a comment of C, which its name cannot end."""
    return f"{node.attr(ONNX_OP)} {quoted(node.name)}".replace("*/", "* /").replace("/*", "/ *")
