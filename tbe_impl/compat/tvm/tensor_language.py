"""Lists the names of ``tvm``, in the dialects of 2019 (``tvm.expr``) and 2025 (``tvm.tir``)."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

from tbe_impl.compat.operator_errors import fault
from tbe_impl.compat.session import session
from tbe_impl.compat.tvm import sparse_rows
from tbe_impl.dsl import expr as language
from tbe_impl.dsl import tensor as graph
from tbe_impl.dsl.expr import (
    Binary,
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    Var,
    as_expr,
    call,
    make_binary,
)
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import with_name
from tbe_impl.dsl.tensor import Operation, Tensor
from tbe_impl.errors import InputError

_BINARY_OPERATORS = {
    "Add": "add",
    "Sub": "sub",
    "Mul": "mul",
    "Div": "div",
    "Mod": "floormod",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Min": "min",
    "Max": "max",
    "EQ": "eq",
    "NE": "ne",
    "LT": "lt",
    "LE": "le",
    "GT": "gt",
    "GE": "ge",
    "And": "and",
    "Or": "or",
}


class _BinaryClassMeta(type):
    """Metaclass of TVM's binary classes, such as ``Add``.

    ``isinstance`` tests the operator of an expression. A call of the class applies the operator.
    """

    op: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Binary) and instance.op == cls.op

    def __call__(cls, a: Any, b: Any, *_: Any) -> Any:
        return make_binary(cls.op, a, b)


class _OperationClassMeta(type):
    kind: str

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, Operation) and instance.kind == cls.kind


class _EmptyClassMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return False


def _make_class(meta: type, name: str, **members: Any) -> type:
    return meta(name, (), members)


BINARY_CLASSES = {
    name: _make_class(_BinaryClassMeta, name, op=op) for name, op in _BINARY_OPERATORS.items()
}
OPERATION_CLASSES = {
    "PlaceholderOp": _make_class(_OperationClassMeta, "PlaceholderOp", kind="placeholder"),
    "ComputeOp": _make_class(_OperationClassMeta, "ComputeOp", kind="compute"),
    "ExternOp": _make_class(_OperationClassMeta, "ExternOp", kind="library"),
    "Operation": Operation,
}
EMPTY_CLASSES = {
    name: _make_class(_EmptyClassMeta, name)
    for name in (
        "Buffer Stmt Let Ramp Broadcast Shuffle Load Store For IfThenElse Array Map Node Object "
        "Stage TensorIntrin"
    ).split()
}
EXPRESSION_CLASSES: dict[str, Any] = {
    "Expr": Expr,
    "PrimExpr": Expr,
    "ExprOp": Expr,
    "ConstExpr": Const,
    "IntImm": language.IntImm,
    "UIntImm": language.IntImm,
    "FloatImm": language.FloatImm,
    "StringImm": language.Text,
    "Var": Var,
    "SizeVar": Var,
    "IterVar": IterVar,
    "Cast": language.Cast,
    "Select": language.Select,
    "Call": language.Call,
    "Reduce": Reduce,
    "BinaryOpExpr": Binary,
    "ProducerLoad": language.Read,
    "TensorSlice": graph.TensorSlice,
    "Range": Range,
    "Not": _make_class(_EmptyClassMeta, "Not"),
    **BINARY_CLASSES,
}


def placeholder(
    shape: Any, dtype: str | None = None, name: str = "placeholder", attrs: Any = None, **_: Any
) -> Tensor:
    """Returns an input tensor; its dtype is float32 by default."""
    chosen = {"bool": "bool", "uint1": "bool"}.get(str(dtype), dtype or "float32")
    return graph.placeholder(shape, chosen, name, attrs)


def var(name: str = "tindex", dtype: str = "int32", *_: Any, **__: Any) -> Var:
    """Returns a symbolic variable."""
    return Var(name, dtype)


def const(value: Any, dtype: str | None = None) -> Any:
    """Returns a constant.

    The default dtype is int32 for a Python integer and float32 for a Python float.
    """
    if isinstance(value, Expr) and not isinstance(value, Const):
        return value if dtype is None else value.astype(dtype)
    return language.const(value, dtype)


def convert(value: Any) -> Any:
    """Converts a Python value to an expression."""
    return tuple(map(convert, value)) if isinstance(value, (list, tuple)) else as_expr(value)


def compute(
    shape: Any,
    fcompute: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Any = None,
    **_: Any,
) -> Any:
    """Creates a stage from a function of the indices; `tag_scope` sets the default of `tag`."""
    tags = session().build_config.get("_tags") or [("", None)]
    scope_tag, scope_attrs = tags[-1]

    try:
        return graph.compute(shape, fcompute, name, tag or scope_tag, attrs or scope_attrs)
    except sparse_rows.SparseBody:
        return sparse_rows.scatter_rows(shape, fcompute)


@contextlib.contextmanager
def tag_scope(tag: str, attrs: Any = None) -> Iterator[None]:
    """Context manager that sets the tag of all stages that are created in its ``with`` block."""
    tags = session().build_config.setdefault("_tags", [])
    tags.append((tag, attrs))
    try:
        yield
    finally:
        tags.pop()


def _axes_or_none(axis: Any) -> tuple[IterVar, ...] | None:
    listed = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    return listed if listed and all(isinstance(item, IterVar) for item in listed) else None


_COMBINERS = {"sum": "add", "prod": "mul", "max": "max", "min": "min"}


def _make_reducer(op: str) -> Callable[..., Any]:
    def reduce(source: Any, axis: Any = None, where: Any = None, *more: Any, **_: Any) -> Any:
        axes = _axes_or_none(axis)
        if axes is None and isinstance(axis, (Expr, graph.TensorSlice, int, float)):
            # further values instead of axes: combine them element by element
            others = [item for item in (axis, where, *more) if item is not None]
            return functools.reduce(
                lambda a, b: make_binary(_COMBINERS[op], a, b), others, as_expr(source)
            )
        if axes is None:
            raise fault(
                "E90001",
                f"tvm.{op} reduces over axes made by tvm.reduce_axis, not over {axis!r}",
                detailed_cause="axis",
            )
        condition = None if where is None else as_expr(where)
        return Reduce(op, as_expr(source), axes, condition)

    return with_name(
        reduce,
        op,
        (
            f"Computes the {op} of one expression over axes from ``reduce_axis``, or the {op} of "
            "several expressions."
        ),
    )


def comm_reducer(
    fcombine: Callable[..., Any], fidentity: Callable[..., Any], name: str = "reduce"
) -> Callable[..., Any]:
    """Creates a reduction from a function that combines two values.

    The function must be the sum, product, maximum or minimum. For any other function, a call of the
    reduction raises `OperatorError`.
    """

    def reduce(source: Any, axis: Any = None, where: Any = None, **_: Any) -> Any:
        several = isinstance(source, (tuple, list))
        parts = tuple(source) if several else (source,)
        left = [Var(f"l{index}", as_expr(part).dtype) for index, part in enumerate(parts)]
        right = [Var(f"r{index}", as_expr(part).dtype) for index, part in enumerate(parts)]
        made = fcombine(left, right) if several else fcombine(left[0], right[0])
        combined = tuple(made) if several else (made,)
        operators = {"add": "sum", "mul": "prod", "max": "max", "min": "min"}
        found = []
        for index, (part, both) in enumerate(zip(parts, combined, strict=True)):
            op = operators.get(both.op) if isinstance(both, Binary) else None
            if op is None or {both.a, both.b} != {left[index], right[index]}:
                raise fault(
                    "E90001",
                    f"comm_reducer {name} combines values as {both}; "
                    f"only +, *, max and min are known here",
                    detailed_cause=str(both),
                )
            found.append(_REDUCERS[op](part, axis, where))
        return tuple(found) if several else found[0]

    return reduce


_REDUCERS = {op: _make_reducer(op) for op in ("sum", "max", "min", "prod")}


def all_(*conditions: Any) -> Any:
    """Returns the conjunction of the conditions."""
    return _fold_conditions("and", conditions)


def any_(*conditions: Any) -> Any:
    """Returns the disjunction of the conditions."""
    return _fold_conditions("or", conditions)


def _fold_conditions(op: str, conditions: Sequence[Any]) -> Any:
    found = conditions[0]
    for condition in conditions[1:]:
        found = make_binary(op, found, condition)
    return found


def select(condition: Any, true_value: Any, false_value: Any = None) -> Any:
    """Selects one of two values by a condition; `false_value` defaults to 0."""
    if false_value is None:
        true_value = as_expr(true_value)
        false_value = language.const(0, true_value.dtype)
    return language.select(condition, true_value, false_value)


def _make_function(name: str) -> Callable[..., Any]:
    def apply(x: Any, *others: Any) -> Any:
        value = as_expr(x)
        floating = name not in (
            "abs",
            "sign",
            "not",
            "floor",
            "ceil",
            "trunc",
            "rint",
            "round_away",
        )
        if floating and value.dtype.startswith(("int", "uint")):
            value = value.astype("float32")
        return call(name, value, *others)

    return with_name(apply, name, f"Computes {name} of a scalar expression.")


def _make_operator(name: str) -> Callable[..., Any]:
    def apply(a: Any, b: Any, *_: Any) -> Any:
        return make_binary(name, a, b)

    return with_name(apply, name, f"Computes {name} of two scalar expressions.")


def call_pure_intrin(dtype: str, name: str, *args: Any) -> Any:
    """Calls a scalar function by name."""
    known = {"fabs": "abs", "round": "rint", "pow": "pow"}
    if name in ("pow", "power"):
        return make_binary("pow", *args)
    return call(known.get(name, name), *args, dtype=dtype)


def _make_refusal(name: str) -> Callable[..., NoReturn]:
    def refuse(*_: Any, **__: Any) -> NoReturn:
        raise InputError(
            f"tvm.{name} writes code of the device itself",
            place=str(user_location()),
            remedy="Only operators made of DSL operations and tvm.compute run here; "
            "build this one with the real toolkit",
        )

    return with_name(refuse, name, "Raises `InputError`: device code is not supported.")


@contextlib.contextmanager
def _target_block(*_: Any, **__: Any) -> Iterator[None]:
    yield


class Target:
    """``tvm.target.cce()`` and related targets; using a target in ``with`` has no effect here."""

    cce = staticmethod(_target_block)
    create = staticmethod(_target_block)
    Target = staticmethod(_target_block)

    def __call__(self, *_: Any, **__: Any) -> Any:
        return _target_block()

    @staticmethod
    def current_target(*_: Any, **__: Any) -> str:
        """Returns the name of the target."""
        return "cce"


def create_schedule(ops: Any) -> Any:
    """Creates a schedule without any scheduling decision."""
    from tbe_impl.scheduling.schedule import create_schedule as create

    made = create(ops)
    session().schedules.append(made)
    return made


FUNCTIONS: dict[str, Any] = {
    "placeholder": placeholder,
    "var": var,
    "size_var": var,
    "const": const,
    "convert": convert,
    "compute": compute,
    "tag_scope": tag_scope,
    "reduce_axis": graph.reduce_axis,
    "thread_axis": graph.thread_axis,
    "comm_reducer": comm_reducer,
    "sparse_axis": sparse_rows.sparse_axis,
    "sparse": sparse_rows.sparse,
    **_REDUCERS,
    "all": all_,
    "any": any_,
    "select": select,
    "if_then_else": select,
    "create_schedule": create_schedule,
    "Select": select,
    "cast": lambda value, dtype=None: language.cast(
        *((value, dtype) if isinstance(value, str) else (dtype, value))
    ),
    **{
        name: _make_function(function)
        for name, function in {
            "exp": "exp",
            "exp2": "exp2",
            "log": "log",
            "ln": "log",
            "log2": "log2",
            "log10": "log10",
            "log1p": "log1p",
            "sqrt": "sqrt",
            "rsqrt": "rsqrt",
            "tanh": "tanh",
            "sigmoid": "sigmoid",
            "erf": "erf",
            "sin": "sin",
            "cos": "cos",
            "tan": "tan",
            "atan": "atan",
            "asin": "asin",
            "acos": "acos",
            "sinh": "sinh",
            "cosh": "cosh",
            "floor": "floor",
            "ceil": "ceil",
            "trunc": "trunc",
            "round": "rint",
            "nearbyint": "rint",
            "abs": "abs",
            "fabs": "abs",
            "relu": "relu",
            "isnan": "isnan",
            "isinf": "isinf",
            "isfinite": "isfinite",
            "fmod": "fmod",
            "atan2": "atan2",
            "sign": "sign",
        }.items()
    },
    **{
        name: _make_operator(op)
        for name, op in {
            "power": "pow",
            "pow": "pow",
            "div": "div",
            "truncdiv": "truncdiv",
            "truncmod": "truncmod",
            "floordiv": "floordiv",
            "floormod": "floormod",
            "indexdiv": "floordiv",
            "indexmod": "floormod",
            "add": "add",
            "subtract": "sub",
            "multiply": "mul",
            "bitwise_and": "bitand",
            "bitwise_or": "bitor",
            "bitwise_xor": "bitxor",
            "left_shift": "shl",
            "right_shift": "shr",
        }.items()
    },
    "call_pure_intrin": call_pure_intrin,
    "call_intrin": call_pure_intrin,
    **{
        name: _make_refusal(name)
        for name in (
            "decl_buffer call_pure_extern call_cce_pure_intrin decl_tensor_intrin scan call_packed"
        ).split()
    },
}
"""Maps a name in ``tvm`` and ``tvm.api`` to its function."""

IR_BUILDER = {
    "create": _make_refusal("ir_builder.create"),
    "IRBuilder": _make_class(_EmptyClassMeta, "IRBuilder"),
}
