"""Convolutions and products by oneDNN beside torch: ``python -m benchmarks.convolutions``.

Forward, forward with bias, residual and ReLU, and both gradients, float32, on plain NCHW arrays.
Layout changes are part of the time, as in torch, which calls oneDNN too. The NumPy lowering is the
baseline. Matrix products are compared with the same call without bias and activation. `QUICK=1` is
the short form.

Targets: at least 70 % of torch's rate; a product with its epilogue at most 15 % longer than the
bare product.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks import peers
from benchmarks.measuring import describe_machine, in_turns, is_quick, ratio, write
from custom_ops.onednn import (
    Prepared,
    prepare_conv2d,
    prepare_conv2d_backward,
    prepare_matmul,
)
from custom_ops.onednn.verified_library import library
from tbe_impl import environment

# x, weights, stride
SHAPES = (
    ((8, 64, 56, 56), (64, 64, 3, 3), 1),
    ((8, 128, 28, 28), (128, 128, 3, 3), 1),
    ((8, 256, 26, 26), (512, 256, 3, 3), 2),
    ((8, 256, 56, 56), (64, 256, 1, 1), 1),
)
PRODUCT = ((4096, 1024), (1024, 1024))
SHARE_OF_TORCH = 0.70
TIMES_THE_BARE = 1.15
PAUSE_S = 0.02
"""Idle torch threads spin for milliseconds on cores that the next contestant needs."""
TOLERANCE = 2e-5
"""Limit of the largest |found − expected| ÷ the largest |expected|; the NumPy lowering gives
`expected`.
"""

Run = Callable[[], object]


def main() -> int:
    """Runs all lines and writes the record; returns 1 when a result is wrong."""
    missing = peers.prepare_torch(environment.threads())
    if missing:
        print(f"torch takes no part: {missing}")
    known = library()
    record: dict[str, Any] = {
        **describe_machine(),
        "torch": peers.torch_version(),
        "onednn": ".".join(map(str, known.version)),
        "lines": [],
    }
    print(
        f"{record['processor']}, {record['threads']} threads, oneDNN {record['onednn']}, torch "
        f"{record['torch'] or 'absent'}, load {record['load_before']}"
    )
    rounds = 7 if is_quick() else 25
    for x, weight, stride in SHAPES:
        record["lines"] += _convolution(x, weight, stride, rounds, with_torch=not missing)
    record["lines"] += _products(rounds)
    write("convolutions", record)
    return 0 if all(line.get("right", True) for line in record["lines"]) else 1


def _convolution(
    x_shape: tuple[int, ...],
    weight_shape: tuple[int, ...],
    stride: int,
    rounds: int,
    *,
    with_torch: bool,
) -> list[dict[str, Any]]:
    generator = np.random.default_rng(0)
    padding = weight_shape[2] // 2
    given: dict[str, Any] = {"stride": stride, "padding": padding}
    x, weight = (generator.standard_normal(shape, np.float32) for shape in (x_shape, weight_shape))
    weight /= np.sqrt(np.prod(weight_shape[1:]), dtype=np.float32)
    bias = generator.standard_normal(weight_shape[0], np.float32)
    plain = prepare_conv2d(x_shape, weight_shape, **given)
    y = plain.call([x, weight])[0]
    flops = 2 * y.size * int(np.prod(weight_shape[1:]))
    found = []
    for what, kind, arrays, work in (
        ("forward", {}, [x, weight], flops),
        (
            "forward, bias, residual, ReLU",
            {"bias": True, "residual": True, "activation": "relu"},
            [x, weight, bias, y],
            flops,
        ),
        ("gradient of x", {"wanted": ("x",)}, [y, weight], flops),
        ("gradient of weight and bias", {"wanted": ("weight", "bias")}, [y, x], flops),
        ("all gradients", {"wanted": ("x", "weight", "bias")}, [y, weight, x], 2 * flops),
    ):
        prepare = prepare_conv2d_backward if "wanted" in kind else prepare_conv2d
        ours = prepare(x_shape, weight_shape, **given, **kind)
        numpy = prepare(x_shape, weight_shape, lowering="im2col", **given, **kind)
        outs = ours.call(arrays)
        expected = numpy.call(arrays)
        runs: dict[str, Run] = {
            "ours": caller(ours, arrays, outs),
            "NumPy": lambda numpy=numpy, arrays=arrays: numpy.call(arrays),
        }  # type: ignore[misc]
        if with_torch:
            runs["torch"] = _torch(kind, x, weight, bias, y, stride, padding)
        samples = in_turns(runs, rounds=rounds, block_s=0.03, pause_s=PAUSE_S)
        line: dict[str, Any] = {
            "what": what,
            "x": x_shape,
            "weight": weight_shape,
            "stride": stride,
            "implementations": ours.implementations,
            "gflops": round(work / samples["ours"].median / 1e9, 1),
            "error": max(map(error, outs, expected)),
            **{who: item.record() for who, item in samples.items()},
        }
        line["right"] = line["error"] <= TOLERANCE
        line |= {
            f"rate_of_{who}": round(ratio(samples[who], samples["ours"]), 3)
            for who in runs
            if who != "ours"
        }
        line |= {
            f"rate_of_{who}_least": round(samples[who].least / samples["ours"].least, 3)
            for who in runs
            if who != "ours"
        }
        found.append(line)
        _tell(
            f"{weight_shape[1]}→{weight_shape[0]} {weight_shape[2]}×{weight_shape[3]} at "
            f"{x_shape[2]}×{x_shape[3]}, {what}",
            line,
        )
    return found


def _tell(name: str, line: dict[str, Any]) -> None:
    told = (
        f"{name:58} {line['ours']['median_us'] / 1e3:8.2f} ms (least "
        f"{line['ours']['least_us'] / 1e3:.2f})  {line['gflops']:6.0f} GFLOP/s"
    )
    told += f"  {line['rate_of_NumPy']:5.1f} × NumPy" if "rate_of_NumPy" in line else ""
    if "rate_of_torch" in line:
        told += (
            f"  {line['rate_of_torch']:5.2f} × torch (least {line['rate_of_torch_least']:.2f}, "
            f"target {SHARE_OF_TORCH})"
        )
    print(told + ("" if line["right"] else "  WRONG"))


def _torch(
    kind: dict[str, Any],
    x: np.ndarray,
    weight: np.ndarray,
    bias: np.ndarray,
    y: np.ndarray,
    stride: int,
    padding: int,
) -> Run:
    """The same by torch, without gradients."""
    import torch

    tensors = [torch.from_numpy(item) for item in (x, weight, bias, y)]

    def run() -> object:
        a, w, b, grad = tensors
        with torch.inference_mode():
            if "wanted" in kind:
                mask = [name in kind["wanted"] for name in ("x", "weight", "bias")]
                return torch.ops.aten.convolution_backward(
                    grad,
                    a,
                    w,
                    [len(b)],
                    [stride] * 2,
                    [padding] * 2,
                    [1, 1],
                    False,
                    [0, 0],
                    1,
                    mask,
                )
            if kind:
                return torch.nn.functional.conv2d(a, w, b, stride, padding).add_(grad).relu_()
            return torch.nn.functional.conv2d(a, w, None, stride, padding)

    return run


def _products(rounds: int) -> list[dict[str, Any]]:
    """A product with its epilogue, and the bare product."""
    generator = np.random.default_rng(0)
    a, b = (generator.standard_normal(shape, np.float32) for shape in PRODUCT)
    bias = generator.standard_normal(PRODUCT[1][1], np.float32)
    runs: dict[str, Run] = {}
    errors = {}
    for activation in ("", "relu", "gelu", "gelu_tanh", "silu"):
        kind: dict[str, Any] = {"bias": bool(activation), "activation": activation}
        arrays = [a, b, bias] if activation else [a, b]
        ours = prepare_matmul(*PRODUCT, **kind)
        outs = ours.call(arrays)
        rows = slice(0, None, 512)
        few = prepare_matmul((8, PRODUCT[0][1]), PRODUCT[1], lowering="im2col", **kind)
        expected = few.call([np.ascontiguousarray(a[rows]), *arrays[1:]])[0]
        name = f"bias, {activation}" if activation else "bare"
        errors[name] = error(outs[0][rows], expected)
        runs[name] = caller(ours, arrays, outs)
    runs["NumPy, bare"] = lambda: np.matmul(a, b)
    samples = in_turns(runs, rounds=rounds)
    found = []
    for name in runs:
        line = {
            "what": f"product, {name}",
            "a": PRODUCT[0],
            "b": PRODUCT[1],
            **samples[name].record(),
            "times_the_bare": round(ratio(samples[name], samples["bare"]), 3),
        }
        if name in errors:
            line |= {"error": errors[name], "right": errors[name] <= TOLERANCE}
        found.append(line)
        print(
            f"{line['what']:30} {line['median_us'] / 1e3:8.2f} ms (least "
            f"{line['least_us'] / 1e3:.2f})  {line['times_the_bare']:.3f} × the bare product "
            f"(target {TIMES_THE_BARE}){'' if line.get('right', True) else '  WRONG'}"
        )
    return found


def error(found: np.ndarray, expected: np.ndarray) -> float:
    """The largest difference divided by the largest value."""
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def caller(prepared: Prepared, arrays: Sequence[np.ndarray], outs: Sequence[np.ndarray]) -> Run:
    """A call of the compiled function alone, as a framework makes it."""
    function = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(prepared.function)
    everything = (*arrays, *outs)
    buffers = (ctypes.c_void_p * len(everything))(*(item.ctypes.data for item in everything))

    def run() -> object:
        assert everything  # keeps the arrays alive as long as the pointers
        return function(prepared.state, buffers)

    return run


if __name__ == "__main__":
    if sys.argv[1:]:
        raise SystemExit("usage: [QUICK=1] python -m benchmarks.convolutions")
    sys.exit(main())
