"""Serializes a net and its inputs, so that a child process can rebuild both.

Unpickling runs code from the serialized bytes. So a child process may unpickle only bytes that its
own parent process sent. The state of the Cells is serialized, so unpickling does not call their
constructors. A class or function is serialized by value if another process cannot import it, or if
its globals contain a net. The bytes also contain the globals of the user's modules, and the source
code of notebook cells, because MindSpore needs both when it compiles the net. If an object (for
example a lock or an open file) cannot be serialized, `pack` raises an error with the reason. The
caller of `pack` then captures the net in the user's process.
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
from custom_ops.tbe_bridge.kernels import unwrap_decorators
from custom_ops.tbe_bridge.registrations import Registration, registrations
from ms_fusion.capture.net_copy import reachable_objects
from tbe_impl.compat.placeholders import CompatModule

OWN_PACKAGES = frozenset({"ms_fusion", "custom_ops", "tbe_impl"})
"""The packages of this project, which each of its child processes can import."""


class _Packer(cloudpickle.Pickler):
    """Extends cloudpickle: also serializes MindSpore's primitives and gradient functions.

    Attributes:
        namespaces: a dict from the name of a user's module to a serialized function from this
            module. The globals of this function are the namespace of the module.
    """

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
            return _import_undecorated, (item.__module__, item.__name__)
        if type(item) is Custom:
            return _make, (Custom, _constructor_arguments(item)[0], {})
        if isinstance(item, Primitive) and type(item).__reduce__ is Primitive.__reduce__:
            registration = mindspore_hook.registration_of(item)
            return _make_primitive, (type(item), dict(item.init_attrs), registration)
        if isinstance(item, MultitypeFuncGraph):
            entries = [(tuple(map(str, types)), function) for types, function in item.entries]
            # The functions may refer to the graph, so they are registered after its creation.
            return MultitypeFuncGraph, ("carried",), entries, None, None, _register
        if isinstance(item, MetaFuncGraph_):
            return _make, (type(item), *_constructor_arguments(item))
        if isinstance(item, types.BuiltinFunctionType) and _is_mindspore_function(item):
            return _import_attribute, (item.__module__, item.__name__)
        reduced = super().reducer_override(item)
        if isinstance(item, types.FunctionType) and _is_user_module(item.__module__):
            self.namespaces.setdefault(item.__module__, item)
        return reduced


def _constructor_arguments(item: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns (constructor arguments, later boolean attributes) of a primitive, as two dicts.

    The constructor arguments are read from the attributes of the same names, since MindSpore stores
    them there. The other boolean attributes were set after construction.
    """
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
    """Creates a MindSpore primitive of class `kind`.

    `registration` is the registration of a TBE operator, or None. If this TBE operator is not
    registered yet, the function registers it first.
    """
    if registration is not None:
        registrations.setdefault(str(registration.info["op_name"]), registration)
    return kind(**arguments)


def _class_of_primitives() -> type:
    from mindspore.ops import Primitive

    return type(Primitive)


def _is_decorated(item: types.FunctionType) -> bool:
    """Returns whether a decorator replaced the function in its module.

    For example, MindSpore registers TBE functions with a decorator. The result is False if another
    process cannot import the module.
    """
    known = vars(sys.modules.get(item.__module__, types)).get(item.__name__)
    return (
        item.__module__ != "__main__"
        and isinstance(known, types.FunctionType)
        and known is not item
        and unwrap_decorators(known) is item
        and _can_be_imported(item.__module__)
    )


def _import_undecorated(module: str, name: str) -> Any:
    return unwrap_decorators(getattr(importlib.import_module(module), name))


def _register(made: Any, entries: Sequence[tuple[tuple[str, ...], Any]]) -> None:
    """Registers the functions of a `MultitypeFuncGraph` by the names of their argument types."""
    for types_taken, function in entries:
        made.register(*types_taken)(function)


