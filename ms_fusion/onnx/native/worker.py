"""Runs ONNX shape inference or ONNX Runtime in a child process, for `ms_fusion.onnx.native.child`.

The command is ``python -m ms_fusion.onnx.native.worker shapes|runtime|timing FD``. Each line of
standard input is a request in JSON. The answer to a request is one line of JSON, written to the
file descriptor FD. Models and tensors are passed as files of a private directory.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
import timeit
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.onnx.native import tensor_files
from tbe_impl import environment

MEMORY_BYTES = {"shapes": 2 << 30, "runtime": 16 << 30, "timing": 16 << 30}
"""Address-space limit in bytes of each child process.

The threads of ONNX Runtime alone reserve several GiB.
"""


def main(arguments: Sequence[str]) -> None:
    """Answers requests until standard input ends."""
    mode, descriptor = arguments
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES[mode], resource.RLIM_INFINITY))
    # ONNX Runtime writes files to the home and the temporary directory. Both are set to the
    # private directory.
    os.environ |= dict.fromkeys(("HOME", "XDG_CACHE_HOME", "TMPDIR"), str(Path.cwd()))
    handles: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
        "shapes": infer,
        "runtime": run,
        "timing": partial(run, is_timed=True),
    }
    handle = handles[mode]
    with os.fdopen(int(descriptor), "w", buffering=1) as answers:
        for line in sys.stdin:
            try:
                answer = handle(json.loads(line))
            except Exception as error:  # noqa: BLE001 - any library error becomes an answer
                first = " ".join(str(error).split())
                answer = {"error": f"{type(error).__name__}: {first[:300]}"}
            answers.write(json.dumps(answer) + "\n")


def infer(request: Mapping[str, Any]) -> dict[str, Any]:
    """Infers the shapes and dtypes of a model, and writes the new model.

    The model contains no large weights. If the request has the key ``operator``, nothing is
    inferred. The value of this key is an operator type. Operators of this type are replaced by the
    function body that ONNX defines for this type.
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
    """Replaces the only operator of a model by a call of a local function with the operator's body.

    The operator is replaced only if an input is omitted and the body depends on the types of the
    inputs. In this case ONNX's inliner would require the dtype of the omitted input too. Returns
    whether the operator was replaced.
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


def run(request: Mapping[str, Any], *, is_timed: bool = False) -> dict[str, Any]:
    """Runs a model once on the tensors of a directory and writes the outputs.

    Then runs the model ``repeats`` more times (a field of the request), and returns the seconds of
    each of these runs.
    """
    session = _session(
        request["model"],
        Path(request["model"]).stat().st_mtime_ns,
        request.get("library", ""),
        is_timed=is_timed,
    )
    feeds = tensor_files.read(Path(request["inputs"]))
    results = session.run(None, feeds)
    if request.get("outputs"):
        names = (output.name for output in session.get_outputs())
        tensor_files.write(
            Path(request["outputs"]), dict(zip(names, map(np.asarray, results), strict=True))
        )
    # One thread's processor time is its time on an idle machine; several threads wait for another.
    clock = time.perf_counter if environment.threads() > 1 else time.thread_time
    repeats = request.get("repeats", 0)
    seconds = timeit.repeat(lambda: session.run(None, feeds), timer=clock, repeat=repeats, number=1)
    return {"seconds": seconds}


@lru_cache(maxsize=1)
def _share_threads() -> None:
    import onnxruntime

    onnxruntime.set_global_thread_pool_sizes(environment.threads(), 1)


@lru_cache(maxsize=8)
def _session(model: str, _changed: int, library: str, *, is_timed: bool) -> Any:
    """Returns a session of a model, with a library of custom operators if one is given.

    Timed sessions share one thread pool, whose threads spin as in a program with one session. If
    each session had its own pool, the spinning threads of one session would slow down the other
    sessions. In one process, ONNX Runtime permits only shared pools or only separate pools.
    """
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if is_timed:
        _share_threads()
        options.use_per_session_threads = False
    else:
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if library:
        options.register_custom_ops_library(library)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


if __name__ == "__main__":
    main(sys.argv[1:])
