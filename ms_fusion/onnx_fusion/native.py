"""Runs native code that reads models in a child process, which a hostile model may crash."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from ms_fusion.accuracy.worker import Worker, WorkerError
from ms_fusion.onnx_fusion import tensor_files
from ms_fusion.onnx_fusion.ranks import fill_ranks
from tbe_impl.errors import InputError

SHAPES_LIMIT_S = 60.0
RUN_LIMIT_S = 120.0
ROUNDS = 8
"""How often at most shapes are inferred anew from numbers of axes that were filled in."""
SMALL_BYTES = 1024
"""Constants up to this size are seen by shape inference: axes, sizes, indices."""
_MODULE = "ms_fusion.onnx_fusion.native_worker"


@dataclass(frozen=True)
class Ran:
    """What a run gave: outputs by name, and the seconds of each repeated run."""

    outputs: Mapping[str, np.ndarray]
    seconds: tuple[float, ...] = ()


class Native:
    """Shape inference and ONNX Runtime in child processes, with a private directory between; to be used with ``with``."""

    def __enter__(self) -> Native:
        self._private = tempfile.TemporaryDirectory(prefix="ms_fusion_onnx_")
        self.directory = Path(self._private.name)
        self._shapes = Worker(_MODULE, "shapes", directory=self.directory)
        self._runtime = Worker(_MODULE, "runtime", directory=self.directory)
        self._number = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._shapes.stop()
        self._runtime.stop()
        self._private.cleanup()

    def infer_shapes(self, model: ir.Model) -> None:
        """Fills in what is not known of shapes and dtypes.

        Raises:
            InputError: there is something in the model that cannot be written, such as a name that is no text.
            WorkerError: it could not be done; the model is as it was, or knows what was found before.
        """
        self._infer_shapes(model)
        for _ in range(ROUNDS):
            if not fill_ranks(model):
                break
            self._infer_shapes(model)

    def _infer_shapes(self, model: ir.Model) -> None:
        question, answer = self.place(".onnx"), self.place(".onnx")
        try:
            question.write_bytes(_without_weights(model))
        except Exception as error:
            raise InputError(
                "this is no valid ONNX model", got=str(error.__cause__ or error)[:200]
            ) from error
        self._shapes.ask({"model": str(question), "into": str(answer)}, timeout_s=SHAPES_LIMIT_S)
        try:
            found = ir.load(answer)
            for ours, theirs in zip(model.graphs(), found.graphs(), strict=True):
                _merge(ours, theirs)
        except Exception as error:
            raise WorkerError(f"{type(error).__name__}: {error}") from error
        for file in (question, answer):
            file.unlink()

    def function_of(self, node: ir.Node, version: int) -> ir.Graph | None:
        """The function by which ONNX defines an operator, for its inputs as they are here; None where it has none.

        Inputs of the graph are those of the operator, each once; its outputs are those that have a name.

        Args:
            node: the operator, without graphs of its own.
            version: of ONNX's operators in its model.

        Raises:
            WorkerError: it could not be found out.
        """
        known: dict[ir.Value | None, ir.Value | None] = {None: None}
        for number, value in enumerate(
            one for one in dict.fromkeys(node.inputs) if one is not None
        ):
            known[value] = ir.Value(name=f"x{number}", shape=value.shape, type=value.type)
        alone = ir.Node(
            "",
            node.op_type,
            [known[one] for one in node.inputs],
            list(node.attributes.values()),
            num_outputs=len(node.outputs),
        )
        for number, (own, value) in enumerate(zip(alone.outputs, node.outputs, strict=True)):
            own.name, own.shape, own.type = (
                f"y{number}" if value.name else "",
                value.shape,
                value.type,
            )
        inputs = [value for value in known.values() if value is not None]
        outputs = [value for value in alone.outputs if value.name]
        graph = ir.Graph(inputs, outputs, nodes=[alone], opset_imports={"": version}, name="alone")
        question, answer = self.place(".onnx"), self.place(".onnx")
        try:
            model = ir.Model(graph, ir_version=10)
            passes.AddDefaultAttributesPass()(model)  # functions refer to those, too
            ir.save(model, question)
            self._shapes.ask(
                {"model": str(question), "into": str(answer), "operator": node.op_type},
                timeout_s=SHAPES_LIMIT_S,
            )
            found = ir.load(answer).graph
        except WorkerError:
            raise
        except Exception as error:
            raise WorkerError(f"{type(error).__name__}: {error}") from error
        finally:
            for file in (question, answer):
                file.unlink(missing_ok=True)
        return None if any(one.op_type == node.op_type for one in found) else found

    def run(self, model: Path, inputs: Mapping[str, np.ndarray], *, repeats: int = 0) -> Ran:
        """Runs a model in ONNX Runtime, and `repeats` times more for the clock.

        Raises:
            WorkerError: it refuses the model or the inputs, died, takes longer than `RUN_LIMIT_S`, or a tensor is of texts.
        """
        given, found = self.place(""), self.place("")
        request = {
            "model": str(model),
            "inputs": str(given),
            "outputs": str(found),
            "repeats": repeats,
        }
        try:
            tensor_files.write(given, inputs)
            told = self._runtime.ask(request, timeout_s=RUN_LIMIT_S)
            return Ran(tensor_files.read(found), tuple(told["seconds"]))
        except ValueError as error:
            raise WorkerError(str(error)) from error
        finally:
            for directory in (given, found):
                shutil.rmtree(directory, ignore_errors=True)

    def place(self, suffix: str) -> Path:
        """A file that is not there yet, in the private directory."""
        self._number += 1
        return self.directory / f"{self._number}{suffix}"


def _without_weights(model: ir.Model) -> bytes:
    """The model as a message in which large constants are inputs."""
    graph = model.graph
    inputs, initializers = list(graph.inputs), dict(graph.initializers)
    try:
        for name, value in initializers.items():
            tensor = value.const_value
            if tensor is None:
                continue
            value.shape, value.dtype = ir.Shape(tensor.shape.numpy()), tensor.dtype
            if tensor.nbytes > SMALL_BYTES:
                graph.initializers.pop(name)
                if value not in graph.inputs:
                    graph.inputs.append(value)
        return ir.serde.serialize_model(model).SerializeToString()
    finally:
        graph.inputs[:] = inputs
        for name, value in initializers.items():
            graph.initializers[name] = value


def _merge(ours: ir.Graph, theirs: ir.Graph) -> None:
    known = ir.convenience.create_value_mapping(theirs)
    for name, value in ir.convenience.create_value_mapping(ours).items():
        found = known.get(name)
        if found is None or value.is_graph_input() or value.is_initializer():
            continue
        if not isinstance(found.type, ir.TensorType):
            continue  # sequences and optional values have the dtype of what is in them
        if found.shape is not None and _is_better(found.shape, value.shape):
            value.shape = found.shape
        if value.dtype is None and found.dtype is not None:
            value.dtype = found.dtype


def _is_better(found: ir.Shape, known: ir.Shape | None) -> bool:
    return known is None or sum(isinstance(size, int) for size in found) > sum(
        isinstance(size, int) for size in known
    )
