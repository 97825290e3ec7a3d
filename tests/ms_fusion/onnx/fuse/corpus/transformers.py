"""Small transformers in exporter style: BERT, GPT, Llama, T5, ViT."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import TensorProto

from tests.ms_fusion.onnx.fuse.models import Builder


@dataclass(frozen=True)
class Sizes:
    """Parameters of a transformer.

    Attributes:
        d: width of a token.
        heads: heads of attention.
        layers: number of layers.
        batch, tokens: numbers, or names of symbolic sizes.
        spelled: whether norms and activations are composed of basic operators.
        half: whether values are float16.
    """

    d: int = 32
    heads: int = 4
    layers: int = 1
    batch: int | str = "n"
    tokens: int | str = "t"
    spelled: bool = False
    half: bool = False


class Net(Builder):
    """The parts of transformers."""

    def __init__(self, sizes: Sizes, inputs: Mapping[str, tuple[int | str, ...]] | None = None):
        self.sizes = sizes
        self.numpy_type = np.float16 if sizes.half else np.float32
        dtype = TensorProto.FLOAT16 if sizes.half else TensorProto.FLOAT
        super().__init__(inputs or {"x": (sizes.batch, sizes.tokens, sizes.d)}, dtype)

    def number(self, value: float) -> str:
        return self.constant(np.asarray(value, self.numpy_type))

    def whole(self, *values: int) -> str:
        return self.constant(values, "int64")

    def linear(self, x: str, m: int, k: int, *, bias: bool = True) -> str:
        y = self.add("MatMul", x, self.weight(m, k))
        return self.add("Add", y, self.weight(k)) if bias else y

    def layer_norm(self, x: str) -> str:
        d = self.sizes.d
        if not self.sizes.spelled:
            return self.add("LayerNormalization", x, self.weight(d), self.weight(d), axis=-1)
        centred = self.add("Sub", x, self.add("ReduceMean", x, self.whole(-1)))
        variance = self.add("ReduceMean", self.add("Mul", centred, centred), self.whole(-1))
        root = self.add("Sqrt", self.add("Add", variance, self.number(1e-5)))
        scaled = self.add("Mul", self.add("Div", centred, root), self.weight(d))
        return self.add("Add", scaled, self.weight(d))

    def rms_norm(self, x: str) -> str:
        power = self.add("ReduceMean", self.add("Pow", x, self.number(2.0)), self.whole(-1))
        root = self.add("Sqrt", self.add("Add", power, self.number(1e-5)))
        return self.add("Mul", self.add("Div", x, root), self.weight(self.sizes.d))

    def gelu(self, x: str, *, by_tanh: bool = False) -> str:
        if by_tanh:
            cubic = self.add("Mul", self.number(0.044715), self.add("Pow", x, self.number(3.0)))
            inner = self.add("Mul", self.number(0.7978845608), self.add("Add", x, cubic))
            gate = self.add("Add", self.number(1.0), self.add("Tanh", inner))
            return self.add("Mul", self.add("Mul", self.number(0.5), x), gate)
        gate = self.add(
            "Add", self.add("Erf", self.add("Div", x, self.number(2**0.5))), self.number(1.0)
        )
        return self.add("Mul", self.add("Mul", x, gate), self.number(0.5))

    def silu(self, x: str) -> str:
        return self.add("Mul", x, self.add("Sigmoid", x))

    def heads_of(self, x: str, perm: list[int]) -> str:
        d, heads = self.sizes.d, self.sizes.heads
        return self.add(
            "Transpose", self.add("Reshape", x, self.whole(0, 0, heads, d // heads)), perm=perm
        )

    def rotary(self, x: str, cos: str, sin: str) -> str:
        half = self.sizes.d // self.sizes.heads // 2
        first = self.add("Slice", x, self.whole(0), self.whole(half), self.whole(-1))
        second = self.add("Slice", x, self.whole(half), self.whole(2**62), self.whole(-1))
        turned = self.add("Concat", self.add("Neg", second), first, axis=-1)
        return self.add("Add", self.add("Mul", x, cos), self.add("Mul", turned, sin))

    def attention(
        self,
        x: str,
        *,
        bias: bool = True,
        mask: str = "",
        turned: tuple[str, str] | None = None,
        scaled: bool = True,
    ) -> str:
        d, heads = self.sizes.d, self.sizes.heads
        q, k, v = (self.linear(x, d, d, bias=bias) for _ in range(3))
        q, v = self.heads_of(q, [0, 2, 1, 3]), self.heads_of(v, [0, 2, 1, 3])
        if turned:
            k = self.rotary(self.heads_of(k, [0, 2, 1, 3]), *turned)
            q, k = self.rotary(q, *turned), self.add("Transpose", k, perm=[0, 1, 3, 2])
        else:
            k = self.heads_of(k, [0, 2, 3, 1])
        scores = self.add("MatMul", q, k)
        scores = self.add("Mul", scores, self.number((d // heads) ** -0.5)) if scaled else scores
        scores = self.add("Add", scores, mask) if mask else scores
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        mixed = self.add(
            "Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), self.whole(0, 0, d)
        )
        return self.linear(mixed, d, d, bias=bias)


def bert(path: Path, sizes: Sizes) -> Path:
    """Post-norm, GELU by erf, a mask from an input."""
    n = Net(
        sizes,
        {"x": (sizes.batch, sizes.tokens, sizes.d), "mask": (sizes.batch, 1, 1, sizes.tokens)},
    )
    x, mask = "x", n.add("Mul", n.add("Sub", n.number(1.0), "mask"), n.number(-100.0))
    for _ in range(sizes.layers):
        x = n.layer_norm(n.add("Add", x, n.attention(x, mask=mask)))
        inner = n.linear(n.gelu(n.linear(x, sizes.d, 4 * sizes.d)), 4 * sizes.d, sizes.d)
        x = n.layer_norm(n.add("Add", inner, x))
    pooled = n.add(
        "Tanh", n.linear(n.add("ReduceMean", x, n.whole(1), keepdims=0), sizes.d, sizes.d)
    )
    return n.save(path, x, pooled)


def gpt(path: Path, sizes: Sizes) -> Path:
    """Pre-norm, GELU by tanh, a causal mask as a weight, a head."""
    tokens = sizes.tokens if isinstance(sizes.tokens, int) else 8
    fixed = Sizes(
        sizes.d, sizes.heads, sizes.layers, sizes.batch, tokens, sizes.spelled, sizes.half
    )
    n = Net(fixed)
    mask = n.constant(np.triu(np.full((tokens, tokens), -100.0), 1).astype(n.numpy_type))
    x = "x"
    for _ in range(sizes.layers):
        x = n.add("Add", x, n.attention(n.layer_norm(x), mask=mask))
        inner = n.gelu(n.linear(n.layer_norm(x), sizes.d, 4 * sizes.d), by_tanh=True)
        x = n.add("Add", x, n.linear(inner, 4 * sizes.d, sizes.d))
    return n.save(path, n.linear(n.layer_norm(x), sizes.d, 11, bias=False))


def llama(path: Path, sizes: Sizes) -> Path:
    """RMS norms, rotary embedding from inputs, SwiGLU, no biases."""
    each = sizes.d // sizes.heads
    n = Net(
        sizes,
        {
            "x": (sizes.batch, sizes.tokens, sizes.d),
            "cos": (sizes.tokens, each),
            "sin": (sizes.tokens, each),
        },
    )
    x = "x"
    for _ in range(sizes.layers):
        x = n.add("Add", x, n.attention(n.rms_norm(x), bias=False, turned=("cos", "sin")))
        normed = n.rms_norm(x)
        gate, up = (n.linear(normed, sizes.d, 2 * sizes.d, bias=False) for _ in range(2))
        x = n.add(
            "Add", x, n.linear(n.add("Mul", n.silu(gate), up), 2 * sizes.d, sizes.d, bias=False)
        )
    return n.save(path, n.rms_norm(x))


def t5(path: Path, sizes: Sizes) -> Path:
    """RMS norms, unscaled scores with a position bias, gated GELU."""
    n = Net(
        sizes,
        {
            "x": (sizes.batch, sizes.tokens, sizes.d),
            "places": (1, sizes.heads, sizes.tokens, sizes.tokens),
        },
    )
    x = "x"
    for _ in range(sizes.layers):
        x = n.add("Add", x, n.attention(n.rms_norm(x), bias=False, mask="places", scaled=False))
        normed = n.rms_norm(x)
        gate, up = (n.linear(normed, sizes.d, 2 * sizes.d, bias=False) for _ in range(2))
        gated = n.add("Mul", n.gelu(gate, by_tanh=True), up) if sizes.spelled else n.add("Relu", up)
        x = n.add("Add", x, n.linear(gated, 2 * sizes.d, sizes.d, bias=False))
    return n.save(path, n.rms_norm(x))


def vit(path: Path, sizes: Sizes) -> Path:
    """Patches by a convolution, positions, pre-norm layers, the mean of the tokens, a head."""
    n = Net(sizes, {"x": (sizes.batch, 3, 16, 16)})
    patches = n.add("Conv", "x", n.weight(sizes.d, 3, 4, 4), n.weight(sizes.d), strides=[4, 4])
    x = n.add("Transpose", n.add("Reshape", patches, n.whole(0, sizes.d, 16)), perm=[0, 2, 1])
    x = n.add("Add", x, n.weight(1, 16, sizes.d))
    for _ in range(sizes.layers):
        x = n.add("Add", x, n.attention(n.layer_norm(x)))
        inner = n.linear(
            n.gelu(n.linear(n.layer_norm(x), sizes.d, 2 * sizes.d)), 2 * sizes.d, sizes.d
        )
        x = n.add("Add", x, inner)
    mean = n.add("ReduceMean", n.layer_norm(x), n.whole(1), keepdims=0)
    return n.save(path, n.add("Softmax", n.linear(mean, sizes.d, 10), axis=-1))


FAMILIES: Mapping[str, Callable[[Path, Sizes], Path]] = {
    "bert": bert,
    "gpt": gpt,
    "llama": llama,
    "t5": t5,
    "vit": vit,
}
VARIANTS: Mapping[str, Sizes] = {
    "small": Sizes(),
    "known": Sizes(batch=2, tokens=8),
    "spelled": Sizes(spelled=True),
    "deep": Sizes(d=16, heads=2, layers=3),
    "spelled_deep": Sizes(d=16, heads=2, layers=2, spelled=True, batch=1),
    "half": Sizes(half=True, batch=2, tokens=8),
    "half_spelled": Sizes(d=16, heads=2, half=True, spelled=True),
    "one_head": Sizes(d=24, heads=1, batch=1),
    "wide": Sizes(d=96, heads=6, batch=1, tokens=12),
}
MODELS: Mapping[str, Callable[[Path], Path]] = {
    f"{family}_{name}": functools.partial(write, sizes=sizes)
    for family, write in FAMILIES.items()
    for name, sizes in VARIANTS.items()
}
