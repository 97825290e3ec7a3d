"""Opens ONNX files as untrusted input: checks size, tensors and external data before use.

The only native code that reads the file in this module is the protobuf parser. External data
(tensors in other files) is read from regular files below the model's directory, and never through
links.
"""

from __future__ import annotations

import itertools
import logging
import math
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath

import onnx
import onnx_ir as ir

from ms_fusion.readers.onnx_defaults import SINCE_IR_VERSION, convert_defaults_to_weights
from ms_fusion.readers.onnx_file_check import check_model_file
from ms_fusion.spelling import near_names
from tbe_impl.errors import InputError, pluralize

TENSORS_MAX = 1 << 20
REASON_LENGTH_MAX = 400
"""Maximum number of characters of a text from the file that an error message shows.

Names in a file may have any length.
"""
ONNX_DOMAIN = "ai.onnx"
_EXTERNAL_LOCATION = onnx.TensorProto.EXTERNAL
_BITS = {
    "FLOAT": 32,
    "UINT8": 8,
    "INT8": 8,
    "UINT16": 16,
    "INT16": 16,
    "INT32": 32,
    "INT64": 64,
    "BOOL": 8,
    "FLOAT16": 16,
    "DOUBLE": 64,
    "UINT32": 32,
    "UINT64": 64,
    "COMPLEX64": 64,
    "COMPLEX128": 128,
    "BFLOAT16": 16,
    "FLOAT8E4M3FN": 8,
    "FLOAT8E4M3FNUZ": 8,
    "FLOAT8E5M2": 8,
    "FLOAT8E5M2FNUZ": 8,
    "FLOAT8E8M0": 8,
    "UINT4": 4,
    "INT4": 4,
    "FLOAT4E2M1": 4,
    "UINT2": 2,
    "INT2": 2,
}
"""A dict from an ONNX dtype to its bits per element."""
_FIELDS = {
    "FLOAT": "float_data",
    "COMPLEX64": "float_data",
    "INT64": "int64_data",
    "DOUBLE": "double_data",
    "COMPLEX128": "double_data",
    "UINT32": "uint64_data",
    "UINT64": "uint64_data",
}
"""A dict from an ONNX dtype to the protobuf field with the elements of a tensor.

The field is used if the tensor has no raw data. All dtypes that are not in the dict use the field
``int32_data``.
"""
REMEDY = "The file is damaged or is not an ONNX model: export it again"


def open_model(path: Path | str) -> ir.Model:
    """Opens a model; the weights are read from disk when they are accessed.

    Files of ONNX's IR versions before 4 list every weight as an input. The function removes these
    weights from the inputs of the returned model.

    Raises:
        InputError: the file does not exist, is not a regular file, is damaged, is too large, is not
            an ONNX model, or refers to data outside of its directory.
    """
    path = Path(path)
    proto = _parse_model(path)
    _check_tensors(proto, path)
    try:
        _clear_placeholder_sizes(proto)
        _keep_shapes_of_inputs(proto)
        with _silence_log():
            model = ir.serde.deserialize_model(proto)
        ir.external_data.set_base_dir(model.graph, Path(os.path.realpath(path)).parent)
        model.graph.sort()
    except Exception as error:  # a hostile file can make the library raise any exception
        raise _input_error("this is not a valid ONNX model", path, str(error)) from error
    _canonicalize_domain(model, path)
    _check_values(model, path)
    _check_operators(model, path)
    _check_arity(model, path)
    if model.ir_version < SINCE_IR_VERSION:
        convert_defaults_to_weights(model)
        model.ir_version = SINCE_IR_VERSION  # from here on, weights need not be inputs
    return model


@contextmanager
def _silence_log() -> Iterator[None]:
    """Returns a context manager that suppresses onnx-ir's warnings about a damaged model.

    Our own error reports the damage.
    """
    log = logging.getLogger("onnx_ir.serde")
    was, log.disabled = log.disabled, True
    try:
        yield
    finally:
        log.disabled = was


def _clear_placeholder_sizes(proto: onnx.ModelProto) -> None:
    """Marks, in place, each size as unknown that is negative or has a name like ``?``.

    Some exporters write -1 or ``?`` for every unknown size. Two such sizes need not be equal.
    """
    for graph in _graphs(proto):
        values = [graph.value_info]
        if isinstance(graph, onnx.GraphProto):
            values += [graph.input, graph.output]
        for value in itertools.chain.from_iterable(values):
            for size in value.type.tensor_type.shape.dim:
                if size.dim_value < 0 or not any(map(str.isalnum, size.dim_param or "0")):
                    size.Clear()


