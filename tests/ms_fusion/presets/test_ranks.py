"""Several processes on one machine: data-parallel training under ``msrun``, and kernels that are compiled once."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from tests.ms_fusion.presets.ranks import launch, variables

RANKS = 2
SCRIPT = """
import json, sys
from pathlib import Path
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops
from mindspore.communication import get_rank, init
import ms_fusion as mf
from ms_fusion import presets
from ms_fusion.kernel_server import records

place = Path(sys.argv[1])
ms.set_context(mode=ms.GRAPH_MODE, device_target="CPU")
init()
rank = get_rank()
ms.set_auto_parallel_context(parallel_mode=ms.ParallelMode.DATA_PARALLEL, gradients_mean=True)

class Loss(nn.Cell):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Dense(32, 64), nn.LayerNorm((64,)), nn.Dense(64, 8)
    def construct(self, x, wanted):
        found = ops.log_softmax(self.second(ops.gelu(self.norm(self.first(x)))), -1)
        return -ops.mean(ops.sum(found * wanted, -1))

def losses():
    random, net = np.random.default_rng(0), Loss()
    for one in net.trainable_params():
        one.set_data(Tensor(random.standard_normal(one.shape).astype(np.float32) * 0.2 + (one.name == "norm.gamma")))
    random = np.random.default_rng(10 + rank)
    x = Tensor(random.standard_normal((40, 32)).astype(np.float32))
    wanted = Tensor(np.eye(8, dtype=np.float32)[random.integers(0, 8, 40)])
    step = nn.TrainOneStepCell(net, nn.Adam(net.trainable_params(), 1e-2)).set_train()
    found = [float(step(x, wanted).asnumpy()) for _ in range(5)]
    return found, float(sum(np.abs(one.asnumpy()).sum() for one in net.trainable_params()))

result = {"unfused": losses()}
mf.enable()
result["fused"] = losses()
result["built"] = sorted(records.read(presets.kernel_directory() / "akg_kernel_meta"))
(place / f"{rank}.json").write_text(json.dumps(result))
"""


COMPILER = """#!/bin/sh
for last; do case "$last" in *kernel.c) cat "$last" | cksum >> "{log}";; esac; done
exec "{compiler}" "$@"
"""
"""Writes down what it is given, and compiles it."""


@dataclass(frozen=True)
class Seen:
    """What each rank saw, and the texts that were compiled, each as its check sum."""

    ranks: list[dict[str, Any]]
    compiled: list[str]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    place = tmp_path_factory.mktemp("ranks")
    (place / "train.py").write_text(SCRIPT)
    command, environment = launch(place, RANKS), variables(place, COMPILER)
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=280, check=False)  # fmt: skip
    logs = "".join(file.read_text(errors="replace")[-2000:] for file in (place / "log").glob("worker_*.log"))  # fmt: skip
    assert done.returncode == 0, logs
    results = [json.loads((place / f"{rank}.json").read_text()) for rank in range(RANKS)]
    return Seen(results, (place / "compiled").read_text().splitlines())


@pytest.mark.mindspore
def test_ranks_train_alike_fused_and_not(seen: Seen) -> None:
    for rank in seen.ranks:
        (fused, weights), (unfused, same_weights) = rank["fused"], rank["unfused"]
        assert fused == pytest.approx(unfused, rel=1e-4)
        assert weights == pytest.approx(same_weights, rel=1e-5)
        assert fused[-1] < 0.8 * fused[0]
    # each on its own part of the data, with the gradients of all
    one, other = (rank["fused"] for rank in seen.ranks)
    assert one[0] != other[0] and one[1] == pytest.approx(other[1])


@pytest.mark.mindspore
def test_nobody_compiles_what_another_rank_has(seen: Seen) -> None:
    one, other = (rank["built"] for rank in seen.ranks)
    assert one == other and len(one) > 5
    assert len(seen.compiled) >= len(one) and len(set(seen.compiled)) == len(seen.compiled)
