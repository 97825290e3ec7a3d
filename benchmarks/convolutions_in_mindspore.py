"""Convolutions in MindSpore beside torch: ``python -m benchmarks.convolutions_in_mindspore``.

`ops.conv2d` and its gradients, graph mode, float32, on plain NCHW arrays: the cases of
`benchmarks.convolutions`, here with MindSpore. Calls are interleaved and include each framework's
call overhead:

- as in a net: several convolutions in one graph, each with its own arrays, against as many
  successive torch calls; time of one.
- called alone: a `@ms.jit` function of one convolution, which includes MindSpore's call overhead.

``QUICK=1`` takes fewer rounds. Target: as in a net, at most 1.3 times torch's time.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.measuring import (
    describe_machine,
    in_turns,
    is_quick,
    largest_error,
    ratio,
    settle,
    write,
)
from tbe_impl import environment

# x, weights, stride, convolutions per net
SHAPES = (
    ((8, 64, 56, 56), (64, 64, 3, 3), 1, 8),
    ((8, 128, 28, 28), (128, 128, 3, 3), 1, 8),
    ((8, 256, 26, 26), (512, 256, 3, 3), 2, 8),
    ((8, 256, 56, 56), (64, 256, 1, 1), 1, 8),
    ((2, 64, 28, 28), (64, 64, 3, 3), 1, 24),
    ((2, 64, 32, 32), (64, 64, 3, 3), 1, 24),
)
TIMES_TORCH = 1.3
SETTLED_S = 6.0
"""MindSpore moves memory into large pages during this time."""
TOLERANCE = 1e-3
KINDS = ("forward", "gradient of x", "gradient of weight")


def main() -> int:
    """Runs all lines and writes the record; returns 1 when a result is wrong."""
    missing = peers.prepare_torch(environment.threads())
    if missing:
        print(missing)
        return 1
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    mf.enable(generator="ms_fusion")
    record: dict[str, Any] = {**describe_machine(), "torch": peers.torch_version(), "lines": []}
    print(
        f"{record['processor']}, {record['threads']} threads, torch {record['torch']}, load "
        f"{record['load_before']}"
    )
    for shape in SHAPES:
        record["lines"] += [_line(kind, *shape) for kind in KINDS]
    write("convolutions_in_mindspore", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
"""x, weight, gradient of the result."""
Call = Callable[[], Sequence[Any]]
"""Creates tensors."""


def _line(
    kind: str, x_shape: tuple[int, ...], weight_shape: tuple[int, ...], stride: int, count: int
) -> dict[str, Any]:
    padding = weight_shape[2] // 2
    random = np.random.default_rng(0)
    given = [_arrays(random, x_shape, weight_shape, stride, padding) for _ in range(count)]
    runs: dict[str, Call] = {
        "ours": _mindspore(kind, given, stride, padding),
        "torch": _torch(kind, given, stride, padding),
        "ours alone": _mindspore(kind, given[:1], stride, padding),
        "torch alone": _torch(kind, given[:1], stride, padding),
    }
    found = [item.asnumpy() for item in runs["ours"]()]
    off = largest_error(found, [item.numpy().astype(np.float64) for item in runs["torch"]()])
    settle(runs["ours"], at_least_s=0.0 if is_quick() else SETTLED_S, at_most_s=SETTLED_S)
    samples = in_turns(runs, rounds=9 if is_quick() else 31, block_s=0.03, pause_s=0.02, slow_s=1.0)
    times = {
        f"{name}{how}": value
        for name, how, value in (
            ("times_torch", "", ratio(samples["ours"], samples["torch"])),
            ("times_torch_least", "", samples["ours"].least / samples["torch"].least),
            ("times_torch", "_alone", ratio(samples["ours alone"], samples["torch alone"])),
            (
                "times_torch_least",
                "_alone",
                samples["ours alone"].least / samples["torch alone"].least,
            ),
        )
    }
    line = {
        "what": kind,
        "x": x_shape,
        "weight": weight_shape,
        "stride": stride,
        "count": count,
        "differs": off,
        "right": off <= TOLERANCE,
        **{name: round(value, 2) for name, value in times.items()},
        **{who: one.record() for who, one in samples.items()},
    }
    name = (
        f"{weight_shape[1]}→{weight_shape[0]} {weight_shape[2]}×{weight_shape[3]} at "
        f"{x_shape[0]}×{x_shape[2]}×{x_shape[3]}"
    )
    told = (
        f"{name:<26} {kind:<18} {samples['ours'].median / count * 1e3:6.2f} ms   torch "
        f"{samples['torch'].median / count * 1e3:6.2f} ms"
    )
    told += f"   {line['times_torch']:5.2f} × its time (least {line['times_torch_least']:.2f})"
    told += (
        f"   called alone {samples['ours alone'].median * 1e3:6.2f} ms "
        f"{line['times_torch_alone']:5.2f} × (least {line['times_torch_least_alone']:.2f})"
    )
    told += "  (short)" if line["times_torch"] > TIMES_TORCH else ""
    print(told + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _arrays(
    random: np.random.Generator,
    x_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: int,
    padding: int,
) -> Arrays:
    x, weight = (random.standard_normal(shape, np.float32) for shape in (x_shape, weight_shape))
    weight /= np.sqrt(np.prod(weight_shape[1:]), dtype=np.float32)
    sizes = [(size + 2 * padding - weight_shape[2]) // stride + 1 for size in x_shape[2:]]
    gradient = random.standard_normal((x_shape[0], weight_shape[0], *sizes), np.float32)
    gradient /= np.sqrt(gradient[0, 0].size * x_shape[0], dtype=np.float32)
    return x, weight, gradient


def _mindspore(kind: str, given: Sequence[Arrays], stride: int, padding: int) -> Call:
    import mindspore as ms
    from mindspore import Tensor, nn, ops

    def forward(a: Any, w: Any) -> Any:
        return ops.conv2d(a, w, None, stride, "pad", padding)

    wanted = {"gradient of x": 0, "gradient of weight": 1}
    gradient = ops.GradOperation(get_all=True, sens_param=True)

    def one(a: Any, w: Any, g: Any) -> Any:
        return gradient(forward)(a, w, g)[wanted[kind]] if kind in wanted else forward(a, w)

    class Several(nn.Cell):
        """The inputs are parameters, so a call passes no arguments."""

        def __init__(self) -> None:
            super().__init__()
            names = ("x", "weight", "gradient")
            made = [
                [
                    ms.Parameter(Tensor(item), f"{name}{number}")
                    for name, item in zip(names, arrays, strict=True)
                ]
                for number, arrays in enumerate(given)
            ]
            self.held = [ms.ParameterTuple(column) for column in zip(*made, strict=True)]

        def construct(self) -> Any:
            made = ()
            for a, w, g in zip(self.held[0], self.held[1], self.held[2]):  # noqa: B905 - no strict
                made = (*made, one(a, w, g))
            return made

    if len(given) > 1:
        return Several()
    compiled = ms.jit(one)
    tensors = [Tensor(item) for item in given[0]]
    return lambda: [compiled(*tensors)]


def _torch(kind: str, given: Sequence[Arrays], stride: int, padding: int) -> Call:
    import torch

    tensors = [[torch.from_numpy(item) for item in arrays] for arrays in given]
    mask = [kind == "gradient of x", kind == "gradient of weight", False]

    def one(a: Any, w: Any, g: Any) -> Any:
        if kind == "forward":
            return torch.nn.functional.conv2d(a, w, None, stride, padding)
        found = torch.ops.aten.convolution_backward(
            g, a, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, mask
        )
        return found[mask.index(True)]

    def run() -> list[Any]:
        with torch.inference_mode():
            return [one(*arrays) for arrays in tensors]

    return run


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.convolutions_in_mindspore")
    sys.exit(main())
