"""Implements `from_onnx`: builds a MindSpore Cell from an ONNX model."""

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
from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.graph import Node
from ms_fusion.onnx.cell.group_operator import is_differentiable, spec_of
from ms_fusion.onnx.cell.model_graph import CellModel, read_model
from ms_fusion.onnx.cell.net_source import HEAD, Constants, NetClass, check_supported, write_class
from ms_fusion.onnx.cell.operator_use import DTYPES
from tbe_impl import environment
from tbe_impl.errors import InputError

_numbers = itertools.count()
_directory: tempfile.TemporaryDirectory[str] | None = None


def from_onnx(path: Path | str) -> nn.Cell:
    """Builds a Cell that computes an ONNX model.

    In a model that `auto_fuse` wrote, the fused groups run as generated kernels, and so do the
    unfused convolutions and normalisations. All other operators run as MindSpore's operators. A
    model that `auto_fuse` did not write becomes a Cell of MindSpore's operators only; `enable` can
    fuse these operators.

    Each floating-point constant of the model becomes a Parameter with the name of the constant. The
    inputs of the Cell are in the model's order. The Cell returns one tensor, or a tuple if the
    model has several outputs. The Cell runs in graph mode, in PyNative mode, and under `enable`.
    `enable` does not replace the generated kernels. The kernel of a group with a convolution or a
    pooling has no gradient. After ``set_train()``, such a group therefore runs as MindSpore's
    operators.

    Args:
        path: path of the model file, which `auto_fuse` may have written.

    Raises:
        InputError: the model cannot be read, or it contains unsupported operators. The error names
            all unsupported operators.
    """
    place = Path(path).resolve()
    try:
        opened = read_model(place)
    except WorkerError as error:
        raise InputError(
            "the shapes of the model cannot be inferred", place=str(path), got=str(error)
        ) from error
    check_supported(opened.units, opened.graph, opened.bodies)
    for name in opened.graph.inputs:
        _check_dtype(opened.graph.values[name].dtype, name)
    classes: list[NetClass] = []
    constants = Constants(opened.tensors.get, lambda name: _constant(opened, name), opened.is_fused)
    net = write_class("Net", opened.graph, opened.units, constants, bodies=opened.bodies)
    apart = {}
    for number, (name, group) in enumerate(net.groups.items()):
        if not is_differentiable(group):
            check_supported(group.fused_body.nodes, group.fused_body, {})
            made = write_class(
                f"Group{number}",
                group.fused_body,
                group.fused_body.nodes,
                constants,
                group,
                sizes=net.sizes,
            )
            apart[name] = made
            classes.append(made)
    module = _load_module([*classes, net])
    cell = _instantiate(module, net, opened)
    for name, group in net.groups.items():
        setattr(
            cell,
            name,
            _instantiate(module, apart[name], opened) if name in apart else _kernel(group),
        )
    return cell


def _instantiate(module: ModuleType, made: NetClass, opened: CellModel) -> nn.Cell:
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
    return FusedCell(spec_of(group), {})


def _constant(opened: CellModel, name: str) -> Any:
    """Returns a constant as a tensor.

    Returns None for a floating-point weight, which becomes a Parameter.
    """
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


def _load_module(classes: list[NetClass]) -> ModuleType:
    """Writes the generated classes to a Python file, and imports the file as a module.

    The file is needed because MindSpore reads the source of a Cell. The file is removed when the
    process exits.
    """
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
