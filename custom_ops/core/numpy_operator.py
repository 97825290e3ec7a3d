"""`Operator`: forward and backward are methods in NumPy, on arrays and as a Cell."""

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
from custom_ops.core.arrays import OnArrays
from custom_ops.core.cell import native
from custom_ops.core.cell_call import Called
from custom_ops.core.framework import Cell
from custom_ops.core.kernel_interface import Described, several
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.dsl.dtypes import DTYPES, dtype_of
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import FusionError, InputError
from tbe_impl.tracing.trace import trace

KIND = "_custom_ops_kind"
"""Attribute by which `custom_ops.tbe` and `custom_ops.formula` mark a function."""

_ADDED = frozenset(("_operator_own", "_seen", "_func_graph_flags", "fp16", "fp32", "bf16"))
_ADDED |= {"__parse_method__", "__compile_cell_hook__", "current_phase", "sequence_modified"}
"""Attributes that calls and MindSpore's compilation add to a Cell."""
_warned: set[str] = set()


@dataclass(frozen=True)
class Declaration:
    """What `register_operator` and the methods of a class say of an operator.

    Attributes:
        name: of the operator.
        inputs: arguments of forward without a default.
        outputs: names of the results.
        undifferentiable: inputs that get no gradient.
        tbe, tbe_gradient: files of the operator and of its gradient for CANN.
        place: file and line of the class.
    """

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...] = ("out",)
    undifferentiable: frozenset[str] = frozenset()
    tbe: str = ""
    tbe_gradient: str = ""
    place: str = ""


class _Own:
    """The lock and the spec of one object; a copy of the object gets others.

    Attributes:
        owner: ``id`` of the object.
        lock: held while methods run for MindSpore, since they keep their state in the object.
        made: attributes and the spec that was made of them.
    """

    def __init__(self, owner: int = 0):
        self.owner, self.lock = owner, threading.RLock()
        self.made: tuple[Mapping[str, Any], OpSpec] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _Own, ()


