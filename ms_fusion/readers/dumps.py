"""Finds and reads the files in a directory of MindSpore dumps.

The name of a dump file contains the name of the compiler pass and a number. The pass is identified
by its name, because the number is a process-wide counter.
"""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from ms_fusion.readers.control_flow import ControlFlow, parse_actors
from ms_fusion.readers.mindspore_ir import IrModule, read_ir, read_text
from tbe_impl.errors import InputError

REMEDY = (
    "Make them with MS_DEV_SAVE_GRAPHS=2 and MS_DEV_SAVE_GRAPHS_PATH=DIRECTORY in the "
    "environment of the program, "
    "then hand over that DIRECTORY"
)
EXPECTED_FILES = (
    "graph_build_<graph>_<number>.ir or "
    "verbose_ir_files/graph_kernel/*_graph_kernel_cluster_<number>.ir"
)
MAX_FILES = 200_000
MAX_DEPTH = 8


@dataclass(frozen=True)
class Dumps:
    """The dumps of one process.

    The tuples `built`, `before`, `expanded`, `clustered` and `split` contain one module (one parsed
    dump) per kernel graph, in order of compilation. If the dump level (``MS_DEV_SAVE_GRAPHS``) was
    below 2, only `built` has modules, and the other tuples are empty. Modules of different tuples
    with the same `entry` describe the same kernel graph.

    Attributes:
        directory: directory of the IR files: the directory that was read, or its first
            sub-directory ``rank_*`` with dumps.
        built: the executed graphs, sorted by the graph number in the name ``graph_build_…``.
        before: the graphs after the preprocessing passes, before graph kernel fusion.
        expanded: the graphs after composite operators were expanded.
        clustered: the graphs after operators were clustered.
        split: the graphs after clusters were split into kernels.
        programs: for each graph in `built`, the index of the compilation that built the graph. A
            process may compile many programs. MindSpore splits a program with control flow into
            several graphs.
        control: the `ControlFlow` of the kernel graphs.
    """

    directory: Path
    built: tuple[IrModule, ...] = ()
    before: tuple[IrModule, ...] = ()
    expanded: tuple[IrModule, ...] = ()
    clustered: tuple[IrModule, ...] = ()
    split: tuple[IrModule, ...] = ()
    programs: tuple[int, ...] = ()
    control: ControlFlow = field(default_factory=ControlFlow)


_GRAPH_BUILD_FILE = re.compile(r"graph_build_(\d{1,9})_(\d{1,9})\.ir$")
_BOOTSTRAP_FILE = re.compile(r"\d{1,9}_bootstrap_(\d{1,9})\.ir$")
_FINAL_GRAPH_FILE = re.compile(r"hwopt_common_final_graph_(\d{1,9})_(\d{1,9})\.ir$")
_STATE_FILE = re.compile(r"\d{1,9}_(stage\d{1,4})_([A-Za-z0-9]+)_(\d{1,4})_(\w+?)_(\d{1,9})\.ir$")
_ENTRY = re.compile(r"# IR entry: @(\S+)")
_CLUSTER_PASSES = frozenset(
    {"graph_kernel_cluster", "static_shape_cluster", "dynamic_shape_cluster"}
)


def check_directory(top: Path) -> None:
    """Raises `InputError` if the directory does not exist.

    The error explains how to write dumps.
    """
    if not top.is_dir():
        raise InputError(
            "there is no such directory",
            place=str(top),
            expected="a directory of MindSpore dumps",
            remedy=REMEDY,
        )


def read_dumps(directory: str | Path) -> Dumps:
    """Finds and reads the dumps below a directory.

    Raises:
        InputError: the directory does not exist, contains no dumps, or contains too many files. The
            error names the expected files or explains how to write dumps.
        ParseError: one of the dumps is damaged.
    """
    top = Path(directory)
    check_directory(top)
    files = _files_below(top)
    root = _root_of(top, files)
    states = _states(
        path for path in files if path.parent == root / "verbose_ir_files" / "graph_kernel"
    )
    built = _files_by_graph_number(
        _GRAPH_BUILD_FILE, (path for path in files if path.parent == root)
    )
    if not built and not states:
        raise InputError(
            "there are no MindSpore dumps in this directory",
            place=str(top),
            expected=EXPECTED_FILES,
            remedy=REMEDY,
        )
    before = _states_before_fusion(
        states,
        _files_by_graph_number(_FINAL_GRAPH_FILE, (path for path in files if path.parent == root)),
    )
    chosen = {
        "built": built,
        "before": before,
        "expanded": _last_states_of_passes(
            states, lambda name: name.startswith("graph_kernel_expander")
        ),
        "clustered": _last_states_of_passes(states, lambda name: name in _CLUSTER_PASSES),
        "split": _last_states_of_passes(
            states, lambda name: name.startswith("graph_kernel_splitter")
        ),
    }
    return Dumps(
        root,
        **{what: tuple(read_ir(path) for path in paths) for what, paths in chosen.items()},
        programs=_program_numbers(built, (path for path in files if path.parent == root)),
        control=_read_control_flow(path for path in files if path.parent == root / "actor_set"),
    )


