"""Implements ``tbe.common.testing``; authors use it to test their operators on arrays.

As in the CANN toolkit, the operator runs on the host processor. The schedule has no effect, because
each tensor is evaluated from its definition.
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
from tbe_impl.compat.operator_errors import fault
from tbe_impl.compat.session import flatten_tensors, session
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.interpreter import evaluate


class Array:
    """An array of ``tvm``, as ``tvm.nd.array(values, ctx)`` returns it."""

    def __init__(self, values: Any, ctx: Any = None):
        self.values = np.array(values)
        self.ctx = ctx

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return self.values.shape

    @property
    def dtype(self) -> str:
        """The name of the array's dtype."""
        return self.values.dtype.name

    def asnumpy(self) -> np.ndarray:
        """Returns the elements as a NumPy array."""
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
        """Overwrites the elements."""
        self.values[...] = _as_numpy(values)
        return self


@dataclass
class WatchList:
    """Lists the tensors to print or compare when an operator runs, and those of the last build.

    Attributes:
        printed: pairs (tensor to print, output file).
        compared: tuples (tensor to compare, expected value, relative tolerance, absolute
            tolerance).
        tensors: the tensors of the last build: the inputs, then the outputs.
    """

    printed: list[tuple[Tensor, TextIO]] = field(default_factory=list)
    compared: list[tuple[Tensor, Any, float, float]] = field(default_factory=list)
    tensors: Sequence[Tensor] = ()


def _watch_list() -> WatchList:
    found: WatchList | None = session().build_config.get("_watched")
    if found is None:
        raise fault("E90001", "this works inside of `with debug():` only", detailed_cause="debug")
    return found


@contextlib.contextmanager
def debug(*_: Any, **__: Any) -> Iterator[None]:
    """Context manager; `run`, `print_tensor` and `assert_allclose` work only in this context."""
    config = session().build_config
    before = config.get("_watched")
    config["_watched"] = WatchList()
    try:
        yield
    finally:
        config["_watched"] = before


def get_ctx(*_: Any) -> str:
    """Returns the name of the device that stores the arrays."""
    return "cpu(0)"


def print_tensor(tensor: Tensor, ofile: TextIO | None = None) -> None:
    """Requests that `run` prints a tensor.

    Args:
        tensor: any tensor of the graph.
        ofile: an open file; the standard output by default.
    """
    _watch_list().printed.append((tensor, ofile or sys.stdout))


def assert_allclose(tensor: Tensor, desired: Any, tol: Any = (1e-7, 1e-7)) -> None:
    """Requests that `run` compares a tensor with its expected value.

    Args:
        tensor: any tensor of the graph.
        desired: the expected value.
        tol: a relative and an absolute tolerance, or one value for both.
    """
    relative, absolute = tol if isinstance(tol, (list, tuple)) else (tol, tol)
    _watch_list().compared.append((tensor, desired, float(relative), float(absolute)))


def build(sch: Any, tensors: Any, target: Any = "cce", name: str = "kernel", **more: Any) -> Any:
    """Records a build request, and the tensors; `run` takes one array for each of the tensors."""
    if session().build_config.get("_watched") is not None:
        _watch_list().tensors = tuple(flatten_tensors(tensors))
    return tvm_build(sch, tensors, target, name=name, **more)


def run(*arrays: Any) -> None:
    """Computes the built operator and overwrites the output arrays.

    Args:
        arrays: one array per tensor that was passed to `build`, in the same order.

    Raises:
        OperatorError: nothing was built, or the number of arrays or a shape is wrong.
        AssertionError: a tensor differs from the value given to `assert_allclose`.
    """
    watched = _watch_list()
    looked_at = [*(item[0] for item in watched.printed), *(item[0] for item in watched.compared)]
    values, results = _compute_tensors("run", watched.tensors, arrays, looked_at)
    for tensor, file in watched.printed:
        print(f"{tensor.name}: {values[id(tensor)]}", file=file)
    for tensor, desired, relative, absolute in watched.compared:
        np.testing.assert_allclose(
            values[id(tensor)], _as_numpy(desired), relative, absolute, err_msg=tensor.name
        )
    _copy_results(values, results)