def _is_mindspore_function(item: types.BuiltinFunctionType) -> bool:
    """Returns whether `item` is a C++ function that a MindSpore module exports by name.

    The caller serializes such a function by name, because pickle would serialize the object to
    which the function is bound.
    """
    module = sys.modules.get(item.__module__ or "")
    return (item.__module__ or "").startswith("mindspore.") and getattr(
        module, item.__name__, None
    ) is item


def _import_attribute(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


class NotSerializableError(Exception):
    """A net cannot be serialized; the message is the reason."""


def pack(net: Callable[..., Any], inputs: Sequence[Any]) -> bytes:
    """Serializes `net` and `inputs`.

    Raises:
        NotSerializableError: an object cannot be serialized.
    """
    from mindspore.nn import Cell

    net = net if isinstance(net, Cell) else inspect.unwrap(net)
    buffer = io.BytesIO()
    packer = _Packer(buffer)
    try:
        with _pickle_modules_by_value(net):
            packer.dump((net, tuple(inputs)))
            packer.dump(packer.namespaces)
            packer.dump(_notebook_sources())
    except Exception as error:  # Objects may raise any exception when pickled.
        raise NotSerializableError(str(error)) from error
    return buffer.getvalue()


@contextmanager
def _pickle_modules_by_value(net: Any) -> Iterator[None]:
    """Returns a context manager that makes cloudpickle serialize the user's modules by value.

    Two kinds of objects have modules that are serialized by value:

    - the user's functions. If the child process imported the module of a function instead, the
      globals of the function would refer to newly created nets, not to the serialized nets.
    - Cell classes that another process cannot import.
    """
    from mindspore.nn import Cell

    held = list(reachable_objects(net))
    names = {item.__module__ for item in held if isinstance(item, types.FunctionType)}
    kinds = {kind for item in held if isinstance(item, Cell) for kind in type(item).__mro__}
    names |= {kind.__module__ for kind in kinds if not _can_be_imported(kind.__module__)}
    with ExitStack() as stack:
        for module in (sys.modules[name] for name in names - {"__main__"} if _is_user_module(name)):
            cloudpickle.register_pickle_by_value(module)
            stack.callback(cloudpickle.unregister_pickle_by_value, module)
        yield


def _is_user_module(name: str | None) -> bool:
    """Returns whether a module is the user's: not part of ms_fusion, of a package or of Python."""
    if name == "__main__":
        return True
    if name and name.partition(".")[0] in OWN_PACKAGES:
        return False
    file = getattr(sys.modules.get(name or ""), "__file__", None)
    return file is not None and not (
        {"site-packages", "dist-packages"} & set(Path(file).parts)
        or Path(file).is_relative_to(Path(inspect.__file__).parent)
    )


def _can_be_imported(name: str) -> bool:
    """Returns whether another process can import a module.

    There are two conditions:

    - The import system finds the module. This condition excludes modules that code created at run
      time.
    - No object in the module is from ``__main__``. This condition excludes the module that
      MindSpore's `amp` generates for the classes of a script.
    """
    held = vars(sys.modules[name]).values() if name in sys.modules else ()
    if any(getattr(one, "__module__", None) == "__main__" for one in held):
        return False
    top = name.partition(".")[0]
    return any(finder.find_spec(top, None) is not None for finder in sys.meta_path)


def _notebook_sources() -> dict[str, Any]:
    """Returns the source code of notebook cells: the entries of `linecache` that have no file."""
    return {
        name: entry
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and not Path(name).exists()
    }


def unpack(content: bytes) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Rebuilds the net and inputs from the bytes of `pack`.

    Unpickling runs code from `content`, which must therefore come from our own parent process.
    """
    unpickler = pickle.Unpickler(io.BytesIO(content))  # noqa: S301
    net, inputs = unpickler.load()
    for name, function in unpickler.load().items():
        # MindSpore looks up the names that a function uses in the function's module.
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(function.__globals__)
    linecache.cache.update(unpickler.load())
    return net, inputs
