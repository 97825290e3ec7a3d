"""Operators of `custom_ops` in torch, eager and compiled, tuned for speed.

Settings that make the comparison fair:

- torch eager: the fused function if torch has one (softmax, layer_norm, rms_norm, gelu,
  scaled_dot_product_attention …), in-place steps on temporaries, optimizers both with ``fused`` and
  with ``foreach``, of which the better counts.
- gradients in eager mode: a torch gradient that reads the inputs alone is called without the
  forward, as ours is.
- torch.compile: static shapes, the whole function in one piece. A gradient is compiled from
  `torch.func.vjp`, so that unneeded parts of the forward are eliminated. Warmed up before timing.
- all threads; malloc keeps the memory of results (`keep_memory`), so that no contestant pays for
  page faults of fresh memory:
  MindSpore keeps its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[[], Any]
EPSILON = 1e-5
M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
"""Numbers of glibc's mallopt options."""


def keep_memory() -> None:
    """Makes malloc take all memory from the heap and return none to the system."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        library.mallopt(M_MMAP_MAX, 0)
        library.mallopt(M_TRIM_THRESHOLD, (1 << 31) - 1)


@dataclass(frozen=True)
class Formula:
    """An operator in torch.

    Attributes:
        forward: the floating-point inputs, the weights, then the inputs without gradient → the
            result.
        spare: the same in eager mode without autograd records, with in-place steps; None:
            `forward`.
        slope: gradients in eager mode without a forward: weight of the result, then as `forward`;
            None: by autograd.
    """

    forward: Callable[..., Any]
    spare: Callable[..., Any] | None = None
    slope: Callable[..., Any] | None = None


def formulas() -> Mapping[str, Formula]:
    """Formulas by the name of `benchmarks.mindspore_cases`."""
    import torch

    functional, aten = torch.nn.functional, torch.ops.aten

    def group_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return functional.group_norm(x, 8, gamma, beta, EPSILON)

    def batch_norm(x: Any, gamma: Any, beta: Any) -> Any:
        return functional.batch_norm(x, None, None, gamma, beta, True, 0.1, EPSILON)

    def inference(x: Any, gamma: Any, beta: Any) -> Any:
        return functional.batch_norm(
            x, torch.zeros_like(beta), torch.ones_like(beta), gamma, beta, False, 0.1, EPSILON
        )

    def convolution(norm: Any, activation: Any) -> Formula:
        return Formula(
            lambda x, weight, g, b: activation(norm(functional.conv2d(x, weight, None, 1, 1), g, b))
        )

    activations = {
        "ReLU": torch.relu,
        "LeakyReLU": lambda x: functional.leaky_relu(x, 0.1),
        "SiLU": functional.silu,
    }

    def decode_boxes(x: Any) -> Any:
        images, height, width, _, size = x.shape
        anchors = torch.tensor([[10.0, 13.0], [16.0, 30.0], [33.0, 23.0]])
        down, across = torch.meshgrid(torch.arange(height), torch.arange(width), indexing="ij")
        share = torch.sigmoid(x)
        centre = (2 * share[..., :2] - 0.5 + torch.stack((across, down), -1)[:, :, None]) * 8.0
        half = 2 * share[..., 2:4].square() * anchors
        boxes = torch.cat((centre - half, centre + half), -1).reshape(images, -1, 4)
        return boxes, (share[..., 5:] * share[..., 4:5]).reshape(images, -1, size - 5)

    return {
        "BoxDecode": Formula(decode_boxes),
        "BiasDropoutAdd": Formula(
            lambda x, bias, y: x + bias + y, lambda x, bias, y: (x + bias).add_(y)
        ),
        "LinearCrossEntropy": Formula(
            lambda x, weight, labels: functional.cross_entropy(functional.linear(x, weight), labels)
        ),
        "LinearResidual": Formula(
            lambda x, y, weight, bias: functional.linear(x, weight, bias) + y
        ),
        **{f"ConvBN{name}": convolution(inference, one) for name, one in activations.items()},
        **{
            f"ConvBN{name} training": convolution(batch_norm, one)
            for name, one in activations.items()
        },
        "Mish": Formula(functional.mish),
        "HardSwish": Formula(functional.hardswish),
        "AddReLU": Formula(lambda x, y: torch.relu(x + y), lambda x, y: torch.relu_(x + y)),
        "MulSigmoid": Formula(
            lambda x, y: x * y * torch.sigmoid(y), lambda x, y: torch.sigmoid(y).mul_(x).mul_(y)
        ),
        "Swish": Formula(functional.silu, slope=lambda w, x: aten.silu_backward(w, x)),
        "GELU": Formula(functional.gelu, slope=lambda w, x: aten.gelu_backward(w, x)),
        "GELU tanh": Formula(
            lambda x: functional.gelu(x, approximate="tanh"),
            slope=lambda w, x: aten.gelu_backward(w, x, approximate="tanh"),
        ),
        "SwiGLU": Formula(
            lambda x, y: functional.silu(x) * y,
            lambda x, y: functional.silu(x).mul_(y),
            lambda w, x, y: (aten.silu_backward(w * y, x), functional.silu(x).mul_(w)),
        ),
        "Softmax": Formula(lambda x: torch.softmax(x, -1)),
        "LogSoftmax": Formula(lambda x: torch.log_softmax(x, -1)),
        "LayerNorm": Formula(lambda x, g, b: functional.layer_norm(x, x.shape[-1:], g, b, EPSILON)),
        "RMSNorm": Formula(lambda x, g: functional.rms_norm(x, x.shape[-1:], g, 1e-6)),
        "GroupNorm": Formula(group_norm),
        "BatchNorm": Formula(batch_norm),
        "BatchNorm inference": Formula(inference),
        "SoftmaxCrossEntropy": Formula(functional.cross_entropy),
        "attention": Formula(functional.scaled_dot_product_attention),
    }


def peers(
    name: str,
    inputs: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    tables: Sequence[np.ndarray],
    result: np.ndarray,
    *,
    gradient: bool,
    with_result: bool = False,
) -> dict[str, Run]:
    """An operator of `formulas` in torch and in torch.compile; empty if it has no formula.

    Args:
        name: name of the operator; the first word of an attention's name selects the formula.
        inputs: floating-point inputs.
        weights: weights of the Cell.
        tables: inputs without gradient.
        result: the weight of the result in a gradient, of its shape.
        gradient: whether the gradients of inputs and weights are measured.
        with_result: whether the compiled gradient also returns the result: ours reads it, and
            training writes it anyway.
    """
    import torch

    torch._dynamo.reset()  # recompilations count against a limit
    formula = formulas().get(name.split(" ")[0] if name.startswith("attention") else name)
    if formula is None:
        return {}
    varied = [torch.from_numpy(item) for item in (*inputs, *weights)]
    fixed = [torch.from_numpy(item.astype(np.int64)) for item in tables]
    outer = torch.from_numpy(result.copy())
    forward = formula.forward
    if not gradient:
        compiled = torch.compile(forward, dynamic=False, fullgraph=True)
        spare = formula.spare or forward
        return {
            "torch": lambda: _without_gradient_record(spare, *varied, *fixed),
            "torch.compile": lambda: _without_gradient_record(compiled, *varied, *fixed),
        }

    def slopes(outer: Any, *given: Any) -> Any:
        count = len(varied)
        made, pull = torch.func.vjp(lambda *some: forward(*some, *given[count:]), *given[:count])
        return (*pull(outer), made) if with_result else pull(outer)

    def eager() -> Any:
        leaves = [item.detach().requires_grad_() for item in varied]
        return torch.autograd.grad(forward(*leaves, *fixed), leaves, outer)

    whole = torch.compile(slopes, dynamic=False, fullgraph=True)
    alone = formula.slope
    return {
        "torch": eager
        if alone is None
        else lambda: _without_gradient_record(alone, outer, *varied, *fixed),
        "torch.compile": lambda: whole(outer, *varied, *fixed),
    }


def _without_gradient_record(function: Callable[..., Any], *given: Any) -> Any:
    """A call without autograd records."""
    import torch

    with torch.no_grad():
        return function(*given)


def optimizers(name: str, gradients: Sequence[np.ndarray]) -> dict[str, Run]:
    """A step over parameters of 1 in torch's optimizers; each call returns the first parameter."""
    import torch

    kinds: dict[str, Callable[..., Any]] = {
        "Adam": lambda weights, **how: torch.optim.Adam(weights, 1e-3, **how),
        "AdamWeightDecay": lambda weights, **how: torch.optim.AdamW(
            weights, 1e-3, eps=1e-6, weight_decay=0.0, **how
        ),
        "Momentum": lambda weights, **how: torch.optim.SGD(weights, 1e-3, 0.9, **how),
    }
    found: dict[str, Run] = {}
    for who, how in (
        ("torch", {"fused": True}),
        ("torch foreach", {"foreach": True}),
        ("torch.compile", {"foreach": True}),
    ):
        weights = [torch.ones(item.shape, requires_grad=True) for item in gradients]
        for weight, item in zip(weights, gradients, strict=True):
            weight.grad = torch.from_numpy(item)
        step = kinds[name](weights, **how).step
        found[who] = _stepping(torch.compile(step) if who == "torch.compile" else step, weights[0])
    return found


def _stepping(step: Run, first: Any) -> Run:
    def run() -> Any:
        step()
        return first.detach()

    return run
