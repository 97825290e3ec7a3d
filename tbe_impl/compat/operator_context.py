"""Provides the operator context: symbolic variables, tiling compile info and operator mode."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

from tbe_impl.compat import transdata
from tbe_impl.compat.operator_errors import fault
from tbe_impl.compat.session import session
from tbe_impl.dsl.expr import Const, Expr, Var

INPUT_COUNTS = {"slice": 3, "transdata": 3, "transpose": 1, "concat": 1, "split": 2}
"""Maps a pattern to the number of inputs that `variable_shape` requires."""


class Variable:
    """A symbolic variable, as ``get_te_var`` returns it."""

    def __init__(self, variable: Var):
        self.variable = variable

    def get_tvm_var(self) -> Var:
        """Returns the variable as an expression."""
        return self.variable

    def get_name(self) -> str:
        """Returns the name of the variable."""
        return self.variable.name

    def get_bound(self) -> tuple[int, int | None]:
        """Returns the pair (least value, greatest value) of the variable.

        The greatest value is None if there is no upper limit.
        """
        return self.variable.bound or (0, None)


class OperatorInfo:
    """``OpInfo``: a record of an operator, with its inputs, outputs, attributes and further fields.

    A field that was not set is None.

    Args:
        op_name, op_type: name and type of the operator.
    """

    def __init__(self, op_name: str, op_type: str, **more: Any):
        self.op_name, self.op_type = op_name, op_type
        self.__dict__.update(more)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return None


def add_compile_info(key: str, value: Any) -> None:
    """Adds an entry to the compile info, the data that the tiling function of a kernel reads."""
    session().compile_info[key] = value


def get_compile_info() -> dict[str, Any]:
    """Returns the compile info, the data that the tiling function of a kernel reads."""
    return session().compile_info


class Context:
    """Stores values by key.

    A value is stored by ``add(key, value)`` and read by ``get(key)``. For any key, there are also
    the methods ``set_<key>(value)`` and ``get_<key>()``.
    """

    def __init__(self, mode: str | None = None):
        self.mode = mode
        self.notes: dict[str, Any] = {}

    def add(self, key: str, value: Any) -> None:
        """Stores `value` under `key`."""
        self.notes[key] = value

    set = add_addition = add

    def get(self, key: str, default: Any = None) -> Any:
        """Returns the value that is stored under `key`, or `default` if there is none."""
        return self.notes.get(key, default)

    get_addition = get

    def get_op_mode(self) -> str:
        """Returns the operator's mode, ``dynamic`` or ``static``.

        If no mode was set, the mode is ``dynamic`` if and only if the operator has unknown sizes.
        """
        return self.mode or ("dynamic" if session().dynamic else "static")

    def set_op_mode(self, mode: str) -> None:
        """Sets the operator's mode, ``dynamic`` or ``static``."""
        self.mode = mode

    def get_op_type(self) -> str:
        """Returns the operator's registered type."""
        return session().operator_type

    add_compile_info = staticmethod(add_compile_info)
    get_compile_info = staticmethod(get_compile_info)

    def get_current_compute(self) -> Context:
        """Returns this context; all compute blocks and schedules of an operator share it."""
        return self

    get_current_schedule = get_current_compute

    def get_var(self, name: str) -> Any:
        """Returns the symbolic variable with this name, or None if there is none."""
        found = session().variables.get(name)
        return None if found is None else Variable(found)

    def get_vars(self) -> list[Any]:
        """Returns all symbolic variables."""
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
    """Returns the context of the running operator."""
    return _contexts()[-1]


def in_dynamic() -> bool:
    """Whether the running operator has unknown sizes."""
    return get_context().get_op_mode() == "dynamic"


def in_static() -> bool:
    """Whether the running operator has no unknown sizes; the negation of `in_dynamic`."""
    return not in_dynamic()


def get_op_mode() -> str:
    """Returns the mode of the running operator, ``dynamic`` or ``static``."""
    return get_context().get_op_mode()


def is_unify() -> bool:
    """Returns True, because dynamic and static shapes share one code path here."""
    return True


def var(name: str, bound: Any = None, dtype: str = "int32", addition: Any = None) -> Var:
    """Returns the symbolic variable with this name; creates the variable if it is new."""
    found = session().variables
    if name not in found:
        limits = None if bound is None else (int(bound[0] or 0), bound[1])
        found[name] = Var(name, _variable_dtype(dtype), limits)
    return found[name]


def var_attr(name: str, bound: Any = None, dtype: str = "int32", addition: Any = None) -> Any:
    """Returns a symbolic variable for an attribute.

    For a dtype such as ``int32[4]``, returns a list of symbolic variables, in this example four.
    """
    base, bracket, rest = dtype.partition("[")
    if not bracket:
        return var(name, bound, dtype)
    return [var(f"{name}_{index}", None, base) for index in range(int(rest.rstrip("]")))]


