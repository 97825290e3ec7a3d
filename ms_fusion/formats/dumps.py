"""A directory of MindSpore dumps, found by the names of the passes: file numbers are process-wide counters."""

from __future__ import annotations

import os
import re
from bisect import bisect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ms_fusion.formats.actors import ControlFlow, parse_actors
from ms_fusion.formats.composite import parse_composite
from ms_fusion.formats.mindspore_ir import IrModule, read_ir, read_text
from ms_fusion.graph import Graph
from tbe_impl.errors import InputError

REMEDY = (
    "Make them with MS_DEV_SAVE_GRAPHS=2 and MS_DEV_SAVE_GRAPHS_PATH=DIRECTORY in the environment of the program, "
    "then hand over that DIRECTORY"
)
EXPECTED = "graph_build_<graph>_<number>.ir or verbose_ir_files/graph_kernel/*_graph_kernel_cluster_<number>.ir"
MAX_FILES = 200_000
MAX_DEPTH = 8


@dataclass(frozen=True)
class Dumps:
    """What one compilation left behind; each tuple holds one module for each kernel graph, in order of compilation.

    Attributes:
        directory: where the IR files lie (a ``rank_*`` directory when the one handed over holds only such).
        built: the graphs that ran, sorted by their number (``graph_build``).
        before: before graph kernel fusion, after the preparing passes.
        expanded: after composite operators were expanded.
        clustered: after operators were clustered.
        split: after clusters were split into kernels.
        composites: the kernels handed to the generator, by name (``Fused_…``); the kernel directory may be older than
            this run, so join by name.
        programs: for each of `built` the number of the compilation that it belongs to: a process compiles many programs, and
            each of them may be cut into several graphs.
        control: what control flow does with the kernel graphs.
        sources: which file each came from: ``built[0]``, ``split[1]``, ``composite[Fused_…]``.

    `before` … `split` are empty when the dump level was too low (below 2); match modules of two tuples by `entry`.
    """

    directory: Path
    built: tuple[IrModule, ...] = ()
    before: tuple[IrModule, ...] = ()
    expanded: tuple[IrModule, ...] = ()
    clustered: tuple[IrModule, ...] = ()
    split: tuple[IrModule, ...] = ()
    composites: Mapping[str, Graph] = field(default_factory=dict)
    programs: tuple[int, ...] = ()
    control: ControlFlow = field(default_factory=ControlFlow)
    sources: Mapping[str, Path] = field(default_factory=dict)


_BUILT = re.compile(r"graph_build_(\d{1,9})_(\d{1,9})\.ir$")
_BEGINNING = re.compile(r"\d{1,9}_bootstrap_(\d{1,9})\.ir$")
_FINAL = re.compile(r"hwopt_common_final_graph_(\d{1,9})_(\d{1,9})\.ir$")
_STATE = re.compile(r"\d{1,9}_(stage\d{1,4})_([A-Za-z0-9]+)_(\d{1,4})_(\w+?)_(\d{1,9})\.ir$")
_ENTRY = re.compile(r"# IR entry: @(\S+)")
_CLUSTER_PASSES = frozenset(
    {"graph_kernel_cluster", "static_shape_cluster", "dynamic_shape_cluster"}
)


def check_directory(top: Path) -> None:
    """Raises `InputError`, which says how dumps are made, unless there is such a directory."""
    if not top.is_dir():
        raise InputError(
            "there is no such directory",
            place=str(top),
            expected="a directory of MindSpore dumps",
            remedy=REMEDY,
        )


def read_dumps(directory: str | Path) -> Dumps:
    """Find and read the dumps below a directory.

    Raises:
        InputError: there is no such directory, or it holds no dumps; says what was looked for and how to make them.
        ParseError: a file that should be read is damaged.
    """
    top = Path(directory)
    check_directory(top)
    files = _files_below(top)
    root = _root_of(top, files)
    states = _states(
        path for path in files if path.parent == root / "verbose_ir_files" / "graph_kernel"
    )
    built = _numbered(_BUILT, (path for path in files if path.parent == root))
    if not built and not states:
        raise InputError(
            "there are no MindSpore dumps in this directory",
            place=str(top),
            expected=EXPECTED,
            remedy=REMEDY,
        )
    before = _before(states, _numbered(_FINAL, (path for path in files if path.parent == root)))
    chosen = {
        "built": built,
        "before": before,
        "expanded": _after(states, lambda name: name.startswith("graph_kernel_expander")),
        "clustered": _after(states, lambda name: name in _CLUSTER_PASSES),
        "split": _after(states, lambda name: name.startswith("graph_kernel_splitter")),
    }
    kernels = {
        path.stem: path
        for path in files
        if path.suffix == ".info" and path.parent.name == "akg_kernel_meta"
    }
    sources = {
        f"{what}[{number}]": path
        for what, paths in chosen.items()
        for number, path in enumerate(paths)
    }
    sources |= {f"composite[{name}]": path for name, path in kernels.items()}
    return Dumps(
        root,
        **{what: tuple(read_ir(path) for path in paths) for what, paths in chosen.items()},
        composites=MappingProxyType(
            {
                name: parse_composite(read_text(path), file=str(path))
                for name, path in kernels.items()
            }
        ),
        programs=_programs(built, (path for path in files if path.parent == root)),
        control=_control(path for path in files if path.parent == root / "actor_set"),
        sources=MappingProxyType(sources),
    )


def _control(paths: Iterable[Path]) -> ControlFlow:
    found = ControlFlow()
    for path in paths:
        if path.name.startswith("final_actor_set_") and path.suffix == ".ir":
            found |= parse_actors(read_text(path))
    return found


def _files_below(top: Path) -> list[Path]:
    """Files that may matter, not deeper than `MAX_DEPTH`; links to directories are not followed."""
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
    """The directory itself, or the first ``rank_*`` below it that holds dumps."""
    holding = {path.parent for path in files if _BUILT.match(path.name)}
    states = {path.parent for path in files if _STATE.match(path.name)}
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
    """Graph-kernel states, one list for each kernel graph: a new one begins where the stages begin again."""
    numbered: list[tuple[int, tuple[int, int], _State]] = []
    for path in paths:
        if found := _STATE.match(path.name):
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


def _after(groups: list[list[_State]], wanted: Callable[[str], bool]) -> list[Path]:
    """The last state of each kernel graph whose pass is wanted."""
    found = ([state.path for state in group if wanted(state.pass_name)] for group in groups)
    return [paths[-1] for paths in found if paths]


def _before(groups: list[list[_State]], finals: list[Path]) -> list[Path]:
    """The last preparing state of each kernel graph; without such states, what the back end's own passes left."""
    found = (
        [state.path for state in group if state.stage == "stage0_preprocess"] for group in groups
    )
    return [paths[-1] for paths in found if paths] or finals


def _programs(built: list[Path], paths: Iterable[Path]) -> tuple[int, ...]:
    """How many compilations had begun before each graph was built: file numbers go on through the whole process."""
    begun = sorted(int(found[1]) for path in paths if (found := _BEGINNING.match(path.name)))
    return tuple(bisect(begun, int(path.stem.rpartition("_")[2])) for path in built)


def _numbered(pattern: re.Pattern[str], paths: Iterable[Path]) -> list[Path]:
    """Files of one kind sorted by the number of their graph, the newest where a number repeats."""
    found: dict[int, tuple[int, Path]] = {}
    for path in paths:
        if match := pattern.match(path.name):
            graph, sequence = int(match[1]), int(match[2])
            found[graph] = max(found.get(graph, (-1, path)), (sequence, path))
    return [found[graph][1] for graph in sorted(found)]
