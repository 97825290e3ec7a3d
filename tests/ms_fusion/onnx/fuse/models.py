"""Small ONNX models for the tests of `ms_fusion.onnx.fuse`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

FLOAT = TensorProto.FLOAT
OPSET = 18


class Builder:
    """An ONNX model, operator by operator.

    >>> builder = Builder({"x": (2, 3)})
    >>> builder.add("Relu", "x")
    'v0'
    """

    def __init__(
        self,
        inputs: Mapping[str, Sequence[int | str | None]],
        dtype: int = FLOAT,
        opset: int = OPSET,
    ):
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.dtype, self.opset = dtype, opset
        self.inputs = [
            helper.make_tensor_value_info(name, dtype, shape) for name, shape in inputs.items()
        ]
        self.random = np.random.default_rng(3)

    def add(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"v{len(self.nodes)}" + (f"_{n}" if n else "") for n in range(outputs)]
        self.nodes.append(
            helper.make_node(op, list(inputs), names, name=f"{op}_{len(self.nodes)}", **attributes)
        )
        return names[0] if outputs == 1 else names

    def constant(self, value: Any, dtype: str | None = None) -> str:
        name = f"c{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def weight(self, *shape: int) -> str:
        numpy_type = helper.tensor_dtype_to_np_dtype(self.dtype)
        return self.constant(
            (self.random.standard_normal(shape) / max(shape[0], 1) ** 0.5).astype(numpy_type)
        )

    def model(self, *outputs: str, dtypes: Mapping[str, int] | None = None) -> onnx.ModelProto:
        told = [
            helper.make_tensor_value_info(name, (dtypes or {}).get(name, self.dtype), None)
            for name in outputs
        ]
        graph = helper.make_graph(self.nodes, "net", self.inputs, told, self.weights)
        return helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9
        )

    def save(self, path: Path, *outputs: str, dtypes: Mapping[str, int] | None = None) -> Path:
        onnx.save(self.model(*outputs, dtypes=dtypes), path)
        return path


def transformer_layer(path: Path, *, d: int = 32, heads: int = 4, dtype: int = FLOAT) -> Path:
    """Attention and a feed-forward part with SiLU, with symbolic batch and sequence sizes."""
    b = Builder({"x": ("n", "t", d)}, dtype)

    def linear(x: str, m: int, k: int) -> str:
        return b.add("Add", b.add("MatMul", x, b.weight(m, k)), b.weight(k))

    def norm(x: str) -> str:
        return b.add("LayerNormalization", x, b.weight(d), b.weight(d), axis=-1)

    normed = norm("x")
    shape = b.constant([0, 0, heads, d // heads], "int64")
    q, k, v = (
        b.add("Transpose", b.add("Reshape", linear(normed, d, d), shape), perm=perm)
        for perm in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3])
    )
    numpy_type = helper.tensor_dtype_to_np_dtype(dtype)
    scale = b.constant(np.asarray((d // heads) ** -0.5, numpy_type))
    weights = b.add("Softmax", b.add("Mul", b.add("MatMul", q, k), scale), axis=-1)
    mixed = b.add("Transpose", b.add("MatMul", weights, v), perm=[0, 2, 1, 3])
    mixed = b.add("Reshape", mixed, b.constant([0, 0, d], "int64"))
    x = b.add("Add", "x", linear(mixed, d, d))
    inner = linear(norm(x), d, 2 * d)
    inner = b.add("Mul", inner, b.add("Sigmoid", inner))
    return b.save(path, b.add("Add", x, linear(inner, 2 * d, d)))


def convolutional_net(path: Path) -> Path:
    """Convolutions with batch norms, an activation in basic operators, a pooling and a head."""
    b = Builder({"x": ("n", 3, 16, 16)})

    def block(x: str, c: int, k: int) -> str:
        x = b.add("Conv", x, b.weight(k, c, 3, 3), pads=[1, 1, 1, 1])
        return b.add(
            "BatchNormalization",
            x,
            b.weight(k),
            b.weight(k),
            b.weight(k),
            b.constant(np.full(k, 0.5, np.float32)),
        )

    x = b.add("Relu", block("x", 3, 8))
    x = block(x, 8, 8)
    x = b.add("Mul", x, b.add("Sigmoid", x))
    x = b.add("GlobalAveragePool", b.add("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))
    x = b.add("Gemm", b.add("Flatten", x), b.weight(8, 10), b.weight(10))
    return b.save(path, b.add("Softmax", x))
