"""Kernels of operators for the shapes and dtypes that they are called with; knows no framework."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Protocol

import numpy as np

from custom_ops.specs import OpSpec
from tbe_impl import compat
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.tensor import Tensor, placeholder, shape_text
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Argument, Kernel

SOC = "cpu"
_building = threading.RLock()
"""Operators are built one after the other: the language keeps its state in one place."""


@dataclass(frozen=True)
class Described:
    """Shape and dtype of an array; a size of -1 is not known."""

    shape: tuple[int, ...]
    dtype: str

    @classmethod
    def of(cls, array: Any) -> Described:
        return cls(tuple(array.shape), str(array.dtype))

    def __str__(self) -> str:
        return f"{shape_text(self.shape)} {self.dtype}"


@dataclass(frozen=True)
class Procedure:
    """An operator for arrays of these shapes and dtypes that is no kernel but a function.

    Attributes:
        spec: of the operator.
        attributes: all of them.
        outputs: what it makes.
    """

    spec: OpSpec
    attributes: Mapping[str, Any]
    outputs: tuple[Described, ...]

    @classmethod
    def of(
        cls, spec: OpSpec, attributes: Mapping[str, Any], given: Sequence[Described]
    ) -> Procedure:
        assert spec.infer_shape is not None and spec.infer_dtype is not None, spec.name
        shapes = spec.infer_shape(*(one.shape for one in given), **attributes)
        dtypes = spec.infer_dtype(*(one.dtype for one in given))
        return cls(spec, attributes, tuple(map(Described, shapes, dtypes)))

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """The outputs: an array, or a tuple; written to `out` where it is given."""
        if out is None:
            out = [np.empty(one.shape, dtype_of(one.dtype).numpy) for one in self.outputs]
        assert self.spec.procedure is not None
        self.spec.procedure(*arrays, *out, **self.attributes)
        return out[0] if len(out) == 1 else tuple(out)


class InC(NamedTuple):
    """A kernel as C calls it: ``int function(void **buffers, const int64_t *numbers, int64_t threads)``, 0 when all is well.

    Attributes:
        function: that, or its address.
        order: the parameter that each of its buffers is, inputs first.
        numbers: what it is told besides.
        state: where it is not 0, the function is ``int function(void *state, void **buffers)`` instead.
    """

    function: Any
    order: list[int]
    numbers: tuple[int, ...] = ()
    state: int = 0


class WholeKernel(Protocol):
    """A kernel that was not made from a graph, such as `custom_ops.written.Written`."""

    @property
    def outputs(self) -> tuple[Described, ...]:
        """What it makes."""

    @property
    def whole(self) -> InC | None:
        """Its function in C; None where it has to be called as it is."""

    def __call__(self, *arrays: np.ndarray, out: Sequence[np.ndarray] | None = None) -> Any:
        """The outputs: an array, or a tuple."""


AnyKernel = Kernel | Procedure | WholeKernel


def in_c(kernel: AnyKernel) -> InC | None:
    """A kernel as one function in C; None where it is no such."""
    if isinstance(kernel, Procedure):
        return None
    if not isinstance(kernel, Kernel):
        return kernel.whole
    compiled = kernel.compiled
    if len(compiled.steps) != 1 or compiled.steps[0].program is None:
        return None
    loaded = compiled.steps[0].program
    program = loaded.program
    if program.sizes or program.scalars or program.overwritten is not None:
        return None
    numbers = {id(item.tensor): i for i, item in enumerate((*kernel.inputs, *kernel.outputs))}
    tensors = [item.tensor for item in kernel.outputs]
    distinct = len({id(tensor) for tensor in tensors}) == len(tensors)
    if not distinct or any(id(item.tensor) in map(id, tensors) for item in kernel.inputs):
        return None
    if [id(tensor) for tensor in program.outputs] != [id(tensor) for tensor in tensors]:
        return None
    order = [numbers[id(tensor)] for tensor in (*program.inputs, *program.outputs)]
    return InC(loaded.function, order)


class Computation:
    """An operator with its attributes, and the kernels that were made of it.

    Attributes:
        spec: of the operator.
        attributes: all of them.
    """

    def __init__(self, spec: OpSpec, attributes: Mapping[str, Any]):
        self.spec, self.attributes = spec, spec.with_defaults(attributes)
        self._kernels: dict[tuple[Described, ...], AnyKernel] = {}
        self._dtypes: tuple[str, ...] = ()
        self._shapes: tuple[tuple[int, ...], ...] = ()

    def kernel(self, given: Sequence[Described]) -> AnyKernel:
        """The kernel for these inputs, made once.

        Raises:
            InputError: the operator refuses them; names the operator and the argument.
        """
        key = tuple(given)
        with _building:
            found = self._kernels.get(key)
            if found is None:
                found = self._kernels[key] = self._build(key)
        return found

    def describe(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """Shapes and dtypes of what it makes; nothing is compiled."""
        kernel = self.kernel(given)
        if not isinstance(kernel, Kernel):
            return kernel.outputs
        return tuple(Described(item.shape, item.tensor.dtype) for item in kernel.outputs)

    def describe_unknown(self, given: Sequence[Described]) -> tuple[Described, ...]:
        """As `describe`, for sizes that may be -1: what depends on them is -1 too."""
        self._dtypes = tuple(one.dtype for one in given)
        self._shapes = tuple(one.shape for one in given)
        if all(size >= 0 for one in given for size in one.shape):
            return self.describe(given)
        tried = [
            self.describe([replace(one, shape=_with(one.shape, size)) for one in given])
            for size in SOME_SIZES
        ]
        return tuple(
            replace(first, shape=tuple(a if a == b else -1 for a, b in zip(first.shape, second.shape, strict=True)))
            for first, second in zip(*tried, strict=True)
        )  # fmt: skip

    def shapes(self, given: Sequence[tuple[int, ...]]) -> tuple[tuple[int, ...], ...]:
        """Shapes of what it makes from these shapes, whatever the dtypes."""
        whole = self.spec.integers
        dtypes = self._dtypes or tuple(
            whole[name][0] if name in whole else "float32" for name in self.spec.inputs
        )
        described = [Described(shape, dtype) for shape, dtype in zip(given, dtypes, strict=True)]
        return tuple(one.shape for one in self.describe_unknown(described))

    def dtypes(self, given: Sequence[str]) -> tuple[str, ...]:
        """dtypes of what it makes from these dtypes, for shapes that were described before."""
        self._dtypes = tuple(given)
        shapes = self._shapes or ((2, 2),) * len(given)
        described = [Described(shape, dtype) for shape, dtype in zip(shapes, given, strict=True)]
        return tuple(one.dtype for one in self.describe_unknown(described))

    def _build(self, given: tuple[Described, ...]) -> AnyKernel:
        spec = self.spec
        self._check_number(given)
        self._check_dtypes(given)
        if spec.procedure is not None:
            return Procedure.of(spec, self.attributes, given)
        if spec.written is not None:
            whole: WholeKernel = spec.written(*given, **self.attributes)
            return whole
        if spec.forward is None:
            raise InputError(
                f"{spec.name} has no kernel of its own",
                place=spec.place or spec.name,
                remedy='Use route="composite"',
            )
        names = list(zip(spec.inputs, given, strict=True))
        with compat.installed(soc=SOC):
            tensors = [
                placeholder(one.shape, dtype_of(one.dtype).name, name) for name, one in names
            ]
            try:
                made = several(spec.forward(*tensors, **self.attributes))
            except FusionError as error:
                if not isinstance(error, InputError) or spec.name in error.what:
                    raise
                raise InputError(
                    f"{spec.name}: {error.what}",
                    place=error.place or spec.place or None,
                    expected=error.expected,
                    got=error.got or ", ".join(f"{name} {one}" for name, one in names),
                    remedy=error.remedy,
                ) from error
            except Exception as error:
                raise InputError(
                    f"{spec.name} cannot compute this: {error}",
                    place=spec.place or spec.name,
                    got=", ".join(f"{name} {one}" for name, one in names),
                ) from error
        if len(made) != len(spec.outputs):
            raise InputError(
                f"{spec.name} makes another number of tensors",
                place=spec.place or spec.name,
                expected=f"{len(spec.outputs)} ({', '.join(spec.outputs)})",
                got=str(len(made)),
            )
        inputs = tuple(map(_argument, tensors, spec.inputs))
        return Kernel(spec.name, SOC, inputs, tuple(map(_argument, made, spec.outputs)))

    def _check_number(self, given: Sequence[Described]) -> None:
        names = self.spec.inputs
        if len(given) != len(names):
            raise InputError(
                f"{self.spec.name} takes another number of arrays",
                place=self.spec.name,
                expected=f"{len(names)} ({', '.join(names)})",
                got=str(len(given)),
            )

    def _check_dtypes(self, given: Sequence[Described]) -> None:
        for name, one in zip(self.spec.inputs, given, strict=True):
            taken = self.spec.dtypes_of(name)
            if one.dtype not in taken:
                raise InputError(
                    f"{self.spec.name}: {name} has another dtype",
                    place=self.spec.place or self.spec.name,
                    expected=", ".join(taken),
                    got=one.dtype,
                )

    def __call__(self, *arrays: Any) -> Any:
        """The outputs for NumPy arrays: an array, or a tuple."""
        given = [np.asarray(array) for array in arrays]
        self._check_number([Described.of(array) for array in given])
        return self.kernel([Described.of(array) for array in given])(*given)


SOME_SIZES = (48, 96)
"""Stand for a size that is not known: what comes out otherwise for the other depends on it."""


def _with(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    return tuple(number if size < 0 else size for size in shape)


def _argument(tensor: Tensor, name: str) -> Argument:
    shape = tuple(int(size.value) if isinstance(size, Const) else -1 for size in tensor.shape)
    return Argument(tensor, shape, name)


def several(made: Any) -> tuple[Any, ...]:
    """What a function gives back, always as a tuple."""
    return tuple(made) if isinstance(made, (tuple, list)) else (made,)
