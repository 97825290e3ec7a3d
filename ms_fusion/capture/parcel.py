"""A live Cell and its inputs in bytes, so that a child process of ours can rebuild them; never read from anywhere else.

Constructors of Cells are not called again: their state is carried over. What cannot be carried (a class of ``__main__`` or of a
function, a closure, an open file) makes `pack` return None, and the caller works in its own process instead.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any


class _Packer(pickle.Pickler):
    """Adds MindSpore's primitives to what pickle knows, and refuses what only this process could import."""

    def reducer_override(self, item: Any) -> Any:
        from mindspore.ops import HyperMap, Primitive
        from mindspore.ops.composite import GradOperation, Map

        home = getattr(item, "__module__", None)
        if isinstance(item, type) and (home == "__main__" or "<locals>" in item.__qualname__):
            raise pickle.PicklingError(f"{item.__qualname__} cannot be imported elsewhere")
        if isinstance(item, Primitive):
            return _make, (type(item), dict(item.init_attrs))
        if type(item) in (Map, HyperMap) and item.ops is None:
            return _make, (type(item), {})
        if type(item) is GradOperation:
            names = ("get_all", "get_by_list", "sens_param")
            return _make, (GradOperation, {name: getattr(item, name) for name in names})
        return NotImplemented


def _make(kind: type, arguments: dict[str, Any]) -> Any:
    return kind(**arguments)


def pack(net: Callable[..., Any], inputs: Sequence[Any]) -> bytes | None:
    """`net` and `inputs` in bytes; None when a child process could not rebuild them."""
    from mindspore.nn import Cell

    if not isinstance(net, Cell):
        return None
    buffer = io.BytesIO()
    try:
        _Packer(buffer, protocol=pickle.HIGHEST_PROTOCOL).dump((net, tuple(inputs)))
    except Exception:  # noqa: BLE001 whatever an object raises that does not want to be carried
        return None
    return buffer.getvalue()


def unpack(content: bytes) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What `pack` packed. Runs code that the content names: only for our own parent process."""
    return pickle.loads(content)  # noqa: S301
