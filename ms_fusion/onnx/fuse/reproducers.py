"""Builds a reproducer of a wrong fusion: its group as a model, the group's inputs, and a script."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx_ir as ir

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.functions import FusedGroup, graph_of
from ms_fusion.onnx.fuse.verification import group_inputs
from ms_fusion.onnx.kernels.group_kernel import GroupKernel
from ms_fusion.onnx.kernels.tbe_source import descriptions, write_tbe_source
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops.call import ONNX_OP
from ms_fusion.readers.onnx_graph import OnnxProjection, project
from tbe_impl.cann.python_names import quote_name
from tbe_impl.errors import FusionError

_SCRIPT = '''"""A group of {count} ONNX operators beside the numbers that it should give: \
python reproduce.py

{nodes}
Needs numpy and onnxruntime; where tbe_impl is installed, the kernel of the group is run, too.
"""

import importlib.util
from pathlib import Path

import numpy as np
import onnxruntime

HERE = Path(__file__).resolve().parent
stored = np.load(HERE / "tensors.npz")
inputs = [stored[f"x{{number}}"] for number in range({inputs})]
expected = [stored[f"y{{number}}"] for number in range({outputs})]


def tell(who, found):
    """How far each result is from what it should be."""
    for number, (one, other) in enumerate(zip(found, expected)):
        gap = np.abs(one.astype(np.float64) - other.astype(np.float64)).max(initial=0.0)
        print(f"{{who}}: result {{number}} differs by {{gap:.3g}}, \
the largest is {{np.abs(other).max(initial=0):.3g}}")


session = onnxruntime.InferenceSession(str(HERE / "group.onnx"), providers=["CPUExecutionProvider"])
tell("ONNX Runtime", session.run(None, \
{{one.name: array for one, array in zip(session.get_inputs(), inputs)}}))
{kernel}'''
_KERNEL = """
if importlib.util.find_spec("tbe_impl"):
    from tbe_impl import load_operator

    descriptions = {descriptions}
    found = load_operator(HERE / "{name}.py").build(*descriptions, soc="cpu")(*inputs)
    tell("the kernel", found if isinstance(found, tuple) else (found,))
"""


@dataclass(frozen=True)
class Reproducer:
    """A reproducer of a wrong fusion: files that show the error.

    Attributes:
        name: name of the reproducer's directory.
        files: maps the name of a file to its content.
    """

    name: str
    files: Mapping[str, bytes]


def make_reproducer(
    kernel: GroupKernel,
    model: ir.Model,
    projection: OnnxProjection,
    sizes: Mapping[str, int],
    native: NativeWorkers,
    given: Mapping[str, np.ndarray] | None = None,
) -> Reproducer:
    """Builds a reproducer of a group whose kernel or function changes the model's results.

    Args:
        kernel: the kernel of the group.
        model, projection: the model before fusion, and the graph of this model.
        sizes: values of dynamic sizes.
        native: child processes that run the model.
        given: inputs of the model, from which ONNX Runtime computes the group's inputs. If None,
            the group's inputs are generated.

    Raises:
        WorkerError, InputError: ONNX Runtime computes no results for the group.
    """
    node = kernel.node
    body = node.fused_body
    group = FusedGroup(kernel.name, node)
    alone = ir.Model(
        graph_of(model, group, projection.nodes, projection.values), ir_version=model.ir_version
    )
    path = native.directory / "reproducer.onnx"
    ir.save(ir.external_data.load_to_model(alone), path)
    content = path.read_bytes()
    if given is None:
        inputs = group_inputs(body, projection.values, sizes)
        expected = list(
            native.run(
                path, {f"x{number}": array for number, array in enumerate(inputs)}
            ).outputs.values()
        )
    else:
        inside = _run_to_values(model, (*body.inputs, *body.outputs), given, native)
        inputs, expected = inside[: len(body.inputs)], inside[len(body.inputs) :]
    tensors = io.BytesIO()
    np.savez(
        tensors,
        **{f"x{n}": one for n, one in enumerate(inputs)},
        **{f"y{n}": one for n, one in enumerate(expected)},
    )
    files = {"group.onnx": content, "tensors.npz": tensors.getvalue()}
    told = ""
    try:
        files[f"{kernel.name}.py"] = write_tbe_source(kernel).text.encode()
        told = _KERNEL.format(
            name=kernel.name, descriptions=_descriptions_text(body, [*inputs, *expected])
        )
    except FusionError:
        pass  # the group has no operator file, so that the script runs only ONNX Runtime
    script = _SCRIPT.format(
        count=len(body.nodes),
        nodes=_node_list(body.nodes),
        inputs=len(inputs),
        outputs=len(expected),
        kernel=told,
    )
    return Reproducer(kernel.name, {**files, "reproduce.py": script.encode()})


def _run_to_values(
    model: ir.Model, names: Sequence[str], given: Mapping[str, np.ndarray], native: NativeWorkers
) -> list[np.ndarray]:
    """Runs the model and returns the intermediate values with the given names."""
    probed = model.clone()
    values = project(probed).values
    known = {
        name: values[name].const_value.numpy()  # type: ignore[union-attr]
        for name in names
        if values[name].const_value is not None
    }
    asked = [name for name in dict.fromkeys(names) if name not in known and name not in given]
    probed.graph.outputs[:] = [values[name] for name in asked]
    path = native.directory / "probed.onnx"
    ir.save(ir.external_data.load_to_model(probed), path)
    found = dict(zip(asked, native.run(path, given).outputs.values(), strict=True))
    return [np.asarray(known.get(name, given.get(name, found.get(name)))) for name in names]


def _node_list(nodes: Sequence[Node]) -> str:
    """Returns the lines that list the nodes in the docstring of the reproducer's script.

    The names of the nodes are escaped, so that they cannot end the docstring.
    """
    return (
        "".join(f"  {node.attr(ONNX_OP)} {quote_name(node.name)}\n" for node in nodes)
        .replace('"', "'")
        .replace("\\", "/")
    )


def _descriptions_text(body: Graph, arrays: Sequence[np.ndarray]) -> str:
    values = [body.values[name] for name in (*body.inputs, *body.outputs)]
    told = descriptions(values, lambda size: 0)
    for one, array in zip(told, arrays, strict=True):
        one["shape"] = one["ori_shape"] = list(array.shape)
    return "[\n" + "".join(f"        {one},\n" for one in told) + "    ]"
