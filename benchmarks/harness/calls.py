"""One contestant's call of a workload in this process; lazy framework imports."""

from __future__ import annotations

import importlib.util
import io
import os
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.harness.lines import (
    CEILING,
    COMPILED,
    CUSTOM,
    IN_MINDSPORE,
    INSIDE,
    OURS,
    OWN,
    REPAIR,
    RUNTIME,
    TORCH,
)
from benchmarks.harness.workloads import (
    DETECTOR,
    LANGUAGE,
    Operator,
    design,
    inputs_of,
    is_operator,
    size_of,
)
from benchmarks.measuring import in_turns, is_quick
from case_studies.language_model import stages
from tbe_impl import environment

Call = Callable[[], Any]
KERNEL = "GraphKernel_"
"""Prefix of MindSpore's fused kernel names, after the scope."""
SIDE = 1024
"""Side of the matrix product that represents a network's operations."""


@dataclass(frozen=True)
class Contestant:
    """The call of one contestant.

    Attributes:
        call: makes one call and returns the contestant's own result type; see `as_array`.
        receipts: kernels that ran in one call; those inside MindSpore come from its profiler.
    """

    call: Call
    receipts: Callable[[], Mapping[str, int]] = dict


def contestant(who: str, workload: str, what: str) -> Contestant:
    """Compiles a contestant; all start with the same weights."""
    if who in IN_MINDSPORE:
        return _in_mindspore(who, workload, train=what == "training")
    made: Mapping[str, Callable[[], Call]] = {
        TORCH: lambda: _in_torch(workload, train=what == "training", whole=False),
        COMPILED: lambda: _in_torch(workload, train=what == "training", whole=True),
        RUNTIME: lambda: _in_onnx_runtime(workload),
        CEILING: lambda: _ceiling(workload, what),
    }
    return Contestant(made[who]())


def _in_mindspore(who: str, workload: str, *, train: bool) -> Contestant:
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    generators = {OURS: "ms_fusion", CUSTOM: "ms_fusion", INSIDE: "ms_fusion", OWN: "mindspore"}
    if who in generators:
        mf.enable(generator=generators[who])
    net, inputs = (
        _moving_inside(workload)
        if who == INSIDE
        else _net(workload, train=train, custom_ops=who == CUSTOM)
    )
    net.compile(*inputs)

    def receipts() -> Mapping[str, int]:
        from ms_fusion.capture.profiler import profile_operators, times_of

        with tempfile.TemporaryDirectory() as place:
            ran = times_of([profile_operators(net, inputs, Path(place), [])])
        fused = {
            name: runs
            for name, (runs, *_) in ran.items()
            if name.rpartition("/")[2].startswith(KERNEL)
        }
        return {
            "launches": round(sum(runs for runs, *_ in ran.values())),
            "fused": round(sum(fused.values())),
            "libraries": _libraries(),
        }

    return Contestant(lambda: net(*inputs), receipts)


def as_array(made: Any) -> np.ndarray:
    """The first result as an array; untimed, because MindSpore computes synchronously on CPU."""
    one = made[0] if isinstance(made, tuple) else made
    if hasattr(one, "asnumpy"):
        return np.asarray(one.asnumpy())
    return np.asarray(one.numpy() if hasattr(one, "numpy") else one)


def _net(workload: str, *, train: bool, custom_ops: bool = False) -> tuple[Any, tuple[Any, ...]]:
    from mindspore import Tensor

    from benchmarks.nets import NETWORKS
    from benchmarks.operator_nets import OPERATOR_NETS

    inputs = tuple(map(Tensor, inputs_of(workload)))
    if is_operator(workload):
        return OPERATOR_NETS[Operator.parse(workload).name](), inputs
    if workload in LANGUAGE:
        stage = stages.STAGES[stages.CUSTOM if custom_ops else stages.SERVER]
        return stage.training_step(LANGUAGE[workload], size_of(workload)), inputs
    if workload == DETECTOR:
        from case_studies.detector.darknet import detector

        return detector(design()), inputs
    return NETWORKS[workload].net(train=train), inputs


def _moving_inside(workload: str) -> tuple[Any, tuple[Any, ...]]:
    from mindspore import Tensor

    from benchmarks.operator_nets import Moving

    operator = Operator.parse(workload)
    given = [np.ones(_as_float32(operator), np.float32) for _ in range(operator.large_inputs)]
    return Moving(), tuple(map(Tensor, given))


def _as_float32(operator: Operator) -> tuple[int, int]:
    """The shape of a float32 array of the same byte count: the copy must not convert dtypes."""
    rows, columns = operator.shape
    return rows * np.dtype(operator.dtype).itemsize // 4, columns


def _libraries() -> int:
    """Number of kernels from our cache that are loaded in this process."""
    from ms_fusion.mindspore import presets

    place = str(presets.kernel_directory())
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return 0
    return len({line.split()[-1] for line in maps.read_text().splitlines() if place in line})