def _read_control_flow(paths: Iterable[Path]) -> ControlFlow:
    found = ControlFlow()
    for path in paths:
        if path.name.startswith("final_actor_set_") and path.suffix == ".ir":
            found |= parse_actors(read_text(path))
    return found


def _files_below(top: Path) -> list[Path]:
    """Returns the ``.ir`` and ``.info`` files below `top`, at most `MAX_DEPTH` directories deep.

    Links to directories are not followed.
    """
    found: list[Path] = []
    seen = 0
    for place, directories, names in os.walk(top):
        depth = len(Path(place).relative_to(top).parts)
        directories[:] = sorted(directories) if depth < MAX_DEPTH else []
        seen += len(names)
        if seen > MAX_FILES:
            raise InputError(
                "too many files to be a directory of dumps",
                place=str(top),
                expected=f"at most {MAX_FILES}",
            )
        found += (Path(place, name) for name in sorted(names) if name.endswith((".ir", ".info")))
    return found


def _root_of(top: Path, files: list[Path]) -> Path:
    """Returns the first directory that contains dumps: `top` or a ``rank_*`` directory below `top`.

    If none of these directories contains dumps, returns `top`.
    """
    holding = {path.parent for path in files if _GRAPH_BUILD_FILE.match(path.name)}
    states = {path.parent for path in files if _STATE_FILE.match(path.name)}
    holding |= {
        place.parent.parent
        for place in states
        if place.parts[-2:] == ("verbose_ir_files", "graph_kernel")
    }
    ranks = sorted((place for place in holding if _is_rank(place)), key=_rank_number)
    return next((place for place in (top, *ranks) if place in holding), top)


def _is_rank(place: Path) -> bool:
    return place.name.startswith("rank_") and place.name[5:].isdecimal()


def _rank_number(place: Path) -> tuple[int, str]:
    return int(place.name[5:15]), str(place)


@dataclass(frozen=True)
class _State:
    path: Path
    stage: str
    pass_name: str


def _states(paths: Iterable[Path]) -> list[list[_State]]:
    """Groups by kernel graph the dumps that MindSpore wrote after each pass of graph kernel fusion.

    The dumps are sorted by the time when they were written. MindSpore numbers the stages and passes
    from the beginning for each kernel graph. So a new group begins where the pair (stage number,
    pass number) does not increase from one dump to the next.
    """
    numbered: list[tuple[int, tuple[int, int], _State]] = []
    for path in paths:
        if found := _STATE_FILE.match(path.name):
            position = int(found[1].removeprefix("stage")), int(found[3])
            numbered.append(
                (int(found[5]), position, _State(path, f"{found[1]}_{found[2]}", found[4]))
            )
    groups: list[list[_State]] = []
    last = (1 << 30, 0)
    for _, position, state in sorted(numbered, key=lambda item: item[0]):
        if position <= last:
            groups.append([])
        groups[-1].append(state)
        last = position
    return groups


def _last_states_of_passes(groups: list[list[_State]], wanted: Callable[[str], bool]) -> list[Path]:
    """Returns, for each kernel graph, the last dump whose pass name satisfies `wanted`.

    A kernel graph without such a dump is skipped.
    """
    found = ([state.path for state in group if wanted(state.pass_name)] for group in groups)
    return [paths[-1] for paths in found if paths]


def _states_before_fusion(groups: list[list[_State]], finals: list[Path]) -> list[Path]:
    """Returns, for each kernel graph, the dump after the last preprocessing pass.

    If no kernel graph has such a dump, the result is `finals`, the dumps of the back end's final
    graphs.
    """
    found = (
        [state.path for state in group if state.stage == "stage0_preprocess"] for group in groups
    )
    return [paths[-1] for paths in found if paths] or finals


def _program_numbers(built: list[Path], paths: Iterable[Path]) -> tuple[int, ...]:
    """Returns, for each graph in `built`, the index of the compilation that built the graph.

    Each compilation writes a bootstrap file at its beginning. The index is the number of bootstrap
    files that were written before the graph's file. The numbers in the file names give the order,
    since they come from a process-wide counter.
    """
    begun = sorted(int(found[1]) for path in paths if (found := _BOOTSTRAP_FILE.match(path.name)))
    return tuple(bisect(begun, int(path.stem.rpartition("_")[2])) for path in built)


def _files_by_graph_number(pattern: re.Pattern[str], paths: Iterable[Path]) -> list[Path]:
    """Returns the files that match `pattern`, sorted by graph number.

    Of several files with the same graph number, the result has the newest.
    """
    found: dict[int, tuple[int, Path]] = {}
    for path in paths:
        if match := pattern.match(path.name):
            graph, sequence = int(match[1]), int(match[2])
            found[graph] = max(found.get(graph, (-1, path)), (sequence, path))
    return [found[graph][1] for graph in sorted(found)]
