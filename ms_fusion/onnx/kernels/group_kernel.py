"""Compiles a group of ONNX operators: lowers it to the DSL and builds a `tbe_impl` kernel."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ms_fusion.cost.transposed_reads import values_to_materialize
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels.clusters import SEARCHES
from ms_fusion.onnx.kernels.operator_lowering import lower_operator
from ms_fusion.ops.call import ONNX_OP, Call, numpy_dtype
from ms_fusion.readers.onnx_graph import ABSENT_INPUT
from ms_fusion.rewrite import LAYOUT_OPERATORS
from tbe_impl import dsl, environment
from tbe_impl.arguments import Argument
from tbe_impl.cann.python_names import identifier
from tbe_impl.codegen.program import storable_results
from tbe_impl.cpu.prepared_kernel import build_together
from tbe_impl.dsl.expr import Const, Expr, Var
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.tracing.arrays import Size, TracedArray, tensor_of

HALF_DTYPES = frozenset({"float16", "bfloat16"})
DTYPES = HALF_DTYPES | {
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
}
NAME_DIGITS, STEM_LENGTH = 12, 27
"""Number of hash digits in a kernel's name, and largest number of characters before them.

Together they do not exceed the length limit of kernel symbols.
"""
SEARCH_GROUP_NAMES = frozenset({*SEARCHES, "Part"})
"""Types of fused operators that are not the name of a rule."""
SHAPED_BY_INPUT = frozenset({"Reshape", "BroadcastTo"})
"""Operators whose second input is the target shape."""
BATCH_OPERATORS_MAX = 400
"""Largest number of operators in one compiler call for several kernels."""
WAITING_BATCHES_PER_THREAD = 2
"""Number of queued compiler calls per processor, which keeps all processors busy."""
T = TypeVar("T")


@dataclass(frozen=True)
class LoweredModelGroup:
    """A group lowered to the DSL.

    Attributes:
        inputs, outputs: the kernel's arguments, in the order of the group's inputs and outputs.
        sizes: maps the symbol of a size in the model to its DSL variable.
        values: maps the ``id`` of a DSL tensor to the name of the value in the group.
        stages: maps the ``id`` of a DSL tensor to the operator whose lowering created the tensor.
        doubtful: symbols that denote different sizes in different places of the model. Some
            exporters write such symbols.
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    sizes: Mapping[str, Var]
    values: Mapping[int, str]
    stages: Mapping[int, Node]
    doubtful: frozenset[str] = frozenset()


@dataclass(frozen=True)
class GroupKernel:
    """A compiled group.

    Attributes:
        name: the group's rule or its operator types, followed by a hash of its graph. The name
            contains no string from the model.
        node: the fused operator.
        kernel: the kernel, which computes the node's outputs from the node's inputs.
        said: the lowered group. The lowered group maps DSL tensors to values of the node.
    """

    name: str
    node: Node
    kernel: Kernel
    said: LoweredModelGroup

    @property
    def source(self) -> str:
        """The C source of the kernel."""
        return self.kernel.source


def build(node: Node) -> GroupKernel:
    """Builds the kernel of a fused operator.

    Raises:
        InputError: an operator, a dtype or a size cannot be lowered. The error names the operator
            or the value.
        CompileError, MissingError: the compiler fails or is missing.
    """
    return _compile_kernel(plan_kernel(node))


