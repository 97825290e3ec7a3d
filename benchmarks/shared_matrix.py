"""A product by a matrix that all batches share: ``python -m benchmarks.shared_matrix``.

x (64, 16, 512) · w (512, 512) + b, ReLU: as a net, with its gradients, and as an ONNX model by
`from_onnx`; unfused, fused, rewritten as one product of all rows, and by ONNX Runtime. MindSpore
copies the matrix for each batch. All are interleaved in one process; results are compared with
float64.

Target: fused no slower than the product of all rows.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import nn, ops

import ms_fusion as mf
from benchmarks.measuring import describe_machine, in_turns, largest_error, settle, write

BATCHES, ROWS, SIZE = 64, 16, 512
TOLERANCE = 1e-4


class Net(nn.Cell):
    """The batched product."""

    def __init__(self, weight: np.ndarray, bias: np.ndarray):
        super().__init__()
        self.weight, self.bias = (ms.Parameter(ms.Tensor(one)) for one in (weight, bias))

    def construct(self, x: Any) -> Any:
        return ops.relu(ops.matmul(x, self.weight) + self.bias)


class AllRows(Net):
    """The product of two-dimensional matrices."""

    def construct(self, x: Any) -> Any:
        rows = ops.matmul(ops.reshape(x, (-1, SIZE)), self.weight)
        return ops.relu(ops.reshape(rows, x.shape) + self.bias)


class Gradients(nn.Cell):
    """Gradients of the sum of the results for x and the matrix."""

    def __init__(self, net: Net):
        super().__init__()
        self.gradient = ops.GradOperation(get_all=True, get_by_list=True)
        self.net, self.weights = net, ms.ParameterTuple([net.weight])

    def construct(self, x: Any) -> Any:
        (by_x,), (by_weight,) = self.gradient(self.net, self.weights)(x)
        return by_x, by_weight


def main() -> int:
    """Measures; returns 1 when a result is wrong."""
    ms.set_context(mode=ms.GRAPH_MODE)
    random = np.random.default_rng(0)
    x, weight, bias = (
        random.standard_normal(shape).astype(np.float32)
        for shape in ((BATCHES, ROWS, SIZE), (SIZE, SIZE), (SIZE,))
    )
    tensor = ms.Tensor(x)
    exact = x.astype(np.float64) @ weight + bias
    positive = (exact > 0).astype(np.float64)
    wanted = [np.maximum(exact, 0)]
    by_weight = np.einsum("bri,brj->ij", x, positive)
    slopes = [positive @ weight.T.astype(np.float64), by_weight]
    calls: dict[str, tuple[Callable[[], list[np.ndarray]], list[np.ndarray]]] = {}

    def add(name: str, net: Any, expected: list[np.ndarray]) -> None:
        def call() -> list[np.ndarray]:
            found = net(tensor)
            return [one.asnumpy() for one in (found if isinstance(found, tuple) else (found,))]

        call()
        calls[name] = call, expected

    with tempfile.TemporaryDirectory() as place:
        model = Path(place, "model.onnx")
        _write_model(model, weight, bias)
        session = _session(model)
        calls["model, ONNX Runtime"] = lambda: session.run(None, {"x": x}), wanted
        for kind, preset in (("unfused", "off"), ("fused", "auto")):
            with mf.fusion(preset, generator="ms_fusion"):
                add(f"net, {kind}", Net(weight, bias), wanted)
                add(f"all rows, {kind}", AllRows(weight, bias), wanted)
                add(f"gradients, {kind}", Gradients(Net(weight, bias)), slopes)
                add(f"model, {kind}", mf.from_onnx(model), wanted)
    record: dict[str, Any] = {**describe_machine(), "lines": []}
    off = {name: largest_error(call(), expected) for name, (call, expected) in calls.items()}
    for call, _ in calls.values():
        settle(call)
    found = in_turns({name: call for name, (call, _) in calls.items()}, rounds=15)
    for name, samples in found.items():
        is_right = off[name] <= TOLERANCE
        record["lines"].append({"name": name, "right": is_right, **samples.record()})
        wrong = "" if is_right else f"  WRONG by {off[name]:.2g}"
        print(f"{name:<22} {samples.median * 1e3:8.2f} ms  least {samples.least * 1e3:.2f}{wrong}")
    write("shared-matrix", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _write_model(path: Path, weight: np.ndarray, bias: np.ndarray) -> None:
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    shape = [BATCHES, ROWS, SIZE]
    nodes = [("MatMul", ["x", "w"], "m"), ("Add", ["m", "b"], "s"), ("Relu", ["s"], "y")]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [output]) for kind, inputs, output in nodes],
        "shared_matrix",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(weight, "w"), numpy_helper.from_array(bias, "b")],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), path)


def _session(path: Path) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    sys.exit(main())
