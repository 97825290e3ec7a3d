"""Writes a graph as Python source that `tbe_impl` and CANN both run: one CANN operation per line.

Operations of `tbe_impl.dsl.ext` are expanded to CANN operations
(`tbe_impl.dsl.operations.expansions`). Convolutions and poolings become operations on the
unblocked image layout (`tbe_impl.dsl.operations.window_expansions`). Operations that only move
elements, and stages without a DSL operation, become ``tvm.compute``. A rank-0 tensor becomes a
tensor of one element, because CANN passes scalars in this form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.cann.index_maps import lower_index_map
from tbe_impl.cann.scalar_source import element_text, number_text, size_text
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Const, Expr, Reduce
from tbe_impl.dsl.operations.expansions import EXPANSIONS
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.operations.window_expansions import WINDOW_EXPANSIONS
from tbe_impl.dsl.tensor import DslCall, Operation, Tensor, stages_of
from tbe_impl.errors import InputError

NameOf = Callable[[Operation, bool], str]
_REDUCTIONS = frozenset({"sum", "max", "min"})
"""Reductions of ``tvm.compute``."""
_ELEMENTWISE_OPERATIONS = frozenset(
    "vadd vsub vmul vdiv vmax vmin vmod vand vor vxor vaddrelu vsubrelu vexp vlog vabs vrec vsqrt "
    "vrsqrt vrelu vnot vmla vmadd vmaddrelu vadds vmuls vmaxs vmins vlrelu vaxpy vsignbit".split()
)
"""Operations whose arguments are tensors, followed by a scalar if the operation takes a scalar."""
SHAPELESS_OPERATIONS = _ELEMENTWISE_OPERATIONS.union(
    EXPANSIONS, "cast_to vcmp vsel vcmpsel vlogic floor ceil round trunc round_half_up".split()
)
"""Operations whose source text contains no shape; their operands have the shape of the result."""
_INTEGER_EXPANSIONS = {"neg": ("vmuls", (-1,)), "square": ("vmul", ())}
"""Extension operation on integers → the equivalent CANN operation, and its additional operands."""


def _expand_float32_relu(use: DslCall) -> Tensor | None:
    (x,) = use.inputs
    return OPERATIONS["vmaxs"](x, 0.0) if x.dtype == "float32" else None


def _expand_float32_leaky_relu(use: DslCall) -> Tensor | None:
    (x,) = use.inputs
    if x.dtype != "float32":
        return None
    below = OPERATIONS["vmuls"](x, use.parameters["scalar"])
    return OPERATIONS["vcmpsel"](x, 0.0, "gt", x, below)


def _expand_bool_broadcast(use: DslCall) -> Tensor | None:
    (x,) = use.inputs
    if x.dtype != "bool":
        return None
    repeated = OPERATIONS["broadcast"](OPERATIONS["cast_to"](x, "float16"), use.parameters["shape"])
    return OPERATIONS["vcmp"](repeated, 0.5, "gt", "bool")


_DTYPE_EXPANSIONS: Mapping[str, Callable[[DslCall], Tensor | None]] = {
    "vrelu": _expand_float32_relu,
    "vlrelu": _expand_float32_leaky_relu,
    "broadcast": _expand_bool_broadcast,
}
"""CANN operation → a function that expands a call of the operation.

