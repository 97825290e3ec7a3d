"""Convolutions as MindSpore users write them, built by us, against torch: ``python -m benchmarks.convolutions_in_mindspore``.

`ops.conv2d` and its gradients by `ms.grad`, graph mode, float32, from and to plain arrays (batch, channels, height, width): what
`benchmarks.convolutions` measures without MindSpore. Calls are in turns, with all that a call costs in either framework.
``QUICK=1`` takes fewer rounds.

Target: at most 1.3 times torch's time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.measuring import described, in_turns, is_quick, largest_error, ratio, write
from tbe_impl import environment

# x, weights, stride
SHAPES = (
    ((8, 64, 56, 56), (64, 64, 3, 3), 1),
    ((8, 128, 28, 28), (128, 128, 3, 3), 1),
    ((8, 256, 26, 26), (512, 256, 3, 3), 2),
    ((8, 256, 56, 56), (64, 256, 1, 1), 1),
    ((2, 64, 28, 28), (64, 64, 3, 3), 1),
    ((2, 64, 32, 32), (64, 64, 3, 3), 1),
)
TIMES_TORCH = 1.3
TOLERANCE = 1e-3
KINDS = ("forward", "gradient of x", "gradient of weight")


def main() -> int:
    """Runs everything and writes the record; 1 when something computed a wrong result."""
    missing = peers.prepare_torch(environment.threads())
    if missing:
        print(missing)
        return 1
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    mf.enable(generator="ms_fusion")
    record: dict[str, Any] = {**described(), "torch": peers.torch_version(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, torch {record['torch']}, load {record['load_before']}")  # fmt: skip
    for shape in SHAPES:
        record["lines"] += [_line(kind, *shape) for kind in KINDS]
    write("convolutions_in_mindspore", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(kind: str, x_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: int) -> dict[str, Any]:  # fmt: skip
    random = np.random.default_rng(0)
    x, weight = (random.standard_normal(shape, np.float32) for shape in (x_shape, weight_shape))
    weight /= np.sqrt(np.prod(weight_shape[1:]), dtype=np.float32)
    padding = weight_shape[2] // 2
    sizes = [(size + 2 * padding - weight_shape[2]) // stride + 1 for size in x_shape[2:]]
    gradient = random.standard_normal((x_shape[0], weight_shape[0], *sizes), np.float32)
    gradient /= np.sqrt(gradient[0, 0].size * x_shape[0], dtype=np.float32)
    theirs = _torch(kind, x, weight, gradient, stride, padding)
    ours = _mindspore(kind, x, weight, gradient, stride, padding)
    found, wanted = ours().asnumpy(), theirs().numpy()
    runs: dict[str, Callable[[], object]] = {"ours": ours, "torch": theirs}
    samples = in_turns(runs, rounds=9 if is_quick() else 31, block_s=0.02)
    off = largest_error([found], [wanted.astype(np.float64)])
    line = {
        "what": kind, "x": x_shape, "weight": weight_shape, "stride": stride, "differs": off, "right": off <= TOLERANCE,
        "times_torch": round(ratio(samples["ours"], samples["torch"]), 2),
        "times_torch_least": round(samples["ours"].least / samples["torch"].least, 2),
        **{who: one.record() for who, one in samples.items()},
    }  # fmt: skip
    name = f"{weight_shape[1]}→{weight_shape[0]} {weight_shape[2]}×{weight_shape[3]} at {x_shape[0]}×{x_shape[2]}×{x_shape[3]}"
    told = "  (short)" if line["times_torch"] > TIMES_TORCH else ""
    print(f"{name:<26} {kind:<18} {samples['ours'].median * 1e3:7.2f} ms   torch {samples['torch'].median * 1e3:7.2f} ms   {line['times_torch']:5.2f} × its time (least {line['times_torch_least']:.2f}){told}" + ("" if line["right"] else "  WRONG"), flush=True)  # fmt: skip
    return line


def _mindspore(kind: str, x: np.ndarray, weight: np.ndarray, gradient: np.ndarray, stride: int, padding: int) -> Callable[[], Any]:  # fmt: skip
    import mindspore as ms
    from mindspore import Tensor, ops

    def forward(a: Any, w: Any, g: Any) -> Any:
        return ops.conv2d(a, w, None, stride, "pad", padding)

    def loss(a: Any, w: Any, g: Any) -> Any:
        return ops.sum(ops.conv2d(a, w, None, stride, "pad", padding) * g)

    wanted = {"gradient of x": 0, "gradient of weight": 1}
    compiled = ms.jit(ms.grad(loss, wanted[kind]) if kind in wanted else forward)
    given = [Tensor(item) for item in (x, weight, gradient)]
    return lambda: compiled(*given)


def _torch(kind: str, x: np.ndarray, weight: np.ndarray, gradient: np.ndarray, stride: int, padding: int) -> Callable[[], Any]:  # fmt: skip
    import torch

    a, w, g = (torch.from_numpy(item) for item in (x, weight, gradient))
    mask = [kind == "gradient of x", kind == "gradient of weight", False]

    def run() -> Any:
        with torch.inference_mode():
            if kind == "forward":
                return torch.nn.functional.conv2d(a, w, None, stride, padding)
            found = torch.ops.aten.convolution_backward(g, a, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, mask)  # fmt: skip
            return found[mask.index(True)]

    return run


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.convolutions_in_mindspore")
    sys.exit(main())