class Operator(Called):
    """Base class of operators that are written as methods in NumPy.

    ``forward(self, x, …)`` computes the outputs. Its arguments are recorded under their names,
    those with a default too, so that ``backward(self, grad, …)``, which gives one gradient for each
    input, reads ``self.x``. Called on NumPy arrays both are plain methods. In MindSpore the object
    is a Cell, in graph mode, PyNative and `@ms.jit`.

    A Cell calls the methods back on the host, which is slow; one warning says so. Shapes and
    dtypes of its outputs come from ``infer_shape`` and ``infer_dtype`` where the class has both,
    otherwise from a run of forward on ones. A gradient runs forward again before backward, so that
    what forward stores in ``self`` belongs to the same inputs: random numbers have to be an input.
    Without backward there is no gradient.

    With `custom_ops.formula` (NumPy) or `custom_ops.tbe` (the TBE DSL) above forward both methods
    are traced, and the operator is a kernel; without backward its gradient is derived. A kernel
    holds the values that attributes have when it is traced. After an assignment to an attribute, or
    ``set_train``, the next call on arrays or in PyNative builds another kernel; a change within an
    attribute, such as of an element of an array, is not seen. A compiled graph keeps the values of
    its compilation. Kernels on arrays are freed with the object; MindSpore keeps those that it
    calls until the process ends, so make an Operator once, not for each step.

    Raises:
        InputError: an argument of forward cannot be recorded, or what a method gives does not fit.

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
            cls._forward = _recording(own["forward"])
            cls.forward = OnArrays.forward if cls._kind else cls._forward  # type: ignore[method-assign]
        if "backward" in own:
            cls._backward = own["backward"]
        if cls._kind:
            cls.backward = OnArrays.backward  # type: ignore[method-assign]

    @property
    def spec(self) -> OpSpec:  # type: ignore[override]
        """The record of this object's operator."""
        own, values = self._own(), self._values() if self._kind else {}
        if own.made is None or not _are_same(own.made[0], values):
            own.made = values, self._traced(values) if self._kind else self._called_back()
        return own.made[1]

    def _own(self) -> _Own:
        own = self.__dict__.get("_operator_own")
        own = own or self.__dict__.setdefault("_operator_own", _Own(id(self)))
        if own.owner != id(self):
            own = self.__dict__["_operator_own"] = _Own(id(self))
        return own

    def _values(self) -> dict[str, Any]:
        """The attributes that methods may read, without those of a Cell except ``training``."""
        return {name: self.__dict__[name] for name in self.__dict__.keys() - _names_of_a_cell()}

    @contextmanager
    def _restored(self, values: Mapping[str, Any]) -> Iterator[None]:
        """Runs the block with these attributes, then undoes what it did to attributes."""
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
        """What a Cell calls: the primitive of the operator."""
        return native(self.spec, {})

    @property
    def operator_name(self) -> str:
        """What it is called in messages."""
        return self.declaration.name

    def construct(self, *inputs: Any) -> Any:
        """One operator of MindSpore."""
        return self.run(*inputs)

    def forward(self, *arrays: Any) -> Any:
        """The output, or a tuple of them."""
        raise InputError(
            f"{type(self).__name__} has no forward",
            place=place_of(type(self)),
            remedy="Write forward(self, x, …), in NumPy",
        )

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """The gradient of each input: an array, or a tuple."""
        raise InputError(
            f"{self.operator_name} has no backward",
            place=self.declaration.place,
            remedy="Write backward(self, grad), or put @formula above forward: then it is derived",
        )

    def _traced(self, values: Mapping[str, Any]) -> OpSpec:
        """The record of a kernel for these values of attributes."""
        said = self.declaration
        forward = self._compute(self._forward, values)
        backward = None if self._backward is None else self._compute(self._gradients, values)
        infer_dtype = self._inference("infer_dtype", shape_inference.dtypes_by)
        if infer_dtype is not None:
            forward = shape_inference.forward_with(forward, infer_dtype)
        if infer_dtype is not None and backward is not None:
            backward = shape_inference.backward_with(backward, said.inputs, said.inputs)
        return self._record(
            forward=forward,
            backward=backward,
            infer_shape=self._inference("infer_shape", shape_inference.shapes_by),
            infer_dtype=infer_dtype,
        )

    def _compute(
        self, function: Callable[..., Any], values: Mapping[str, Any]
    ) -> Callable[..., Any]:
        """A method as a function on tensors of the DSL."""

        def computed(*tensors: Any) -> Any:
            with self._restored(values):
                return function(*tensors) if self._kind == "tbe" else trace(function, *tensors)

        return computed

    def _called_back(self) -> OpSpec:
        """The record of an operator that runs on the host."""
        said, has_backward = self.declaration, self._backward is not None
        return self._record(
            procedure=self._run_forward,
            backward_procedure=self._run_backward if has_backward else None,
            describe=self._describe,
            undifferentiable=said.undifferentiable if has_backward else frozenset(said.inputs),
        )

    def _record(self, **how: Any) -> OpSpec:
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
        """What backward gives; `given` are the inputs, then the gradients of the outputs."""
        count = len(self.declaration.inputs)
        self._forward(*given[:count])
        assert self._backward is not None
        return several(self._backward(*given[count:]))

    def _run_forward(self, *arrays: np.ndarray) -> None:
        """Computes on the host: the inputs, then the arrays to write to."""
        count = len(self.declaration.inputs)
        with self._own().lock:
            made = several(self._forward(*map(np.array, arrays[:count])))
        self._write("forward", self.declaration.outputs, made, arrays[count:])

    def _run_backward(self, *arrays: np.ndarray) -> None:
        """The inputs, the gradients of the outputs, then the arrays to write to."""
        said = self.declaration
        count = len(said.inputs) + len(said.outputs)
        with self._own().lock:
            made = self._gradients(*map(np.array, arrays[:count]))
        wanted = [name for name in said.inputs if name not in said.undifferentiable]
        if len(made) == len(said.inputs):
            given = dict(zip(said.inputs, made, strict=True))
            made = tuple(given[name] for name in wanted)
        self._write("backward", wanted, made, arrays[count:])

    def _write(
        self, method: str, names: Sequence[str], made: Sequence[Any], out: Sequence[np.ndarray]
    ) -> None:
        """Puts results into the arrays of MindSpore."""
        if len(made) != len(names):
            raise self._refused(method, f"{len(names)} arrays: {', '.join(names)}", str(len(made)))
        for name, one, target in zip(names, made, out, strict=True):
            array = np.zeros_like(target) if one is None else np.asarray(one)
            if array.shape != target.shape:
                expected = f"{name} of {shape_text(target.shape)}"
                raise self._refused(method, expected, shape_text(array.shape))
            target[...] = array

    def _refused(self, method: str, expected: str, got: str) -> InputError:
        what = f"{self.operator_name}.{method} gives what does not fit"
        return InputError(what, place=self.declaration.place, expected=expected, got=got)

    def _describe(self, *given: Described) -> tuple[Described, ...]:
        """Shapes and dtypes of the outputs."""
        said = self.declaration
        if said.name not in _warned:
            _warned.add(said.name)
            warnings.warn(
                f"{said.name}: a Cell calls its methods back on the host, in NumPy, which is slow; "
                "with @custom_ops.formula above forward it becomes a kernel",
                stacklevel=2,
            )
        infer_shape = self._inference("infer_shape", shape_inference.shapes_by)
        infer_dtype = self._inference("infer_dtype", shape_inference.dtypes_by)
        shapes = infer_shape(*(one.shape for one in given)) if infer_shape else None
        dtypes = infer_dtype(*(one.dtype for one in given)) if infer_dtype else None
        if shapes is None or dtypes is None:
            made = [np.asarray(one) for one in self._tried(given)]
            if len(made) != len(said.outputs):
                expected = f"{len(said.outputs)} arrays: {', '.join(said.outputs)}"
                raise self._refused("forward", expected, str(len(made)))
            own = tuple(one.shape for one in made)
            if shapes is not None:
                shape_inference.check_shapes(said.name, said.outputs, shapes, own, said.place)
            shapes = own
            dtypes = dtypes or tuple(dtype_of(str(one.dtype)).name for one in made)
        return tuple(map(Described, shapes, dtypes))

    def _inference(self, method: str, wrapped: Callable[..., Any]) -> Any:
        """``infer_shape`` or ``infer_dtype`` with checked results; None where the class has none."""
        function, said = getattr(self, method, None), self.declaration
        return function and wrapped(function, said.name, said.outputs, said.place)

    def _tried(self, given: Sequence[Described]) -> tuple[Any, ...]:
        """What forward makes of ones."""
        ones = [np.ones(one.shape, dtype_of(one.dtype).numpy) for one in given]
        try:
            with self._own().lock, self._restored({}), np.errstate(all="ignore"):
                return several(self._forward(*ones))
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
def _names_of_a_cell() -> frozenset[str]:
    """Attributes that each Cell has, or gets when it is called; methods read ``training`` only."""
    return (_ADDED | getattr(Cell(), "__dict__", {}).keys()) - {"training"}


def _are_same(some: Mapping[str, Any], others: Mapping[str, Any]) -> bool:
    """Whether both hold the very same objects."""
    return some.keys() == others.keys() and all(some[name] is others[name] for name in some)


def place_of(written: type) -> str:
    """File and line of a class, for messages."""
    try:
        file = inspect.getsourcefile(written)
        return f"{file}:{inspect.getsourcelines(written)[1]}"
    except (OSError, TypeError):
        return written.__qualname__


def _inputs_of(written: type, forward: Callable[..., Any]) -> tuple[str, ...]:
    """The arguments of forward that are inputs: those without a default."""
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


def _recording(forward: Callable[..., Any]) -> Callable[..., Any]:
    """`forward`, which first records its arguments under their names."""
    signature = inspect.signature(forward)

    @functools.wraps(forward)
    def recorded(self: Any, *arrays: Any, **keywords: Any) -> Any:
        given = signature.bind(self, *arrays, **keywords)
        given.apply_defaults()
        for name, value in list(given.arguments.items())[1:]:
            object.__setattr__(self, name, value)
        return forward(self, *arrays, **keywords)

    return recorded
