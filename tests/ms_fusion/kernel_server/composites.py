"""Composite kernels in MindSpore's format, built by the driver and called like MindSpore."""

from __future__ import annotations

import ctypes
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.accuracy.replay import replay
from ms_fusion.graph import Graph
from ms_fusion.kernel_server.driver import compile_kernel
from ms_fusion.lowering.composite_lowering import IN_PLACE_OPERATORS, lower_composite
from ms_fusion.ops.call import is_float, numpy_dtype
from ms_fusion.readers.composite import CompositeKernel, parse_kernel
from tbe_impl import compat
from tbe_impl.comparing import TOLERANCE
from tbe_impl.interpreter import evaluate

GUARD = 64


class Text:
    """Builds a composite kernel operator by operator."""

    def __init__(self, name: str = "Fused_test"):
        self.name = name
        self.inputs: list[dict[str, Any]] = []
        self.steps: list[dict[str, Any]] = []
        self.made: dict[str, dict[str, Any]] = {}

    def input(self, shape: Sequence[int], dtype: str) -> str:
        """An input of the kernel."""
        return self._tensor(f"input_{len(self.made)}", shape, dtype, self.inputs)

    def constant(self, value: Any, dtype: str) -> dict[str, Any]:
        """A scalar, or a list of scalars, for `step`."""
        shape = [len(value)] if isinstance(value, list) else [1]
        return {
            "tensor_name": f"input_{id(value)}_{dtype}",
            "shape": shape,
            "data_type": dtype,
            "value": value,
        }

    def step(
        self,
        operator: str,
        inputs: Sequence[Any],
        shape: Sequence[int],
        dtype: str,
        **attributes: Any,
    ) -> str:
        """Adds an operator; returns the name of its result."""
        given = [self.made[item] if isinstance(item, str) else item for item in inputs]
        result: list[dict[str, Any]] = []
        name = self._tensor(f"output_0_{len(self.made)}", shape, dtype, result)
        told = [
            {"name": key, "value": value, "data_type": "any"} for key, value in attributes.items()
        ] or None
        self.steps.append(
            {
                "name": operator,
                "attr": told,
                "input_desc": [[item] for item in given],
                "output_desc": result,
            }
        )
        return name

    def _tensor(
        self, name: str, shape: Sequence[int], dtype: str, where: list[dict[str, Any]]
    ) -> str:
        self.made[name] = {
            "tensor_name": name,
            "shape": list(shape),
            "data_type": dtype,
            "format": "DefaultFormat",
        }
        where.append(self.made[name])
        return name

    def kernel(self, *outputs: str) -> CompositeKernel:
        """The kernel with these outputs."""
        return parse_kernel(self.text(*outputs), file="test.info")

    def text(self, *outputs: str) -> str:
        """Its JSON description."""
        text = {
            "composite": True,
            "op": self.name,
            "platform": "AKG_V2",
            "process": "cpu",
            "input_desc": [[item] for item in self.inputs],
            "op_desc": self.steps,
            "output_desc": [self.made[item] for item in outputs],
        }
        return json.dumps(text)


def run(kernel: CompositeKernel, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Builds and calls a kernel."""
    return called(kernel, compile_kernel(kernel)[0], inputs)


def called(
    kernel: CompositeKernel, built: Path, inputs: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """The outputs by name; an in-place output is the new content of its input.

    Every buffer has a guard after it that must not change.
    """
    graph = kernel.graph
    loaded = ctypes.CDLL(str(built))
    buffers = [_buffer(graph, name, inputs.get(name)) for name in (*graph.inputs, *graph.outputs)]
    threads = ctypes.c_int(1)
    addresses = (ctypes.c_void_p * len(buffers))(*(one.ctypes.data for one in buffers))
    getattr(loaded, kernel.name)(None, ctypes.byref(threads), addresses)
    assert all((one[-GUARD:] == 0xA5).all() for one in buffers), (
        "it writes past the end of a tensor"
    )
    found = dict(zip((*graph.inputs, *graph.outputs), buffers, strict=True))
    return {
        name: _array(graph, _place(graph, name), found[_place(graph, name)])
        for name in graph.outputs
    }


def _place(graph: Graph, output: str) -> str:
    """The value whose buffer holds an output."""
    node = graph.producers.get(output)
    return node.inputs[0] if node is not None and node.op in IN_PLACE_OPERATORS else output


def _buffer(graph: Graph, name: str, content: np.ndarray | None) -> np.ndarray:
    value = graph.values[name]
    raw = np.full(value.bytes + GUARD, 0xA5, np.uint8)
    raw[:-GUARD] = 0xFF
    if content is not None:
        raw[:-GUARD] = (
            np.ascontiguousarray(content, numpy_dtype(value.dtype)).reshape(-1).view(np.uint8)
        )
    return raw


def _array(graph: Graph, name: str, raw: np.ndarray) -> np.ndarray:
    value = graph.values[name]
    return raw[:-GUARD].copy().view(numpy_dtype(value.dtype)).reshape(value.shape)


def interpreted(kernel: CompositeKernel, inputs: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The outputs by name, computed by NumPy from the graph that the compiler would get."""
    with compat.installed(soc="cpu"):
        group = lower_composite(kernel)
    given = {
        id(one): inputs[name] for one, name in zip(group.inputs, kernel.graph.inputs, strict=True)
    }
    found = evaluate.run([group.values[name] for name in kernel.graph.outputs], given)
    return dict(zip(kernel.graph.outputs, found, strict=True))


def check(kernel: CompositeKernel, inputs: Mapping[str, np.ndarray], *, built: bool = True) -> None:
    """Builds, runs, and compares with the formulas in float64; unless `built`, NumPy runs the
    graph.
    """
    given = {
        name: np.asarray(array).astype(numpy_dtype(kernel.graph.values[name].dtype))
        for name, array in inputs.items()
    }
    found = (run if built else interpreted)(kernel, given)
    wanted = replay(kernel.graph, given)
    for name, array in found.items():
        value = kernel.graph.values[_place(kernel.graph, name)]
        close(
            array,
            wanted[name],
            value.dtype,
            what=f"{name} of {[node.op for node in kernel.graph.nodes]}",
        )


def close(got: np.ndarray, wanted: np.ndarray, dtype: str, *, what: str) -> None:
    """Equal for integers, within the table's tolerance for floats; NaN and infinities in the same
    places.
    """
    wanted = np.broadcast_to(wanted, got.shape)
    if not is_float(dtype):
        np.testing.assert_array_equal(got, wanted.astype(got.dtype), err_msg=what)
        return
    rounded = wanted.astype(got.dtype).astype(np.float64)
    mine = got.astype(np.float64)
    usual = np.isfinite(rounded)
    np.testing.assert_array_equal(mine[~usual], rounded[~usual], err_msg=what)
    scale = np.sqrt(np.mean(np.square(rounded[usual]))) if usual.any() else 0.0
    allowed = TOLERANCE[dtype] * (np.abs(rounded) + scale)
    with np.errstate(invalid="ignore"):
        wrong = ~(np.abs(mine - rounded) <= allowed) & usual
    assert not wrong.any(), f"{what}: {mine[wrong][:3]} for {rounded[wrong][:3]}"


def directory_of_recorded() -> list[Path]:
    """MindSpore 2.10's kernels of the nets of tests/data."""
    root = Path(__file__).resolve().parents[2] / "data" / "ms_2_10"
    return sorted({path.name: path for path in root.glob("*/akg_kernel_meta/*.info")}.values())
