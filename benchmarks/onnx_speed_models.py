"""Models of `benchmarks.onnx_speed`: transformer layers, convolutional nets, memory-bound parts."""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tests.ms_fusion.onnx.fuse.corpus import convolutional, transformers

Inputs = Mapping[str, np.ndarray]
SIZES = {"short": (8, 128), "long": (1, 2048)}
"""Batch and tokens."""
D, HEADS, INNER = 512, 8, 2048


@dataclass(frozen=True)
class Model:
    """A measured model.

    Attributes:
        write: writes the file and returns the inputs; None if it cannot be built here.
        is_memory_bound: whether it has no product and no convolution.
        is_large: whether it takes long.
    """

    write: Callable[[Path], Inputs | None]
    is_memory_bound: bool = False
    is_large: bool = False


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def _transformer(path: Path, family: str, size: str, *, spelled: bool) -> Inputs:
    batch, tokens = SIZES[size]
    # the mask of gpt is a weight, so its sizes are static
    shape = (batch, tokens) if family == "gpt" else ("n", "t")
    transformers.FAMILIES[family](
        path, transformers.Sizes(D, HEADS, 1, shape[0], shape[1], spelled)
    )
    inputs = {"x": _normal(batch, tokens, D)}
    if family == "bert":
        inputs["mask"] = np.ones((batch, 1, 1, tokens), np.float32)
    if family == "llama":
        angles = np.arange(tokens)[:, None] * np.linspace(1, 0.01, D // HEADS)
        inputs |= {
            "cos": np.cos(angles).astype(np.float32),
            "sin": np.sin(angles).astype(np.float32),
        }
    return inputs


def _export_layer(path: Path, size: str) -> Inputs | None:
    """The layer as torch exports it, with symbolic batch and sequence."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    from tests.data.onnx.export_layer import Layer

    batch, tokens = SIZES[size]
    torch.manual_seed(0)
    sizes = ({0: torch.export.Dim("n"), 1: torch.export.Dim("t")},)
    layer, x = Layer(D, HEADS, INNER).eval(), torch.randn(2, 8, D)
    torch.onnx.export(
        layer,
        (x,),
        path,
        dynamo=True,
        dynamic_shapes=sizes,
        opset_version=18,
        external_data=False,
        verbose=False,
    )
    return {"x": _normal(batch, tokens, D)}


def _resnet18(path: Path) -> Inputs:
    n = convolutional.Net(convolutional.Sizes(channels=64, side=224, batch=1))
    x = n.conv("x", 3, 64, 7, stride=2)
    x = n.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    before = 64
    for channels in (64, 128, 256, 512):
        for block in range(2):
            stride = 2 if channels != before and not block else 1
            y = n.conv(n.conv(x, before, channels, stride=stride), channels, channels, act=False)
            short = (
                x
                if before == channels
                else n.conv(x, before, channels, 1, stride=stride, act=False)
            )
            # sums of random weights grow from block to block
            x, before = (
                n.act(n.add("Mul", n.add("Add", y, short), n.constant(np.float32(0.5)))),
                channels,
            )
    n.save(path, n.head(x, 512))
    return {"x": _normal(1, 3, 224, 224)}


def _yolo(path: Path) -> Inputs:
    convolutional.yolo(
        path, convolutional.Sizes(channels=32, blocks=2, side=320, batch=1, activation="Silu")
    )
    return {"x": _normal(1, 3, 320, 320)}


def _part(path: Path, kind: str, size: str) -> Inputs:
    """A part of a layer without a product, as exporters write it."""
    batch, tokens = SIZES[size]
    net = transformers.Net
    shape: tuple[int | str, ...] = (
        "n",
        "t",
        INNER if kind in ("GELU", "GELU by tanh", "SiLU") else D,
    )
    told = transformers.Sizes(D, HEADS, spelled=kind.endswith("spelled out"))
    if kind == "softmax":
        n = net(told, {"x": ("n", HEADS, "t", "t"), "mask": ("n", 1, 1, "t")})
        scaled = n.add("Mul", "x", n.number((D // HEADS) ** -0.5))
        n.save(path, n.add("Softmax", n.add("Add", scaled, "mask"), axis=-1))
        return {
            "x": _normal(batch, HEADS, tokens, tokens),
            "mask": np.zeros((batch, 1, 1, tokens), np.float32),
        }
    n = net(told, {"x": shape, "residual": shape} if "sum" in kind else {"x": shape})
    written: Mapping[str, Callable[[str], str]] = {
        "GELU": n.gelu,
        "GELU by tanh": functools.partial(n.gelu, by_tanh=True),
        "SiLU": n.silu,
    }
    n.save(
        path,
        written.get(kind, n.layer_norm)(n.add("Add", "x", "residual") if "sum" in kind else "x"),
    )
    sizes = tuple(dict(zip("nt", (batch, tokens), strict=True)).get(str(one), one) for one in shape)
    return {name: _normal(*map(int, sizes)) for name in ("x", "residual")[: 1 + ("sum" in kind)]}


PARTS = (
    "LayerNorm spelled out",
    "sum, LayerNorm",
    "sum, LayerNorm spelled out",
    "softmax",
    "GELU",
    "GELU by tanh",
    "SiLU",
)
MODELS: Mapping[str, Model] = {
    **{
        f"torch layer {size}": Model(
            functools.partial(_export_layer, size=size), is_large=size == "long"
        )
        for size in SIZES
    },
    **{
        f"{family} {size}{' spelled' * spelled}": Model(
            functools.partial(_transformer, family=family, size=size, spelled=spelled),
            is_large=size == "long",
        )
        for family, spelled in (("bert", False), ("bert", True), ("gpt", False), ("llama", False))
        for size in SIZES
    },
    "ResNet-18": Model(_resnet18),
    "YOLO-like": Model(_yolo),
    **{
        f"{kind} {size}": Model(
            functools.partial(_part, kind=kind, size=size),
            is_memory_bound=True,
            is_large=size == "long",
        )
        for kind in PARTS
        for size in SIZES
    },
}
