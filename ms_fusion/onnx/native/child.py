"""Runs shape inference and ONNX Runtime in child processes, which a hostile model may crash."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx_ir as ir
from onnx_ir.passes import common as passes

from ms_fusion.accuracy.worker_process import Worker, WorkerError
from ms_fusion.onnx.native import tensor_files
from ms_fusion.onnx.native.ranks import fill_ranks
from tbe_impl.errors import InputError

SHAPES_LIMIT_S = 60.0
RUN_LIMIT_S = 120.0
ROUNDS = 8
"""Largest number of repetitions of shape inference after `fill_ranks` has added ranks."""
SMALL_BYTES = 1024
"""Largest size in bytes of a constant that shape inference receives, such as axes and sizes."""
_MODULE = "ms_fusion.onnx.native.worker"


@dataclass(frozen=True)
class ModelRun:
    """The result of a run: the outputs by name, and the seconds of each repeated run."""

    outputs: Mapping[str, np.ndarray]
    seconds: tuple[float, ...] = ()


class NativeWorkers:
    """Child processes for shape inference and ONNX Runtime, and a private directory for their data.

    The class is a context manager.
    """

    def __enter__(self) -> NativeWorkers:
        self._private = tempfile.TemporaryDirectory(prefix="ms_fusion_onnx_")
        self.directory = Path(self._private.name)
        self._shapes = Worker(_MODULE, "shapes", directory=self.directory)
        self._runtime = Worker(_MODULE, "runtime", directory=self.directory)
        self._timing = Worker(_MODULE, "timing", directory=self.directory)
        self._number = 0
        return self

    def __exit__(self, *_: object) -> None:
        self._shapes.stop()
        self._runtime.stop()
        self._timing.stop()
        self._private.cleanup()

    def infer_shapes(self, model: ir.Model) -> None:
        """Fills in unknown shapes and dtypes of the model, in place.

        Raises:
            InputError: the model cannot be serialized, for example because a name is no string.
            WorkerError: inference failed. The model keeps the shapes that were known before.
        """
        self._infer_shapes(model)
        for _ in range(ROUNDS):
            if not fill_ranks(model):
                break
            self._infer_shapes(model)

    def _infer_shapes(self, model: ir.Model) -> None:
        question, answer = self.place(".onnx"), self.place(".onnx")
        try:
            question.write_bytes(_serialize_without_weights(model))
        except Exception as error:
            raise InputError(
                "this is not a valid ONNX model", got=str(error.__cause__ or error)[:200]
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
        """Returns the function body that ONNX defines for an operator, or None if there is none.

        The body is specialised to the operator's inputs. The inputs of the returned graph are the
        operator's distinct inputs. The outputs of the graph are the operator's named outputs.

        Args:
            node: an operator without subgraphs.
            version: the model's opset version.

        Raises:
            WorkerError: the body could not be determined.
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
            passes.AddDefaultAttributesPass()(model)  # function bodies refer to default attributes
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

    def run(
        self,
        model: Path,
        inputs: Mapping[str, np.ndarray],
        *,
        repeats: int = 0,
        library: Path | None = None,
    ) -> ModelRun:
        """Runs a model in ONNX Runtime once, then `repeats` times for timing.

        `library` is a library of custom operators, which the session registers.

        Raises:
            WorkerError: ONNX Runtime rejects the model or the inputs, crashes, or exceeds
                `RUN_LIMIT_S`. The error is also raised if a tensor holds strings.
        """
        given, found = self.place(""), self.place("")
        request = {
            "model": str(model),
            "inputs": str(given),
            "outputs": str(found),
            "repeats": repeats,
            "library": str(library or ""),
        }
        try:
            tensor_files.write(given, inputs)
            worker = self._timing if repeats else self._runtime
            told = worker.ask(request, timeout_s=RUN_LIMIT_S)
            return ModelRun(tensor_files.read(found), tuple(told["seconds"]))
        except ValueError as error:
            raise WorkerError(str(error)) from error
        finally:
            for directory in (given, found):
                shutil.rmtree(directory, ignore_errors=True)

    def place(self, suffix: str) -> Path:
        """Returns a new path in the private directory."""
        self._number += 1
        return self.directory / f"{self._number}{suffix}"


def _serialize_without_weights(model: ir.Model) -> bytes:
    """Serializes a copy of the model in which the large constants are inputs."""
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
            continue  # sequences and optional values have no tensor type
        if found.shape is not None and _is_better(found.shape, value.shape):
            value.shape = found.shape
        if value.dtype is None and found.dtype is not None:
            value.dtype = found.dtype


def _is_better(found: ir.Shape, known: ir.Shape | None) -> bool:
    return known is None or sum(isinstance(size, int) for size in found) > sum(
        isinstance(size, int) for size in known
    )
