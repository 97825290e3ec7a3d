"""Operators left after clean-up, beside onnxsim and OnnxSlim: ``python -m benchmarks.onnx_peers``.

Operators are counted after inlining all functions, without constants, so a fused operator counts as
its body. The number of launched kernels after fusion is a separate column. The peers are installed
in a separate environment, whose Python is an argument::

    python -m venv build/peers && build/peers/bin/pip install onnx onnxsim onnxslim
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import onnx
import onnx.inliner
import onnx.shape_inference

from benchmarks import measuring
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tests.ms_fusion.onnx.fuse.corpus import MODELS

PEERS = """
import json, sys, warnings
warnings.simplefilter("ignore")
import onnx, onnxsim, onnxslim
def count(model):
    return sum(node.op_type != "Constant" for node in model.graph.node)
for line in sys.stdin:
    path, told = line.strip(), {}
    for name, run in (("onnxsim", lambda m: onnxsim.simplify(m)[0]), ("onnxslim", onnxslim.slim)):
        try:
            told[name] = count(run(onnx.load(path)))
        except Exception as error:
            told[name] = f"{type(error).__name__}"
    print("told " + json.dumps(told), flush=True)
"""


def operators(path: Path) -> int:
    """Operators of a model with all functions inlined, without constants."""
    model = onnx.inliner.inline_local_functions(onnx.load(path))
    return sum(node.op_type != "Constant" for node in model.graph.node)


def of_peers(python: str, paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Operators that each tool leaves of each model; the error name if it fails."""
    asked = "".join(f"{path}\n" for path in paths)
    done = subprocess.run(
        [python, "-c", PEERS], input=asked, capture_output=True, text=True, check=True
    )
    return [json.loads(line[5:]) for line in done.stdout.splitlines() if line.startswith("told ")]


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str]) -> Iterator[str]:
    """Per family the median over its models, in Markdown; a failed model keeps its operators."""
    names = ("models", "before", *columns)
    yield "| family | " + " | ".join(names) + " |"
    yield "|---|" + "--:|" * len(names)
    families = [row["model"].partition("_")[0] for row in rows]
    for family in (*dict.fromkeys(families), "all"):
        own = [row for row, one in zip(rows, families, strict=True) if family in (one, "all")]
        medians = (
            statistics.median(
                row[name] if isinstance(row[name], int) else row["before"] for row in own
            )
            for name in names[1:]
        )
        yield f"| {family} | {len(own)} | " + " | ".join(f"{one:g}" for one in medians) + " |"


def main() -> None:
    """Prints a line for each family and the medians; writes ``build/bench/onnx_peers.json``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peers", help="Python of an environment with onnxsim and onnxslim")
    parser.add_argument(
        "--level", type=int, default=0, help="opt-level; 3 fuses, too, and counts kernels"
    )
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as directory:
        paths = [write(Path(directory) / f"{name}.onnx") for name, write in MODELS.items()]
        for path in paths:
            # onnxsim needs the shapes of results
            onnx.save(onnx.shape_inference.infer_shapes(onnx.load(path), data_prop=True), path)
        peers = of_peers(given.peers, paths) if given.peers else [{} for _ in paths]
        for path, told in zip(paths, peers, strict=True):
            output = Path(directory) / "fused.onnx"
            ledger = auto_fuse(path, output, opt_level=given.level)
            row = {"model": path.stem, "before": operators(path), "ours": operators(output), **told}
            rows.append(row | ({"kernels": ledger.after.launches} if given.level else {}))
    columns = [name for name in ("ours", "onnxsim", "onnxslim", "kernels") if name in rows[0]]
    less = {
        name: [1 - row[name] / row["before"] for row in rows if isinstance(row[name], int)]
        for name in columns
    }
    print("\n".join(table(rows, columns)))
    summary = {
        name: {
            "median less": round(statistics.median(found), 4),
            "mean less": round(statistics.fmean(found), 4),
            "models": len(found),
        }
        for name, found in less.items()
    }
    for name, found in summary.items():
        print(name, found)
    measuring.write("onnx_peers", {"summary": summary, "rows": rows})


if __name__ == "__main__":
    main()
