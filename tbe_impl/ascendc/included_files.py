"""Finds the files that an Ascend C file includes, and the directories that hold them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from tbe_impl.ascendc.kernel_source import SIZE_LIMIT_BYTES

FILES_MAX = 2000
LEVELS_MAX = 4
"""Number of parent directories that are searched for a header."""
ENTRIES_MAX = 20_000
"""Number of directory entries that one search reads."""
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def included_files(path: Path, directories: Sequence[Path]) -> tuple[Path, ...]:
    """Returns the existing files that a file includes with quotes, directly or indirectly."""
    return _follow(path, list(directories), Path(), is_searching=False)


def find_include_directories(path: Path, given: Sequence[Path], model: Path) -> tuple[Path, ...]:
    """Returns include directories: the file's own, those in `given`, and those found by a search.

    Operator projects set include directories in build files, but this function does not read build
    files. Instead, it searches each header that is neither beside the including file nor in a known
    directory. The search looks for the header's relative path below the directory of `path`, then
    below each parent of this directory. It ends at the directory with ``.git``, or after
    `LEVELS_MAX` parents. The first parent that contains the header is used. If several directories
    below this parent contain the header, the directory with most of the missing headers is used.

    Args:
        path: the Ascend C file.
        given: include directories of the user.
        model: include directory of the host model. Headers of the host model are not searched.
    """
    directories = list(dict.fromkeys([path.resolve().parent, *(one.resolve() for one in given)]))
    _follow(path, directories, model, is_searching=True)
    return tuple(directories)


def _follow(
    path: Path, directories: list[Path], model: Path, *, is_searching: bool
) -> tuple[Path, ...]:
    """Returns all files that `path` includes, directly or through other files.

    If `is_searching` is true, the function also searches for headers that are in no known
    directory. It appends the include directories of these headers to the list `directories`.
    """
    found: dict[Path, None] = {}
    near: tuple[tuple[Path, ...], ...] | None = None
    waiting = [path]
    while waiting and len(found) < FILES_MAX:
        current = waiting.pop()
        try:
            text = current.read_bytes()[:SIZE_LIMIT_BYTES].decode("utf-8", "replace")
        except OSError:
            continue
        names = list(dict.fromkeys(_INCLUDE.findall(text)))
        if is_searching:
            missing = [
                name
                for name in names
                if not _place(name, (current.parent, *directories)) and not (model / name).is_file()
            ]
            if missing and near is None:
                near = _headers_around(path.resolve().parent)
            while missing and near and (root := _nearest_root(missing, near)):
                directories.append(root)
                missing = [name for name in missing if not _place(name, (root,))]
        for name in names:
            other = _place(name, (current.parent, *directories))
            if other and other.resolve() not in found:
                found[other.resolve()] = None
                waiting.append(other)
    return tuple(sorted(found))


def _place(name: str, directories: Sequence[Path]) -> Path | None:
    for directory in directories:
        other = directory / name
        try:
            if other.is_file():
                return other
        except (OSError, ValueError):  # a name that the file system does not accept
            return None
    return None


def _nearest_root(names: Sequence[str], near: Sequence[Sequence[Path]]) -> Path | None:
    """Returns the nearest include directory relative to which at least one of `names` exists."""
    for headers in near:
        fitting: dict[Path, int] = {}
        for name in names:
            for root in _roots(name, headers):
                fitting[root] = fitting.get(root, 0) + 1
        if fitting:
            return min(fitting, key=lambda one: (-fitting[one], len(one.parts), str(one)))
    return None


def _roots(name: str, headers: Sequence[Path]) -> Iterator[Path]:
    """Yields the include directories relative to which `name` is one of `headers`.

    Each leading ``..`` in `name` means that the include directory lies one level deeper.
    """
    wanted = PurePosixPath(name).parts
    levels = next((number for number, one in enumerate(wanted) if one != ".."), len(wanted))
    suffix = wanted[levels:]
    if not suffix or ".." in suffix or len(suffix) <= levels:
        return
    for header in headers:
        if header.parts[-len(suffix) :] == suffix:
            yield header.parents[len(suffix) - 1].joinpath(*suffix[:levels])


def _headers_around(start: Path) -> tuple[tuple[Path, ...], ...]:
    """Returns the files below a directory, then the remaining files below each of its parents.

    Symbolic links to directories are not followed.
    """
    found: list[tuple[Path, ...]] = []
    left = ENTRIES_MAX
    home = Path("~").expanduser()
    done: Path | None = None
    for directory in (start, *list(start.parents)[:LEVELS_MAX]):
        if done and (directory in (home, directory.parent) or (done / ".git").exists()):
            break
        files: list[Path] = []
        for place, folders, names in os.walk(directory):
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            if done and Path(place) == done.parent:
                folders[:] = [one for one in folders if one != done.name]
            left -= len(folders) + len(names)
            if left < 0:
                return (*found, tuple(files))
            files += (Path(place) / one for one in names)
        done = directory
        found.append(tuple(files))
    return tuple(found)
