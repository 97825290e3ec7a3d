"""Writes operators as TBE operator files in CANN's layout.

Each operator has one file with the operator function. CANN or `tbe_impl` calls this function. For
each new combination of shapes, dtypes and attributes, the operator function traces the operator's
computation. The operator function then writes the traced graph to a second file, and builds the
second file.
"""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import re
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from custom_ops.core.computation import Computation
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec, TbeComputation, find_spec
from tbe_impl import __version__
from tbe_impl.cann.graph_operator import write_graph
from tbe_impl.errors import InputError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.atomic_file import write_atomically

_GRADIENT = "_grad"
_CHECKS = {bool: "BOOL", int: "INT", float: "FLOAT", str: "STR"}
"""Dict from the type of an attribute's default to the ``para_check`` constant of the type."""
_ENTRY = '''"""{title}

Written by custom_ops {version}. For each set of shapes, dtypes and attributes, `build` traces the
operator {operator} and writes its graph as a file of its own beside this file.
"""

from tbe.common.utils import para_check

from custom_ops.tbe_bridge.operator_files import build

DTYPES = {dtypes}
"""Dtypes in which CANN computes the operator."""
OTHER_DTYPES = {others}
"""Further dtypes of some inputs."""


@para_check.check_op_params(
    *[para_check.REQUIRED_INPUT] * {inputs},
    *[para_check.REQUIRED_OUTPUT] * {outputs},
    {checks}
)
def {name}({parameters}, kernel_name="{name}"):
    """Builds the kernel for the shapes and dtypes of these descriptions."""
    build("{operator}", __file__, [{given}], [{made}], {{{attributes}}}, kernel_name)
'''
_FIXED = """{title}

Written by custom_ops {version}{attributes}.
"""


def function_name(spec: OpSpec) -> str:
    """Returns the name of the operator function: the operator's name in snake case.

    >>> function_name(OpSpec("AddLayerNorm", ("x",))), function_name(OpSpec("SwiGLU", ("x",)))
    ('add_layer_norm', 'swiglu')
    """
    return re.sub(r"(?<=[A-Za-z0-9])(?=[A-Z][a-z])", "_", spec.name).lower()


def attribute_names(spec: OpSpec) -> list[str]:
    """Returns the names of the attributes that the operator function takes."""
    computation = _computation(spec)
    if computation.compute is None:
        return list(spec.attributes)
    known = inspect.signature(computation.compute).parameters
    return [name for name in spec.attributes if name in known]


def write_entry(spec: OpSpec, folder: Path) -> Path:
    """Writes the file with the operator function for all shapes; returns the path of the file.

    Raises:
        InputError: this package has no operator of this name, so CANN's process would not find the
            operator.
        MissingError: the operator has no computation, so the file for CANN cannot be written.
    """
    computation, name = _computation(spec), function_name(spec)
    _spec_named(spec.name)
    defaults = {name: spec.attributes[name] for name in attribute_names(spec)}
    checks = [f"para_check.OPTION_ATTR_{_check_of(value)}" for value in defaults.values()]
    given, made = ", ".join(spec.inputs), ", ".join(spec.outputs)
    keywords = [f"{name}={flatten_pairs(value)!r}" for name, value in defaults.items()]
    text = _ENTRY.format(
        title=_title(spec),
        version=__version__,
        operator=spec.name,
        dtypes=str(computation.dtypes).replace("'", '"'),
        others=str(dict(computation.other_dtypes)).replace("'", '"'),
        inputs=len(spec.inputs),
        outputs=len(spec.outputs),
        checks=", ".join([*checks, "para_check.KERNEL_NAME"]) + ",",
        name=name,
        parameters=", ".join([given, made, *keywords]),
        given=given,
        made=made,
        attributes=", ".join(f'"{name}": {name}' for name in defaults),
    )
    return _write(folder / f"{name}.py", text)


def write_operator(
    spec: OpSpec, given: Sequence[ArraySpec], attributes: Mapping[str, Any], folder: Path
) -> Path:
    """Writes the file of an operator for these shapes and dtypes, and returns the file's path.

    `function_name` determines the name of the operator function in the file. The operator function
    takes the descriptions of the inputs and results.

    Raises:
        InputError: the operator rejects the inputs, or a stage has no equivalent in CANN.
        MissingError: the operator has no computation, so the file for CANN cannot be written.
    """
    told = spec.with_defaults(attributes)
    text = _operator_text(spec, given, told)
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return _write(folder / f"{function_name(spec)}_{digest}.py", text)


