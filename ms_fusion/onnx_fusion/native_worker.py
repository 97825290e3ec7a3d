"""The child process of `ms_fusion.onnx_fusion.native`: shape inference and ONNX Runtime.

``python -m ms_fusion.onnx_fusion.native_worker shapes|runtime FD``: each line of standard input is a request in JSON, each
answer one line written to the file descriptor. Models and tensors travel in files of a directory that only both know.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.onnx_fusion import tensor_files

MEMORY_BYTES = {"shapes": 2 << 30, "runtime": 16 << 30}
"""Address space of a child; the runtime's threads alone reserve several GiB."""


def main(arguments: Sequence[str]) -> None:
    """Answers requests until there are no more."""
    mode, descriptor = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES[mode], resource.RLIM_INFINITY))
    # ONNX Runtime leaves files in the home of whoever loads it, and beside temporary ones; here they go with this directory
    os.environ |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), str(Path.cwd()))
    handle = {"shapes": infer, "runtime": run}[mode]
    with os.fdopen(int(descriptor), "w", buffering=1) as answers:
        for line in sys.stdin:
            try:
                answer = handle(json.loads(line))
            except Exception as error:  # noqa: BLE001 - whatever a library raises becomes a note
                first = " ".join(str(error).split())
                answer = {"error": f"{type(error).__name__}: {first[:300]}"}
            answers.write(json.dumps(answer) + "\n")


def infer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Shapes and dtypes of a model without its large weights, as a model; or one with the function of an operator in its place."""
    import onnx
    import onnx.inliner

    proto = onnx.ModelProto.FromString(Path(request["model"]).read_bytes())
    if "operator" in request and not _is_own_function(proto):
        found = onnx.inliner.inline_selected_functions(
            proto, [("", request["operator"])], inline_schema_functions=True
        )
    elif "operator" in request:
        found = onnx.inliner.inline_local_functions(proto)
    else:
        found = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    Path(request["into"]).write_bytes(found.SerializeToString())
    return {}


def _is_own_function(proto: Any) -> bool:
    """Makes the function of a model's only operator one of the model, where it hangs on the inputs and one of them is left out.

    The inliner wants to know the dtype of that one.
    """
    import onnx

    (node,) = proto.graph.node
    schema: Any = onnx.defs.get_schema(node.op_type, proto.opset_import[0].version, "")
    if "" not in node.input or not schema.has_context_dependent_function:
        return False
    types = {value.name: value.type for value in proto.graph.input}
    given = [types.get(name, onnx.TypeProto()).SerializeToString() for name in node.input]
    made = schema.get_context_dependent_function(node.SerializeToString(), given)
    function = onnx.FunctionProto.FromString(made)
    function.domain = node.domain = "own"
    proto.functions.append(function)
    proto.opset_import.append(onnx.helper.make_opsetid("own", 1))
    return True


def run(request: Mapping[str, Any]) -> dict[str, Any]:
    """Runs a model once on the tensors of a directory, then `repeats` times more; its outputs go to another.

    Answers the seconds of each of the further runs.
    """
    session = _session(request["model"], Path(request["model"]).stat().st_mtime_ns)
    feeds = tensor_files.read(Path(request["inputs"]))
    results = session.run(None, feeds)
    if request.get("outputs"):
        names = (output.name for output in session.get_outputs())
        tensor_files.write(
            Path(request["outputs"]), dict(zip(names, map(np.asarray, results), strict=True))
        )
    seconds = []
    for _ in range(request.get("repeats", 0)):
        begin = time.perf_counter()
        session.run(None, feeds)
        seconds.append(time.perf_counter() - begin)
    return {"seconds": seconds}


@lru_cache(maxsize=8)
def _session(model: str, _changed: int) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # threads that wait busily would be in the way of another session's, and both are timed in turns
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main(sys.argv[1:])
