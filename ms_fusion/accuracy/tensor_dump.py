"""Reads the inputs and outputs of kernels from MindSpore's synchronous tensor dump on CPU.

MindSpore writes the dump if the environment variable `MINDSPORE_DUMP_CONFIG` names a configuration
file when MindSpore starts. In MindSpore 2.10 the dump includes fused kernels. If a kernel
overwrites an input, the dump contains the values of this input after the launch.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tbe_impl.errors import InputError, ParseError

VARIABLE = "MINDSPORE_DUMP_CONFIG"
_ORDER = "ms_execution_order_graph_*.csv"
_LONG_NAMES = "mapping.csv"
_NUMBERED_FILE = re.compile(r"\d{1,20}\.npy")
_FILE = re.compile(
    r"\.\d+\.\d+\.\d+\.(?P<side>input|output)\.(?P<index>\d{1,4})\.[^.]*\.[^.]*\.npy$"
)
_MAX_FILES = 200_000


@dataclass(frozen=True)
class KernelTensors:
    """Input and output tensors of one launch of a kernel, in order.

    A tensor is read from disk when it is accessed.
    """

    input_files: tuple[Path, ...] = ()
    output_files: tuple[Path, ...] = ()

    @property
    def inputs(self) -> tuple[np.ndarray, ...]:
        return tuple(_read_tensor(path) for path in self.input_files)

    @property
    def outputs(self) -> tuple[np.ndarray, ...]:
        return tuple(_read_tensor(path) for path in self.output_files)


def can_dump_to(directory: Path) -> bool:
    """Returns whether MindSpore accepts the path for dumps.

    The path may have only letters, digits, ``-``, ``_`` and ``/``.
    """
    return re.fullmatch(r"[A-Za-z0-9_/-]+", str(directory.resolve())) is not None


def write_dump_configuration(directory: Path, *, iteration: str = "0") -> Path:
    """Writes the configuration file for `MINDSPORE_DUMP_CONFIG` and returns its path.

    Args:
        directory: directory for the file and the dumped tensors.
        iteration: the calls of each graph to dump: ``0`` for the first call, ``0|2`` for the first
            and the third call, ``all`` for all calls.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / "dump.json"
    configuration = {
        "common_dump_settings": {
            "op_debug_mode": 0,
            "dump_mode": 0,
            "path": str(directory.resolve() / "tensors"),
            "net_name": "net",
            "iteration": iteration,
            "saved_data": "tensor",
            "input_output": 0,
            "kernels": [],
            "support_device": [0],
        },
        "e2e_dump_settings": {"enable": True, "trans_flag": True},
    }
    path.write_text(json.dumps(configuration), "utf-8")
    return path


def read_tensor_dump(directory: Path) -> Mapping[str, KernelTensors]:
    """Returns the tensors of each kernel in a dump, by the full name of the kernel.

    If the dump has several iterations, the tensors are from the first iteration.

    Args:
        directory: the directory of the dump or a directory above it.

    Raises:
        InputError: the directory is missing or contains no dump.
    """
    if not directory.is_dir():
        raise InputError("there is no such directory", place=str(directory))
    names = _full_names(directory)
    if not names:
        raise InputError(
            "this is not a tensor dump",
            place=str(directory),
            expected=f"a file {_ORDER} that lists the kernels",
        )
    found: dict[str, _KernelFiles] = {}
    written = _long_names(directory)
    for count, path in enumerate(sorted(directory.rglob("*.npy"), key=_iteration_key)):
        if count >= _MAX_FILES:
            raise InputError(
                "the dump holds too many files",
                place=str(directory),
                expected=f"at most {_MAX_FILES:,}",
            )
        spelled = written.get(path, path.name)
        match = _FILE.search(spelled)
        if match is None:
            continue
        name = names.get(spelled[: match.start()].partition(".")[2])
        if name is not None:
            found.setdefault(name, _KernelFiles()).add(match["side"], int(match["index"]), path)
    return {name: tensors.tensors() for name, tensors in found.items()}


@dataclass
class _KernelFiles:
    files: dict[tuple[str, int], Path] = field(default_factory=dict)
    folder: Path | None = None

    def add(self, side: str, index: int, path: Path) -> None:
        """Adds the file of a tensor; ignores files of later iterations and later launches."""
        if self.folder is None:
            self.folder = path.parent
        if path.parent == self.folder:
            self.files.setdefault((side, index), path)

    def tensors(self) -> KernelTensors:
        return KernelTensors(self._side("input"), self._side("output"))

    def _side(self, side: str) -> tuple[Path, ...]:
        return tuple(path for key, path in sorted(self.files.items()) if key[0] == side)


def _full_names(directory: Path) -> dict[str, str]:
    """Returns a dict from a kernel's name in file names to its full name.

    In file names, ``_`` replaces ``/``.
    """
    names: dict[str, str] = {}
    for order in sorted(directory.rglob(_ORDER)):
        for line in order.read_text("utf-8", errors="replace").splitlines()[1:]:
            if name := line.strip():
                names.setdefault(name.replace("/", "_"), name)
    return names


def _long_names(directory: Path) -> dict[Path, str]:
    """Returns a dict from a number that replaces a long file name to this long name.

    If a name is too long for the file system, MindSpore uses a number instead and writes the long
    name to a table beside the file.
    """
    found: dict[Path, str] = {}
    for table in directory.rglob(_LONG_NAMES):
        for line in table.read_text("utf-8", errors="replace").splitlines():
            number, comma, name = line.partition(",")
            if comma and _NUMBERED_FILE.fullmatch(number):
                found[table.parent / number] = name
    return found


def _iteration_key(path: Path) -> tuple[int, str]:
    return int(path.parent.name) if path.parent.name.isdecimal() else 0, path.name


def _read_tensor(path: Path) -> np.ndarray:
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise ParseError(f"this is not a tensor: {error}", file=str(path), line=1) from error