@dataclass(frozen=True)
class BuiltKernel:
    """Result of ``tvm.build``; a call with one array per tensor overwrites the output arrays.

    Attributes:
        tensors: inputs, then outputs.
        entry_name: name of the function.
    """

    tensors: Sequence[Tensor]
    entry_name: str

    def __call__(self, *arrays: Any) -> None:
        _copy_results(*_compute_tensors(self.entry_name, self.tensors, arrays))

    def time_evaluator(self, *_: Any, **__: Any) -> Any:
        """Raises `OperatorError`: time measurement is not supported here."""
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
) -> BuiltKernel:
    """``tvm.build``: records a build request and returns a callable."""
    tvm_build(sch, args, target, target_host, name, **more)
    return BuiltKernel(tuple(flatten_tensors(args)), name)


_Results = list[tuple[Tensor, Any]]


def _compute_tensors(
    name: str, tensors: Sequence[Tensor], arrays: Sequence[Any], looked_at: Sequence[Tensor] = ()
) -> tuple[dict[int, np.ndarray], _Results]:
    """Evaluates the outputs of a kernel, and the tensors `looked_at`.

    `tensors` are the inputs and outputs of the kernel; `arrays` has one array for each tensor. The
    function returns a dict and a list. The dict maps the ``id`` of each evaluated tensor to the
    computed elements. The list contains a pair for each output: the tensor, and the array from
    `arrays` that is to be overwritten.
    """
    if not tensors or len(arrays) != len(tensors):
        raise fault(
            "E90001",
            f"{name} takes an array for each of the {len(tensors)} tensors that were built, "
            f"but got {len(arrays)}",
            detailed_cause="arrays",
        )
    pairs = list(zip(tensors, arrays, strict=True))
    given = {id(t): _fit_array(t, array) for t, array in pairs if t.op.kind == "placeholder"}
    results = [(t, array) for t, array in pairs if t.op.kind != "placeholder"]
    return _evaluate_tensors([*(tensor for tensor, _ in results), *looked_at], given), results


def _copy_results(values: Mapping[int, np.ndarray], results: _Results) -> None:
    for tensor, array in results:
        _as_numpy(array)[...] = values[id(tensor)].reshape(_as_numpy(array).shape)


def _evaluate_tensors(
    tensors: Sequence[Tensor], given: Mapping[int, np.ndarray]
) -> dict[int, np.ndarray]:
    made = {id(tensor): tensor for tensor in tensors if id(tensor) not in given}
    found = evaluate.run(list(made.values()), given, {}) if made else ()
    return {**given, **dict(zip(made, found, strict=True))}


def _as_numpy(array: Any) -> np.ndarray:
    return array.values if isinstance(array, Array) else np.asarray(array)


def _fit_array(tensor: Tensor, array: Any) -> np.ndarray:
    shape, values = tuple(int(str(size)) for size in tensor.shape), _as_numpy(array)
    if values.size != int(np.prod(shape)):
        raise fault(
            "E90001",
            f"the array for {tensor.name} has the shape {values.shape}, but the tensor {shape}",
            detailed_cause="shape",
        )
    return np.ascontiguousarray(values, dtype_of(tensor.dtype).numpy).reshape(shape)


def compare(actual: Any, desired: Any, rtol: float = 1e-7, atol: float = 1e-7) -> None:
    """``tvm.testing.assert_allclose``: raises `AssertionError` if the arrays differ too much."""
    np.testing.assert_allclose(_as_numpy(actual), _as_numpy(desired), rtol, atol)


def empty(shape: Any, dtype: str = "float32", ctx: Any = None) -> Array:
    """Returns an array of zeros."""
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    return Array(np.zeros(sizes, dtype_of(dtype).numpy), ctx)


def processor(number: int = 0) -> str:
    """``tvm.cpu(0)``: returns the name of a device."""
    return f"cpu({number})"


ARRAYS = SimpleNamespace(array=Array, empty=empty, NDArray=Array)
"""The module ``tvm.nd``."""
COMPARISON_FUNCTIONS = SimpleNamespace(assert_allclose=compare)
"""The module ``tvm.testing``."""
FUNCTIONS: Mapping[str, Any] = {
    "debug": debug,
    "get_ctx": get_ctx,
    "print_tensor": print_tensor,
    "assert_allclose": assert_allclose,
    "build": build,
    "run": run,
}
"""Maps a name in ``tbe.common.testing.testing`` to its function."""