def _variable_dtype(dtype: str) -> str:
    return {"float": "float32", "int": "int32"}.get(dtype, dtype)


@contextlib.contextmanager
def compute(*_: Any, **__: Any) -> Iterator[Context]:
    """Context manager of a variant block; in the block, an operator defines its computation.

    Operator files execute the block once for each variant that ``tbe.dsl.classify`` returns.
    """
    record = session()
    before, record.in_variant = record.in_variant, True
    try:
        yield get_context()
    finally:
        record.in_variant = before


def variable_shape(
    inputs: Sequence[Any], op_mode: str | bool = "elewise", support_broadcast: bool = False
) -> Any:
    """Returns one shape per input for ``tvm.placeholder``; unknown sizes become symbolic variables.

    Unknown sizes at the same position, counted from the last axis, share one variable in all
    inputs. Thus elementwise operators see equal shapes. The input that lists the reduced axes is an
    exception: the size of this input has a separate variable. For the following patterns, the
    result has another form:

    - ``transpose``: one shape, not in a list.
    - ``concat``: the shapes of the joined tensors; the shapes share no variables.
    - ``sort``, ``topk``: one shape; if k is an input, the shape and [k].
    - ``slice``: the shape, and the values of the two other inputs.
    - ``transdata``: the shapes of the input and of the result.
    - ``segment``: two shapes and the number of segments.
    - ``pooling_with_arg``: the shape and the window parameters.

    Args:
        inputs: tensor descriptions.
        op_mode: name of a pattern, such as ``elewise``. Operator files of 2020 pass True instead of
            a name. True has the same effect as `support_broadcast`.
        support_broadcast: whether to left-pad all shapes with ones to the greatest rank.

    Raises:
        OperatorError: the pattern takes a different number of inputs.
    """
    if op_mode is True or support_broadcast:
        if len(inputs) != 2:
            raise fault(
                "E80027",
                f"two inputs broadcast, but got {len(inputs)}",
                op_name=session().operator_type,
            )
        return _variable_shapes(_pad_ranks(inputs))
    wanted = INPUT_COUNTS.get(str(op_mode), len(inputs))
    if len(inputs) != wanted:
        cause = f"{op_mode} takes {wanted} inputs, but got {len(inputs)}"
        raise fault("E90001", cause, detailed_cause=cause)
    if op_mode == "slice":
        return [
            _variable_shapes(inputs[:1])[0],
            *(list(item["const_value"]) for item in inputs[1:3]),
        ]
    if op_mode == "transdata":
        return transdata.infer_shapes(
            _variable_shapes(inputs[:1])[0], list(inputs[1]), inputs[2], var
        )
    if op_mode == "transpose":
        return _variable_shapes(inputs[:1])[0]
    if op_mode == "concat":
        # inputs of a concatenation differ along the joined axis, so they must not share variables
        return [
            _variable_shapes([item], f"input{index}")[0] for index, item in enumerate(inputs[0])
        ]
    if op_mode == "pooling_with_arg":
        return [_variable_shapes(inputs[:1])[0], *inputs[1:6]]
    if op_mode == "segment":
        return [*_variable_shapes(inputs[:2]), _count_or_variable(inputs[2], "num_segments")]
    if op_mode in ("sort", "topk") and len(inputs) > 1:
        return [_variable_shapes(inputs[:1])[0], [_count_or_variable(inputs[1], "k")]]
    shapes = _variable_shapes(inputs)
    return shapes[0] if op_mode in ("sort", "topk") else shapes


def _pad_ranks(inputs: Sequence[Any]) -> list[Any]:
    """Left-pads the shapes of the descriptions with ones to the greatest rank."""
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


def _count_or_variable(given: Any, name: str) -> Any:
    """Returns the value of an input, or the symbolic variable `name` if the value is unknown."""
    known = given.get("const_value") if isinstance(given, dict) else given
    if known is None:
        return var(name)
    return int(known[0] if isinstance(known, (list, tuple)) else known)


def _merged_shape(given: Mapping[str, Any], index: int) -> list[Any]:
    """Returns the shape of an input whose axes are merged.

    If the size of a merged axis is unknown, the size in the result is a product of symbolic
    variables. The product has one variable for each of the original axes.
    """
    sizes: list[Any] = []
    for place, (size, axes) in enumerate(zip(given["shape"], given["merged_axes"], strict=True)):
        if size >= 0:
            sizes.append(size)
            continue
        stem = "_batch" if place == 0 else f"_merged_{index}"  # axis 0 is the batch axis
        sizes.append(prod(_size_of_axis(f"{stem}_{axis}", axis) for axis in axes))
    return sizes


def _size_of_axis(name: str, axis: int) -> Var:
    """Returns the symbolic variable for the size of an axis of the declared (unmerged) array."""
    return session().variables.setdefault(name, Var(name, "int32", (1, None), axis))


def _variable_shapes(inputs: Sequence[Any], name: str = "dim") -> list[Any]:
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
