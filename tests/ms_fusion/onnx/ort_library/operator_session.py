"""Runs one custom operator in ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper

from ms_fusion.onnx.ort_library.operator_library import LibraryBuilder
from ms_fusion.onnx.ort_library.operator_text import OperatorText


def make_operator_runner(
    operator: OperatorText, ranks: Sequence[int], place: Path, level: str | None, threads: int = 1
) -> Callable[..., np.ndarray]:
    """Returns a function that runs an operator of float32 tensors with inputs of any sizes.

    Args:
        operator: the operator.
        ranks: rank of each input.
        place: directory for the library.
        level: level of the x86-64 architecture; None for the highest one of this processor.
        threads: threads of the session.
    """
    import onnxruntime

    flags = None if level is None else (f"-march={level}",)
    library = place / f"{operator.name}.so"
    LibraryBuilder(place, flags).build([operator], library)
    names = [f"x{number}" for number in range(len(ranks))]
    given = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [f"{name}_{n}" for n in range(rank)])
        for name, rank in zip(names, ranks, strict=True)
    ]
    node = helper.make_node(operator.name, names, ["y"], domain="ms_fusion")
    made = [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ms_fusion", 1)]
    graph = helper.make_graph([node], "net", given, made)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    options.register_custom_ops_library(str(library))
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def run(*inputs: np.ndarray) -> np.ndarray:
        (found,) = session.run(None, dict(zip(names, inputs, strict=True)))
        return np.asarray(found)

    return run