def _keep_shapes_of_inputs(proto: onnx.ModelProto) -> None:
    """Copies, in place, the type of each input to the output of the same name.

    An input and an output of the same name are a single value. Without the copy, the declared type
    of the output would override the type of the input.
    """
    for graph in _graphs(proto):
        if isinstance(graph, onnx.FunctionProto):
            continue
        told = {
            value.name: value.type
            for value in graph.input
            if value.type.tensor_type.HasField("shape")
        }
        for value in graph.output:
            if value.name in told:
                value.type.CopyFrom(told[value.name])


def _canonicalize_domain(model: ir.Model, path: Path) -> None:
    """Renames ONNX's own domain ``ai.onnx`` to its short name, the empty string, in place.

    Raises:
        InputError: the model imports two versions of ONNX's own domain.
    """
    graphs: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    for graph in graphs:
        version = graph.opset_imports.pop(ONNX_DOMAIN, None)
        if version is not None and graph.opset_imports.setdefault("", version) != version:
            raise _input_error(
                "this is not a valid ONNX model",
                path,
                f"versions {version} and {graph.opset_imports['']} of its operators",
            )
        for node in ir.traversal.RecursiveGraphIterator(graph):
            if node.domain == ONNX_DOMAIN:
                node.domain = ""


def _check_values(model: ir.Model, path: Path) -> None:
    """Raises `InputError` if a graph uses an undefined value, or if a name is not a string.

    The function checks the names of values, operators, operator types and domains.
    """
    graphs = list(_graphs_in(model))
    nodes = [node for graph in graphs for node in graph]
    read = [value for node in nodes for value in node.inputs]
    for value in (*read, *(value for graph in graphs for value in graph.outputs)):
        if (
            value is None
            or value.producer() is not None
            or value.is_graph_input()
            or value.is_initializer()
        ):
            continue
        raise _input_error(
            "this is not a valid ONNX model", path, f"nothing makes the value {value.name!r}"
        )
    made = [value for node in nodes for value in node.outputs]
    inputs = [value for graph in graphs for value in graph.inputs]
    names = [value.name for value in (*read, *made, *inputs) if value is not None]
    for name in (
        *names,
        *(text for node in nodes for text in (node.name, node.op_type, node.domain)),
    ):
        if not isinstance(name, str | None):
            raise _input_error("this is not a valid ONNX model", path, f"{name!r} is not text")


def _graphs_in(model: ir.Model) -> Iterator[ir.Graph | ir.Function]:
    """Yields the main graph, the functions, and all graphs nested in their operators."""
    waiting: list[ir.Graph | ir.Function] = [model.graph, *model.functions.values()]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph:
            for attribute in node.attributes.values():
                if isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPH:
                    waiting.append(attribute.as_graph())
                elif isinstance(attribute, ir.Attr) and attribute.type == ir.AttributeType.GRAPHS:
                    waiting += attribute.as_graphs()


RUNTIME_OPERATORS = frozenset(
    """ATen Affine ConstantFill Crop DynamicSlice GRUUnit GivenTensorFill ImageScaler
    ParametricSoftplus Scale ScaledTanh SimplifiedLayerNormalization FusedConv""".split()
)
"""Operators that runtimes accept in ONNX's own domain although the current ONNX lacks them."""


