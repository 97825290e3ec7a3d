"""Loads an unmodified operator file; `Operator.build` runs the operator and returns a kernel.

Each operator has its own set of modules. Two operator trees (directories with operator files and
their packages) may therefore use equal package names.
"""

from __future__ import annotations

import dataclasses
import functools
import importlib.util
import inspect
import itertools
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tbe_impl import TOOLKIT_PACKAGES, compat, tuning_store
from tbe_impl.cann import toolkit as cann
from tbe_impl.compat import Registration
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.bytecode import CachedLoader
from tbe_impl.loading.deferred_kernel import DeferredKernel
from tbe_impl.loading.module_places import find_modules_below
from tbe_impl.loading.operator_errors import call_error, import_error
from tbe_impl.loading.operator_packages import (
    LazyPackageFinder,
    add_lazy_attributes,
    read_reexports,
)
from tbe_impl.loading.shape_specialization import ShapeSpecializer
from tbe_impl.loading.signature import (
    check_schedule,
    declared_shapes,
    make_kernel,
    normalize_argument,
)
from tbe_impl.tuning import tune_at_build

OPTIONS = ("inplace", "threads", "vector_bits")
"""Keywords of `Operator.build` that are kernel options, not operator arguments."""

_numbers = itertools.count()
_import_lock = threading.RLock()
CYCLE_ENTRY_LIMIT = 32
"""Maximum number of modules that are tried as the first import to resolve an import cycle."""