The function expands the call if some chips do not support the dtype of the call. Otherwise the
function returns None.
"""


@dataclass(frozen=True)
class Assignment:
    """One assignment of the generated source.

    Attributes:
        name: name of the assigned Python variable.
        value: the assigned expression as Python source.
        reads: names in the expression.
        origin: the stage of the graph that the assignment implements, completely or in part.
        is_raw: whether the value is a ``tvm.compute``. Automatic schedules do not support such a
            stage.
        is_product: whether the value is a matrix product.
    """

    name: str
    value: str
    reads: tuple[str, ...]
    origin: Operation
    is_raw: bool = False
    is_product: bool = False


@dataclass(frozen=True)
class ReshapeElimination:
    """The result of `tbe_impl.cann.reshape_elimination.eliminate_reshapes`.

    Attributes:
        shapes: ``id`` of each tensor whose shape changes → the new shape, with the same number of
            elements.
        eliminated: ``id`` of the result of each eliminated reshape.
        copied: the subset of `eliminated` whose reshapes are replaced by a copy. Without the copy,
            an output of the graph would be the same tensor as an input or as another output.
    """

    shapes: Mapping[int, tuple[int, ...]]
    eliminated: frozenset[int]
    copied: frozenset[int]


NO_ELIMINATION = ReshapeElimination({}, frozenset(), frozenset())


def emit_assignments(
    outputs: Sequence[Tensor],
    inputs: Mapping[int, str],
    sizes: Mapping[int, str],
    name_of: NameOf,
    eliminated: ReshapeElimination = NO_ELIMINATION,
) -> tuple[tuple[Assignment, ...], tuple[str, ...]]:
    """Returns a pair: the assignments that build a graph, and the names of the outputs.

    Args:
        outputs: the output tensors of the graph.
        inputs: maps the ``id`` of an existing tensor to its name.
        sizes: maps the ``id`` of a variable to its name.
        name_of: function that returns a new valid name. The arguments of the function are a stage,
            and whether the name denotes the result of the whole stage.
        eliminated: the reshapes to leave out, and the new shapes of tensors.

    Raises:
        InputError: a stage cannot be expressed in CANN operations; the error names the stage.
    """
    writer = _AssignmentWriter(inputs, sizes, name_of, eliminated)
    writer.emit_graph(outputs)
    wanted = tuple(writer.names[id(tensor)] for tensor in outputs)
    needed, kept = set(wanted), []
    for one in reversed(writer.made):
        if one.name in needed:
            needed.update(one.reads)
            kept.append(one)
    return tuple(reversed(kept)), wanted


class _AssignmentWriter:
    def __init__(
        self,
        inputs: Mapping[int, str],
        sizes: Mapping[int, str],
        name_of: NameOf,
        eliminated: ReshapeElimination,
    ):
        self.names: dict[int, str] = {**sizes, **inputs}
        self.name_of, self.eliminated = name_of, eliminated
        self.made: list[Assignment] = []
        self.held: list[Any] = []

    def emit_graph(self, outputs: Sequence[Tensor], origin: Operation | None = None) -> None:
        """Emits assignments for all stages in the graph of `outputs` that have no name yet.

        `origin` is the `Assignment.origin` of all these assignments. By default, the origin is the
        stage for which an assignment is emitted.
        """
        for op in stages_of(outputs, known=self.names):
            if op.kind != "placeholder" and not all(
                id(tensor) in self.names for tensor in op.outputs
            ):
                self.emit_stage(op, origin or op, is_whole=origin is None or op is outputs[-1].op)

    def emit_stage(self, op: Operation, origin: Operation, *, is_whole: bool) -> None:
        use = op.dsl_call
        if len(op.outputs) != 1:
            raise _unsupported_error(op)
        key = id(op.outputs[0])
        if key in self.eliminated.eliminated:
            source = self.names[id(op.input_tensors[0])]
            self.names[key] = source
            if key in self.eliminated.copied:
                name = self.name_of(origin, is_whole)
                self._add(op, Assignment(name, f"dsl.vmuls({source}, 1)", (source,), origin))
            return
        if use is not None and self._emit_expansion(op, use, origin):
            return
        handler = (
            None
            if use is None
            else _HANDLERS.get("alike" if use.name in _ELEMENTWISE_OPERATIONS else use.name)
        )
        if handler is not None:
            assert use is not None
            is_product = use.name == "matmul"
            sources = map(_strip_widening, use.inputs) if is_product else use.inputs
            given = [self.names[id(tensor)] for tensor in sources]
            value = handler(self, use, op, given)
            name = self.name_of(origin, is_whole)
            self._add(op, Assignment(name, value, tuple(given), origin, is_product=is_product))
        else:
            self._emit_compute(op, origin, is_whole=is_whole)

    def _emit_expansion(self, op: Operation, use: DslCall, origin: Operation) -> bool:
        """Emits the expansion of a DSL operation; returns False if there is no expansion."""
        if use.name in WINDOW_EXPANSIONS:
            found = WINDOW_EXPANSIONS[use.name](op)
        elif use.name in _DTYPE_EXPANSIONS and use.inputs:
            found = _DTYPE_EXPANSIONS[use.name](use)
        elif use.name in OPERATIONS:
            return False
        elif use.name in _INTEGER_EXPANSIONS and not is_float(op.dtype):
            word, more = _INTEGER_EXPANSIONS[use.name]
            found = OPERATIONS[word](*use.inputs, *use.inputs[: 1 - len(more)], *more)
        elif use.name in EXPANSIONS:
            found = EXPANSIONS[use.name](*use.inputs)
        else:
            return False
        if found is None:
            return False
        self._emit_replacement(op, found, origin)
        return True

    def _emit_replacement(self, op: Operation, found: Tensor, origin: Operation) -> None:
        self.emit_graph([found], origin)
        self.held.append(found)  # keeps its id unique
        self.names[id(op.outputs[0])] = self.names[id(found)]

    def _emit_compute(self, op: Operation, origin: Operation, *, is_whole: bool) -> None:
        """Emits a stage that no DSL operation built.

        The stage becomes operations that move elements, or ``tvm.compute``.
        """
        if op.kind != "compute" or not op.body:
            raise _unsupported_error(op)
        moved = lower_index_map(op)
        if moved is not None:
            self._emit_replacement(op, moved, origin)
            return
        indices = {id(axis): f"i{number}" for number, axis in enumerate(op.axis)}
        body, loops = self._element(op.body[0], indices, origin)
        name = self.name_of(origin, is_whole)
        given = ", ".join(indices.values()) or "i0"
        reads = (*loops, *(self.names[id(tensor)] for tensor in op.input_tensors))
        value = f'tvm.compute({self.shape(op.shape)}, lambda {given}: {body}, name="{name}")'
        self._add(op, Assignment(name, value, reads, origin, is_raw=True))

    def _element(
        self, body: Expr, indices: Mapping[int, str], origin: Operation
    ) -> tuple[str, list[str]]:
        """Returns (source text of one element of a stage, names of the reduction axes).

        The function emits an assignment for each reduction axis.
        """
        if not isinstance(body, Reduce):
            return element_text(body, {**self.names, **indices}), []
        if body.op not in _REDUCTIONS or body.condition is not None:
            raise _unsupported_error(origin)
        names = [self.name_of(origin, False) for _ in body.axes]
        for name, axis in zip(names, body.axes, strict=True):
            value = f'tvm.reduce_axis((0, {self.size(axis.extent)}), "{name}")'
            self.made.append(Assignment(name, value, (), origin, is_raw=True))
        axes = {id(axis): name for axis, name in zip(body.axes, names, strict=True)}
        source = element_text(body.source, {**self.names, **indices, **axes})
        return f"tvm.{body.op}({source}, axis=[{', '.join(names)}])", names

    def _add(self, op: Operation, made: Assignment) -> None:
        self.names[id(op.outputs[0])] = made.name
        self.made.append(made)

    def shape(self, sizes: Sequence[Expr]) -> str:
        return f"[{', '.join(self.size(size) for size in sizes) or '1'}]"

    def size(self, size: Any) -> str:
        return size_text(size, self.names) if isinstance(size, Expr) else number_text(size)

    def operands(self, use: DslCall) -> list[str]:
        """Returns the operands of a comparison or selection as source text."""
        inputs = use.inputs[1:] if use.name == "vsel" else use.inputs
        pairs = zip(use.parameters["places"], use.parameters["kinds"], strict=True)
        return [
            self.names[id(inputs[place])] if kind == "tensor" else self.scalar(place)
            for place, kind in pairs
        ]

    def scalar(self, value: Any) -> str:
        text = self.size(value)
        return f'tvm.const({text}, "{value.dtype}")' if isinstance(value, Const) else text


def _write_elementwise(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    more = [writer.size(use.parameters["scalar"])] if "scalar" in use.parameters else []
    return f"dsl.{use.name}({', '.join([*given, *more])})"


def _write_rounding(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    more = "" if op.dtype == "int32" else f', "{op.dtype}"'
    return f"dsl.{use.name}({given[0]}{more})"


def _write_comparison(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    one, other = writer.operands(use)
    operation, mode = use.parameters["operation"], use.parameters["mode"]
    return f'dsl.vcmp({one}, {other}, "{operation}", "{mode}")'


def _write_compare_select(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    one, other, a, b = writer.operands(use)
    return f'dsl.vcmpsel({one}, {other}, "{use.parameters["operation"]}", {a}, {b})'


def _write_broadcast(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    changed = writer.eliminated.shapes.get(id(op.outputs[0]))
    shape = writer.shape(use.parameters["shape"]) if changed is None else str(list(changed) or [1])
    if given:
        return f"dsl.broadcast({given[0]}, {shape})"
    scalar = writer.size(use.parameters["scalar"])
    return f'dsl.broadcast(tvm.const({scalar}, "{op.dtype}"), {shape})'


def _write_slice(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    axis, start, size = (use.parameters[key] for key in ("axis", "start", "size"))
    whole = use.inputs[0].shape[axis]
    rest = whole - start - size
    sizes = [
        part for part in (start, size, rest) if not (isinstance(part, Const) and part.value == 0)
    ]
    if len(sizes) == 1:
        return given[0]
    place = next(number for number, part in enumerate(sizes) if part is size)
    return f"dsl.split({given[0]}, {axis}, {writer.shape(sizes)})[1][{place}]"


def _write_reduction(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    name = {"sum": "reduce_sum"}.get(use.name, use.name)
    # without this mode some chips reduce float32 maxima in float16
    exact = (
        ', impl_mode="high_precision"'
        if name in ("reduce_max", "reduce_min") and is_float(op.dtype)
        else ""
    )
    axes, keepdims = list(use.parameters["axes"]), use.parameters["keepdims"]
    return f"dsl.{name}({given[0]}, axis={axes}, keepdims={keepdims}{exact})"


def _write_gather(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    if use.parameters["negative"]:
        raise _unsupported_error(op)
    axis, batch = use.parameters["axis"], use.parameters["batch_dims"]
    return f"dsl.gather({', '.join(given)}, axis={axis}, batch_dims={batch})"


def _write_segment_sum(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    if len(given) < 2:
        raise _unsupported_error(op)
    count, start = (writer.size(use.parameters[key]) for key in ("num_segments", "init_value"))
    return f"dsl.{use.name}({', '.join(given)}, {count}, {start})"


def _write_matmul(
    writer: _AssignmentWriter, use: DslCall, op: Operation, given: Sequence[str]
) -> str:
    parameters = use.parameters
    if set(parameters["layouts"]) != {"ND"} or parameters["blocked"] or len(use.inputs) > 2:
        raise _unsupported_error(op)
    shown = [
        name if _strip_widening(tensor).dtype == "float16" else f"for_cube({name})"
        for name, tensor in zip(given, use.inputs, strict=True)
    ]
    flags = [
        f"{name}=True"
        for name, turned in zip(("trans_a", "trans_b"), parameters["turned"], strict=True)
        if turned
    ]
    more = [] if parameters["alpha"] == 1.0 else [f"alpha_num={parameters['alpha']}"]
    return f'dsl.matmul({", ".join([*shown, *flags, *more])}, dst_dtype="{op.dtype}")'


def _strip_widening(tensor: Tensor) -> Tensor:
    """Returns the operand if `tensor` is a cast from float16 to float32, else `tensor` itself.

    The cube unit accumulates in float32, so casts before a product are redundant.
    """
    use = tensor.op.dsl_call
    if (
        use is not None
        and use.name == "cast_to"
        and tensor.dtype == "float32"
        and use.inputs[0].dtype == "float16"
    ):
        return use.inputs[0]
    return tensor


Handler = Callable[[_AssignmentWriter, DslCall, Operation, Sequence[str]], str]
_HANDLERS: Mapping[str, Handler] = {
    "alike": _write_elementwise,
    "cast_to": lambda writer, use, op, given: f'dsl.cast_to({given[0]}, "{op.dtype}")',
    "vcmp": _write_comparison,
    "vsel": lambda writer, use, op, given: (
        f"dsl.vsel({', '.join([given[0], *writer.operands(use)])})"
    ),
    "vcmpsel": _write_compare_select,
    "vlogic": lambda writer, use, op, given: (
        f'dsl.vlogic({", ".join(given)}, operation="{use.parameters["operation"]}")'
    ),
    "broadcast": _write_broadcast,
    "transpose": lambda writer, use, op, given: (
        f"dsl.transpose({given[0]}, {list(use.parameters['axes'])})"
    ),
    "concat": lambda writer, use, op, given: (
        f"dsl.concat([{', '.join(given)}], {use.parameters['axis']})"
    ),
    "split": _write_slice,
    "matmul": _write_matmul,
    "gather": _write_gather,
    "unsorted_segment_sum": _write_segment_sum,
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "round_half_up"), _write_rounding),
    **dict.fromkeys(
        (
            "sum",
            "reduce_sum",
            "reduce_max",
            "reduce_min",
            "reduce_prod",
            "reduce_all",
            "reduce_any",
        ),
        _write_reduction,
    ),
}
"""DSL operation → a function from the names of the inputs to the source text of a call."""


def _unsupported_error(op: Operation) -> InputError:
    what = op.dsl_call.name if op.dsl_call is not None else op.kind
    return InputError(f"{what} cannot be expressed in CANN operations", place=op.name)
