"""A live net and its inputs in bytes, so that a child process of ours can rebuild them; never read from anywhere else.

Constructors of Cells are not called again: their state is carried over. Classes and functions that another process cannot
import, or whose globals hold a net, are carried by value; MindSpore resolves names in modules and reads source text, so both
go with them. Of what cannot be carried (a lock, a file being written) `pack` says so, and the caller works in its own process.
"""

from __future__ import annotations

import importlib
import inspect
import io
import linecache
import pickle
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import cloudpickle

from custom_ops.tbe_bridge import mindspore_hook
from custom_ops.tbe_bridge.kernels import with_parameters
from custom_ops.tbe_bridge.registrations import Registration, registrations
from ms_fusion.capture.net_copy import plain_function, reachable
from tbe_impl.compat.placeholders import CompatModule

OURS = frozenset({"ms_fusion", "custom_ops", "tbe_impl"})
"""Packages that every child process of ours can import, wherever they lie."""


class _Packer(cloudpickle.Pickler):
    """Adds MindSpore's primitives and gradients to what cloudpickle knows; notes whose globals it carries."""

    def __init__(self, file: io.BytesIO):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.namespaces: dict[str, types.FunctionType] = {}

    def reducer_override(self, item: Any) -> Any:
        from mindspore._c_expression import MetaFuncGraph_
        from mindspore.ops import Custom, MultitypeFuncGraph, Primitive

        if isinstance(item, CompatModule):
            return importlib.import_module, (item.__name__,)
        if item is type(Primitive):
            return _class_of_primitives, ()
        if isinstance(item, types.FunctionType) and _is_decorated(item):
            return _below_decorators, (item.__module__, item.__name__)
        if type(item) is Custom:
            return _make, (Custom, _made_with(item)[0], {})
        if isinstance(item, Primitive) and type(item).__reduce__ is Primitive.__reduce__:
            registration = mindspore_hook.registration_of(item)
            return _make_primitive, (type(item), dict(item.init_attrs), registration)
        if isinstance(item, MultitypeFuncGraph):
            entries = [(tuple(map(str, types)), function) for types, function in item.entries]
            # its functions may name it, so that it is made before they are
            return MultitypeFuncGraph, ("carried",), entries, None, None, _register
        if isinstance(item, MetaFuncGraph_):
            return _make, (type(item), *_made_with(item))
        if isinstance(item, types.BuiltinFunctionType) and _is_mindspores(item):
            return _named, (item.__module__, item.__name__)
        reduced = super().reducer_override(item)
        if isinstance(item, types.FunctionType) and _is_users(item.__module__):
            self.namespaces.setdefault(item.__module__, item)
        return reduced


def _made_with(item: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arguments of the constructor, which MindSpore keeps as attributes, and the switches that were set later."""
    names = list(inspect.signature(type(item).__init__).parameters)[1:]
    state = vars(item)
    return {name: state[name] for name in names if name in state}, {
        name: value
        for name, value in state.items()
        if name not in names and isinstance(value, bool)
    }


def _make(kind: type, arguments: dict[str, Any], state: dict[str, Any]) -> Any:
    made = kind(**arguments)
    vars(made).update(state)
    return made


def _make_primitive(
    kind: type, arguments: dict[str, Any], registration: Registration | None
) -> Any:
    """A primitive; the TBE operator behind it is registered where its constructor does not do that."""
    if registration is not None:
        registrations.setdefault(str(registration.info["op_name"]), registration)
    return kind(**arguments)


def _class_of_primitives() -> type:
    from mindspore.ops import Primitive

    return type(Primitive)


def _is_decorated(item: types.FunctionType) -> bool:
    """Whether a module that can be imported has it below a decorator, as MindSpore registers TBE functions."""
    known = vars(sys.modules.get(item.__module__, types)).get(item.__name__)
    return (
        item.__module__ != "__main__"
        and isinstance(known, types.FunctionType)
        and known is not item
        and with_parameters(known) is item
        and _can_be_imported(item.__module__)
    )


def _below_decorators(module: str, name: str) -> Any:
    return with_parameters(getattr(importlib.import_module(module), name))


def _register(made: Any, entries: Sequence[tuple[tuple[str, ...], Any]]) -> None:
    """The functions of a `MultitypeFuncGraph`, by the names of the types that they take."""
    for types_taken, function in entries:
        made.register(*types_taken)(function)


def _is_mindspores(item: types.BuiltinFunctionType) -> bool:
    """Whether it is a function in C++ that its module has under its name; pickle would carry the object behind it."""
    module = sys.modules.get(item.__module__ or "")
    return (item.__module__ or "").startswith("mindspore.") and getattr(
        module, item.__name__, None
    ) is item


def _named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class NotCarriedError(Exception):
    """A child process could not rebuild the net; the text says why."""


def pack(net: Callable[..., Any], inputs: Sequence[Any]) -> bytes:
    """`net` and `inputs` in bytes, or `NotCarriedError`."""
    from mindspore.nn import Cell

    net = net if isinstance(net, Cell) else plain_function(net)
    buffer = io.BytesIO()
    packer = _Packer(buffer)
    try:
        with _by_value(net):
            packer.dump((net, tuple(inputs)))
            packer.dump(packer.namespaces)
            packer.dump(_texts_not_on_disk())
    except Exception as error:  # whatever an object raises that does not want to be carried
        raise NotCarriedError(str(error)) from error
    return buffer.getvalue()


@contextmanager
def _by_value(net: Any) -> Iterator[None]:
    """The modules of the user's own functions are carried: imported anew, their globals would be other nets.

    Those of Cells, where no other process finds them.
    """
    from mindspore.nn import Cell

    held = list(reachable(net))
    names = {item.__module__ for item in held if isinstance(item, types.FunctionType)}
    kinds = {kind for item in held if isinstance(item, Cell) for kind in type(item).__mro__}
    names |= {kind.__module__ for kind in kinds if not _can_be_imported(kind.__module__)}
    with ExitStack() as stack:
        for module in (sys.modules[name] for name in names - {"__main__"} if _is_users(name)):
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        yield


def _is_users(name: str | None) -> bool:
    """Whether this is the user's own module, neither ours nor installed nor part of Python."""
    if name == "__main__":
        return True
    if name and name.partition(".")[0] in OURS:
        return False
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    return file is not None and not (
        {"site-packages", "dist-packages"} & set(Path(file).parts)
        or Path(file).is_relative_to(Path(inspect.__file__).parent)
    )


def _can_be_imported(name: str) -> bool:
    """Whether another process can import a module: it is found, and needs no ``__main__`` of ours.

    What was made from a file by hand is not found; what `amp` writes for the classes of a script
    takes them from ``__main__``.
    """
    held = vars(sys.modules[name]).values() if name in sys.modules else ()
    if any(getattr(one, "__module__", None) == "__main__" for one in held):
        return False
    top = name.partition(".")[0]
    return any(finder.find_spec(top, None) is not None for finder in sys.meta_path)


def _texts_not_on_disk() -> dict[str, Any]:
    """Source text of notebooks."""
    return {
        name: entry
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and not Path(name).exists()
    }


def unpack(content: bytes) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """What `pack` packed. Runs code that the content names: only for our own parent process."""
    unpickler = pickle.Unpickler(io.BytesIO(content))  # noqa: S301
    net, inputs = unpickler.load()
    for name, function in unpickler.load().items():
        # where MindSpore looks for the names of a function
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(function.__globals__)
    linecache.cache.update(unpickler.load())
    return net, inputs
