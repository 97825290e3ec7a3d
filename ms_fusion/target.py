"""Resolves ``FILE.py:NAME`` and strings such as ``64x128:float32`` to a net and its inputs.

The file is imported as a module, and its name is not ``__main__``. During the import, the directory
of the file is on the import path, as with `python FILE.py`. The import writes nothing, not even
bytecode, into the directory of the file.
"""

from __future__ import annotations

import difflib
import importlib.util
import inspect
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

from ms_fusion.graph import DTYPE_BYTES
from tbe_impl.errors import InputError, MissingError, suggest_name

DTYPES = tuple(name for name in DTYPE_BYTES if name != "int4")
INPUT_BYTES_MAX = 1 << 36
DIMENSIONS_MAX = 8
INSTALL = "pip install 'ms_fusion[cpu]'"

_SHAPE = re.compile(r"\d+(x\d+)*\Z", re.ASCII)
_FACTORY = (
    "Define a function without arguments that returns the net, and name that function instead."
)


@dataclass(frozen=True)
class InputSpec:
    """One input of a net: seeded random values with a shape and dtype, or a ``.npy`` file."""

    shape: tuple[int, ...] = ()
    dtype: str = "float32"
    file: Path | None = None


def parse_input(text: str) -> InputSpec:
    """Parses the value of one ``--input`` option.

    Forms: ``64x128:float32``, ``64x128`` (float32), ``:int32`` (a scalar) or ``file.npy``.

    Raises:
        InputError: the text is malformed. The message names the error.

    >>> parse_input("64x128:float16")
    InputSpec(shape=(64, 128), dtype='float16', file=None)
    >>> parse_input(":int32").shape
    ()
    """
    place = f"--input {text}"
    if text.endswith(".npy"):
        path = Path(text)
        if not path.is_file():
            raise InputError("no such file", place=place, remedy="Check the path.")
        return InputSpec(file=path)
    shape_text, colon, dtype = text.partition(":")
    dtype = dtype if colon else "float32"
    if dtype not in DTYPES:
        raise InputError(
            "unknown dtype",
            place=place,
            expected="one of " + ", ".join(DTYPES),
            got=repr(dtype),
            remedy=suggest_name(dtype, DTYPES),
        )
    if not (_SHAPE.match(shape_text) or (colon and not shape_text)):
        raise InputError(
            "not a shape",
            place=place,
            expected="sizes such as 64x128:float32, :int32 for a scalar, or a .npy file",
            got=repr(shape_text),
            remedy="Sizes are whole numbers: a net is compiled for one shape at a time.",
        )
    sizes = shape_text.split("x") if shape_text else []
    if len(sizes) > DIMENSIONS_MAX or any(len(size) > 12 for size in sizes):
        raise InputError("too many dimensions or too large a size", place=place)
    shape = tuple(map(int, sizes))
    wanted = prod(shape) * DTYPE_BYTES[dtype]
    if wanted > INPUT_BYTES_MAX:
        raise InputError("too large", place=place, got=f"{wanted / 2**30:.0f} GiB")
    return InputSpec(shape, dtype)


def split_target(text: str) -> tuple[Path, str]:
    """Splits ``FILE.py:NAME`` into the path of the file, which must exist, and the name.

    Raises:
        InputError: the text has another form, or the file does not exist.
    """
    file, colon, name = text.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise InputError(
            "this does not name a net",
            place=text,
            expected="FILE.py:NAME",
            remedy="For example: ms-fusion explain model.py:Net --input 64x128:float32",
        )
    path = Path(file)
    if not path.is_file():
        what = "this is a directory" if path.is_dir() else "no such file"
        raise InputError(what, place=file, remedy="Name a Python file that defines the net.")
    if path.suffix != ".py":
        raise InputError("not a Python file", place=file, expected="a name that ends in .py")
    return path, name


def require_mindspore() -> None:
    """Raises `MissingError`, which contains the install command, if MindSpore is not installed."""
    if importlib.util.find_spec("mindspore") is None:
        raise MissingError(
            "MindSpore is not installed",
            remedy=f"Run: {INSTALL} (Linux on x86-64 or aarch64; "
            "`ms-fusion read` works without it)",
        )


def check_tensors(inputs: Any, place: str = "input") -> None:
    """Raises `InputError` for a NumPy array in the (possibly nested) inputs of a net."""
    for number, one in enumerate(inputs):
        if isinstance(one, (tuple, list)):
            check_tensors(one, f"{place} {number},")
        elif type(one).__module__ == "numpy" and hasattr(one, "dtype"):
            raise InputError(
                "not a Tensor",
                place=f"{place} {number}",
                expected="mindspore.Tensor",
                got=f"numpy.{type(one).__name__} of {one.dtype} {one.shape}",
                remedy="Wrap it: mindspore.Tensor(array)",
            )


def load_target(
    target: str, *, inputs: Sequence[str] = ()
) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """Loads the net that ``FILE.py:NAME`` names, and creates Tensors for its inputs.

    Args:
        target: ``FILE.py:NAME``. NAME is one of these: a Cell class without constructor arguments;
            a Cell; a function of the inputs, with or without ``@ms.jit``; or a function without
            arguments that returns one of the former.
        inputs: one string for each input, as for `parse_input`. Floats are drawn from a seeded
            standard normal distribution; integers and booleans are 0 or 1.

    Raises:
        InputError: the file or name does not exist, the import of the file fails, or the net does
            not accept these inputs.
        MissingError: MindSpore is not installed.
    """
    path, name = split_target(target)
    specs = [parse_input(text) for text in inputs]
    require_mindspore()
    with _extend_import_path(path):
        module = _load(path)
        net = _net_of(module, name, target, len(specs))
    _check_arity(net, len(specs), target)
    return net, tuple(_tensor(spec, seed) for seed, spec in enumerate(specs))


