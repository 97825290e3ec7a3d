"""Copies a net without its compilation state, and preserves the state of the user's net."""

from __future__ import annotations

import contextlib
import copy
import inspect
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np


def fresh_function(net: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a callable that computes the same function as `net` and has no compilation state.

    A call of the callable does not compile `net` itself. If `net` is a Cell, the result is a deep
    copy. If the Cell cannot be copied, the result is a function that calls the Cell. With such a
    function, the names of the operators in MindSpore's graphs lack the scope.
    """
    import mindspore

    if isinstance(net, mindspore.nn.Cell):
        try:
            twin = copy.deepcopy(net, _shared_objects(net))
        except TypeError:

            def call_cell(*args: Any) -> Any:
                return net(*args)

            return mindspore.jit(call_cell)
        twin.compile_cache.clear()
        return twin
    plain = inspect.unwrap(net)
    receiver = getattr(plain, "__self__", None)
    plain = getattr(plain, "__func__", plain)
    twin = types.FunctionType(
        plain.__code__, plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
    )
    twin.__kwdefaults__ = plain.__kwdefaults__
    twin.__module__, twin.__qualname__ = plain.__module__, plain.__qualname__
    return mindspore.jit(twin if receiver is None else types.MethodType(twin, receiver))


def _shared_objects(net: Any) -> dict[int, Any]:
    """Returns a memo for `copy.deepcopy` that makes a copy of `net` share some objects with `net`.

    The shared objects are those that MindSpore cannot copy, for example a Map or a GradOperation.
    """
    from mindspore._c_expression import MetaFuncGraph_

    return {id(item): item for item in reachable_objects(net) if isinstance(item, MetaFuncGraph_)}


def parameters_of(net: Any) -> list[Any]:
    """Returns every Parameter that is reachable from `net`.

    If `net` is a function, the result has the Parameters of the Cells to which the function refers.
    """
    import mindspore

    return [item for item in reachable_objects(net) if isinstance(item, mindspore.Parameter)]


def reachable_objects(net: Any) -> Iterator[Any]:
    """Yields `net`, then all objects that are reachable from `net`.

    The search follows the attributes of Cells and the items of containers. For a function, it
    follows the closure and the globals that the function uses.
    """
    import mindspore

    seen: set[int] = set()
    waiting: list[Any] = [net]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            continue
        seen.add(id(item))
        yield item
        if isinstance(item, mindspore.nn.Cell):
            waiting.extend(item.get_parameters())
            waiting.extend(vars(item).values())
        elif isinstance(item, (list, tuple, set)):
            waiting.extend(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, types.MethodType):
            waiting.extend((item.__self__, item.__func__))
        elif isinstance(item, types.FunctionType):
            waiting.append(getattr(item, "__wrapped__", None))
            waiting.extend(
                cell.cell_contents for cell in item.__closure__ or () if _is_filled(cell)
            )
            waiting.extend(
                item.__globals__[name]
                for name in item.__code__.co_names
                if name in item.__globals__
            )


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


@contextlib.contextmanager
def preserve_state(net: Any) -> Iterator[Callable[[], None]]:
    """Returns a context manager that restores the parameters of `net` and all random states.

    Parameters and random states are restored at the end of the ``with`` block. The random states
    are those of MindSpore, Python and NumPy. The context manager yields a function. A call of this
    function restores the parameters before the block ends.
    """
    import random

    import mindspore

    python_state, numpy_state = random.getstate(), np.random.get_state()
    random_state = mindspore.get_rng_state()
    kept = [(parameter, parameter.asnumpy().copy()) for parameter in parameters_of(net)]

    def put_back() -> None:
        for parameter, content in kept:
            if parameter.asnumpy().tobytes() != content.tobytes():
                parameter.set_data(mindspore.Tensor(content, parameter.dtype))

    try:
        yield put_back
    finally:
        put_back()
        mindspore.set_rng_state(random_state)
        random.setstate(python_state)
        np.random.set_state(numpy_state)
