"""Our kernels inside ONNX Runtime: ``python -m benchmarks.onnx_kernels [--models DIRECTORY]``.

Fuses each model with ``target="ort-kernels"`` and times the original and the fused model in
interleaved sessions of ONNX Runtime, whose threads are ``MS_FUSION_THREADS``. The column of
products is the share of the original's time in matrix products, convolutions and recurrent
operators: it bounds the gain. A second table divides the time of the fused model. Outputs are
compared.

Without ``--models`` the six models of `benchmarks.onnx_kernels_models` are measured, which torch
exports. Goal: at least 1.25 times as fast on three of them, none slower.
"""

from __future__ import annotations

import argparse
import functools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import Samples, describe_machine, is_quick, ratio, write
from ms_fusion.onnx.fuse.assumed_sizes import name_unknown_sizes
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.verification import sample
from ms_fusion.onnx.ort_library.operator_library import LIBRARY
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from tbe_impl import environment
from tbe_impl.errors import FusionError

PRODUCTS = ("Gemm", "MatMul", "Conv", "LSTM", "GRU", "RNN", "ConvTranspose", "Quant", "QLinear")
"""Beginnings of the types of operators that bound the gain; ``FusedMatMul`` counts as a product."""
KINDS = {
    "our products": ("Linear_",),
    "ONNX Runtime's products": ("Gemm", "MatMul"),
    "convolutions": ("Conv", "DepthwiseNorm_", "Reorder"),
    "attention": ("Attention", "MultiHeadAttention"),
    "norms": ("LayerNorm", "AddLayerNorm", "SkipLayerNorm"),
}
"""Kind of operators of a fused model → beginnings of their types. Other types are the rest."""
REST = "the rest"
UNKNOWN_SIZES = {2: 32, 3: 32, 4: 224}
"""Rank of an input → value of its unknown sizes behind the first axis, which is 1."""
LINE, DIRECTION = (1, 3, 48, 320), (1, 3, 48, 192)
KNOWN_SIZES = {
    "ch_PP-OCRv4_rec_infer": LINE,
    "PP-OCRv6_rec_small": LINE,
    "ch_ppocr_mobile_v2.0_cls_infer": DIRECTION,
    "ch_ppocr_mobile_v2.0_cls_mobile": DIRECTION,
    "320n": (1, 3, 320, 320),
    "silero_vad": (1, 288),
    "silero_vad_16k_op15": (1, 576),
    "silero_vad_half": (1, 576),
    "silero_vad_op18_ifless": (1, 576),
}
"""Name of a model → shape of its first input. Unknown sizes of its other inputs are 1."""

Inputs = Mapping[str, np.ndarray]


@functools.cache
def _make_shared_threads(count: int) -> None:
    """ONNX Runtime creates the thread pool of a process once."""
    import onnxruntime

    onnxruntime.set_global_thread_pool_sizes(count, 1)