def _check_operators(model: ir.Model, path: Path) -> None:
    """Raises `InputError` for an unknown opset version or an operator that ONNX never defined.

    An operator that is newer than the model's opset version is accepted, because runtimes accept
    some of these operators too.
    """
    newest = onnx.defs.onnx_opset_version()
    own = {function.name for function in model.functions.values() if not function.domain}
    for graph in _graphs_in(model):
        version = graph.opset_imports.get("", 0)
        if version > newest:
            raise InputError(
                f"version {version} of ONNX's operators is not known",
                place=str(path),
                expected=f"1 to {newest}, those of onnx {onnx.__version__}",
                got=str(version),
                remedy="Export the model for one of these, or install a newer onnx",
            )
        for node in graph:
            if node.domain or node.op_type in own or node.op_type in RUNTIME_OPERATORS:
                continue
            if not onnx.defs.has(node.op_type):
                known = {schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
                near = near_names(str(node.op_type), known)
                remedy = (
                    f"Did you mean {' or '.join(near)}?"
                    if near
                    else "Give an operator of your own a domain of its own"
                )
                raise InputError(
                    f"ONNX has no operator {str(node.op_type)[:REASON_LENGTH_MAX]!r}",
                    place=f"{path}, node {str(node.name)[:REASON_LENGTH_MAX]!r}",
                    remedy=remedy,
                )


LENIENT_OPERATORS = frozenset({"Resize", "Upsample"})
"""Operators for which every runtime accepts that exporters omit some required inputs."""


def _check_arity(model: ir.Model, path: Path) -> None:
    """Raises `InputError` if an ONNX operator has too many or too few inputs or outputs.

    The function also raises `InputError` if an input is missing that the operator's schema
    requires.
    """
    version = model.opset_imports.get("", 0)
    known: dict[str, onnx.defs.OpSchema | None] = {}
    for node in ir.traversal.RecursiveGraphIterator(model.graph):
        if node.domain not in ("", "ai.onnx"):
            continue
        if node.op_type not in known:
            known[node.op_type] = _schema(node.op_type, version)
        schema = known[node.op_type]
        if schema is not None and not (
            schema.min_input <= len(node.inputs) <= schema.max_input
            and schema.min_output <= len(node.outputs) <= schema.max_output
        ):
            inputs = pluralize(len(node.inputs), "input")
            got = f"{node.op_type} with {inputs} and {pluralize(len(node.outputs), 'output')}"
            raise _input_error("this is no valid ONNX model", path, got)
        if schema is not None and node.op_type not in LENIENT_OPERATORS:
            single = onnx.defs.OpSchema.FormalParameterOption.Single
            for told, value in zip(schema.inputs, node.inputs, strict=False):
                if value is None and told.option == single:
                    raise _input_error(
                        "this is not a valid ONNX model",
                        path,
                        f"{node.op_type} without its {told.name}",
                    )


def _schema(op: str, version: int) -> onnx.defs.OpSchema | None:
    try:
        return onnx.defs.get_schema(op, version)
    except onnx.defs.SchemaError:
        return None


def _parse_model(path: Path) -> onnx.ModelProto:
    check_model_file(path)
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(path.read_bytes())
    except OSError as error:
        raise InputError("the model cannot be read", place=str(path), got=error.strerror) from error
    except Exception as error:  # protobuf raises several types
        raise _input_error("this is not an ONNX model", path, str(error)) from error
    if not proto.HasField("graph") or not proto.opset_import:
        raise _input_error(
            "this is not an ONNX model", path, "no graph, or no version of its operators"
        )
    for one in (
        *proto.opset_import,
        *(one for function in proto.functions for one in function.opset_import),
    ):
        if not 1 <= one.version < 1 << 31:
            raise _input_error(
                "this is not a valid ONNX model", path, f"version {one.version} of its operators"
            )
    return proto


def _input_error(what: str, path: Path, got: str) -> InputError:
    got = (
        got
        if len(got) <= REASON_LENGTH_MAX
        else f"{got[: REASON_LENGTH_MAX // 2]}…{got[-REASON_LENGTH_MAX // 2 :]}"
    )
    return InputError(what, place=str(path), got=got, remedy=REMEDY)


def _check_tensors(proto: onnx.ModelProto, path: Path) -> None:
    """Raises `InputError` if the data of a tensor has a wrong size or is in a forbidden file.

    Data outside of the model's file must be in a regular file below the model's directory. The path
    to that file must not contain a link.
    """
    directory = Path(os.path.realpath(path)).parent
    for number, tensor in enumerate(_tensors(proto)):
        if number > TENSORS_MAX:
            raise _input_error(
                "this is not a valid ONNX model", path, f"more than {TENSORS_MAX} tensors"
            )
        wanted = _expected_bytes(tensor, path)
        if tensor.data_location == _EXTERNAL_LOCATION:
            _check_external(tensor, wanted, directory, path)
        elif wanted is not None:
            _check_data(tensor, wanted, path)


def _expected_bytes(tensor: onnx.TensorProto, path: Path) -> int | None:
    """Returns the size of a tensor's data in bytes, or None for strings, whose lengths vary."""
    if any(size < 0 for size in tensor.dims):
        raise _damage_error(tensor, "a negative size", path)
    try:
        name = onnx.TensorProto.DataType.Name(tensor.data_type)
    except ValueError as error:
        raise _damage_error(tensor, f"an unknown dtype {tensor.data_type}", path) from error
    if name == "STRING":
        return None
    if name not in _BITS:
        raise _damage_error(tensor, f"an unknown dtype {name}", path)
    return (math.prod(tensor.dims) * _BITS[name] + 7) // 8


def _check_data(tensor: onnx.TensorProto, wanted: int, path: Path) -> None:
    if tensor.HasField("raw_data"):
        if len(tensor.raw_data) != wanted:
            raise _damage_error(tensor, f"{len(tensor.raw_data)} bytes for {wanted}", path)
        return
    name = onnx.TensorProto.DataType.Name(tensor.data_type)
    found = len(getattr(tensor, _FIELDS.get(name, "int32_data")))
    expected = math.prod(tensor.dims) * (2 if name.startswith("COMPLEX") else 1)
    if found != (expected if _BITS[name] >= 8 else wanted):
        raise _damage_error(tensor, f"{found} numbers for {expected}", path)


def _check_external(
    tensor: onnx.TensorProto, wanted: int | None, directory: Path, path: Path
) -> None:
    told = {entry.key: entry.value for entry in tensor.external_data}
    location = told.get("location", "")
    pure = PurePosixPath(location)
    windows = PureWindowsPath(location)
    if (
        not location
        or pure.is_absolute()
        or windows.drive
        or windows.root
        or ".." in (*pure.parts, *windows.parts)
        or "\0" in location
    ):
        raise _damage_error(
            tensor, f"external data at {location!r}, which is not below the model's directory", path
        )
    place = directory / location
    try:
        # Not `Path.resolve`: for cyclic links it raises an error other than OSError.
        if os.path.realpath(place, strict=True) != str(place):
            raise _damage_error(
                tensor, f"external data at {location!r}, which is reached by a link", path
            )
        status = os.lstat(place)
    except FileNotFoundError as error:
        raise InputError(
            "the file with its weights is missing",
            place=str(path),
            expected=f"{location[:120]} beside the model, for tensor {tensor.name[:80]!r}",
            got=f"no such file in {directory}",
            remedy=f"Put {location[:120]} beside the model",
        ) from error
    except OSError as error:
        raise _damage_error(
            tensor, f"external data at {location!r}: {error.strerror}", path
        ) from error
    if not stat.S_ISREG(status.st_mode):
        raise _damage_error(
            tensor, f"external data at {location!r}, which is not a regular file", path
        )
    offset, length = (_number(told.get(key), tensor, path) for key in ("offset", "length"))
    length = wanted if length is None else length
    if wanted is None or length != wanted or (offset or 0) + length > status.st_size:
        raise _damage_error(
            tensor,
            f"external data at {location!r}: bytes {offset or 0} to "
            f"{(offset or 0) + (length or 0)} of {status.st_size}, for {wanted}",
            path,
        )


def _number(text: str | None, tensor: onnx.TensorProto, path: Path) -> int | None:
    if text is None:
        return None
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise _damage_error(tensor, f"external data at {text!r}", path)
    return int(text)


def _damage_error(tensor: onnx.TensorProto, got: str, path: Path) -> InputError:
    return _input_error(f"tensor {tensor.name[:80]!r} is damaged", path, got)


def _tensors(proto: onnx.ModelProto) -> Iterator[onnx.TensorProto]:
    """Yields all tensors of a model: initializers and attributes, also those in nested graphs."""
    for graph in _graphs(proto):
        if isinstance(graph, onnx.GraphProto):
            yield from graph.initializer
            for sparse in graph.sparse_initializer:
                yield sparse.values
                yield sparse.indices
        for node in graph.node:
            for attribute in node.attribute:
                # A tensor that is declared but absent has no dtype; `_expected_bytes` refuses it.
                if attribute.HasField("t") or attribute.type == onnx.AttributeProto.TENSOR:
                    yield attribute.t
                yield from attribute.tensors


def _graphs(proto: onnx.ModelProto) -> Iterator[onnx.GraphProto | onnx.FunctionProto]:
    """Yields all graphs and functions of a model."""
    waiting: list[onnx.GraphProto | onnx.FunctionProto] = [proto.graph, *proto.functions]
    for training in proto.training_info:
        waiting += [training.initialization, training.algorithm]
    while waiting:
        graph = waiting.pop()
        yield graph
        for node in graph.node:
            for attribute in node.attribute:
                if attribute.HasField("g"):
                    waiting.append(attribute.g)
                waiting += attribute.graphs