def run_file(path: Path) -> ModuleType:
    """Runs a Python file as `python FILE.py` does, but not as ``__main__``; returns the module.

    Raises:
        InputError: the file raises an exception.
    """
    with _extend_import_path(path):
        return _load(path)


@contextmanager
def _extend_import_path(path: Path) -> Iterator[None]:
    """Makes imports work as with `python FILE.py`; bytecode is written to our cache only."""
    from tbe_impl.loading.bytecode import bytecode_cache

    place = str(path.resolve().parent)
    # The entry stays on the path: a net may import modules beside it when first called.
    sys.path.insert(0, place)
    with bytecode_cache(place):
        yield


def _load(path: Path) -> ModuleType:
    from tbe_impl.loading.bytecode import CachedLoader

    name = path.stem
    if name in sys.modules or name in sys.stdlib_module_names or not name.isidentifier():
        name = "ms_fusion_target_" + re.sub(r"\W", "_", name)
    loader = CachedLoader(name, str(path.resolve()))
    spec = importlib.util.spec_from_file_location(name, path.resolve(), loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        sys.modules.pop(name, None)
        raise InputError(
            f"the file fails when it is loaded: {_first_line(error)}",
            place=_place_of(error, path),
            remedy=f"Make `python {path}` run first; "
            'what trains belongs under `if __name__ == "__main__":`',
        ) from error
    return module


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def _place_of(error: BaseException, path: Path) -> str:
    """Returns the file and line of the innermost frame in the user's file."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{error.filename or path}:{error.lineno}"
    line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path.resolve()):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{path}:{line}" if line else str(path)


def _net_of(module: ModuleType, name: str, target: str, count: int) -> Callable[..., Any]:
    from mindspore import nn

    missing = object()
    found = getattr(module, name, missing)
    if found is missing:
        names = sorted(
            key
            for key, value in vars(module).items()
            if not key.startswith("_") and (inspect.isclass(value) or callable(value))
        )
        near = difflib.get_close_matches(name, names, 1) or names[:8]
        raise InputError(
            f"the file defines no {name}",
            place=target,
            remedy=f"Did you mean {' or '.join(near)}?" if near else None,
        )
    if inspect.isclass(found):
        if not issubclass(found, nn.Cell):
            raise InputError(
                f"the class {name} is not a mindspore.nn.Cell", place=target, remedy=_FACTORY
            )
        return _instantiate_net(found, target)
    if isinstance(found, nn.Cell):
        return found
    if not callable(found):
        raise InputError(
            "this is not a net",
            place=target,
            expected="a Cell class, a Cell or a function",
            got=type(found).__name__,
        )
    return _instantiate_net(found, target) if _is_factory(found) else found


def _is_factory(function: Callable[..., Any]) -> bool:
    """Whether a function is assumed to return a net.

    Such a function has no required arguments and is not decorated with ``@ms.jit``.
    """
    if hasattr(function, "__wrapped__"):  # @ms.jit
        return False
    return all(
        parameter.default is not parameter.empty
        or parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        for parameter in inspect.signature(function).parameters.values()
    )


def _instantiate_net(maker: Callable[..., Any], target: str) -> Callable[..., Any]:
    signature = inspect.signature(maker)
    try:
        signature.bind()
    except TypeError as error:
        needed = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.default is parameter.empty
            and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
        ]
        raise InputError(
            f"its constructor needs arguments ({', '.join(needed)})", place=target, remedy=_FACTORY
        ) from error
    try:
        net = maker()
    except Exception as error:
        raise InputError(
            f"it fails when it is constructed: {_first_line(error)}",
            place=target,
            remedy=f"Make `{target.rpartition(':')[2]}()` work in Python first.",
        ) from error
    if not callable(net):
        raise InputError(
            "it returns no net",
            place=target,
            expected="a Cell or a function",
            got=type(net).__name__,
            remedy=_FACTORY,
        )
    return net


def _check_arity(net: Callable[..., Any], count: int, target: str) -> None:
    body = getattr(net, "construct", net)
    try:
        signature = inspect.signature(body)
    except (TypeError, ValueError):
        return
    try:
        signature.bind(*range(count))
    except TypeError as error:
        names = [
            parameter.name
            for parameter in signature.parameters.values()
            if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
        ]
        raise InputError(
            "the net does not take these inputs",
            place=target,
            expected=f"{len(names)} ({', '.join(names)})" if names else "none",
            got=str(count),
            remedy="Give one --input for each, such as --input 64x128:float32.",
        ) from error


def _tensor(spec: InputSpec, seed: int) -> Any:
    import mindspore
    import numpy as np

    if spec.file is not None:
        try:
            array = np.load(spec.file, allow_pickle=False)
        except (OSError, ValueError, EOFError) as error:
            raise InputError(
                f"not an array that NumPy can read: {_first_line(error)}", place=str(spec.file)
            ) from error
        if array.dtype.name not in DTYPES:
            raise InputError(
                "dtype not supported",
                place=str(spec.file),
                expected="one of " + ", ".join(DTYPES),
                got=array.dtype.name,
            )
        return mindspore.Tensor(array)
    random = np.random.default_rng(seed)
    numbers: Any
    if spec.dtype.startswith(("float", "bfloat", "complex")):
        numbers = random.standard_normal(spec.shape, np.float32)
    else:
        numbers = random.integers(0, 2, spec.shape, np.int8)
    dtype = mindspore.bool_ if spec.dtype == "bool" else getattr(mindspore, spec.dtype)
    return mindspore.Tensor(np.asarray(numbers), dtype=dtype)
