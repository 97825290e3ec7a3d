"""Implements the child process of `ms_fusion.onnx.native.child`: shape inference and ONNX Runtime.

``python -m ms_fusion.onnx.native.worker shapes|runtime FD``: each line of standard input is a
request in JSON; each answer is one line written to the file descriptor. Models and tensors are
passed in files of a private directory.
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

from ms_fusion.onnx.native import tensor_files

MEMORY_BYTES = {"shapes": 2 << 30, "runtime": 16 << 30}
"""Address-space limit of a child; the runtime's threads alone reserve several GiB."""


def main(arguments: Sequence[str]) -> None:
    """Answers requests until standard input ends."""
    mode, descriptor = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES[mode], resource.RLIM_INFINITY))
    # ONNX Runtime writes files to the home and the temporary directory; this confines them to the
    # private directory
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
    """Infers shapes and dtypes of a model without its large weights; writes a model.

    With ``operator`` in the request, replaces that operator by its function body instead.
    """
    import onnx
    import onnx.inliner

    proto = onnx.ModelProto.FromString(Path(request["model"]).read_bytes())
    if "operator" in request and not _localize_function(proto):
        found = onnx.inliner.inline_selected_functions(
            proto, [("", request["operator"])], inline_schema_functions=True
        )
    elif "operator" in request:
        found = onnx.inliner.inline_local_functions(proto)
    else:
        found = onnx.shape_inference.infer_shapes(proto, data_prop=True)
    Path(request["into"]).write_bytes(found.SerializeToString())
    return {}


def _localize_function(proto: Any) -> bool:
    """Adds the function body of a model's only operator to the model, if an input is omitted.

    Applies to bodies that depend on the input types: the inliner requires the dtype of the omitted
    input, too.
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
    """Runs a model once on the tensors of a directory, then `repeats` times; writes its outputs.

    Returns the seconds of each repeated run.
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
    # spinning threads of one session would slow down another one; both are timed in turn
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main(sys.argv[1:])