def _in_torch(workload: str, *, train: bool, whole: bool) -> Call:
    import torch

    torch.set_num_threads(environment.threads())
    if workload == DETECTOR:
        made: Callable[..., Call] = partial(_detector_in_torch, whole=whole)
        return made() if whole else _in_better_format(made)
    if workload in LANGUAGE:
        from benchmarks import torch_language_model

        step = torch_language_model.training_step(
            LANGUAGE[workload], size_of(workload), whole=whole
        )
        return lambda: step(0)
    if not is_operator(workload):
        from benchmarks.torch_nets import make_call

        (x,) = inputs_of(workload)
        made = partial(make_call, workload, x, train=train, whole=whole)
        return _in_better_format(made) if x.ndim == 4 and not whole else made()
    from benchmarks.peers import torch_peers

    operator = Operator.parse(workload)
    run, ready, out = torch_peers(operator.name, operator.inputs, environment.threads())[
        COMPILED if whole else "torch eager"
    ]
    ready()

    def call() -> np.ndarray:
        run()
        return out

    return call


def _in_better_format(made: Callable[..., Call]) -> Call:
    """The faster of NCHW and channels-last images; torch.compile chooses its own layout."""
    return quickest(
        {form: partial(made, memory_format=form) for form in ("contiguous_format", "channels_last")}
    )


def _detector_in_torch(*, whole: bool, memory_format: str = "contiguous_format") -> Call:
    import torch

    from benchmarks.torch_detector import detector
    from benchmarks.torch_nets import set_memory_format

    net, x = set_memory_format(detector(design()), *inputs_of(DETECTOR), memory_format)
    forward: Callable[..., Any] = (
        torch.compile(net, dynamic=False, fullgraph=True) if whole else net
    )

    def call() -> object:
        with torch.inference_mode():
            return forward(x)

    return call


def _in_onnx_runtime(workload: str) -> Call:
    import onnxruntime
    import torch

    arrays = inputs_of(workload)
    file = io.BytesIO()
    torch.onnx.export(
        _load_torch_net(workload),
        tuple(map(torch.from_numpy, arrays)),
        file,
        dynamo=True,
        external_data=False,
        verbose=False,
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = environment.threads()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(
        file.getvalue(), options, providers=["CPUExecutionProvider"]
    )
    given = {one.name: array for one, array in zip(session.get_inputs(), arrays, strict=True)}
    return lambda: session.run(None, given)[0]


def _load_torch_net(workload: str) -> Any:
    from benchmarks import peers, torch_detector, torch_nets

    if workload == DETECTOR:
        return torch_detector.detector(design())
    if is_operator(workload):
        return peers.torch_module(Operator.parse(workload).name).eval()
    return torch_nets.with_same_weights(torch_nets.NETWORKS[workload]()).eval()


def _ceiling(workload: str, what: str) -> Call:
    if is_operator(workload):
        return _moving(Operator.parse(workload))
    return _multiplying(_operations(workload, train=what == "training"))


def _moving(operator: Operator) -> Call:
    from benchmarks.ceilings import moving

    return _quickest_ceiling(moving(operator.large_inputs, 1, _as_float32(operator)))


def _multiplying(operations: int) -> Call:
    """The same number of operations in one large matrix product, by oneDNN or torch's library."""
    from custom_ops.onednn import prepare_matmul

    # one row of this side would cost more than a small net
    side = SIDE if operations >= 2 * SIDE * SIDE else max(1, round((operations / 2) ** (1 / 3)))
    rows = max(1, round(operations / (2 * side * side)))
    left, right = (np.ones((size, side), np.float32) for size in (rows, side))
    product, out = prepare_matmul(left.shape, right.shape), np.empty((rows, side), np.float32)
    ways: dict[str, Callable[[], object]] = {"oneDNN": lambda: product.call([left, right], [out])}
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(environment.threads())
        one, other, made = torch.from_numpy(left), torch.from_numpy(right), torch.empty(rows, side)
        ways["torch"] = lambda: torch.mm(one, other, out=made)
    return _quickest_ceiling(ways)


def quickest(ways: Mapping[str, Callable[[], Call]]) -> Call:
    """Presents several ways as one call and chooses on the first call.

    Contestants compile concurrently but warm up alone.

    Args:
        ways: factory of each way; the chosen one is built again, as if it had never been called.
    """
    chosen: list[Call] = []

    def call() -> Any:
        if not chosen:
            tried = {way: make() for way, make in ways.items()}
            found = in_turns(tried, rounds=3 if is_quick() else 15, block_s=0.02)
            chosen.append(ways[min(ways, key=lambda way: found[way].median)]())
        return chosen[0]()

    return call


def _quickest_ceiling(ways: Mapping[str, Callable[[], object]]) -> Call:
    """A callable whose result is ignored."""
    run = quickest({name: lambda way=way: way for name, way in ways.items()})  # type: ignore[misc]

    def call() -> np.ndarray:
        run()
        return np.empty(0)

    return call


def _operations(workload: str, *, train: bool) -> int:
    """Operations of a network's products and convolutions, counted in MindSpore's unfused graph."""
    import mindspore as ms

    import ms_fusion as mf
    from ms_fusion import cost

    ms.set_context(mode=ms.GRAPH_MODE)
    net, inputs = _net(workload, train=train)
    # the inspecting process also runs the net; unrepaired convolutions take seconds
    with patch.dict(os.environ, REPAIR):
        graph = mf.explain(net, *inputs, preset="off", measure=False, accuracy=False).before.graph
    return sum(
        cost.work_of(node, graph).flops for node in graph.nodes if cost.is_matrix_product(node.op)
    )
