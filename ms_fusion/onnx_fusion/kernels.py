"""A group of ONNX operators as a kernel: lowered to the DSL, compiled by `tbe_impl`."""

from __future__ import annotations

import hashlib
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np

from ms_fusion.accuracy.formulas import numpy_dtype
from ms_fusion.cost.transposed_reads import better_stored
from ms_fusion.formats.onnx_graph import ABSENT, ONNX_OP
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx_fusion.clusters import SEARCHES
from ms_fusion.onnx_fusion.lowering_rules import said
from ms_fusion.onnx_fusion.operator_call import Call
from ms_fusion.onnx_fusion.python_names import identifier
from ms_fusion.rewrite import LAYOUTS
from tbe_impl import dsl, environment
from tbe_impl.codegen.program import storable
from tbe_impl.cpu.prepared_kernel import build_together
from tbe_impl.dsl.expr import Const, Var
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Argument, Kernel
from tbe_impl.tracing.arrays import Traced, tensor_of

HALF = frozenset({"float16", "bfloat16"})
DTYPES = HALF | {
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
"""Of the hash and before it: together they are as long as the symbol of a kernel may be."""
UNNAMED = frozenset({*SEARCHES, "Part"})
"""What groups are called that no rule found."""
TOGETHER = 400
"""Operators that one call of the compiler compiles, where they are several kernels."""
AHEAD = 2
"""So many calls for each processor wait to be run, so that none is idle."""
T = TypeVar("T")


@dataclass(frozen=True)
class Said:
    """A group in the language.

    Attributes:
        inputs, outputs: in the order of the group's.
        sizes: symbol of the model → the variable that stands for it.
        values: ``id`` of a tensor → name of the value that it is.
        stages: ``id`` of a tensor → the operator that it is a part of.
        doubtful: symbols that stand for several sizes, each in another place: exporters write such.
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
        name: its rule or its operators, and the hash of its graph: no text of the model.
        node: the fused operator.
        kernel: takes the node's inputs and gives its outputs.
        said: its graph, and what of it is which part of the node.
    """

    name: str
    node: Node
    kernel: Kernel
    said: Said

    @property
    def source(self) -> str:
        """Its C."""
        return self.kernel.source


def build(node: Node) -> GroupKernel:
    """The kernel of a fused operator.

    Raises:
        InputError: an operator in it, a dtype or a size cannot be built; names it.
        CompileError, MissingError: no compiler, or it failed.
    """
    return _compiled(_planned(node))


def build_all(nodes: Sequence[Node]) -> Iterator[GroupKernel | FusionError]:
    """The kernel of each, or why there is none.

    Compilers run side by side, one for each processor, and each call compiles several kernels: starting one takes as long as a small
    kernel. Where a call fails, its kernels are compiled one by one.
    """
    threads = environment.threads()
    waiting: deque[Future[list[GroupKernel | FusionError]]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for some in _batches(nodes, threads):
            waiting.append(pool.submit(_built, [_or_error(_planned, node) for node in some]))
            if len(waiting) > AHEAD * threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


def _batches(nodes: Sequence[Node], shares: int) -> Iterator[list[Node]]:
    """The nodes in their order, so many operators at a time that one call compiles them, and each processor has its share."""
    sizes = [len(node.body) if node.body else 0 for node in nodes]
    most = min(TOGETHER, sum(sizes) / shares)
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


def _planned(node: Node) -> GroupKernel:
    """The kernel of a fused operator, not compiled yet."""
    assert node.body is not None
    group = _said(node.body)
    try:
        graph = Kernel("group", "cpu", group.inputs, group.outputs).graph
        name = f"{_stem(node)}_{hashlib.sha256(graph.encode()).hexdigest()[:NAME_DIGITS]}"
        made = Kernel(name, "cpu", group.inputs, group.outputs)
        made = replace(made, options=replace(made.options, stored=_stored(node.body, group)))
        made.planned.lacking()
    except RecursionError as error:
        raise InputError("too many operators behind each other", place=node.name) from error
    return GroupKernel(name, node, made, group)


def _stem(node: Node) -> str:
    """The rule that found a group, or as many of its operators as a name takes."""
    assert node.body is not None
    rule = re.sub(rf"_[0-9a-f]{{{NAME_DIGITS}}}$", "", node.op)  # a group that was fused before
    stem = "" if rule in UNNAMED else re.sub("[^A-Za-z0-9]", "", rule)[:STEM_LENGTH]
    if not stem:
        for one in sorted(node.body.nodes, key=lambda one: one.op in LAYOUTS):
            longer = stem + re.sub("[^A-Za-z0-9]", "", one.op)
            if len(longer) > STEM_LENGTH:
                break
            stem = longer
    return stem if stem[:1].isalpha() else f"k{stem}"


def _stored(body: Graph, group: Said) -> tuple[int, ...]:
    """The numbers of values that a kernel stores on the way because it is quicker so."""
    names = better_stored(body)
    if not names:
        return ()
    found = storable(*([one.tensor for one in some] for some in (group.outputs, group.inputs)))
    return tuple(
        number for number, tensor in enumerate(found) if group.values.get(id(tensor)) in names
    )


def _compiled(group: GroupKernel) -> GroupKernel:
    _ = group.kernel.compiled
    return group


def _built(groups: Sequence[GroupKernel | FusionError]) -> list[GroupKernel | FusionError]:
    """Those that could be planned, compiled."""
    build_together([one.kernel.planned for one in groups if isinstance(one, GroupKernel)])
    return [_or_error(_compiled, one) if isinstance(one, GroupKernel) else one for one in groups]


def _or_error(make: Callable[[T], GroupKernel], given: T) -> GroupKernel | FusionError:
    try:
        return make(given)
    except FusionError as error:
        return error


def read_inputs(body: Graph) -> tuple[str, ...]:
    """The inputs whose numbers a kernel of a group reads: the shape that a Reshape is told it knows from its result."""
    read = {name for node in body.nodes for name in node.inputs[: _needed(node)]}
    return tuple(name for name in body.inputs if name in read)


def outputs_of(body: Graph, tensors: Mapping[str, Tensor]) -> tuple[Tensor, ...]:
    """The results of a group as tensors of the language, from its inputs that are read.

    Raises:
        InputError: an operator in it cannot be said; names it.
    """
    return tuple(one.tensor for one in _said(body, tensors).outputs)


def for_shapes(node: Node, shapes: Mapping[str, Sequence[int]]) -> Kernel | None:
    """One kernel of a group whose symbols are no names of sizes, for inputs of these shapes; None where each means one size.

    Args:
        node: the fused operator.
        shapes: of the inputs that are read, by name.

    Raises:
        InputError: an operator in it cannot be said without those names; names it.
    """
    assert node.body is not None
    values = node.body.values
    given = {
        name: dsl.placeholder(list(shape), values[name].dtype, f"x{number}")
        for number, (name, shape) in enumerate(shapes.items())
    }
    group = _said(node.body, given)
    if not group.doubtful:
        return None
    inputs, outputs = (
        tuple(replace(one, shape=_numbers(one.tensor)) for one in some)
        for some in (group.inputs, group.outputs)
    )
    return Kernel(identifier(node.op), "cpu", inputs, outputs)


def _numbers(tensor: Tensor) -> tuple[int, ...]:
    """The shape of a tensor whose sizes are known."""
    return tuple(int(size.value) for size in tensor.shape if isinstance(size, Const))


def _said(
    body: Graph, given: Mapping[str, Tensor] | None = None, doubtful: frozenset[str] = frozenset()
) -> Said:
    """A group as tensors of the language; of new inputs, or of those that are given. Doubtful symbols say nothing of a size."""
    symbols: dict[str, Any] = {}
    met: list[tuple[str, Any]] = []
    tensors: dict[str, Any] = {ABSENT: None}
    inputs = []
    for number, name in enumerate(body.inputs):
        value = _checked(body.values[name])
        if given is None:
            shape = [_met(size, symbols) for size in value.shape]
            tensor = dsl.placeholder(shape, value.dtype, f"x{number}")
        elif name not in given:
            continue
        else:
            tensor = given[name]
            met += _sizes_of(tensor, value)
        tensors[name] = _inner(Traced(tensor), value.dtype)
        inputs.append(Argument(tensor, _declared(value), f"x{number}"))
    for name, value in body.values.items():
        if value.kind == "constant" and name not in tensors:
            data = np.asarray(value.data, numpy_dtype(_checked(value).dtype))
            tensors[name] = _inner(data, value.dtype)
    values: dict[int, str] = {}
    stages: dict[int, Node] = {}
    doubtful |= _contradicted(met)
    known = {size: one for size, one in {**symbols, **dict(met)}.items() if size not in doubtful}
    for node in body.nodes:
        results = _results(node, body, tensors, known)
        for name, one in zip(node.outputs, results, strict=False):
            tensors[name] = one
            if isinstance(one, Traced):
                _enter(one.tensor, name, node, values, stages)
                found = _sizes_of(_as_large(one.tensor, body.values[name], node), body.values[name])
                met += found
                known = {**{size: own for size, own in found if size not in doubtful}, **known}
    contradicted = doubtful | _contradicted(met)
    if contradicted > doubtful:
        return _said(body, given, contradicted)
    outputs = []
    for number, name in enumerate(body.outputs):
        value = _checked(body.values[name])
        found = (
            tensors[name].astype(numpy_dtype(value.dtype)) if value.dtype in HALF else tensors[name]
        )
        tensor = _own(tensor_of(found), inputs)
        _enter(tensor, name, body.producers[name], values, stages)
        outputs.append(Argument(tensor, _declared(value), f"y{number}"))
    return Said(tuple(inputs), tuple(outputs), symbols, values, stages, doubtful)


def _as_large(tensor: Tensor, value: Value, node: Node) -> Tensor:
    """A result, which has the sizes that the graph says."""
    own = [size.value if isinstance(size, Const) else size for size in tensor.shape]
    if any(
        isinstance(one, int) and isinstance(size, int) and 0 <= size != one
        for size, one in zip(value.shape, own, strict=False)
    ):
        raise InputError(
            "its result has other sizes than the graph says",
            place=node.name,
            expected=str(value.shape),
            got=str(tuple(own)),
        )
    return tensor


def _sizes_of(tensor: Tensor, value: Value) -> list[tuple[str, Any]]:
    """The symbols in the shape of a value, each with what it is in its tensor."""
    own = (size.value if isinstance(size, Const) else size for size in tensor.shape)
    return [
        (size, one) for size, one in zip(value.shape, own, strict=False) if isinstance(size, str)
    ]


def _contradicted(met: Iterable[tuple[str, Any]]) -> set[str]:
    """The symbols that are several numbers."""
    sizes: dict[str, set[int]] = {}
    for symbol, size in met:
        if isinstance(size, int):
            sizes.setdefault(symbol, set()).add(size)
    return {symbol for symbol, numbers in sizes.items() if len(numbers) > 1}


def _enter(
    tensor: Tensor, name: str, node: Node, values: dict[int, str], stages: dict[int, Node]
) -> None:
    """Enters a tensor under the value that it is, and those behind it that are new under the operator."""
    for op in stages_of([tensor], known=stages):
        for one in op.outputs if op.kind != "placeholder" else ():
            stages.setdefault(id(one), node)
    if tensor.op.kind != "placeholder":
        values.setdefault(id(tensor), name)


def _results(
    node: Node, body: Graph, tensors: Mapping[str, Any], symbols: Mapping[str, Any]
) -> tuple[Any, ...]:
    outputs = tuple(_checked(value) for value in body.outputs_of(node) if value.name)
    sizes = tuple(tuple(_known(size, symbols) for size in value.shape) for value in outputs)
    needed = _needed(node)
    given = (tensors.get(name) for name in node.inputs)
    inputs = tuple(
        one if number < needed or isinstance(one, np.ndarray) else None
        for number, one in enumerate(given)
    )
    try:
        return said(Call(node, inputs, outputs, sizes))
    except Exception as error:
        # a formula that is run on symbols may raise anything
        why = error.what if isinstance(error, FusionError) else f"{type(error).__name__}: {error}"
        raise InputError(f"{node.attr(ONNX_OP)} is not built: {why}", place=node.name) from error


def _needed(node: Node) -> int:
    """How many inputs a formula looks at besides constants: a shape that a Reshape reads is known from its result."""
    return 1 if node.attr(ONNX_OP) in ("Reshape", "Expand") else len(node.inputs)


def _inner(array: Any, dtype: str) -> Any:
    """As it is computed with: half precision in float32."""
    return array.astype(np.float32) if dtype in HALF else array


def _own(tensor: Any, inputs: list[Argument]) -> Any:
    """A result that is an input, as a tensor of its own."""
    if any(tensor is one.tensor for one in inputs):
        return dsl.compute(tensor.shape, lambda *place: tensor(*place), "copied")
    return tensor


def _checked(value: Value) -> Value:
    if value.dtype not in DTYPES:
        raise InputError("this dtype is not built", place=value.name, got=value.dtype or "unknown")
    if any((isinstance(size, str) and size.startswith("…")) or size == -1 for size in value.shape):
        raise InputError("a shape that nobody knows is not built", place=value.name)
    return value


def _met(size: int | str, symbols: dict[str, Var]) -> Any:
    return size if isinstance(size, int) else symbols.setdefault(size, Var(f"n{len(symbols)}"))


def _known(size: int | str, symbols: Mapping[str, Any]) -> Any:
    """A size of a result: a number, or one that was met before; None for one that is new."""
    return size if isinstance(size, int) else symbols.get(size)


def _declared(value: Value) -> tuple[int, ...]:
    return tuple(size if isinstance(size, int) else -1 for size in value.shape)
