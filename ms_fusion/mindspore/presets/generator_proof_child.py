"""Runs the self-test of our generator in a child process that `generator_proof` starts.

The child process compiles a small net with our generator and checks the results. The parent process
runs the module as ``python -m ms_fusion.mindspore.presets.generator_proof_child RESULT.json`` in a
private directory. The child process writes a `generator_proof.GeneratorProof` to RESULT.json.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator
from ms_fusion.mindspore.state import mindspore_state
from tbe_impl.errors import pluralize

SHAPE = (33, 70)
TOLERANCE = 1e-5


def main(result: Path) -> None:
    """Runs `try_generator` and writes a `GeneratorProof` to the file `result`."""
    try:
        why = try_generator()
    except Exception as error:  # noqa: BLE001 - any failure is a reason not to use it
        first = next((line.strip() for line in str(error).splitlines() if line.strip(" -")), "")
        why = f"{type(error).__name__}: {first[:300]}"
    from custom_ops.onednn import why_missing

    result.write_text(json.dumps({"why": why, "without_onednn": why_missing()}), "utf-8")


def try_generator() -> str:
    """Compiles and runs the net `Known` with our generator and checks the results.

    Returns the reason why our generator is unusable, or an empty string if it is usable.
    """
    import mindspore
    from mindspore import Parameter, Tensor, nn, ops

    random = np.random.default_rng(0)
    x, y = (random.standard_normal(shape).astype(np.float32) for shape in (SHAPE, SHAPE[1:]))
    weight = random.standard_normal((SHAPE[1], 24)).astype(np.float32)

    class Known(nn.Cell):
        """A net with a sum over rows, several results, a matrix product and an in-place write."""

        def __init__(self) -> None:
            super().__init__()
            self.weight = Tensor(weight)
            self.count = Parameter(Tensor(np.zeros(SHAPE[1:], np.float32)), name="count")

        def construct(self, x: Any, y: Any) -> Any:
            """Computes the three results of the net from its inputs."""
            level = ops.sub(ops.exp(x), y)
            share = ops.div(level, ops.sum(ops.abs(level), 1, True))
            ops.assign(self.count, ops.add(self.count, 2.0))
            product = ops.relu(ops.matmul(share, self.weight) + 0.5)
            return share, ops.cast(ops.greater(x, y), mindspore.int32), product

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    net = Known()
    with mindspore_state.environment_flags(flags_for_own_generator(2).render()):
        share, above, product = (item.asnumpy() for item in net(Tensor(x), Tensor(y)))
    level = np.exp(x.astype(np.float64)) - y
    exact = level / np.abs(level).sum(1, keepdims=True)
    directory = mindspore_state.kernel_directory()
    groups = {file.stem for file in directory.rglob("*.info")}
    built = {file.stem for file in directory.rglob("*.json")}
    if not groups:
        return "MindSpore handed nothing over"
    if not groups <= built:
        return f"{len(groups - built)} of {pluralize(len(groups), 'kernel')} not built"
    if not (np.abs(share - exact) <= TOLERANCE * np.abs(exact).max()).all():
        return "the results are wrong"
    if not np.array_equal(above, (x > y).astype(np.int32)):
        return "the second result is wrong"
    wanted = np.maximum(exact @ weight.astype(np.float64) + 0.5, 0)
    if not np.allclose(product, wanted, rtol=TOLERANCE, atol=TOLERANCE):
        return "the product is wrong"
    if not np.array_equal(net.count.asnumpy(), np.full(SHAPE[1:], 2.0, np.float32)):
        return "what is written in place is wrong"
    return ""


if __name__ == "__main__":
    main(Path(sys.argv[1]))