class Operator:
    """An operator function, with its own copies of the modules that the function imports.

    Attributes:
        name: name of the function.
        function: the callable, including the decorators of the operator file.
        file: source file of the function. None if the operator was loaded from a function object.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        file: Path | None = None,
        modules: dict[str, types.ModuleType] | None = None,
        search_path: Sequence[str] = (),
    ):
        self.name = getattr(function, "__name__", "operator")
        self.function, self.file = function, file
        self._modules, self._search_path = (
            modules if modules is not None else {},
            tuple(search_path),
        )

    def build(self, *arguments: Any, soc: str = "Ascend910A", **keywords: Any) -> Kernel:
        """Runs the operator function and returns the kernel of its last build request.

        Args:
            arguments, keywords: attributes of the operator, and one dict for each tensor. The dict
                has the keys ``shape`` and ``dtype``, and optionally the format, original shape and
                original format. ``kernel_name`` may be omitted. ``inplace``, ``threads`` and
                ``vector_bits`` are options for `Kernel.with_options`. If the operator has a
                parameter of such a name, the value is passed to the operator instead.
            soc: the chip that the operator targets. ``cpu`` has no limits.

        Raises:
            InputError: the operator rejects its arguments, violates a rule of the DSL or exceeds a
                limit of the chip. The error names the file and the line.
        """
        own = self._parameters
        options = {key: keywords.pop(key) for key in OPTIONS if key in keywords and key not in own}
        keywords = self._add_kernel_name(arguments, keywords)
        arguments = tuple(normalize_argument(item) for item in arguments)
        keywords = {key: normalize_argument(item) for key, item in keywords.items()}
        by_sizes = ShapeSpecializer(functools.partial(self._run_function, soc), arguments, keywords)
        try:
            kernel = self._run_function(soc, *arguments, **keywords)
        except FusionError as error:
            if not by_sizes.may_specialize(error):
                raise
            name = str(keywords.get("kernel_name") or self.name)
            late = DeferredKernel(name, soc, (), (), specialise=by_sizes, problem=error)
            return tune_at_build(late.with_options(**options) if options else late)
        if by_sizes.is_needed:
            kernel = dataclasses.replace(kernel, specialise=by_sizes)
        kernel = tuning_store.apply_tuning(kernel.with_options(**options) if options else kernel)
        return tune_at_build(kernel)

    def _run_function(self, soc: str, *arguments: Any, **keywords: Any) -> Kernel:
        """Runs the operator function; returns its kernel without tuning."""
        # copied before the run, because operators modify their arguments
        declared = tuple(declared_shapes([*arguments, *keywords.values()]))
        called = str(keywords.get("kernel_name") or self.name)
        with (
            compat.installed(soc=soc) as session,
            _install_modules(self._modules, self._search_path),
        ):
            try:
                self.function(*arguments, **keywords)
                kernel = make_kernel(called, session, declared)
                check_schedule(kernel)
            except FusionError:
                raise
            except (Exception, SystemExit) as error:
                raise call_error(
                    error, self.name, self.file, self._parameters, arguments, keywords
                ) from error
        return kernel

    def build_for_device(
        self,
        directory: str | os.PathLike[str],
        *arguments: Any,
        soc: str = "Ascend910A",
        **keywords: Any,
    ) -> tuple[Path, ...]:
        """Builds the operator with an installed CANN toolkit; returns the paths of the built files.

        The files are written below `directory`. This method has not been tested.

        Raises:
            MissingError: no CANN toolkit is installed.
            CompileError: the CANN toolkit rejects the operator.
        """
        keywords = self._add_kernel_name(arguments, keywords)
        return cann.build(self.function, arguments, keywords, soc=soc, directory=Path(directory))

    @functools.cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return _parameters(self.function)

    def _add_kernel_name(
        self, arguments: Sequence[Any], keywords: dict[str, Any]
    ) -> dict[str, Any]:
        parameters = self._parameters
        place = list(parameters).index("kernel_name") if "kernel_name" in parameters else -1
        if place < 0 or place < len(arguments) or "kernel_name" in keywords:
            return keywords
        if parameters["kernel_name"].default is not inspect.Parameter.empty:
            return keywords
        return {**keywords, "kernel_name": self.name}

    def __repr__(self) -> str:
        return f"Operator({self.name}, {self.file or 'this program'})"


def load_operator(
    source: str | os.PathLike[str] | Callable[..., Any],
    function: str | None = None,
    *,
    search_path: Sequence[str | os.PathLike[str]] = (),
) -> Operator:
    """Loads an operator from its unmodified file.

    Args:
        source: the file, or a function object.
        function: name of the operator function. By default, the function is selected by the first
            criterion that exactly one function fulfils. The criteria are, in this order: the
            function has the name of the file, is registered as an operator, has a parameter
            ``kernel_name``, or is public.
        search_path: directories that contain the operator's own packages, such as the parent
            directory of ``impl``.

    Raises:
        InputError: the file or function does not exist, or the import fails.
    """
    if callable(source):
        return Operator(source)
    file = Path(source).absolute()
    if not file.is_file():
        raise InputError("there is no such operator file", place=str(source))
    places = [str(Path(entry).absolute()) for entry in search_path]
    modules: dict[str, types.ModuleType] = {}
    importlib.invalidate_caches()
    # a file may query the platform at import, so some chip must be set
    with (
        compat.installed(soc="Ascend910A") as session,
        _install_modules(modules, [*places, str(file.parent)]),
    ):
        module = _import(file, places)
        registered = [
            item for item in session.registrations if item.file and Path(item.file) == file
        ]
        found = _choose(module, function, file, registered)
    return Operator(found, file=file, modules=modules, search_path=[*places, str(file.parent)])


def _import(file: Path, search_path: Sequence[str]) -> types.ModuleType:
    name = _module_name(file, search_path)
    try:
        return _import_alone(name, file)
    except FusionError:
        raise
    except (Exception, SystemExit) as error:
        found = None
        if "partially initialized" in str(error):
            found = _break_import_cycle(name, file, search_path, error)
        if found is None:
            raise import_error(error, file) from error
        return found


def _import_alone(name: str, file: Path) -> types.ModuleType:
    _make_packages(name, file)
    loader = CachedLoader(name, str(file))
    specification = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    # as in Python's import system: accessing a missing name then reports a partial initialization
    vars(specification)["_initializing"] = True
    try:
        loader.exec_module(module)
    finally:
        vars(specification)["_initializing"] = False
    return module


def _make_packages(name: str, file: Path) -> None:
    """Creates the parent packages of a file without running the code of their ``__init__``.

    The code of an ``__init__`` may import every operator. Names that an ``__init__`` only
    re-exports are imported on first access.
    """
    for parent, place in _packages(name, file):
        if parent not in sys.modules:
            package = types.ModuleType(parent)
            package.__path__ = [str(place)]
            add_lazy_attributes(package, read_reexports(str(place / "__init__.py"), parent))
            sys.modules[parent] = package


def _break_import_cycle(
    name: str, file: Path, search_path: Sequence[str], error: BaseException
) -> types.ModuleType | None:
    """Imports a file that is part of an import cycle.

    The function tries other modules of the cycle as the first import. If all attempts fail, the
    function returns None.
    """
    tried: set[str] = set()
    waiting = _modules_in_progress(error)
    while waiting and len(tried) < CYCLE_ENTRY_LIMIT:
        beginning = waiting.pop()
        if beginning in tried:
            continue
        tried.add(beginning)
        for key in _find_modules_of(dict(sys.modules), search_path):
            del sys.modules[key]
        _make_packages(name, file)
        try:
            importlib.import_module(beginning)
            return sys.modules.get(name) or _import_alone(name, file)
        except Exception as another:  # noqa: BLE001 - an operator's file may raise anything
            waiting += _modules_in_progress(another)
    return None


def _modules_in_progress(error: BaseException) -> list[str]:
    """Returns the names of the modules that were being imported when an error occurred.

    The modules are ordered from outermost to innermost, without the outermost module.
    """
    found: dict[str, None] = {}
    trace = error.__traceback__
    while trace is not None:
        frame = trace.tb_frame
        if frame.f_code.co_name == "<module>":
            found[str(frame.f_globals["__name__"])] = None
        trace = trace.tb_next
    return list(found)[1:]


def _module_name(file: Path, search_path: Sequence[str]) -> str:
    for entry in search_path:
        if file.is_relative_to(entry):
            parts = file.relative_to(entry).with_suffix("").parts
            if all(part.isidentifier() for part in parts):
                return ".".join(parts)
    return f"tbe_operator_{next(_numbers)}_{file.stem}"


def _packages(name: str, file: Path) -> Iterator[tuple[str, Path]]:
    """Yields the parent packages of a module, outermost first."""
    parts = name.split(".")[:-1]
    for depth in range(1, len(parts) + 1):
        yield ".".join(parts[:depth]), file.parents[len(parts) - depth]


@contextmanager
def _install_modules(
    modules: dict[str, types.ModuleType], search_path: Sequence[str]
) -> Iterator[None]:
    """Context manager: ``sys.modules`` contains an operator's modules in the ``with`` body.

    Modules below `search_path` that are imported in the ``with`` body are added to `modules`.
    """
    with _import_lock:
        saved_path, saved = list(sys.path), {}
        for name, module in modules.items():
            if name in sys.modules:
                saved[name] = sys.modules[name]
            sys.modules[name] = module
        before = dict(sys.modules)
        theirs = [name for name in _find_modules_of(before, search_path) if name not in modules]
        hidden = {name: before.pop(name) for name in theirs}
        for name in theirs:
            del sys.modules[name]
        sys.path[:0] = [entry for entry in search_path if entry not in sys.path]
        lazy = LazyPackageFinder(search_path, TOOLKIT_PACKAGES)
        sys.meta_path.insert(0, lazy)
        try:
            yield
        finally:
            sys.meta_path.remove(lazy)
            sys.path[:] = saved_path
            new = {name: item for name, item in sys.modules.items() if before.get(name) is not item}
            for name in [*_find_modules_of(new, search_path), *modules]:
                if name in sys.modules and sys.modules[name] is not hidden.get(name):
                    modules[name] = sys.modules.pop(name)
            sys.modules.update(saved)
            sys.modules.update(hidden)


def _find_modules_of(loaded: Mapping[str, Any], search_path: Sequence[str]) -> list[str]:
    """Returns the names of the modules in `loaded` that are below directories of `search_path`."""
    places = tuple(f"{entry.rstrip(os.sep)}{os.sep}" for entry in search_path)
    # All modules are located before any is removed: a namespace package reads its parent's path.
    return find_modules_below(loaded, places)


def _choose(
    module: types.ModuleType, name: str | None, file: Path, registered: Sequence[Registration]
) -> Callable[..., Any]:
    """Selects the operator function by name or, without a name, by the first unique criterion.

    A criterion is unique if exactly one function of the file fulfils it. The criteria are, in this
    order: the function has the name of the file, is registered as an operator, has a parameter
    ``kernel_name``, or is public.
    """
    wrapped = {id(item.wrapper): item.function for item in registered}
    functions = {
        key: item
        for key, item in vars(module).items()
        if callable(item) and not isinstance(item, type) and not key.startswith("__")
    }
    own = {
        key: item
        for key, item in functions.items()
        if _file_of(wrapped.get(id(item), item)) == file
    }
    if name is not None:
        if name in functions:
            return functions[name]
        raise InputError(
            f"the file defines no function {name}",
            place=str(file),
            expected=", ".join(own) or "a file that defines a function",
        )
    kinds = {item.function.__name__: item.kind for item in registered}
    whole = [key for key in own if kinds.get(key) in ("register_operator", "op_info_register")]
    named = [key for key in own if key.lower() in _names_of(file)]
    takes_name = [
        key
        for key, item in own.items()
        if "kernel_name" in _parameters(_innermost_function(wrapped.get(id(item), item)))
        and "compute" not in key.lower()
    ]
    public = [key for key in own if not key.startswith("_")]
    for candidates in (named, whole, takes_name, public):
        if len(candidates) == 1:
            return own[candidates[0]]
    raise InputError(
        "the operator function is ambiguous",
        place=str(file),
        expected=f"function= one of {', '.join(takes_name or own)}"
        if own
        else "a file that defines a function",
        remedy=None
        if own
        else 'Put what the script does into a function: def operator(x, y, kernel_name="operator")',
    )


def _names_of(file: Path) -> set[str]:
    """Returns the names, in lower case, that the operator function of `file` usually has.

    The names are derived from the file name.
    """
    stem = file.stem.lower()
    plain = stem.removesuffix("_impl").removesuffix("_d")
    together = plain.replace("_", "")
    return {stem, plain, f"{plain}_d", f"{plain}_impl", f"cus_{plain}", together, f"{together}impl"}


def _file_of(function: Any) -> Path | None:
    """Returns the source file of a function."""
    code = getattr(_innermost_function(function), "__code__", None)
    return None if code is None else Path(code.co_filename)


def _innermost_function(function: Any) -> Any:
    """Removes decorators, including a decorator that stores the function only in its closure."""
    inner = inspect.unwrap(function)
    kept = [cell.cell_contents for cell in getattr(inner, "__closure__", None) or ()]
    return next((item for item in kept if isinstance(item, types.FunctionType)), inner)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(inspect.unwrap(function)).parameters
    except (TypeError, ValueError):
        return {}
