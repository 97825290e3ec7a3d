"""Applies suggestions in its own process: ``python -m …suggestion_child REQUEST.json WORK_DIR``.

Compiles a net before and after a change, reads MindSpore's dumps, and writes WORK_DIR/answer.json.
A crashing generator ends this process, not the tests.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from pathlib import Path

HEAD = """
import mindspore
from mindspore import Tensor, mint, nn, ops
from mindspore import ops as primitives
from mindspore.ops.operations import _grad_ops as gradients
from mindspore.ops import auto_generate
"""


def main() -> None:
    request, work = json.loads(Path(sys.argv[1]).read_text()), Path(sys.argv[2])
    for place in ("kernels", "nets"):
        (work / place).mkdir()
    os.environ["MS_COMPILER_CACHE_PATH"] = str(work / "kernels")
    os.environ["MS_DEV_DUMP_IR_PASSES"] = (
        "graph_build,graph_kernel_expander,graph_kernel_cluster,graph_kernel_splitter,"
        "graph_kernel_cse,spread_update_state"
    )
    os.environ["GLOG_v"] = "3"
    sys.path.insert(0, str(work / "nets"))
    os.chdir(work)
    answers = [_answer(job, number, work) for number, job in enumerate(request)]
    (work / "answer.json").write_text(json.dumps(answers))


def _answer(job: dict, number: int, work: Path) -> dict:
    """Runs one net.

    The job has flags, source (of class Net), inputs (names of .npy files, dtype), mode, dynamic.
    """
    import mindspore
    import numpy as np
    from mindspore import Tensor

    from ms_fusion.capture.operator_join import join
    from ms_fusion.mindspore.state.mindspore_state import prepare
    from ms_fusion.readers.dumps import read_dumps
    from ms_fusion.why_not import explain_edges

    prepare()
    os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = job["flags"]
    dumps = work / f"dumps_{number}"
    dumps.mkdir()
    (work / "nets" / f"net_{number}.py").write_text(HEAD + job["source"])
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    mindspore.set_context(save_graphs=2, save_graphs_path=str(dumps))
    net = importlib.import_module(f"net_{number}").Net()
    inputs = [Tensor(np.load(name)) for name in job["inputs"]]
    if job.get("dynamic"):
        net.set_inputs(*(Tensor(shape=[None, *one.shape[1:]], dtype=one.dtype) for one in inputs))
    results = net(*inputs)
    names = []
    for index, result in enumerate(results if isinstance(results, tuple) else (results,)):
        names.append(str(work / f"result_{number}_{index}.npy"))
        np.save(names[-1], result.asnumpy())
    joined = join(read_dumps(dumps))
    apart = explain_edges(
        joined.before,
        joined.placement,
        joined.cluster,
        flags=job["flags"],
        programs=joined.programs,
        control=joined.control,
        after=joined.after,
    )
    ops = {node.name: node.op for node in joined.before}
    place = {node.name: number for number, node in enumerate(joined.before)}
    return {
        "results": names,
        "edges": [[ops[edge.producer], ops[edge.consumer]] for edge in joined.before.edges],
        "apart": [
            {
                "edge": [edge.producer_op, edge.consumer_op],
                "nodes": [place.get(edge.producer), place.get(edge.consumer)],
                "reason": edge.reason,
                "detail": edge.detail,
                "kind": edge.suggestion.kind if edge.suggestion else "",
                "text": edge.suggestion.text if edge.suggestion else "",
                "flags": edge.suggestion.flags if edge.suggestion else "",
            }
            for edge in apart
        ],
    }


if __name__ == "__main__":
    main()
