"""The context in which an operator runs: variables of dynamic shapes, what it tells its tiling function, its mode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from tbe_impl.compat import transdata
from tbe_impl.compat.faults import fault
from tbe_impl.compat.session import session
from tbe_impl.dsl.expr import Const, Expr, Var

INPUTS = {"slice": 3, "transdata": 3, "transpose": 1, "concat": 1, "split": 2}
"""Pattern → from how many inputs `variable_shape` makes its shapes."""


class Variable:
    """What ``get_te_var`` gives back."""

    def __init__(self, variable: Var):
        self.variable = variable

    def get_tvm_var(self) -> Var:
        """The variable as expressions have it."""
        return self.variable

    def get_name(self) -> str:
        """Its name."""
        return self.variable.name

    def get_bound(self) -> tuple[int, int | None]:
        """Least and greatest value."""
        return self.variable.bound or (0, None)


class OperatorInfo:
    """``OpInfo``: what a caller of operators notes about one: name, inputs, outputs, attributes and what else it sets.

    Args:
        op_name, op_type: of the operator.
    """

    def __init__(self, op_name: str, op_type: str, **more: Any):
        self.op_name, self.op_type = op_name, op_type
        self.__dict__.update(more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return None


class Context:
    """Notes that operators take and read: ``add``, ``get``, and pairs such as ``set_op_type`` and ``get_op_type``."""

    def __init__(self, mode: str | None = None):
        self.mode = mode
        self.notes: dict[str, Any] = {}

    def add(self, key: str, value: Any) -> None:
        """Notes a value."""
        self.notes[key] = value

    def set(self, key: str, value: Any) -> None:
        """Notes a value."""
        self.notes[key] = value

    def get(self, key: str, default: Any = None) -> Any:
        """A noted value."""
        return self.notes.get(key, default)

    def get_op_mode(self) -> str:
        """``dynamic`` when the operator was given unknown sizes, else ``static``."""
        return self.mode or ("dynamic" if session().dynamic else "static")

    def set_op_mode(self, mode: str) -> None:
        """Says in which mode the operator runs."""
        self.mode = mode

    def get_op_type(self) -> str:
        """The operator's registered type."""
        return session().operator_type

    def add_compile_info(self, key: str, value: Any) -> None:
        """Tells the tiling function something."""
        session().compile_info[key] = value

    def get_compile_info(self) -> dict[str, Any]:
        """What was told so far."""
        return session().compile_info

    def get_addition(self, key: str) -> Any:
        """A noted value."""
        return self.notes.get(key)

    def add_addition(self, key: str, value: Any) -> None:
        """Notes a value."""
        self.notes[key] = value

    def get_current_compute(self) -> Context:
        """The notes of the compute at hand; here one for all."""
        return self

    def get_current_schedule(self) -> Context:
        """The notes of the schedule at hand; here one for all."""
        return self

    def get_var(self, name: str) -> Any:
        """A variable by name, None when there is none."""
        found = session().variables.get(name)
        return None if found is None else Variable(found)

    def get_vars(self) -> list[Any]:
        """The variables so far."""
        return list(session().variables.values())

    def __enter__(self) -> Context:
        _contexts().append(self)
        return self

    def __exit__(self, *_: Any) -> None:
        _contexts().pop()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        verb, _, key = name.partition("_")
        if verb == "get" and key:
            return lambda *_, **__: self.notes.get(key)
        if verb in ("set", "add") and key:
            return lambda *values, **_: self.notes.__setitem__(key, values[-1] if values else None)
        raise AttributeError(name)


def _contexts() -> list[Context]:
    found = session().build_config.setdefault("_contexts", [])
    if not found:
        found.append(Context())
    return found


def get_context() -> Context:
    """The context of the operator that runs."""
    return _contexts()[-1]


def in_dynamic() -> bool:
    """Whether the operator was given unknown sizes."""
    return get_context().get_op_mode() == "dynamic"


def in_static() -> bool:
    """The opposite of `in_dynamic`."""
    return not in_dynamic()


def get_op_mode() -> str:
    """``dynamic`` or ``static``."""
    return get_context().get_op_mode()


def is_unify() -> bool:
    """Whether dynamic and static shapes go one way; here always."""
    return True


def add_compile_info(key: str, value: Any) -> None:
    """Tells the tiling function something."""
    session().compile_info[key] = value


def get_compile_info() -> dict[str, Any]:
    """What was told so far."""
    return session().compile_info


def var(name: str, bound: Any = None, dtype: str = "int32", addition: Any = None) -> Var:
    """A number that is known at run time only; the same name gives the same variable."""
    found = session().variables
    if name not in found:
        limits = None if bound is None else (int(bound[0] or 0), bound[1])
        found[name] = Var(name, _variable_dtype(dtype), limits)
    return found[name]


def var_attr(name: str, bound: Any = None, dtype: str = "int32", addition: Any = None) -> Any:
    """An attribute that is known at run time only; ``int32[4]`` gives a list of four."""
    base, bracket, rest = dtype.partition("[")
    if not bracket:
        return var(name, bound, dtype)
    return [var(f"{name}_{index}", None, base) for index in range(int(rest.rstrip("]")))]


def _variable_dtype(dtype: str) -> str:
    return {"float": "float32", "int": "int32"}.get(dtype, dtype)


