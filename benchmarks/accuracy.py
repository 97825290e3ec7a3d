"""Errors against float64, beside MindSpore and torch: ``python -m benchmarks.accuracy [net …]``.

For networks: the outputs, and the gradients of the mean squared output for all weights of two axes
or more. The reference is torch in float64 with the same weights and inputs. A figure is the root
mean square of the difference divided by that of the reference. Results are taken over several
inputs together. For gradients it is the largest figure of all weights, then the median over the
inputs, because a ReLU of a value near 0 opens by chance. The reference of an operator is its
formula in float64.

Returns 1 when the error of ours is more than a fifth larger than that of both others and, for
gradients, larger than float32 sums in any order explain.
"""

from __future__ import annotations

import importlib.util
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.harness.workloads import LARGE, inputs_of
from benchmarks.measuring import describe_machine, write
from benchmarks.network_inputs import SHAPES, input_of
from benchmarks.operators import OPERATORS

Arrays = Mapping[str, np.ndarray]
OURS, UNFUSED, TORCH, EXACT = "ours", "unfused", "torch", "exact"
OPERATOR_LINES = ("swish", "chain", "softmax", "layer_norm", "swish float16")
ROWS = 64
"""Rows of an operator's result that are compared."""
RESULT = "result|0|0"
WORSE = 1.2
"""Largest ratio of our error to theirs: sums in another order differ."""
SUMS = 2e-6
"""Error of gradients that always passes."""


def main(wanted: Sequence[str]) -> int:
    """One line for each network and operator."""
    names = [*(wanted or (*OPERATOR_LINES, *SHAPES))]
    if importlib.util.find_spec("torch") is None:
        print("networks take no part: their reference is torch in float64, which is not installed")
        names = [name for name in names if name not in SHAPES]
    with tempfile.TemporaryDirectory() as place:
        found = {who: _by_another_process(who, names, Path(place)) for who in (UNFUSED, OURS)}
        nets = [name for name in names if name in SHAPES]
        found |= {who: _by_another_process(who, nets, Path(place)) for who in (TORCH, EXACT)}
    lines = []
    for name in names:
        exact = found[EXACT] if name in SHAPES else _formula(name)
        parts = sorted({key.split("|")[1] for key in exact if key.split("|")[0] == name})
        for part in parts:
            keys = [key for key in exact if key.startswith(f"{name}|{part}|")]
            rivals = [UNFUSED, TORCH] if name in SHAPES else [UNFUSED]
            off = {
                who: _typical({key: _relative_error(found[who][key], exact[key]) for key in keys})
                for who in (OURS, *rivals)
            }
            right = off[OURS] <= max(
                WORSE * max(off[who] for who in rivals), SUMS * (part == "gradients")
            )
            lines.append({"workload": name, "of": part, **off, "right": right})
            print(
                f"{name:<14} {part:<9} "
                + "   ".join(f"{who} {one:.2e}" for who, one in off.items())
                + ("" if right else "  FARTHER"),
                flush=True,
            )
    write("accuracy", {**describe_machine(), "lines": lines})
    return 0 if all(line["right"] for line in lines) else 1


def _typical(away: Mapping[str, float]) -> float:
    """The largest error of each input, then the median over the inputs."""
    largest: dict[str, float] = {}
    for key, one in away.items():
        given = key.split("|")[2]
        largest[given] = max(one, largest.get(given, 0.0))
    return statistics.median(largest.values())


def _relative_error(found: np.ndarray, exact: np.ndarray) -> float:
    wide = exact.astype(np.float64)
    return float(np.sqrt(np.mean((found.astype(np.float64) - wide) ** 2) / np.mean(wide**2)))


def _formula(name: str) -> Arrays:
    operator = OPERATORS[name.partition(" ")[0]]
    given = [one[:ROWS] if one.shape == LARGE else one for one in inputs_of(name)]
    return {
        f"{name}|{RESULT}": np.asarray(
            operator.formula(*(one.astype(np.float64) for one in given))[0]
        )
    }


def _by_another_process(who: str, names: Sequence[str], place: Path) -> Arrays:
    """The results of one contestant: name, quantity, value."""
    if not names:
        return {}
    target = place / f"{who}.npz"
    subprocess.run(
        [sys.executable, "-m", "benchmarks.accuracy", "--as", who, str(target), *names], check=True
    )
    with np.load(target) as file:
        return dict(file)


def _compute_and_save(who: str, target: str, names: Sequence[str]) -> None:
    computed = _in_torch if who in (EXACT, TORCH) else _in_mindspore
    made: dict[str, np.ndarray] = {}
    for name in names:
        made |= {f"{name}|{part}": array for part, array in computed(name, who).items()}
    np.savez(target, **made)  # type: ignore[arg-type]


def _in_torch(name: str, who: str) -> Arrays:
    import torch

    from benchmarks.torch_nets import NETWORKS, with_same_weights

    net, given = with_same_weights(NETWORKS[name]()), [*map(torch.from_numpy, _inputs(name))]
    if who == EXACT:
        net, given = net.double(), [one.double() for one in given]
    with torch.inference_mode():
        result = np.stack([net.eval()(one).numpy() for one in given])
    weights = [one for one in net.train().parameters() if one.ndim > 1]
    gradients = [torch.autograd.grad(net(one).square().mean(), weights) for one in given]
    return _parts(result, [[one.numpy() for one in each] for each in gradients])


def _in_mindspore(name: str, who: str) -> Arrays:
    import mindspore as ms
    from mindspore import Tensor

    import ms_fusion as mf
    from benchmarks.nets import NETWORKS, SquaredLoss, with_same_weights
    from benchmarks.operator_nets import OPERATOR_NETS

    ms.set_context(mode=ms.GRAPH_MODE)
    if who == OURS:
        mf.enable(generator="ms_fusion")
    if name not in SHAPES:
        made = OPERATOR_NETS[name.partition(" ")[0]]()(*map(Tensor, inputs_of(name)))
        return {RESULT: made.asnumpy()[:ROWS]}
    net, given = with_same_weights(NETWORKS[name].made()), [*map(Tensor, _inputs(name))]
    result = np.stack([net.set_train(False)(one).asnumpy() for one in given])
    weights = [one for one in net.trainable_params() if one.ndim > 1]
    gradients = ms.grad(SquaredLoss(net).set_train(), None, ms.ParameterTuple(weights))
    return _parts(result, [[one.asnumpy() for one in gradients(each)] for each in given])


def _inputs(name: str) -> list[np.ndarray]:
    """The network's input, mirrored, shifted by half a row, and with both signs."""
    x = input_of(name)
    seen = [x, x[..., ::-1]]
    seen += [np.roll(one, x.shape[-1] // 2, -1) for one in seen]
    return [np.ascontiguousarray(sign * one) for one in seen for sign in (1, -1)]


def _parts(result: np.ndarray, gradients: Sequence[Sequence[np.ndarray]]) -> Arrays:
    """Results by network, input and weight."""
    found = {
        f"gradients|{given}|{number}": one
        for given, each in enumerate(gradients)
        for number, one in enumerate(each)
    }
    return {RESULT: result, **found}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--as"]:
        _compute_and_save(sys.argv[2], sys.argv[3], sys.argv[4:])
    else:
        sys.exit(main(sys.argv[1:]))
