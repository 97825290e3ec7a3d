"""``tbe.common.testing``: runs an operator on arrays while it is written.

The toolkit runs such an operator on the processor at hand, too. Here each tensor is computed by its definition.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TextIO

import numpy as np

from tbe_impl.compat.building import tvm_build
from tbe_impl.compat.faults import fault
from tbe_impl.compat.session import flat, session
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.interpreter import evaluate


class Array:
    """An array of the language: ``tvm.nd.array(values, ctx)``."""

    def __init__(self, values: Any, ctx: Any = None):
        self.values = np.array(values)
        self.ctx = ctx

    @property
    def shape(self) -> tuple[int, ...]:
        """Its sizes."""
        return self.values.shape

    @property
    def dtype(self) -> str:
        """The name of its dtype."""
        return self.values.dtype.name

    def asnumpy(self) -> np.ndarray:
        """Its elements."""
        return self.values

    numpy = asnumpy

    def __str__(self) -> str:
        return str(self.values)

    __repr__ = __str__

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return self.values if dtype is None else self.values.astype(dtype)

    def __getitem__(self, key: Any) -> Any:
        return self.values[key]

    def copyfrom(self, values: Any) -> Array:
        """Overwrites its elements."""
        self.values[...] = _plain(values)
        return self


@dataclass
class Watched:
    """Tensors to look at when the operator runs, and what was built last.

    Attributes:
        printed: each with the file it is written to.
        compared: each with what it should be, and a relative and an absolute tolerance.
        tensors: inputs, then outputs.
    """

    printed: list[tuple[Tensor, TextIO]] = field(default_factory=list)
    compared: list[tuple[Tensor, Any, float, float]] = field(default_factory=list)
    tensors: Sequence[Tensor] = ()


def _watched() -> Watched:
    found: Watched | None = session().build_config.get("_watched")
    if found is None:
        raise fault("E90001", "this works inside of `with debug():` only", detailed_cause="debug")
    return found


@contextlib.contextmanager
def debug(*_: Any, **__: Any) -> Iterator[None]:
    """The block in which an operator is tried out."""
    config = session().build_config
    before = config.get("_watched")
    config["_watched"] = Watched()
    try:
        yield
    finally:
        config["_watched"] = before


def get_ctx(*_: Any) -> str:
    """Where arrays lie."""
    return "cpu(0)"


def print_tensor(tensor: Tensor, ofile: TextIO | None = None) -> None:
    """Has a tensor written when the operator runs.

    Args:
        tensor: any of the graph.
        ofile: an open file; by default the standard output.
    """
    _watched().printed.append((tensor, ofile or sys.stdout))


def assert_allclose(tensor: Tensor, desired: Any, tol: Any = (1e-7, 1e-7)) -> None:
    """Has a tensor compared when the operator runs.

    Args:
        tensor: any of the graph.
        desired: what it should be.
        tol: a relative and an absolute tolerance, or one for both.
    """
    relative, absolute = tol if isinstance(tol, (list, tuple)) else (tol, tol)
    _watched().compared.append((tensor, desired, float(relative), float(absolute)))


def build(sch: Any, tensors: Any, target: Any = "cce", name: str = "kernel", **more: Any) -> Any:
    """Records a request to build, and which tensors `run` takes arrays for."""
    if session().build_config.get("_watched") is not None:
        _watched().tensors = tuple(flat(tensors))
    return tvm_build(sch, tensors, target, name=name, **more)


def run(*arrays: Any) -> None:
    """Computes what was built; the arrays of outputs are overwritten.

    Args:
        arrays: one for each tensor that was built.

    Raises:
        OperatorError: nothing was built, there is another number of arrays, or a shape is another.
        AssertionError: a tensor is not what `assert_allclose` says.
    """
    watched = _watched()
    looked_at = [*(item[0] for item in watched.printed), *(item[0] for item in watched.compared)]
    values, results = _computed("run", watched.tensors, arrays, looked_at)
    for tensor, file in watched.printed:
        print(f"{tensor.name}: {values[id(tensor)]}", file=file)
    for tensor, desired, relative, absolute in watched.compared:
        np.testing.assert_allclose(
            values[id(tensor)], _plain(desired), relative, absolute, err_msg=tensor.name
        )
    _hand_over(values, results)


@dataclass(frozen=True)
class Built:
    """What ``tvm.build`` gives back: called with arrays, it computes and overwrites those of the outputs.

    Attributes:
        tensors: what was built, inputs and outputs.
        entry_name: of the function.
    """

    tensors: Sequence[Tensor]
    entry_name: str

    def __call__(self, *arrays: Any) -> None:
        _hand_over(*_computed(self.entry_name, self.tensors, arrays))

    def time_evaluator(self, *_: Any, **__: Any) -> Any:
        """Raises: nothing is measured here."""
        raise fault(
            "E90001",
            "nothing is measured here; ms-fusion tbe bench measures operators",
            detailed_cause="time_evaluator",
        )


def callable_build(
    sch: Any = None,
    args: Any = None,
    target: Any = None,
    target_host: Any = None,
    name: str = "default_function",
    **more: Any,
) -> Built:
    """``tvm.build``: the request is recorded, and what comes back can be called."""
    tvm_build(sch, args, target, target_host, name, **more)
    return Built(tuple(flat(args)), name)


_Results = list[tuple[Tensor, Any]]


def _computed(
    name: str, tensors: Sequence[Tensor], arrays: Sequence[Any], looked_at: Sequence[Tensor] = ()
) -> tuple[dict[int, np.ndarray], _Results]:
    """``id`` of a tensor → its elements, and the outputs with the arrays that are for them."""
    if not tensors or len(arrays) != len(tensors):
        raise fault(
            "E90001",
            f"{name} takes an array for each of the {len(tensors)} tensors that were built, but got {len(arrays)}",
            detailed_cause="arrays",
        )
    pairs = list(zip(tensors, arrays, strict=True))
    given = {id(t): _fitting(t, array) for t, array in pairs if t.op.kind == "placeholder"}
    results = [(t, array) for t, array in pairs if t.op.kind != "placeholder"]
    return _values([*(tensor for tensor, _ in results), *looked_at], given), results


def _hand_over(values: Mapping[int, np.ndarray], results: _Results) -> None:
    for tensor, array in results:
        _plain(array)[...] = values[id(tensor)].reshape(_plain(array).shape)


def _values(tensors: Sequence[Tensor], given: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    made = {id(tensor): tensor for tensor in tensors if id(tensor) not in given}
    found = evaluate.run(list(made.values()), given, {}) if made else ()
    return {**given, **dict(zip(made, found, strict=True))}


def _plain(array: Any) -> np.ndarray:
    return array.values if isinstance(array, Array) else np.asarray(array)


def _fitting(tensor: Tensor, array: Any) -> np.ndarray:
    shape, values = tuple(int(str(size)) for size in tensor.shape), _plain(array)
    if values.size != int(np.prod(shape)):
        raise fault(
            "E90001",
            f"the array for {tensor.name} has the shape {values.shape}, but the tensor {shape}",
            detailed_cause="shape",
        )
    return np.ascontiguousarray(values, dtype_of(tensor.dtype).numpy).reshape(shape)


def compare(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """``tvm.testing.assert_allclose``: raises `AssertionError` unless both are nearly equal."""
    np.testing.assert_allclose(_plain(actual), _plain(desired), rtol, atol)


def empty(shape: Any, dtype: str = "float32", ctx: Any = None) -> Array:
    """An array of zeros."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return Array(np.zeros(sizes, dtype_of(dtype).numpy), ctx)


def processor(number: int = 0) -> str:
    """``tvm.cpu(0)``: where arrays lie."""
    return f"cpu({number})"


ARRAYS = SimpleNamespace(array=Array, empty=empty, NDArray=Array)
"""``tvm.nd``."""
COMPARING = SimpleNamespace(assert_allclose=compare)
"""``tvm.testing``."""
FUNCTIONS: Mapping[str, Any] = {
    "debug": debug,
    "get_ctx": get_ctx,
    "print_tensor": print_tensor,
    "assert_allclose": assert_allclose,
    "build": build,
    "run": run,
}
"""``tbe.common.testing.testing``."""
