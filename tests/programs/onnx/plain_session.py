"""Runs a fused model in a process with ONNX Runtime and NumPy alone; prints one line of JSON.

The arguments are the model, the library, a file of inputs, and the way to run it.
"""

import json
import os
import sys


class Blocked:
    """No ms_fusion, no MindSpore: the process of somebody who deploys the model."""

    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name.split(".")[0] in ("ms_fusion", "custom_ops", "tbe_impl", "mindspore"):
            raise ImportError(f"{name} is not installed here")


sys.meta_path.insert(0, Blocked)

import numpy as np  # noqa: E402
import onnxruntime as ort  # noqa: E402

model, library, inputs, way = sys.argv[1:]
with np.load(inputs) as stored:
    feeds = dict(stored)


def session(threads=0, level=None):
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    if level is not None:
        options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.register_custom_ops_library(library)
    return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def digest(results):
    return [[float(np.abs(one.astype(np.float64)).sum()), list(one.shape)] for one in results]


def fork_and_run():
    """The child of a fork makes a session of its own: threads do not survive a fork."""
    session().run(None, feeds)
    read, write = os.pipe()
    child = os.fork()
    if not child:
        found = digest(session(2).run(None, feeds))
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as answer:
        found = json.load(answer)
    assert os.waitpid(child, 0)[1] == 0
    return found


def two_sessions():
    """Two sessions of one process run at the same time."""
    from concurrent.futures import ThreadPoolExecutor

    sessions = [session(2), session(1)]
    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(sessions[n % 2].run, None, feeds) for n in range(24)]
        found = [digest(one.result()) for one in runs]
    assert all(one == found[0] for one in found[2::2])
    return found[0]


WAYS = {
    "one thread": lambda: digest(session(1).run(None, feeds)),
    "two threads": lambda: digest(session(2).run(None, feeds)),
    "five threads": lambda: digest(session(5).run(None, feeds)),
    "fork": fork_and_run,
    "two sessions": two_sessions,
}
LEVELS = ("ORT_DISABLE_ALL", "ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_ALL")
WAYS |= {level: lambda level=level: digest(session(0, level).run(None, feeds)) for level in LEVELS}
try:
    found = {one: WAYS[one]() for one in (WAYS if way == "all" else [way])}
except Exception as error:  # noqa: BLE001 - whatever the runtime raises is the answer
    found = {"error": str(error)}
print(json.dumps(found))