def make_session(model: Path, library: Path | None, *, profile: Path | None = None) -> Any:
    """A session with the threads of ``MS_FUSION_THREADS``."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = environment.threads()
    if profile is not None:
        options.enable_profiling = True
        options.profile_file_prefix = str(profile)
    if environment.threads() > 1:
        # all sessions share one thread pool, so that neither spins beside the other
        _make_shared_threads(environment.threads())
        options.use_per_session_threads = False
    if library is not None and library.is_file():
        options.register_custom_ops_library(str(library))
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])


def time_by_type(
    model: Path, library: Path | None, inputs: Inputs, place: Path
) -> dict[str, float]:
    """Profiles a model; returns the type of each operator and its share of the time."""
    session = make_session(model, library, profile=place / "profile")
    for _ in range(5):
        session.run(None, dict(inputs))
    found: dict[str, list[tuple[str, int]]] = {}
    for event in json.loads(Path(session.end_profiling()).read_text("utf-8")):
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            op = event["args"]["op_name"].removeprefix("Fused").removeprefix("Dynamic")
            found.setdefault(event["name"], []).append((op, event["dur"]))
    times: Counter[str] = Counter()
    for calls in found.values():
        times[calls[0][0]] += min(us for _, us in calls)
    total = max(sum(times.values()), 1)
    return {op: us / total for op, us in times.items()}


def share_of_products(shares: Mapping[str, float]) -> float:
    """Returns the share of the time in matrix products, convolutions and recurrent operators."""
    return sum(share for op, share in shares.items() if op.startswith(PRODUCTS))


def share_of_kinds(shares: Mapping[str, float]) -> dict[str, float]:
    """Returns the share of the time for each of `KINDS` and the rest."""
    found = {
        kind: sum(share for op, share in shares.items() if op.startswith(beginnings))
        for kind, beginnings in KINDS.items()
    }
    return {**found, REST: 1 - sum(found.values())}


def packaged_models(place: Path) -> Iterator[tuple[str, Path, Inputs, dict[str, int]]]:
    """Yields the models in a directory, with sample inputs and the sizes that these assume."""
    for path in sorted(place.rglob("*.onnx")):
        model = open_model(path)
        name_unknown_sizes(model)
        graph = project(model).graph
        sizes: dict[str, int] = {}
        inputs = {}
        known = KNOWN_SIZES.get(path.stem)
        for name in graph.inputs:
            value = graph.values[name]
            if value.kind != "input":
                continue
            for axis, size in enumerate(value.shape):
                if isinstance(size, str):
                    if known is None:
                        assumed = UNKNOWN_SIZES.get(len(value.shape), 1) if axis else 1
                    else:
                        assumed = known[axis] if len(known) == len(value.shape) else 1
                    sizes.setdefault(size, assumed)
            inputs[name] = sample(value, sizes)
        yield f"{path.parent.name}/{path.stem}", path, inputs, sizes


def benchmark_models(place: Path) -> Iterator[tuple[str, Path, Inputs, dict[str, int]]]:
    """Yields the six models of the benchmark."""
    from benchmarks.onnx_kernels_models import MODELS

    for name, model in MODELS.items():
        path = place / f"{name.replace(' ', '_')}.onnx"
        yield f"{name}: {model.describe}", path, model.write(path), {}


def time_in_turns(runs: Mapping[str, Callable[[], Any]], rounds: int) -> dict[str, Samples]:
    """Times both sides in every round, in alternating order.

    With one thread its processor time counts, which other programs do not lengthen.
    """
    clock = time.perf_counter if environment.threads() > 1 else time.thread_time
    found = {side: Samples() for side in runs}
    for run in runs.values():
        run()
    begin = time.perf_counter()
    for run in runs.values():
        run()
    once = (time.perf_counter() - begin) / len(runs)
    count = max(1, int(0.02 / max(once, 1e-6)))
    for number in range(max(3, min(rounds, int(60 / max(once * count * len(runs), 1e-6))))):
        for side in list(runs)[:: 1 if number % 2 else -1]:
            begin = clock()
            for _ in range(count):
                runs[side]()
            found[side].times.append((clock() - begin) / count)
    return found


def measure(
    name: str, path: Path, inputs: Inputs, sizes: Mapping[str, int], place: Path
) -> dict[str, Any]:
    """Fuses a model and times it beside the original."""
    fused = place / "out" / "fused.onnx"
    fused.parent.mkdir()
    ledger = auto_fuse(path, fused, target="ort-kernels", assume=sizes, force=True, verify=True)
    library = fused.parent / "kernels" / LIBRARY
    sessions = {"original": make_session(path, None), "fused": make_session(fused, library)}
    runs: dict[str, Callable[[], Any]] = {
        side: functools.partial(session.run, None, dict(inputs))
        for side, session in sessions.items()
    }
    times = time_in_turns(runs, rounds=9 if is_quick() else 31)
    groups = (*ledger.kernels, *ledger.single_operator_kernels)
    return {
        "model": name,
        "original_ms": times["original"].least * 1e3,
        "fused_ms": times["fused"].least * 1e3,
        "ratio": ratio(times["original"], times["fused"]),
        "written": bool(ledger.environment["is gain"]),
        "products": share_of_products(time_by_type(path, None, inputs, place)),
        "shares": share_of_kinds(time_by_type(fused, library, inputs, place)),
        "operators": ledger.environment["operators"],
        "replaced": sum(len(one.nodes) for one in groups),
        "groups": len(groups),
        "right": not any("WRONG" in note for note in ledger.notes),
    }


def table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """The lines as a table in Markdown."""
    yield ("| model | original | fused | | share of products | operators | replaced by | written |")
    yield "|---|--:|--:|--:|--:|--:|--:|---|"
    for one in lines:
        if "refused" in one:
            yield f"| {one['model']} | | | | | | | {one['refused']} |"
            continue
        yield (
            f"| {one['model']} | {one['original_ms']:.2f} ms | {one['fused_ms']:.2f} ms | "
            f"{one['ratio']:.2f} × | {one['products']:.0%} | {one['operators']} | "
            f"{one['replaced']} by {one['groups']} | {'yes' if one['written'] else 'no gain'} |"
            + ("" if one["right"] else " WRONG")
        )


def share_table(lines: list[dict[str, Any]]) -> Iterator[str]:
    """The shares of the fused models' time as a table in Markdown."""
    yield "| share of the fused model's time | " + " | ".join((*KINDS, REST)) + " |"
    yield "|---" + "|--:" * (len(KINDS) + 1) + "|"
    for one in lines:
        if one.get("groups"):
            shares = " | ".join(f"{share:.0%}" for share in one["shares"].values())
            yield f"| {one['model']} | {shares} |"


def main() -> int:
    """Prints the table; returns 1 if an output is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=Path, help="directory with ONNX models")
    given = parser.parse_args()
    lines = []
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        models = packaged_models(given.models) if given.models else benchmark_models(root)
        for number, (name, path, inputs, sizes) in enumerate(models):
            place = root / str(number)
            place.mkdir()
            try:
                lines.append(measure(name, path, inputs, sizes, place))
            except FusionError as error:
                lines.append({"model": name, "refused": str(error).replace(str(path), "")[:90]})
            print(lines[-1], file=sys.stderr, flush=True)
    print("\n".join((*table(lines), "", *share_table(lines))))
    write("onnx_kernels", {**describe_machine(), "lines": lines})
    return 0 if all(one.get("right", True) for one in lines) else 1


if __name__ == "__main__":
    sys.exit(main())