@contextlib.contextmanager
def compute(*_: Any, **__: Any) -> Iterator[Context]:
    """The block in which one variant of an operator is written."""
    record = session()
    before, record.in_variant = record.in_variant, True
    try:
        yield get_context()
    finally:
        record.in_variant = before


def variable_shape(
    inputs: Sequence[Any], op_mode: str | bool = "elewise", support_broadcast: bool = False
) -> Any:
    """Shapes for placeholders: known sizes as they are, unknown ones as variables.

    Unknown sizes at the same place (from the last axis) of inputs that do not differ in role are one variable, so that
    elementwise operators see equal shapes. For ``sort`` and ``transpose`` the one shape itself comes back, with how many are
    wanted where a tensor says it; for ``slice`` begins and sizes do, for ``pooling_with_arg`` what is known of the windows.

    Args:
        inputs: descriptions.
        op_mode: a pattern of the toolkit; in files of 2020 the next argument.
        support_broadcast: all shapes get as many axes as the longest, ones in front.

    Raises:
        OperatorError: the pattern takes another number of inputs.
    """
    if op_mode is True or support_broadcast:
        if len(inputs) != 2:
            raise fault(
                "E80027",
                f"two inputs broadcast, but got {len(inputs)}",
                op_name=session().operator_type,
            )
        return _shapes(_with_equal_ranks(inputs))
    wanted = INPUTS.get(str(op_mode), len(inputs))
    if len(inputs) != wanted:
        cause = f"{op_mode} takes {wanted} inputs, but got {len(inputs)}"
        raise fault("E90001", cause, detailed_cause=cause)
    if op_mode == "slice":
        return [_shapes(inputs[:1])[0], *(list(item["const_value"]) for item in inputs[1:3])]
    if op_mode == "transdata":
        return transdata.shapes(_shapes(inputs[:1])[0], list(inputs[1]), inputs[2], var)
    if op_mode == "transpose":
        return _shapes(inputs[:1])[0]
    if op_mode == "concat":
        # sizes along the joined axis differ from input to input, so no two inputs share a variable
        return [_shapes([item], f"input{index}")[0] for index, item in enumerate(inputs[0])]
    if op_mode == "pooling_with_arg":
        return [_shapes(inputs[:1])[0], *inputs[1:6]]
    if op_mode == "segment":
        return [*_shapes(inputs[:2]), _counted(inputs[2], "num_segments")]
    if op_mode in ("sort", "topk") and len(inputs) > 1:
        return [_shapes(inputs[:1])[0], [_counted(inputs[1], "k")]]
    shapes = _shapes(inputs)
    return shapes[0] if op_mode in ("sort", "topk") else shapes


def _with_equal_ranks(inputs: Sequence[Any]) -> list[Any]:
    """Descriptions whose shapes begin with as many ones as they lack axes."""
    rank = max((len(item["shape"]) for item in inputs if isinstance(item, dict)), default=0)
    filled: list[Any] = []
    for item in inputs:
        if not isinstance(item, dict):
            filled.append(item)
            continue
        ones = rank - len(item["shape"])
        ranges = item.get("range") or [(1, None)] * len(item["shape"])
        filled.append(
            {
                **item,
                "shape": [1] * ones + list(item["shape"]),
                "range": [(1, 1)] * ones + list(ranges),
            }
        )
    return filled


def _counted(given: Any, name: str) -> Any:
    """The number in an input: known, or a variable of that name."""
    known = given.get("const_value") if isinstance(given, dict) else given
    if known is None:
        return var(name)
    return int(known[0] if isinstance(known, (list, tuple)) else known)


def _merged_shape(given: Mapping[str, Any], index: int) -> list[Any]:
    """Sizes of merged axes: an unknown one is the product of variables, one for each declared axis."""
    sizes: list[Any] = []
    for place, (size, axes) in enumerate(zip(given["shape"], given["merged_axes"], strict=True)):
        if size >= 0:
            sizes.append(size)
            continue
        stem = "_batch" if place == 0 else f"_merged_{index}"  # the first axis is that of the batch
        sizes.append(prod(_size_of_axis(f"{stem}_{axis}", axis) for axis in axes))
    return sizes


def _size_of_axis(name: str, axis: int) -> Var:
    """The size of an axis of the declared array, by name."""
    found: Var = session().variables.setdefault(name, Var(name, "int32", (1, None), axis))
    return found


def _shapes(inputs: Sequence[Any], name: str = "dim") -> list[Any]:
    shapes: list[Any] = []
    for index, given in enumerate(inputs):
        if not isinstance(given, dict):
            shapes.append(given)
            continue
        if "merged_axes" in given:
            shapes.append(_merged_shape(given, index))
            continue
        sizes = list(given.get("shape", ()))
        ranges = given.get("range") or [(1, None)] * len(sizes)
        role = given.get("rel_pos_to_reduce", "before")
        stem = f"axis_{index}" if role == "axis" else name
        found: list[Any] = []
        for place, size in enumerate(sizes):
            if isinstance(size, Expr) or size >= 0:
                found.append(size.value if isinstance(size, Const) else size)
                continue
            if size == -2:
                raise fault(
                    "E90001",
                    "an input of unknown rank cannot be built here",
                    detailed_cause="shape (-2,)",
                    param_name=str(index),
                )
            found.append(var(f"_{stem}_{len(sizes) - place}", ranges[place]))
        shapes.append(found)
    return shapes