def build_all(nodes: Sequence[Node]) -> Iterator[GroupKernel | FusionError]:
    """Builds the kernels of several nodes, and yields the kernel or the error of each node.

    One compiler runs on each processor, in parallel. Each call of the compiler compiles several
    kernels, because starting a compiler takes as long as compiling a small kernel. If a call fails,
    the kernels of this call are compiled one by one.
    """
    threads = environment.threads()
    waiting: deque[Future[list[GroupKernel | FusionError]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for some in _batches(nodes, threads):
            waiting.append(
                pool.submit(_build_batch, [_catch_error(plan_kernel, node) for node in some])
            )
            if len(waiting) > WAITING_BATCHES_PER_THREAD * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _batches(nodes: Sequence[Node], shares: int) -> Iterator[list[Node]]:
    """Splits the nodes into batches, one per compiler call, and keeps the order of the nodes.

    `shares` is the number of processors. A batch of several nodes has at most (number of all
    operators ÷ `shares`) operators, so that all processors are busy.
    """
    sizes = [len(node.body) if node.body else 0 for node in nodes]
    most = min(BATCH_OPERATORS_MAX, sum(sizes) / shares)
    some: list[Node] = []
    held = 0
    for node, size in zip(nodes, sizes, strict=True):
        if some and held + size > most:
            yield some
            some, held = [], 0
        some.append(node)
        held += size
    if some:
        yield some


def plan_kernel(node: Node) -> GroupKernel:
    """Lowers a fused operator to a kernel that is not compiled yet."""
    group = _lower_group(node.fused_body)
    try:
        graph = Kernel("group", "cpu", group.inputs, group.outputs).graph
        name = f"{_stem(node)}_{hashlib.sha256(graph.encode()).hexdigest()[:NAME_DIGITS]}"
        made = Kernel(name, "cpu", group.inputs, group.outputs)
        made = replace(
            made, options=replace(made.options, stored=_stored_values(node.fused_body, group))
        )
        made.planned.uncompiled_programs()
    except RecursionError as error:
        raise InputError("too many operators in sequence", place=node.name) from error
    return GroupKernel(name, node, made, group)


def _stem(node: Node) -> str:
    """Returns the first part of a kernel's name.

    This part is the name of the rule that found the group. If a search found the group, this part
    consists of operator types of the group. Its length is at most `STEM_LENGTH`.
    """
    rule = re.sub(rf"_[0-9a-f]{{{NAME_DIGITS}}}$", "", node.op)  # cuts off a kernel name's hash
    stem = "" if rule in SEARCH_GROUP_NAMES else re.sub("[^A-Za-z0-9]", "", rule)[:STEM_LENGTH]
    if not stem:
        for one in sorted(node.fused_body.nodes, key=lambda one: one.op in LAYOUT_OPERATORS):
            longer = stem + re.sub("[^A-Za-z0-9]", "", one.op)
            if len(longer) > STEM_LENGTH:
                break
            stem = longer
    return stem if stem[:1].isalpha() else f"k{stem}"


def _stored_values(body: Graph, group: LoweredModelGroup) -> tuple[int, ...]:
    """Returns the indices of intermediate results that a kernel should store before a transpose."""
    names = values_to_materialize(body)
    if not names:
        return ()
    found = storable_results(
        *([one.tensor for one in some] for some in (group.outputs, group.inputs))
    )
    return tuple(
        number for number, tensor in enumerate(found) if group.values.get(id(tensor)) in names
    )


def _compile_kernel(group: GroupKernel) -> GroupKernel:
    _ = group.kernel.compiled
    return group


def _build_batch(groups: Sequence[GroupKernel | FusionError]) -> list[GroupKernel | FusionError]:
    """Compiles the kernels in `groups`. Errors in `groups` are returned unchanged."""
    build_together([one.kernel.planned for one in groups if isinstance(one, GroupKernel)])
    return [
        _catch_error(_compile_kernel, one) if isinstance(one, GroupKernel) else one
        for one in groups
    ]


def _catch_error(make: Callable[[T], GroupKernel], given: T) -> GroupKernel | FusionError:
    try:
        return make(given)
    except FusionError as error:
        return error


def inputs_with_data(body: Graph) -> tuple[str, ...]:
    """Returns the inputs whose elements a kernel reads.

    For example, a kernel does not read the target shape of a Reshape, because this shape follows
    from the declared shape of the result.
    """
    read = {name for node in body.nodes for name in node.inputs[: _data_input_count(node)]}
    return tuple(name for name in body.inputs if name in read)


def outputs_of(body: Graph, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """Lowers a group, given DSL tensors for the inputs whose elements the group reads.

    Returns the DSL tensors of the group's results.

    Raises:
        InputError: an operator cannot be lowered. The error names the operator.
    """
    return tuple(one.tensor for one in _lower_group(body, tensors).outputs)


def build_for_shapes(node: Node, shapes: Mapping[str, Sequence[int]]) -> Kernel | None:
    """Builds a kernel with static shapes for a group in which a symbol denotes different sizes.

    Args:
        node: the fused operator.
        shapes: shapes of the inputs whose elements are read, by name.

    Returns:
        The kernel, or None if each symbol denotes only one size.

    Raises:
        InputError: an operator cannot be lowered without these symbols. The error names the
            operator.
    """
    values = node.fused_body.values
    given = {
        name: dsl.placeholder(list(shape), values[name].dtype, f"x{number}")
        for number, (name, shape) in enumerate(shapes.items())
    }
    group = _lower_group(node.fused_body, given)
    if not group.doubtful:
        return None
    inputs, outputs = (
        tuple(replace(one, shape=_constant_shape(one.tensor)) for one in some)
        for some in (group.inputs, group.outputs)
    )
    return Kernel(identifier(node.op), "cpu", inputs, outputs)


def _constant_shape(tensor: Tensor) -> tuple[int, ...]:
    """Returns the shape of a tensor whose sizes are all static."""
    return tuple(int(size.value) for size in tensor.shape if isinstance(size, Const))


def _lower_group(
    body: Graph, given: Mapping[str, Tensor] | None = None, doubtful: frozenset[str] = frozenset()
) -> LoweredModelGroup:
    """Lowers a group to DSL tensors, from the given input tensors or from new placeholders.

    Symbols in `doubtful` are not used as sizes.
    """
    symbols: dict[str, Any] = {}
    met: list[tuple[str, Any]] = []
    tensors: dict[str, Any] = {ABSENT_INPUT: None}
    inputs = []
    for number, name in enumerate(body.inputs):
        value = _check_value(body.values[name])
        if given is None:
            shape = [_size_variable(size, symbols) for size in value.shape]
            tensor = dsl.placeholder(shape, value.dtype, f"x{number}")
        elif name not in given:
            continue
        else:
            tensor = given[name]
            met += _sizes_of(tensor, value)
        tensors[name] = _widen_half(TracedArray(tensor), value.dtype)
        inputs.append(Argument(tensor, _declared_shape(value), f"x{number}"))
    for name, value in body.values.items():
        if value.kind == "constant" and name not in tensors:
            data = np.asarray(value.data, numpy_dtype(_check_value(value).dtype))
            tensors[name] = _widen_half(data, value.dtype)
    values: dict[int, str] = {}
    stages: dict[int, Node] = {}
    doubtful |= _contradictory_symbols(met)
    known = {size: one for size, one in {**symbols, **dict(met)}.items() if size not in doubtful}
    for node in body.nodes:
        results = _lower_node(node, body, tensors, known)
        for name, one in zip(node.outputs, results, strict=False):
            tensors[name] = one
            if isinstance(one, TracedArray):
                _enter(one.tensor, name, node, values, stages)
                found = _sizes_of(
                    _check_result_sizes(one.tensor, body.values[name], node), body.values[name]
                )
                met += found
                known = {**{size: own for size, own in found if size not in doubtful}, **known}
    contradicted = doubtful | _contradictory_symbols(met)
    if contradicted > doubtful:
        return _lower_group(body, given, contradicted)
    outputs = []
    for number, name in enumerate(body.outputs):
        value = _check_value(body.values[name])
        found = (
            tensors[name].astype(numpy_dtype(value.dtype))
            if value.dtype in HALF_DTYPES
            else tensors[name]
        )
        tensor = _copy_if_input(tensor_of(found), inputs)
        _enter(tensor, name, body.producers[name], values, stages)
        outputs.append(Argument(tensor, _declared_shape(value), f"y{number}"))
    return LoweredModelGroup(tuple(inputs), tuple(outputs), symbols, values, stages, doubtful)


def _check_result_sizes(tensor: Tensor, value: Value, node: Node) -> Tensor:
    """Checks that the sizes of `tensor` are the declared sizes of `value`; returns `tensor`.

    Raises `InputError` if a size differs.
    """
    own = [size.value if isinstance(size, Const) else size for size in tensor.shape]
    if any(
        isinstance(one, int) and isinstance(size, int) and 0 <= size != one
        for size, one in zip(value.shape, own, strict=False)
    ):
        raise InputError(
            "the lowered result does not have the sizes that the graph declares",
            place=node.name,
            expected=str(value.shape),
            got=str(tuple(own)),
        )
    return tensor


def _sizes_of(tensor: Tensor, value: Value) -> list[tuple[str, Any]]:
    """Returns a pair (symbol, size in `tensor`) for each symbol in the shape of `value`."""
    own = (size.value if isinstance(size, Const) else size for size in tensor.shape)
    return [
        (size, one) for size, one in zip(value.shape, own, strict=False) if isinstance(size, str)
    ]


def _contradictory_symbols(met: Iterable[tuple[str, Any]]) -> set[str]:
    """Returns the symbols that denote several different integer sizes."""
    sizes: dict[str, set[int]] = {}
    for symbol, size in met:
        if isinstance(size, int):
            sizes.setdefault(symbol, set()).add(size)
    return {symbol for symbol, numbers in sizes.items() if len(numbers) > 1}


def _enter(
    tensor: Tensor, name: str, node: Node, values: dict[int, str], stages: dict[int, Node]
) -> None:
    """Records that `tensor` holds the value `name` and was created by the lowering of `node`.

    The name is recorded in `values`, and the node in `stages`. The node is also recorded for the
    tensors from which `tensor` is computed. A tensor that already has a node keeps this node.
    Placeholders are not recorded.
    """
    for op in stages_of([tensor], known=stages):
        for one in op.outputs if op.kind != "placeholder" else ():
            stages.setdefault(id(one), node)
    if tensor.op.kind != "placeholder":
        values.setdefault(id(tensor), name)


def _lower_node(
    node: Node, body: Graph, tensors: Mapping[str, Any], symbols: Mapping[str, Any]
) -> tuple[Any, ...]:
    outputs = tuple(_check_value(value) for value in body.outputs_of(node) if value.name)
    sizes = tuple(_known_size(size, symbols) for size in outputs[0].shape)
    needed = _data_input_count(node)
    given = (tensors.get(name) for name in node.inputs)
    inputs = tuple(
        one if number < needed or isinstance(one, np.ndarray) else None
        for number, one in enumerate(given)
    )
    try:
        call = Call(node, inputs, outputs[0], numpy_dtype(outputs[0].dtype), sizes)
        return lower_operator(call, outputs)
    except Exception as error:
        # A lowering rule may raise any exception on symbolic tensors.
        why = error.what if isinstance(error, FusionError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{node.attr(ONNX_OP)} is not built: {why}", place=node.name) from error


def _data_input_count(node: Node) -> int:
    """Returns the number of inputs of a node that the node's lowering rule reads.

    For an operator in `SHAPED_BY_INPUT` the number is 1, because the target shape follows from the
    declared shape of the result.
    """
    return 1 if node.op in SHAPED_BY_INPUT else len(node.inputs)


def _widen_half(array: Any, dtype: str) -> Any:
    """Casts half precision to float32 for the computation, and returns other dtypes unchanged."""
    return array.astype(np.float32) if dtype in HALF_DTYPES else array


def _copy_if_input(tensor: Any, inputs: list[Argument]) -> Any:
    """Returns a copy of a result that is also an input, and any other result unchanged."""
    if any(tensor is one.tensor for one in inputs):
        return dsl.compute(tensor.shape, lambda *place: tensor(*place), "copied")
    return tensor


def _check_value(value: Value) -> Value:
    if value.dtype not in DTYPES:
        raise InputError(
            "this dtype is not supported", place=value.name, got=value.dtype or "unknown"
        )
    if any((isinstance(size, str) and size.startswith("…")) or size == -1 for size in value.shape):
        raise InputError("an unknown shape cannot be lowered", place=value.name)
    return value


def _size_variable(size: int | str, symbols: dict[str, Var]) -> Any:
    return size if isinstance(size, int) else symbols.setdefault(size, Var(f"n{len(symbols)}"))


def _known_size(size: int | str, symbols: Mapping[str, Any]) -> Any:
    """Returns an integer size unchanged, and the known size of a symbol; otherwise None."""
    found = size if isinstance(size, int) else symbols.get(size)
    return Size(found) if isinstance(found, Expr) else found


def _declared_shape(value: Value) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else -1 for size in value.shape)
