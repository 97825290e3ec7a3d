"""`from_onnx`: an ONNX model as a MindSpore Cell."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import re
import sys
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import mindspore
import numpy as np
from mindspore import Parameter, Tensor, nn

from custom_ops.core.cell import FusedCell
from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.graph import Node
from ms_fusion.onnx_cell.groups import is_differentiable, spec_of
from ms_fusion.onnx_cell.model_graph import Opened, read
from ms_fusion.onnx_cell.net_source import HEAD, Constants, Written, check_known, written
from ms_fusion.onnx_cell.operator_use import DTYPES
from tbe_impl import environment
from tbe_impl.errors import InputError

_numbers = itertools.count()
_directory: tempfile.TemporaryDirectory[str] | None = None


def from_onnx(path: Path | str) -> nn.Cell:
    """A Cell that computes what an ONNX model does.

    Groups that `auto_fuse` made run as our kernels, and so do convolutions and normalisations that it left alone; the other operators
    are MindSpore's, as all of a model that was not fused are, for `enable` to fuse. The model's floating-point constants are Parameters under their names; the inputs come in the model's order, the outputs as one tensor or
    a tuple. It works in graph mode and in PyNative mode, and under `enable`, which keeps the kernels as they are. Groups with a
    convolution or a pooling are MindSpore's own operators after ``set_train()``, since only those have gradients here.

    Args:
        path: a model that `auto_fuse` wrote, or any other.

    Raises:
        InputError: it cannot be read, or has operators that a Cell cannot have, all of which it names.
    """
    place = Path(path).resolve()
    try:
        opened = read(place)
    except WorkerError as error:
        raise InputError(
            "the shapes of the model cannot be inferred", place=str(path), got=str(error)
        ) from error
    check_known(opened.units, opened.graph, opened.bodies)
    for name in opened.graph.inputs:
        _check_dtype(opened.graph.values[name].dtype, name)
    classes: list[Written] = []
    constants = Constants(opened.tensors.get, lambda name: _constant(opened, name), opened.is_fused)
    net = written("Net", opened.graph, opened.units, constants, bodies=opened.bodies)
    apart = {}
    for number, (name, group) in enumerate(net.groups.items()):
        if not is_differentiable(group):
            assert group.body is not None
            check_known(group.body.nodes, group.body, {})
            made = written(
                f"Group{number}", group.body, group.body.nodes, constants, group, sizes=net.sizes
            )
            apart[name] = made
            classes.append(made)
    module = _module([*classes, net])
    cell = _instance(module, net, opened)
    for name, group in net.groups.items():
        setattr(
            cell, name, _instance(module, apart[name], opened) if name in apart else _kernel(group)
        )
    return cell


def _instance(module: ModuleType, made: Written, opened: Opened) -> nn.Cell:
    cell: nn.Cell = getattr(module, made.name)()
    for name, item in made.parts.items():
        setattr(cell, name, item)
    for name, value in made.weights.items():
        own = value if re.fullmatch(r"[A-Za-z0-9_.:/]+", value) else name
        setattr(cell, name, Parameter(_tensor(opened.tensors[value], value), name=own))
    if made.name != "Net":
        for name, group in made.groups.items():
            setattr(cell, name, _kernel(group))
    return cell


def _kernel(group: Node) -> nn.Cell:
    made: nn.Cell = FusedCell(spec_of(group), {})
    return made


def _constant(opened: Opened, name: str) -> Any:
    """A constant that is no weight, as a tensor; None for weights, which become parameters."""
    value = opened.graph.values[name]
    if value.kind == "constant":
        return _tensor(opened.tensors[name], name)
    array = opened.tensors[name]
    is_float = array.dtype.kind == "f" or array.dtype.name == "bfloat16"
    return None if is_float else _tensor(array, name)


def _tensor(array: np.ndarray, name: str) -> Tensor:
    if array.dtype.name == "bfloat16":
        return Tensor(array.astype(np.float32), mindspore.bfloat16)
    _check_dtype(array.dtype.name, name)
    return Tensor(np.array(array))


def _check_dtype(dtype: str, name: str) -> None:
    if dtype and dtype not in DTYPES:
        raise InputError("MindSpore has no tensors of this dtype", place=name, got=dtype)


def _module(classes: list[Written]) -> ModuleType:
    """The classes as a module with a file, which MindSpore reads them from; it goes when the process ends."""
    global _directory
    if _directory is None:
        _directory = tempfile.TemporaryDirectory(
            prefix="ms_fusion_nets_", dir=environment.temporary_directory()
        )
        atexit.register(_directory.cleanup)
    name = f"ms_fusion_net_{next(_numbers)}"
    file = Path(_directory.name) / f"{name}.py"
    file.write_text(HEAD + "\n".join(line for one in classes for line in one.lines) + "\n", "utf-8")
    found = importlib.util.spec_from_file_location(name, file)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    found.loader.exec_module(module)
    return module
