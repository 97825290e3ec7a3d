"""Checks a call of a net and the operators of its graph before MindSpore compiles the net.

A finding is a problem or remark that is reported to the user.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ms_fusion.graph import Graph
from ms_fusion.mindspore.flags.generator_limits import GENERATOR, dtypes_of, refusal
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.lint import Finding
from ms_fusion.mindspore.state.mindspore_state import is_jitted
from ms_fusion.mindspore.state.preset_record import PYNATIVE_REMEDY
from ms_fusion.ops import selections
from tbe_impl import environment
from tbe_impl.errors import FusionError, InputError, pluralize

TINY = 1024
"""Number of elements up to which fusion saves no time (measured with 32×32 elements)."""


def check_call(net: Any, inputs: Sequence[Any], *, graph_mode: bool) -> Iterator[Finding]:
    """Yields findings about a call: PyNative mode, dynamic shapes, tensors too small for fusion.

    Args:
        net: a Cell or a function.
        inputs: arguments of the call.
        graph_mode: whether MindSpore is in graph mode.
    """
    name = getattr(net, "__name__", type(net).__name__)
    if not graph_mode and not is_jitted(net):
        yield Finding(
            "warning",
            "pynative",
            "PyNative mode fuses nothing.",
            remedy=PYNATIVE_REMEDY,
            place=name,
        )
    if getattr(net, "_dynamic_shape_inputs", None) is not None or any(
        _is_dynamic(item) for item in inputs
    ):
        yield Finding(
            "warning",
            "dynamic",
            "shapes that are not known before run time are not fused, and MindSpore does not say "
            "so.",
            remedy="Call it through `mf.specialize(net)`, which compiles it once for each shape.",
            place=name,
        )
    sizes = [_elements(item) for item in inputs if hasattr(item, "shape")]
    if sizes and max(sizes) <= TINY:
        yield Finding(
            "note",
            "tiny",
            f"tensors of at most {pluralize(max(sizes), 'element')} gain nothing from fusion.",
            place=name,
        )


def check_graph(graph: Graph, flags: GraphKernelFlags | None, device: str) -> Iterator[Finding]:
    """Yields findings about the operators of a graph; equal operators cause one finding.

    Operators are equal if they have the same type and the same dtypes.

    Args:
        graph: the graph from MindSpore's front end.
        flags: the flags in force. If `flags` is None, every operator is assumed to be clustered.
        device: MindSpore's device target. For devices other than ``CPU``, there are no findings.
    """
    if device != "CPU" or (flags is not None and (flags.opt_level or 0) == 0):
        return
    ours = flags is not None and flags.kernel_generator == GENERATOR
    said: set[tuple[str, ...]] = set()
    for node in graph:
        dtypes = dtypes_of(node, graph)
        if any(value.is_dynamic for value in graph.outputs_of(node)) and ("dynamic",) not in said:
            said.add(("dynamic",))
            yield Finding(
                "warning",
                "dynamic",
                f"{node.op} has a shape that is not known, and is not fused.",
                place=node.name,
            )
        if ours or dtypes is None or not may_cluster(node.op, flags):
            continue
        source, target = dtypes
        reason = refusal(node.op, source, target)
        if not reason or (node.op, source, target) in said:
            continue
        said.add((node.op, source, target))
        place = str(node.sources[-1]) if node.sources else node.name
        if "bfloat16" in (source, target):
            yield Finding(
                "error",
                "fatal",
                f"MindSpore cannot compile it with fusion on CPU: {reason}.",
                remedy="Use float32 or float16 on CPU, or `mf.disable()`.",
                place=place,
            )
        else:
            yield Finding(
                "warning",
                "refused",
                f"kernels with this {node.op} are not built ({reason}); they run unfused.",
                remedy=f"Add `--disable_cluster_ops={node.op}` to keep their neighbours fused.",
                place=place,
            )


def may_cluster(op: str, flags: GraphKernelFlags | None) -> bool:
    """Returns whether an operator of type `op` can be clustered into a fused kernel on CPU.

    `flags` are the flags in force. If `flags` is None, the result is True.
    """
    if flags is None:
        return True
    if flags.enable_expand_ops_only is not None:
        expanded = op in flags.enable_expand_ops_only
    else:
        expanded = op in selections.CPU_EXPAND_OPS | frozenset(flags.enable_expand_ops or ())
        expanded = expanded and op not in (flags.disable_expand_ops or ())
    if flags.enable_cluster_ops_only is not None:
        return expanded or op in flags.enable_cluster_ops_only
    clustered = op in selections.CPU_CLUSTER_OPS | frozenset(flags.enable_cluster_ops or ())
    return expanded or (clustered and op not in (flags.disable_cluster_ops or ()))


def front_end_graph(
    net: Any, inputs: Sequence[Any], read_by_front_end: Callable[[Any, Sequence[Any], Path], None]
) -> Graph:
    """Returns the graph that MindSpore's front end makes of `net`; does not run the graph.

    Args:
        net: a Cell or a function.
        inputs: arguments of the call.
        read_by_front_end: function with the arguments Cell, inputs and directory. The function
            stops the compilation of the Cell after the front end and writes the graph to the
            directory.

    Raises:
        InputError: MindSpore cannot compile the net, or writes no graph. The error contains the
            first line of MindSpore's message.
    """
    import mindspore

    from ms_fusion.mindspore.state.outer_cell import OneShape

    # Lazy import, since `enable` does not need the dump readers.
    from ms_fusion.readers.mindspore_ir import read_ir

    name = getattr(net, "__name__", type(net).__name__)
    plain = getattr(net, "__wrapped__", net) if not isinstance(net, mindspore.nn.Cell) else net
    with tempfile.TemporaryDirectory(
        prefix="ms_fusion-check-", dir=environment.temporary_directory()
    ) as place:
        try:
            read_by_front_end(OneShape(plain), inputs, Path(place))
        except FusionError:
            raise
        except Exception as error:
            first = next(
                (line.strip(" .") for line in str(error).splitlines() if line.strip(" -")),
                type(error).__name__,
            )
            raise InputError(f"MindSpore cannot compile {name} on these inputs: {first}") from error
        files = sorted(Path(place).rglob("*_validate_*.ir"), key=lambda file: file.name)
        if not files:
            raise InputError(
                f"MindSpore wrote no graph of {name}",
                remedy="Delete the variable MS_DEV_DUMP_IR_PASSES, which hides it.",
            )
        return read_ir(files[-1]).graph


def _is_dynamic(item: Any) -> bool:
    return any(
        size is None or (isinstance(size, int) and size < 0)
        for size in getattr(item, "shape", ()) or ()
    )


def _elements(item: Any) -> int:
    count = 1
    for size in item.shape:
        count *= size if isinstance(size, int) and size >= 0 else 1
    return count
