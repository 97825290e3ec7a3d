"""The same operators in other libraries, each tuned for speed as its users would do.

Settings that make the comparison fair:

- NumPy: every step writes to an existing array; sums of squares by einsum, without temporaries.
- torch eager: two threads, inference mode, the built-in fused operator if it exists (silu, softmax,
  layer_norm), in-place steps in the chain, results written to an existing tensor.
- torch.compile: the same mathematics compiled as a whole for static shapes, with the result written
  to an existing tensor, warmed up before timing.
- At cache-resident sizes both also run with one thread: sharing 64K elements costs them more than
  it saves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Run = Callable[[], object]
EPSILON = 1e-5


def numpy_peer(name: str, inputs: Sequence[np.ndarray], out: np.ndarray) -> Run:
    """One call of an operator in NumPy."""
    x = inputs[0]

    def swish() -> None:
        np.negative(x, out=out)
        np.exp(out, out=out)
        np.add(out, 1, out=out)
        np.divide(x, out, out=out)

    def chain() -> None:
        y = inputs[1]
        np.add(x, y, out=out)
        np.multiply(out, 0.5, out=out)
        np.multiply(out, x, out=out)
        np.subtract(out, y, out=out)
        np.maximum(out, 0, out=out)
        np.add(out, 1, out=out)
        np.multiply(out, out, out=out)
        np.minimum(out, 6, out=out)
        np.add(out, x, out=out)
        np.multiply(out, 0.25, out=out)

    def softmax() -> None:
        np.subtract(x, x.max(-1, keepdims=True), out=out)
        np.exp(out, out=out)
        np.multiply(out, 1 / out.sum(-1, keepdims=True), out=out)

    def layer_norm() -> None:
        np.subtract(x, x.mean(-1, keepdims=True), out=out)
        spread = np.einsum("ij,ij->i", out, out)[:, None] / x.shape[-1]
        np.multiply(out, 1 / np.sqrt(spread + np.float32(EPSILON)), out=out)
        np.multiply(out, inputs[1], out=out)
        np.add(out, inputs[2], out=out)

    return {"swish": swish, "chain": chain, "softmax": softmax, "layer_norm": layer_norm}[name]


def torch_formula(name: str) -> Callable[..., Any]:
    """An operator in torch eager style."""
    import torch

    functional = torch.nn.functional

    def chain(x: Any, y: Any) -> Any:
        b = torch.clamp_min((x + y) * 0.5 * x - y, 0) + 1
        return (torch.clamp_max(b * b, 6) + x) * 0.25

    formulas: dict[str, Callable[..., Any]] = {
        "swish": functional.silu,
        "chain": chain,
        "softmax": lambda x: torch.softmax(x, -1),
        "layer_norm": lambda x, g, b: functional.layer_norm(x, x.shape[-1:], g, b, EPSILON),
    }
    return formulas[name]


def torch_module(name: str) -> Any:
    """The same as a module, for export."""
    import torch

    class Module(torch.nn.Module):
        def forward(self, *given: Any) -> Any:
            return torch_formula(name)(*given)

    return Module()


def torch_peers(
    name: str, arrays: Sequence[np.ndarray], threads: int
) -> dict[str, tuple[Run, Run, np.ndarray]]:
    """One call in torch eager and one in torch.compile, each with its thread setup and its output
    array.

    Raises:
        ImportError: torch is not installed.
    """
    import torch

    aten = torch.ops.aten
    inputs = [torch.from_numpy(item) for item in arrays]
    x, out = inputs[0], torch.empty_like(inputs[0])
    made = torch.empty_like(x)
    rows = x.shape[0]
    mean, scale = torch.empty(rows, 1), torch.empty(rows, 1)

    def eager_chain() -> None:
        y = inputs[1]
        t = torch.add(x, y, out=out)
        t.mul_(0.5).mul_(x).sub_(y).clamp_min_(0).add_(1).square_().clamp_max_(6).add_(x).mul_(0.25)

    eager: dict[str, Run] = {
        "swish": lambda: aten.silu.out(x, out=out),
        "chain": eager_chain,
        "softmax": lambda: aten._softmax.out(x, -1, False, out=out),
        "layer_norm": lambda: aten.native_layer_norm.out(
            x, [x.shape[-1]], inputs[1], inputs[2], EPSILON, out0=out, out1=mean, out2=scale
        ),
    }

    formula = torch_formula(name)

    def write_result(target: Any, *given: Any) -> None:
        target.copy_(formula(*given))

    compiled = torch.compile(write_result, dynamic=False, fullgraph=True)

    def without_gradients(run: Run) -> Run:
        def run_in_inference_mode() -> None:
            with torch.inference_mode():
                run()

        return run_in_inference_mode

    mark = "" if threads > 1 else ", one thread"

    def set_threads() -> None:
        torch.set_num_threads(threads)

    return {
        f"torch eager{mark}": (without_gradients(eager[name]), set_threads, out.numpy()),
        f"torch.compile{mark}": (
            without_gradients(lambda: compiled(made, *inputs)),
            set_threads,
            made.numpy(),
        ),
    }


def prepare_torch(threads: int) -> str | None:
    """Configures torch; returns None, or the reason for its absence."""
    try:
        import torch
    except ImportError as error:
        return f"torch is not installed ({error}); pip install 'ms_fusion[bench]'"
    torch.set_num_threads(threads)
    torch._dynamo.config.cache_size_limit = 64
    return None


def torch_version() -> str:
    """Version of the measured torch."""
    try:
        import torch
    except ImportError:
        return ""
    return str(torch.__version__)