def build(
    operator: str,
    entry: str,
    inputs: Sequence[Mapping[str, Any]],
    outputs: Sequence[Mapping[str, Any]],
    attributes: Mapping[str, Any],
    kernel_name: str,
) -> None:
    """Builds an operator for the described tensors, with the TBE toolkit of this process.

    Args:
        operator: name of the operator.
        entry: path of the file with the operator function. The function writes the built file to
            the same folder.
        inputs, outputs: descriptions of the tensors, as CANN passes them.
        attributes: the attributes, as CANN passes them; a tuple of pairs is a flat list.
        kernel_name: name of the kernel.
    """
    spec = _spec_named(operator)
    given = [ArraySpec(tuple(one["shape"]), one["dtype"].lower()) for one in inputs]
    told = {name: _group_pairs(value, spec.attributes[name]) for name, value in attributes.items()}
    file = write_operator(spec, given, told, Path(entry).parent)
    runpy.run_path(str(file))[function_name(spec)](*inputs, *outputs, kernel_name)


def _check_of(default: Any) -> str:
    """Returns the end of the name of the ``para_check`` constant for an attribute.

    >>> _check_of(2), _check_of((0, 1)), _check_of(((1.0, 2.0), (3.0, 4.0)))
    ('INT', 'LIST_INT', 'LIST_FLOAT')
    """
    if isinstance(default, tuple):
        return f"LIST_{_CHECKS[type(flatten_pairs(default)[0])]}"
    return _CHECKS[type(default)]


def flatten_pairs(value: Any) -> Any:
    """Converts a tuple to a list, and a tuple of pairs to a flat list, as CANN's attributes are.

    >>> flatten_pairs(((1.0, 2.0), (3.0, 4.0))), flatten_pairs((0, 1)), flatten_pairs("same")
    ([1.0, 2.0, 3.0, 4.0], [0, 1], 'same')
    """
    if _is_of_pairs(value):
        return [one for pair in value for one in pair]
    return list(value) if isinstance(value, tuple) else value


def _group_pairs(value: Any, default: Any) -> Any:
    """Undoes `flatten_pairs` for an attribute whose default is `default`.

    >>> _group_pairs([1.0, 2.0], ((3.0, 4.0),)), _group_pairs([1, 0], (0, 1)), _group_pairs(1, 0)
    (((1.0, 2.0),), (1, 0), 1)
    """
    if _is_of_pairs(default):
        return tuple(zip(value[::2], value[1::2], strict=True))
    return tuple(value) if isinstance(default, tuple) else value


def _is_of_pairs(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(one, tuple) for one in value)


def _spec_named(operator: str) -> OpSpec:
    spec = find_spec(operator)
    if spec is None and operator.endswith(_GRADIENT):
        forward = find_spec(operator.removesuffix(_GRADIENT))
        spec = None if forward is None else gradient_of(forward)
    if spec is None:
        raise InputError(
            f"custom_ops has no operator {operator}",
            place="custom_ops.operators",
            remedy="Name a file with its TBE operator in the OpSpec (`tbe=`)",
        )
    return spec


def _computation(spec: OpSpec) -> TbeComputation:
    found = spec.tbe_computation
    if found is None:
        raise MissingError(
            f"{spec.name} has no computation in the DSL, so its TBE operator cannot be written",
            place=spec.place or spec.name,
            remedy="Name a file with a TBE operator in the OpSpec (`tbe=`)",
        )
    return found


def _title(spec: OpSpec) -> str:
    return f"{spec.name}: {spec.doc or 'an operator of custom_ops'}".rstrip(".") + "."


def _operator_text(spec: OpSpec, given: Sequence[ArraySpec], attributes: Mapping[str, Any]) -> str:
    kernel = _trace(spec, given, attributes)
    told = ", ".join(f"{name}={attributes[name]!r}" for name in attribute_names(spec))
    head = _FIXED.format(
        title=_title(spec), version=__version__, attributes=f", for {told}" if told else ""
    )
    inputs = {name: one.tensor for name, one in zip(spec.inputs, kernel.inputs, strict=True)}
    outputs = {name: one.tensor for name, one in zip(spec.outputs, kernel.outputs, strict=True)}
    return write_graph(function_name(spec), head, inputs, outputs).text


def _trace(spec: OpSpec, given: Sequence[ArraySpec], attributes: Mapping[str, Any]) -> Kernel:
    """Traces the computation of the operator for CANN."""
    names = attribute_names(spec)
    own = replace(
        spec,
        forward=_computation(spec).compute or spec.forward,
        kernel_builder=None,
        procedure=None,
        infer_shape=None,
        attributes={name: spec.attributes[name] for name in names},
    )
    kernel = Computation(own, {name: attributes[name] for name in names}).build_for_fixed_sizes(
        given
    )
    assert isinstance(kernel, Kernel)
    return kernel


def _write(file: Path, text: str) -> Path:
    """Writes a file if its content differs.

    The write is atomic, because other processes may write the same file.
    """
    with contextlib.suppress(OSError):
        if file.read_text("utf-8") == text:
            return file
    file.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(file, text.encode())
    return file
