"""A graph as the Python that builds it: one word of CANN a line, so that both `tbe_impl` and CANN run it.

Words of `tbe_impl.dsl.ext` are written out in words of CANN (`tbe_impl.dsl.expansions`), and convolutions and poolings in those
that take images as they lie (`tbe_impl.dsl.window_expansions`); words that only move elements, and stages without a word, become ``tvm.compute``. Tensors without axes have one of a single element, as CANN hands scalars over.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.cann.scalar_source import element_text, number_text, size_text
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expansions import EXPANSIONS
from tbe_impl.dsl.expr import Const, Expr, Reduce
from tbe_impl.dsl.operation_table import WORDS
from tbe_impl.dsl.tensor import Operation, Tensor, WordUse, stages_of
from tbe_impl.dsl.window_expansions import WINDOWED
from tbe_impl.errors import InputError

NameOf = Callable[[Operation, bool], str]
_ALIKE = frozenset(
    "vadd vsub vmul vdiv vmax vmin vmod vand vor vxor vaddrelu vsubrelu vexp vlog vabs vrec vsqrt vrsqrt vrelu vnot vmla vmadd "
    "vmaddrelu vadds vmuls vmaxs vmins vlrelu vaxpy vsignbit".split()
)
"""Words that take their tensors, then their scalar."""
_WHOLE = {"neg": ("vmuls", (-1,)), "square": ("vmul", ())}
"""Words of ext that integers keep exact: word of CANN, and what it takes besides."""


@dataclass(frozen=True)
class Statement:
    """One assignment.

    Attributes:
        name: what it assigns.
        value: the expression.
        reads: names that stand in it.
        origin: the stage of the graph that it is, or is a part of.
        is_raw: whether it is no word, so that no automatic schedule covers it.
        is_product: whether it is a matrix product.
    """

    name: str
    value: str
    reads: tuple[str, ...]
    origin: Operation
    is_raw: bool = False
    is_product: bool = False


def statements(
    outputs: Sequence[Tensor],
    inputs: Mapping[int, str],
    sizes: Mapping[int, str],
    name_of: NameOf,
) -> tuple[tuple[Statement, ...], tuple[str, ...]]:
    """What builds a graph, in order, without what nobody reads, and the names of its outputs.

    Args:
        outputs: the results.
        inputs: ``id`` of a tensor that is there → its name.
        sizes: ``id`` of a variable → its name.
        name_of: from a stage, and whether this is all of it, to a valid name; a new one each time.

    Raises:
        InputError: a stage cannot be said in words of CANN; names it.
    """
    writer = _Writer(inputs, sizes, name_of)
    writer.all_of(outputs)
    wanted = tuple(writer.names[id(tensor)] for tensor in outputs)
    needed, kept = set(wanted), []
    for one in reversed(writer.made):
        if one.name in needed:
            needed.update(one.reads)
            kept.append(one)
    return tuple(reversed(kept)), wanted


class _Writer:
    def __init__(self, inputs: Mapping[int, str], sizes: Mapping[int, str], name_of: NameOf):
        self.names: dict[int, str] = {**sizes, **inputs}
        self.name_of = name_of
        self.made: list[Statement] = []
        self.held: list[Any] = []

    def all_of(self, outputs: Sequence[Tensor], origin: Operation | None = None) -> None:
        """Every stage that is not there yet; `origin` is what all of them are a part of."""
        for op in stages_of(outputs, known=self.names):
            if op.kind != "placeholder" and not all(
                id(tensor) in self.names for tensor in op.outputs
            ):
                self.stage(op, origin or op, is_whole=origin is None or op is outputs[-1].op)

    def stage(self, op: Operation, origin: Operation, *, is_whole: bool) -> None:
        use = op.word
        if len(op.outputs) != 1:
            raise _refused(op)
        if use is not None and self._said_otherwise(op, use, origin):
            return
        handler = (
            None if use is None else _HANDLERS.get("alike" if use.name in _ALIKE else use.name)
        )
        if handler is not None:
            assert use is not None
            value, reads = handler(self, use, op)
            name = self.name_of(origin, is_whole)
            self._add(
                op, Statement(name, value, tuple(reads), origin, is_product=use.name == "matmul")
            )
        else:
            self._raw(op, origin, self.name_of(origin, is_whole))

    def _said_otherwise(self, op: Operation, use: WordUse, origin: Operation) -> bool:
        """A word of ext, or one of images, in words of CANN that take tensors as they lie, if there are such."""
        if use.name in WINDOWED:
            found = WINDOWED[use.name](op)
        elif use.name in WORDS:
            return False
        elif use.name in _WHOLE and not is_float(op.dtype):
            word, more = _WHOLE[use.name]
            found = WORDS[word](*use.inputs, *use.inputs[: 1 - len(more)], *more)
        elif use.name in EXPANSIONS:
            found = EXPANSIONS[use.name](*use.inputs)
        else:
            return False
        if found is None:
            return False
        self.all_of([found], origin)
        self.held.append(found)  # nothing else may be given its id
        self.names[id(op.outputs[0])] = self.names[id(found)]
        return True

    def _raw(self, op: Operation, origin: Operation, name: str) -> None:
        if op.kind != "compute" or not op.body or isinstance(op.body[0], Reduce):
            raise _refused(op)
        indices = {id(axis): f"i{number}" for number, axis in enumerate(op.axis)}
        body = element_text(op.body[0], {**self.names, **indices})
        given = ", ".join(indices.values()) or "i0"
        reads = tuple(self.names[id(tensor)] for tensor in op.input_tensors)
        value = f'tvm.compute({self.shape(op.shape)}, lambda {given}: {body}, name="{name}")'
        self._add(op, Statement(name, value, reads, origin, is_raw=True))

    def _add(self, op: Operation, made: Statement) -> None:
        self.names[id(op.outputs[0])] = made.name
        self.made.append(made)

    def shape(self, sizes: Sequence[Expr]) -> str:
        return f"[{', '.join(self.size(size) for size in sizes) or '1'}]"

    def size(self, size: Any) -> str:
        return size_text(size, self.names) if isinstance(size, Expr) else number_text(size)

    def operands(self, use: WordUse) -> list[str]:
        """Operands of a comparison or a choice: names of tensors and scalars, in order."""
        inputs = use.inputs[1:] if use.name == "vsel" else use.inputs
        pairs = zip(use.parameters["places"], use.parameters["kinds"], strict=True)
        return [
            self.names[id(inputs[place])] if kind == "tensor" else self.scalar(place)
            for place, kind in pairs
        ]

    def scalar(self, value: Any) -> str:
        text = self.size(value)
        return f'tvm.const({text}, "{value.dtype}")' if isinstance(value, Const) else text


_Said = tuple[str, list[str]]


def _given(writer: _Writer, use: WordUse) -> list[str]:
    return [writer.names[id(tensor)] for tensor in use.inputs]


def _alike(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    given = _given(writer, use)
    more = [writer.size(use.parameters["scalar"])] if "scalar" in use.parameters else []
    return f"dsl.{use.name}({', '.join([*given, *more])})", given


def _cast(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    (given,) = _given(writer, use)
    return f'dsl.cast_to({given}, "{op.dtype}")', [given]


def _rounded(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    (given,) = _given(writer, use)
    more = "" if op.dtype == "int32" else f', "{op.dtype}"'
    return f"dsl.{use.name}({given}{more})", [given]


def _compared(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    one, other = writer.operands(use)
    mode = use.parameters["mode"]
    return f'dsl.vcmp({one}, {other}, "{use.parameters["operation"]}", "{mode}")', _given(
        writer, use
    )


def _chosen(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    given = _given(writer, use)
    return f"dsl.vsel({', '.join([given[0], *writer.operands(use)])})", given


def _compared_chosen(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    one, other, a, b = writer.operands(use)
    return f'dsl.vcmpsel({one}, {other}, "{use.parameters["operation"]}", {a}, {b})', _given(
        writer, use
    )


def _logic(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    given = _given(writer, use)
    return f'dsl.vlogic({", ".join(given)}, operation="{use.parameters["operation"]}")', given


def _repeated(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    given, shape = _given(writer, use), writer.shape(use.parameters["shape"])
    if given:
        return f"dsl.broadcast({given[0]}, {shape})", given
    return (
        f'dsl.broadcast(tvm.const({writer.size(use.parameters["scalar"])}, "{op.dtype}"), {shape})',
        [],
    )


def _transposed(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    (given,) = _given(writer, use)
    return f"dsl.transpose({given}, {list(use.parameters['axes'])})", [given]


def _joined(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    given = _given(writer, use)
    return f"dsl.concat([{', '.join(given)}], {use.parameters['axis']})", given


def _part(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    (given,) = _given(writer, use)
    axis, start, size = (use.parameters[key] for key in ("axis", "start", "size"))
    whole = use.inputs[0].shape[axis]
    rest = whole - start - size
    sizes = [
        part for part in (start, size, rest) if not (isinstance(part, Const) and part.value == 0)
    ]
    if len(sizes) == 1:
        return given, [given]
    place = next(number for number, part in enumerate(sizes) if part is size)
    return f"dsl.split({given}, {axis}, {writer.shape(sizes)})[1][{place}]", [given]


def _reduced(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    (given,) = _given(writer, use)
    name = {"sum": "reduce_sum"}.get(use.name, use.name)
    # the largest of float32 is looked for in float16 on some chips, unless one asks
    exact = (
        ', impl_mode="high_precision"'
        if name in ("reduce_max", "reduce_min") and is_float(op.dtype)
        else ""
    )
    return (
        f"dsl.{name}({given}, axis={list(use.parameters['axes'])}, keepdims={use.parameters['keepdims']}{exact})",
        [given],
    )


def _product(writer: _Writer, use: WordUse, op: Operation) -> _Said:
    parameters = use.parameters
    if set(parameters["layouts"]) != {"ND"} or parameters["blocked"] or len(use.inputs) > 2:
        raise _refused(op)
    # what was widened before the product need not be: the cube sums up in float32
    sources = [_before_widening(tensor) for tensor in use.inputs]
    given = [writer.names[id(tensor)] for tensor in sources]
    shown = [
        name if tensor.dtype == "float16" else f"for_cube({name})"
        for name, tensor in zip(given, sources, strict=True)
    ]
    flags = [
        f"{name}=True"
        for name, turned in zip(("trans_a", "trans_b"), parameters["turned"], strict=True)
        if turned
    ]
    more = [] if parameters["alpha"] == 1.0 else [f"alpha_num={parameters['alpha']}"]
    return f"dsl.matmul({', '.join([*shown, *flags, *more, f'dst_dtype={op.dtype!r}'])})".replace(
        "'", '"'
    ), given


def _before_widening(tensor: Tensor) -> Tensor:
    use = tensor.op.word
    if (
        use is not None
        and use.name == "cast_to"
        and tensor.dtype == "float32"
        and use.inputs[0].dtype == "float16"
    ):
        return use.inputs[0]
    return tensor


_HANDLERS: Mapping[str, Callable[[_Writer, WordUse, Operation], _Said]] = {
    "alike": _alike,
    "cast_to": _cast,
    "vcmp": _compared,
    "vsel": _chosen,
    "vcmpsel": _compared_chosen,
    "vlogic": _logic,
    "broadcast": _repeated,
    "transpose": _transposed,
    "concat": _joined,
    "split": _part,
    "matmul": _product,
    **dict.fromkeys(("floor", "ceil", "round", "trunc", "round_half_up"), _rounded),
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
        _reduced,
    ),
}
"""Word → how it is written."""


def _refused(op: Operation) -> InputError:
    what = op.word.name if op.word is not None else op.kind
    return InputError(f"{what} cannot be said in words of CANN", place=op.name)
