"""Maps lines of generated code to ONNX nodes, by comments in the C code and by a JSON file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

from ms_fusion.graph import Node
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.kernels.python_names import quote_name
from ms_fusion.onnx.kernels.tbe_source import Line
from ms_fusion.readers.onnx_graph import ONNX_OP
from tbe_impl.dsl.tensor import stages_of

_MARK = re.compile(r" /\* stage (\d+) \*/$")


def annotate_source(kernel: GroupKernel, above: int = 0) -> tuple[str, tuple[Line, ...]]:
    """Appends a comment with the ONNX node to each line of a group's C code.

    Returns the text and the node of each line. The code itself is unchanged.

    Args:
        kernel: the kernel of the group.
        above: number of lines before the C code in its file.
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
        comment = f" /* {_node_comment(node)} */" if node is not None else ""
        lines.append(_MARK.sub("", line) + comment)
    return "\n".join(lines) + "\n", tuple(found)


def line_map(**lines: Iterable[Line]) -> str:
    """Returns a JSON text that maps the line numbers of each kind of code to names of nodes."""
    told = {kind: {str(one.line): one.node.name for one in found} for kind, found in lines.items()}
    return json.dumps(told, indent=1) + "\n"


def _node_comment(node: Node) -> str:
    """Returns the text of a C comment for a node, escaped so that the name cannot end the
    comment.
    """
    return f"{node.attr(ONNX_OP)} {quote_name(node.name)}".replace("*/", "* /").replace("/*", "/ *")
