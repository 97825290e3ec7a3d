"""Defines `Operator`, the base class of operators that users write as NumPy methods."""

from __future__ import annotations

import functools
import inspect
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.core import shape_inference
from custom_ops.core.arrays import ArrayOperator
from custom_ops.core.cell import build_native_call
from custom_ops.core.cell_call import OperatorCell
from custom_ops.core.framework import Cell
from custom_ops.core.kernel_interface import ArraySpec, to_tuple
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import FusionError, InputError
from tbe_impl.tracing.trace import trace

KIND = "_custom_ops_kind"
"""Name of the attribute with which `custom_ops.tbe` and `custom_ops.formula` mark a function."""

_RUNTIME_ATTRIBUTES = frozenset(
    ("_operator_own", "_seen", "_func_graph_flags", "fp16", "fp32", "bf16")
)
_RUNTIME_ATTRIBUTES |= {
    "__parse_method__",
    "__compile_cell_hook__",
    "current_phase",
    "sequence_modified",
}
"""Attributes that calls and MindSpore's compilation add to a Cell."""
_warned_names: set[str] = set()


@dataclass(frozen=True)
class Declaration:
    """Declaration of an operator, from `register_operator` and the signature of its ``forward``.

    Attributes:
        name: name of the operator.
        inputs: names of the arguments of ``forward`` that have no default.
        outputs: names of the outputs.
        undifferentiable: names of the inputs without a gradient.
        tbe, tbe_gradient: paths of the TBE operator files for the operator and for its gradient. A
            path is empty if there is no such file.
        place: file and line of the class.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ("out",)
    undifferentiable: frozenset[str] = frozenset()
    tbe: str = ""
    tbe_gradient: str = ""
    place: str = ""


class _OperatorState:
    """Lock and spec of one operator object; a copy of the object gets its own lock and spec.

    Attributes:
        owner: ``id`` of the object.
        lock: lock that is held while MindSpore runs the object's methods, because the methods store
            state in the object.
        made: a pair: the attribute values for which the spec was built last, and this spec. None
            before the spec is built for the first time.
    """

    def __init__(self, owner: int = 0):
        self.owner, self.lock = owner, threading.RLock()
        self.made: tuple[Mapping[str, Any], OpSpec] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _OperatorState, ()


class Operator(OperatorCell):
    """Base class of operators with NumPy methods.

    ``forward(self, x, …)`` computes the outputs. The object stores each argument as an attribute of
    the same name, including arguments with a default. ``backward(self, grad, …)`` may read these
    attributes, such as ``self.x``, and returns one gradient per input. On NumPy arrays both methods
    run as they are written. In MindSpore the object is a Cell, which works in graph mode, in
    PyNative and under `@ms.jit`.

    By default, MindSpore calls the methods on the host, which is slow and gives one warning. The
    methods ``infer_shape`` and ``infer_dtype`` return the shapes and dtypes of the outputs. If one
    of these methods is missing, forward runs on arrays of ones to find the shapes and dtypes. To
    compute a gradient, MindSpore runs forward again before backward, so that the attributes belong
    to the same inputs. Random numbers therefore have to be an input. If backward is missing, there
    is no gradient.

    If forward has the decorator `custom_ops.formula` (NumPy) or `custom_ops.tbe` (the TBE DSL),
    both methods are traced and compiled to kernels. If backward is missing in this case, the
    gradient is derived automatically. Tracing captures the current attribute values. After an
    assignment to an attribute, or after ``set_train``, the next call on arrays or in PyNative
    builds another kernel. A change inside an attribute, for example of an array element, is not
    detected. A compiled graph keeps the values captured at compilation. Kernels for arrays are
    freed with the object. Kernels that MindSpore calls are freed only when the process ends, so
    create an Operator once, not for each training step.

    Raises:
        InputError: an argument of forward cannot be stored as an attribute. The error is also
            raised if a method returns a wrong number of results, or results of wrong shapes.

    Examples:
        >>> import numpy as np
        >>> import custom_ops as cop
        >>> class Scaled(cop.Operator):
        ...     def __init__(self, factor):
        ...         super().__init__()
        ...         self.factor = factor
        ...
        ...     def forward(self, x, y):
        ...         return self.factor * x * y
        ...
        ...     def backward(self, grad):
        ...         return self.factor * grad * self.y, self.factor * grad * self.x
        >>> op = Scaled(2.0)
        >>> op.forward(np.float32([1, 2]), np.float32([3, 4]))
        array([ 6., 16.], dtype=float32)
        >>> op.backward(np.float32([1, 1]))
        (array([6., 8.], dtype=float32), array([2., 4.], dtype=float32))
    """

    declaration = Declaration("Operator", ())
    attributes: Mapping[str, Any] = MappingProxyType({})
    _forward: Callable[..., Any]
    _backward: Callable[..., Any] | None = None
    _kind = ""

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        own = vars(cls)
        if "forward" in own:
            cls.declaration = Declaration(
                cls.__name__, _inputs_of(cls, own["forward"]), place=place_of(cls)
            )
            cls._kind = getattr(own["forward"], KIND, "")
            cls._forward = _record_arguments(own["forward"])
            forward: Any = ArrayOperator.forward if cls._kind else cls._forward
            cls.forward = forward  # type: ignore[method-assign]
        if "backward" in own:
            cls._backward = own["backward"]
        if cls._kind:
            cls.backward = ArrayOperator.backward  # type: ignore[method-assign]

    @property
    def spec(self) -> OpSpec:  # type: ignore[override]
        """Spec of this object's operator, which is rebuilt after an assignment to an attribute."""
        own, values = self._operator_state(), self._values() if self._kind else {}
        if own.made is None or not _has_same_objects(own.made[0], values):
            own.made = values, self._trace_spec(values) if self._kind else self._callback_spec()
        return own.made[1]

    def _operator_state(self) -> _OperatorState:
        own = self.__dict__.get("_operator_own")
        own = own or self.__dict__.setdefault("_operator_own", _OperatorState(id(self)))
        if own.owner != id(self):
            own = self.__dict__["_operator_own"] = _OperatorState(id(self))
        return own

    def _values(self) -> dict[str, Any]:
        """Returns a dict of this object's attributes, without the attributes that every Cell has.

        The attribute ``training`` is included.
        """
        return {
            name: self.__dict__[name] for name in self.__dict__.keys() - _cell_attribute_names()
        }

    @contextmanager
    def _override_attributes(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Context manager that sets attributes; restores the values of all attributes at exit."""
        before = self._values()
        self.__dict__.update(values)
        try:
            yield
        finally:
            for name in self._values().keys() - before.keys():
                del self.__dict__[name]
            self.__dict__.update(before)

    @property
    def run(self) -> Any:
        """The primitive that the Cell calls."""
        return build_native_call(self.spec, {})

    @property
    def operator_name(self) -> str:
        """Name of the operator in messages."""
        return self.declaration.name

    def construct(self, *inputs: Any) -> Any:
        """Runs the object as one MindSpore operator."""
        return self.run(*inputs)

    def forward(self, *arrays: Any) -> Any:
        """Returns the output, or a tuple if there are several outputs."""
        raise InputError(
            f"{type(self).__name__} has no forward",
            place=place_of(type(self)),
            remedy="Write forward(self, x, …), in NumPy",
        )

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """Returns the gradient of the input, or a tuple if there are several inputs."""
        raise InputError(
            f"{self.operator_name} has no backward",
            place=self.declaration.place,
            remedy="Write backward(self, grad), or put @formula above forward: then it is derived",
        )

    def _trace_spec(self, values: Mapping[str, Any]) -> OpSpec:
        """Builds the spec of an operator whose methods are traced with the attributes `values`."""
        said = self.declaration
        forward = self._compute(self._forward, values)
        backward = None if self._backward is None else self._compute(self._gradients, values)
        infer_dtype = self._inference("infer_dtype", shape_inference.wrap_infer_dtype)
        if infer_dtype is not None:
            forward = shape_inference.cast_results(forward, infer_dtype)
        if infer_dtype is not None and backward is not None:
            backward = shape_inference.cast_gradients(backward, said.inputs, said.inputs)
        return self._build_spec(
            forward=forward,
            backward=backward,
            infer_shape=self._inference("infer_shape", shape_inference.wrap_infer_shape),
            infer_dtype=infer_dtype,
        )

    def _compute(
        self, function: Callable[..., Any], values: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """Wraps a method as a function on DSL tensors; `self` has the attribute values `values`."""

        def run_on_tensors(*tensors: Any) -> Any:
            with self._override_attributes(values):
                return function(*tensors) if self._kind == "tbe" else trace(function, *tensors)

        return run_on_tensors

    def _callback_spec(self) -> OpSpec:
        """Builds the spec of an operator whose methods run on the host."""
        said, has_backward = self.declaration, self._backward is not None
        return self._build_spec(
            procedure=self._run_forward,
            backward_procedure=self._run_backward if has_backward else None,
            describe=self._describe,
            undifferentiable=said.undifferentiable if has_backward else frozenset(said.inputs),
        )

    def _build_spec(self, **how: Any) -> OpSpec:
        said = self.declaration
        common = {
            "saves": said.inputs,
            "undifferentiable": said.undifferentiable,
            "dtypes": tuple(DTYPES),
            "tbe": said.tbe,
            "tbe_gradient": said.tbe_gradient,
            "place": said.place,
            "doc": inspect.getdoc(type(self)) or "",
        }
        return OpSpec(said.name, said.inputs, said.outputs, **(common | how))

    def _gradients(self, *given: Any) -> tuple[Any, ...]:
        """Runs forward, then backward, and returns the gradients.

        `given` are the inputs, then the gradients of the outputs.
        """
        count = len(self.declaration.inputs)
        self._forward(*given[:count])
        assert self._backward is not None
        return to_tuple(self._backward(*given[count:]))

    def _run_forward(self, *arrays: np.ndarray) -> None:
        """Runs forward on the host. `arrays` are the inputs, then the arrays for the outputs."""
        count = len(self.declaration.inputs)
        with self._operator_state().lock:
            made = to_tuple(self._forward(*map(np.array, arrays[:count])))
        self._write("forward", self.declaration.outputs, made, arrays[count:])

    def _run_backward(self, *arrays: np.ndarray) -> None:
        """Runs backward on the host.

        `arrays` are the inputs, the gradients of the outputs, then the arrays for the results.
        """
        said = self.declaration
        count = len(said.inputs) + len(said.outputs)
        with self._operator_state().lock:
            made = self._gradients(*map(np.array, arrays[:count]))
        wanted = [name for name in said.inputs if name not in said.undifferentiable]
        if len(made) == len(said.inputs):
            given = dict(zip(said.inputs, made, strict=True))
            made = tuple(given[name] for name in wanted)
        self._write("backward", wanted, made, arrays[count:])

    def _write(
        self, method: str, names: Sequence[str], made: Sequence[Any], out: Sequence[np.ndarray]
    ) -> None:
        """Copies the results of a method into the output arrays that MindSpore passes."""
        if len(made) != len(names):
            raise self._result_error(
                method, f"{len(names)} arrays: {', '.join(names)}", str(len(made))
            )
        for name, one, target in zip(names, made, out, strict=True):
            array = np.zeros_like(target) if one is None else np.asarray(one)
            if array.shape != target.shape:
                expected = f"{name} of {shape_text(target.shape)}"
                raise self._result_error(method, expected, shape_text(array.shape))
            target[...] = array

    def _result_error(self, method: str, expected: str, got: str) -> InputError:
        what = f"{self.operator_name}.{method} gives what does not fit"
        return InputError(what, place=self.declaration.place, expected=expected, got=got)

    def _describe(self, *given: ArraySpec) -> tuple[ArraySpec, ...]:
        """Returns shapes and dtypes of the outputs."""
        said = self.declaration
        if said.name not in _warned_names:
            _warned_names.add(said.name)
            warnings.warn(
                f"{said.name}: a Cell calls its methods back on the host, in NumPy, which is slow; "
                "with @custom_ops.formula above forward it becomes a kernel",
                stacklevel=2,
            )
        infer_shape = self._inference("infer_shape", shape_inference.wrap_infer_shape)
        infer_dtype = self._inference("infer_dtype", shape_inference.wrap_infer_dtype)
        shapes = infer_shape(*(one.shape for one in given)) if infer_shape else None
        dtypes = infer_dtype(*(one.dtype for one in given)) if infer_dtype else None
        if shapes is None or dtypes is None:
            made = [np.asarray(one) for one in self._probe_outputs(given)]
            if len(made) != len(said.outputs):
                expected = f"{len(said.outputs)} arrays: {', '.join(said.outputs)}"
                raise self._result_error("forward", expected, str(len(made)))
            own = tuple(one.shape for one in made)
            if shapes is not None:
                shape_inference.check_shapes(said.name, said.outputs, shapes, own, said.place)
            shapes = own
            dtypes = dtypes or tuple(dtype_of(str(one.dtype)).name for one in made)
        return tuple(map(ArraySpec, shapes, dtypes))

    def _inference(self, method: str, wrapped: Callable[..., Any]) -> Any:
        """Returns the method ``infer_shape`` or ``infer_dtype``, or None if it is not defined.

        `wrapped` is a function that adds checks to the results of the method.
        """
        function, said = getattr(self, method, None), self.declaration
        return function and wrapped(function, said.name, said.outputs, said.place)

    def _probe_outputs(self, given: Sequence[ArraySpec]) -> tuple[Any, ...]:
        """Runs forward on arrays of ones with these shapes and dtypes, and returns its results."""
        ones = [np.ones(one.shape, dtype_of(one.dtype).numpy) for one in given]
        try:
            with (
                self._operator_state().lock,
                self._override_attributes({}),
                np.errstate(all="ignore"),
            ):
                return to_tuple(self._forward(*ones))
        except FusionError:
            raise
        except Exception as error:
            said = self.declaration
            raise InputError(
                f"{said.name}.forward fails: {type(error).__name__}: {error}",
                place=said.place,
                got=", ".join(
                    f"{name} {one}" for name, one in zip(said.inputs, given, strict=True)
                ),
            ) from error


@functools.cache
def _cell_attribute_names() -> frozenset[str]:
    """Returns the names of the attributes that MindSpore sets on every Cell.

    The names include attributes that MindSpore sets during calls, but not ``training``.
    """
    return (_RUNTIME_ATTRIBUTES | getattr(Cell(), "__dict__", {}).keys()) - {"training"}


def _has_same_objects(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether both mappings have the same keys and, for each key, the same object."""
    return some.keys() == others.keys() and all(some[name] is others[name] for name in some)


def place_of(written: type) -> str:
    """Returns the source location ``file:line`` of a class, or its name if the file is unknown."""
    try:
        file = inspect.getsourcefile(written)
        return f"{file}:{inspect.getsourcelines(written)[1]}"
    except (OSError, TypeError):
        return written.__qualname__


def _inputs_of(written: type, forward: Callable[..., Any]) -> tuple[str, ...]:
    """Returns the names of the inputs of forward, which are the arguments without a default."""
    own = list(inspect.signature(forward).parameters.values())[1:]
    for one in own:
        if one.kind is one.VAR_POSITIONAL or hasattr(Operator, one.name):
            why = "is not one input" if one.kind is one.VAR_POSITIONAL else "is a name of Operator"
            raise InputError(
                f"{written.__name__}.forward: {one.name} {why}, and cannot be recorded",
                place=place_of(written),
                expected="a name of its own for each input",
                remedy="Give each input another name",
            )
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return tuple(one.name for one in own if one.default is one.empty and one.kind in positional)


def _record_arguments(forward: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `forward`; the wrapper first stores the arguments as attributes of the same names."""
    signature = inspect.signature(forward)

    @functools.wraps(forward)
    def record_and_call(self: Any, *arrays: Any, **keywords: Any) -> Any:
        given = signature.bind(self, *arrays, **keywords)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            object.__setattr__(self, name, value)
        return forward(self, *arrays, **keywords)

    return record_and_call
