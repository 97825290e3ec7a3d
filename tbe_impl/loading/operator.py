"""An operator's file, loaded as it is; `Operator.build` runs it and gives back a kernel.

Each operator keeps the modules that came with it, so that trees whose helper packages have the same name live side by side.
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

from tbe_impl import compat, tuning_store
from tbe_impl.cann import toolkit as cann
from tbe_impl.compat import Registration
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.bytecode import CachedLoader
from tbe_impl.loading.deferred_kernel import LateKernel
from tbe_impl.loading.module_places import modules_below
from tbe_impl.loading.operator_errors import failed_call, failed_import
from tbe_impl.loading.operator_packages import LazyPackages, hand_on, homes_of
from tbe_impl.loading.respecialize import Specialised
from tbe_impl.loading.signature import check_schedule, declared_shapes, described, kernel_of
from tbe_impl.toolkit_finder import ROOTS
from tbe_impl.tuning import tune_at_build

OPTIONS = ("inplace", "threads", "vector_bits")
"""Keywords of `Operator.build` that are not the operator's."""

_numbers = itertools.count()
_importing = threading.RLock()
BEGINNINGS = 32
"""At how many modules of a circle of imports it is tried to begin."""


class Operator:
    """An operator function, and the modules that it was written with.

    Attributes:
        name: of the function.
        function: what is called; decorators of the operator's file included.
        file: where it was written; None for a function of this program.
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
        """Runs the operator function and makes a kernel of what it built.

        Args:
            arguments, keywords: what the operator takes: a dict for each tensor (``shape``, ``dtype``; ``format`` and the
                original shape and format where they matter), attributes; ``kernel_name`` may be left out. ``inplace``,
                ``threads`` and ``vector_bits``, unless the operator has them itself, are those of `Kernel.with_options`.
            soc: the chip that the operator is written for; ``cpu`` knows no limit.

        Raises:
            InputError: the operator refuses its arguments, breaks a rule of the language, or asks more of the chip than it
                has; with file and line.
        """
        own = self._parameters
        options = {key: keywords.pop(key) for key in OPTIONS if key in keywords and key not in own}
        keywords = self._with_kernel_name(arguments, keywords)
        arguments = tuple(described(item) for item in arguments)
        keywords = {key: described(item) for key, item in keywords.items()}
        by_sizes = Specialised(functools.partial(self._built, soc), arguments, keywords)
        try:
            kernel = self._built(soc, *arguments, **keywords)
        except FusionError as error:
            if not by_sizes.may_come(error):
                raise
            name = str(keywords.get("kernel_name") or self.name)
            late = LateKernel(name, soc, (), (), specialise=by_sizes, problem=error)
            return tune_at_build(late.with_options(**options) if options else late)
        if by_sizes.is_needed:
            kernel = dataclasses.replace(kernel, specialise=by_sizes)
        kernel = tuning_store.applied(kernel.with_options(**options) if options else kernel)
        return tune_at_build(kernel)

    def _built(self, soc: str, *arguments: Any, **keywords: Any) -> Kernel:
        """Runs the function."""
        # operators write into their arguments
        declared = tuple(declared_shapes([*arguments, *keywords.values()]))
        called = str(keywords.get("kernel_name") or self.name)
        with compat.installed(soc=soc) as session, _in_place(self._modules, self._search_path):
            try:
                self.function(*arguments, **keywords)
                kernel = kernel_of(called, session, declared)
                check_schedule(kernel)
            except FusionError:
                raise
            except (Exception, SystemExit) as error:
                raise failed_call(
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
        """Hands the operator to a real toolkit; the files that it wrote below `directory`. Untested without one.

        Raises:
            MissingError: no toolkit is installed.
            CompileError: the toolkit refuses the operator.
        """
        keywords = self._with_kernel_name(arguments, keywords)
        return cann.build(self.function, arguments, keywords, soc=soc, directory=Path(directory))

    @functools.cached_property
    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return _parameters(self.function)

    def _with_kernel_name(
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
    """Loads an operator from its file, unchanged.

    Args:
        source: the file, or a function of this program.
        function: name of the operator function; by default the one that is registered, or that bears the file's name.
        search_path: directories in which the operator's own packages lie (the parent of ``impl``, say).

    Raises:
        InputError: no such file or function, or the file fails while it is imported.
    """
    if callable(source):
        return Operator(source)
    file = Path(source).absolute()
    if not file.is_file():
        raise InputError("there is no such operator file", place=str(source))
    places = [str(Path(entry).absolute()) for entry in search_path]
    modules: dict[str, types.ModuleType] = {}
    importlib.invalidate_caches()
    # platform questions that a file asks while it is imported have to be answered for some chip
    with (
        compat.installed(soc="Ascend910A") as session,
        _in_place(modules, [*places, str(file.parent)]),
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
            found = _import_in_a_circle(name, file, search_path, error)
        if found is None:
            raise failed_import(error, file) from error
        return found


def _import_alone(name: str, file: Path) -> types.ModuleType:
    _make_packages(name, file)
    loader = CachedLoader(name, str(file))
    specification = importlib.util.spec_from_file_location(name, file, loader=loader)
    assert specification is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[name] = module
    # as Python has it while it imports: who asks a module for what is not there yet is told so
    vars(specification)["_initializing"] = True
    try:
        loader.exec_module(module)
    finally:
        vars(specification)["_initializing"] = False
    return module


def _make_packages(name: str, file: Path) -> None:
    """The packages of a file, without running them: they may import every operator there is."""
    for parent, place in _packages(name, file):
        if parent not in sys.modules:
            package = types.ModuleType(parent)
            package.__path__ = [str(place)]
            hand_on(package, homes_of(str(place / "__init__.py"), parent))
            sys.modules[parent] = package


def _import_in_a_circle(
    name: str, file: Path, search_path: Sequence[str], error: BaseException
) -> types.ModuleType | None:
    """A file of an import circle, begun at another module of it; None where none can begin."""
    tried: set[str] = set()
    waiting = _under_way(error)
    while waiting and len(tried) < BEGINNINGS:
        beginning = waiting.pop()
        if beginning in tried:
            continue
        tried.add(beginning)
        for key in _theirs(dict(sys.modules), search_path):
            del sys.modules[key]
        _make_packages(name, file)
        try:
            importlib.import_module(beginning)
            return sys.modules.get(name) or _import_alone(name, file)
        except Exception as another:  # noqa: BLE001 - whatever an operator's file raises
            waiting += _under_way(another)
    return None


def _under_way(error: BaseException) -> list[str]:
    """The modules that were being imported when it failed, but the first; outermost first."""
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
    """The packages that a module stands in, the outermost first."""
    parts = name.split(".")[:-1]
    for depth in range(1, len(parts) + 1):
        yield ".".join(parts[:depth]), file.parents[len(parts) - depth]


@contextmanager
def _in_place(modules: dict[str, types.ModuleType], search_path: Sequence[str]) -> Iterator[None]:
    """The modules of an operator stand in ``sys.modules`` inside; those that it imports there are added to them."""
    with _importing:
        saved_path, saved = list(sys.path), {}
        for name, module in modules.items():
            if name in sys.modules:
                saved[name] = sys.modules[name]
            sys.modules[name] = module
        before = dict(sys.modules)
        theirs = [name for name in _theirs(before, search_path) if name not in modules]
        hidden = {name: before.pop(name) for name in theirs}
        for name in theirs:
            del sys.modules[name]
        sys.path[:0] = [entry for entry in search_path if entry not in sys.path]
        lazy = LazyPackages(search_path, ROOTS)
        sys.meta_path.insert(0, lazy)
        try:
            yield
        finally:
            sys.meta_path.remove(lazy)
            sys.path[:] = saved_path
            new = {name: item for name, item in sys.modules.items() if before.get(name) is not item}
            for name in [*_theirs(new, search_path), *modules]:
                if name in sys.modules and sys.modules[name] is not hidden.get(name):
                    modules[name] = sys.modules.pop(name)
            sys.modules.update(saved)
            sys.modules.update(hidden)


def _theirs(loaded: Mapping[str, Any], search_path: Sequence[str]) -> list[str]:
    """Names of those modules that lie in one of the directories."""
    places = tuple(f"{entry.rstrip(os.sep)}{os.sep}" for entry in search_path)
    # all are asked before one is taken out: a package without __init__ asks its parent where it lies
    return modules_below(loaded, places)


def _choose(
    module: types.ModuleType, name: str | None, file: Path, registered: Sequence[Registration]
) -> Callable[..., Any]:
    """The operator function of a file: the one that is asked for, registered, or alone in taking a kernel's name."""
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
        if "kernel_name" in _parameters(_written(wrapped.get(id(item), item)))
        and "compute" not in key.lower()
    ]
    public = [key for key in own if not key.startswith("_")]
    for candidates in (named, whole, takes_name, public):
        if len(candidates) == 1:
            return own[candidates[0]]
    raise InputError(
        "which function is the operator is not clear",
        place=str(file),
        expected=f"function= one of {', '.join(takes_name or own)}"
        if own
        else "a file that defines a function",
        remedy=None
        if own
        else 'Put what the script does into a function: def operator(x, y, kernel_name="operator")',
    )


def _names_of(file: Path) -> set[str]:
    """Names that an operator of this file would have."""
    stem = file.stem.lower()
    plain = stem.removesuffix("_impl").removesuffix("_d")
    together = plain.replace("_", "")
    return {stem, plain, f"{plain}_d", f"{plain}_impl", f"cus_{plain}", together, f"{together}impl"}


def _file_of(function: Any) -> Path | None:
    """The file in which a function was written."""
    code = getattr(_written(function), "__code__", None)
    return None if code is None else Path(code.co_filename)


def _written(function: Any) -> Any:
    """A function without its decorators; one that a decorator without manners has put away is found in there."""
    inner = inspect.unwrap(function)
    kept = [cell.cell_contents for cell in getattr(inner, "__closure__", None) or ()]
    return next((item for item in kept if isinstance(item, types.FunctionType)), inner)


def _parameters(function: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    try:
        return inspect.signature(inspect.unwrap(function)).parameters
    except (TypeError, ValueError):
        return {}
