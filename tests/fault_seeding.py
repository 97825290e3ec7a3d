"""Injects small faults into a copy of the tree, one at a time, and reports the tests that fail.

``python -m tests.fault_seeding`` runs the test folders of ``make test`` that belong to each fault
of `tests.seeded_faults`, then those of ``make test-all`` (``pytest --full``) if it escapes.
``--mutants 20 --seed 1`` draws random syntax mutations of product code instead (a comparison, an
arithmetic operator, a condition, a number, a truth value). `make test` detects a mutant in any
folder: behind the mirrored folder, the test files run that import the mutated module, or a module
that imports it. A mutant with unchanged byte code, or in one of the `unread_parts`, is
listed as equivalent, and another one is drawn.

The output is a table (fault, caught by). The exit code is 1 when more faults escape than
``--escapes`` allows.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import random
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from queue import Queue
from typing import Any

from tests.seeded_faults import FAULTS, Fault
from tests.source_files import read_tree

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "build" / "fault_seeding"
PACKAGES = ("ms_fusion", "custom_ops", "tbe_impl")
LAYOUT = "tests/test_rooms.py"
"""Tests that read every file."""
BESIDE = ("tests/benchmarks/", "tests/case_studies/")
LIMIT_S = 1800
IMPORT_STEPS = 2
"""A test file exercises a module if this many imports or fewer lead from the file to the module."""
COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
ARITHMETIC = {"+": "-", "-": "+", "*": "+", "//": "*", "/": "*", "%": "*"}
BOOLEANS = {"and": "or", "or": "and"}
_FAILED = re.compile(r"^(?:FAILED|ERROR|SUBFAILED\S*) (\S+?::\S+|\S+\.py)", re.M)


@dataclass(frozen=True)
class Seen:
    """Result of a test run: the first failing test, empty if all passed."""

    test: str
    seconds: float


@dataclass(frozen=True)
class Mutation:
    """A byte range of a file and its replacement.

    `unread` is the reason why the mutation changes nothing; empty for other mutations.
    """

    begin: int
    end: int
    text: bytes
    what: str
    unread: str = ""


def copy_tree(target: Path) -> None:
    """Files of the working tree that git tracks or would track."""
    asked = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(asked, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    for name in filter(None, map(os.fsdecode, names)):
        source, copy = ROOT / name, target / name
        if source.is_file():
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, copy)


def run_tests(tree: Path, rooms: Sequence[str], *, full: bool, workers: int = 0) -> Seen:
    """Runs these test folders and files in the copy, in this order, until the first failure."""
    places = [room for room in rooms if (tree / room).exists()]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-rfE",
        "-p",
        "no:cacheprovider",
        "--maxfail=1",
    ]
    command += ["-n", str(workers), "--dist", "loadfile"]
    command += ["--full", "--timeout", "1800"] if full else []
    variables = {k: v for k, v in os.environ.items() if not k.startswith(("MS_", "PYTEST"))}
    variables |= {"PYTHONPATH": str(tree), "XDG_CACHE_HOME": str(PLACE / "cache")}
    begin = time.monotonic()
    try:
        done = subprocess.run(
            [*command, *places],
            cwd=tree,
            env=variables,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
    except subprocess.TimeoutExpired:
        return Seen("the tests did not end", time.monotonic() - begin)
    seconds = time.monotonic() - begin
    if done.returncode == 0:
        return Seen("", seconds)
    if done.returncode == 5:
        raise RuntimeError(f"no test in {', '.join(rooms)}")
    found = _FAILED.search(done.stdout)
    return Seen(found[1] if found else done.stdout.strip().rpartition("\n")[2], seconds)


def rooms_of(path: str) -> tuple[str, ...]:
    """The test folders of a file, with those of generated files and docstring examples."""
    folders = path.split("/")[:-1]
    mirrored = next(
        room
        for depth in range(len(folders), 0, -1)
        if (ROOT / (room := "/".join(["tests", *folders[:depth]]))).is_dir()
    )
    also = {
        "tbe_impl/codegen": ("tests/golden_code",),
        "tbe_impl/cpu": ("tests/tbe_impl/codegen", "tests/golden_code"),
        "tbe_impl/compat": ("tests/tbe_impl/operator_files",),
        "tbe_impl/dsl": ("tests/tbe_impl/ops", "tests/golden_code"),
        "custom_ops/onednn": ("tests/custom_ops/operators",),
        "custom_ops/operators": ("tests/custom_ops",),
        "ms_fusion/kernel_server": ("tests/golden_code",),
        "ms_fusion/onnx/fuse": ("tests/ms_fusion/onnx/cell",),
    }
    examples = f"tests/{folders[0]}/test_docstring_examples.py"
    return (mirrored, *also.get("/".join(folders[:2]), ()), examples)


def module_name(path: str) -> str:
    """The dotted name of a file: ``a/b/__init__.py`` is ``a.b``."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@functools.cache
def importers() -> dict[str, frozenset[str]]:
    """For each module of the product and of the tests, the files that import it directly."""
    files = [
        path.relative_to(ROOT).as_posix()
        for folder in (*PACKAGES, "tests")
        for path in sorted((ROOT / folder).rglob("*.py"))
    ]
    found: dict[str, set[str]] = {module_name(path): set() for path in files}

    def imported(tree: ast.Module) -> Iterator[str]:
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                yield from (one.name for one in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module:
                yield node.module
                yield from (f"{node.module}.{one.name}" for one in node.names)

    for path in files:
        for name in found.keys() & read_tree(ROOT / path, lambda tree: set(imported(tree))):
            found[name].add(path)
    return {name: frozenset(paths) for name, paths in found.items()}


def importing_tests(path: str, steps: int = IMPORT_STEPS) -> list[str]:
    """The test files of ``make test`` that import this file within so many steps, nearest first."""
    found: dict[str, None] = {}
    mirror = f"/test_{path.rpartition('/')[2]}"
    seen = front = {path}
    for _ in range(steps):
        names = {module_name(one) for one in front}
        front = set().union(*(importers().get(name, frozenset()) for name in names)) - seen
        seen = seen | front
        found |= dict.fromkeys(
            one
            for one in sorted(front, key=lambda one: (not one.endswith(mirror), one))
            if one.rpartition("/")[2].startswith("test_") and not one.startswith(BESIDE)
        )
    return list(found)


def ordered_tests(path: str, rooms: Sequence[str]) -> list[str]:
    """All test files for a mutant of this file.

    The order is: the importing files of the mirrored room; the tests of the layout; the other files
    of that room; the other rooms; the importing files elsewhere.
    """
    near = importing_tests(path)
    mirrored, *others = dict.fromkeys((rooms_of(path)[0], *rooms))
    # the importing tests suffice for a module beside the rooms
    pattern = "test_*.py" if path.count("/") == 1 else "**/test_*.py"
    own = _test_files(mirrored, pattern)
    order = [*(one for one in near if one in own), LAYOUT, *own]
    return list(
        dict.fromkeys([*order, *(one for room in others for one in _test_files(room)), *near])
    )


def _test_files(room: str, pattern: str = "**/test_*.py") -> list[str]:
    place = ROOT / room
    found = [place] if place.is_file() else sorted(place.glob(pattern))
    return [one.relative_to(ROOT).as_posix() for one in found]


def mutations(source: bytes, path: str = "") -> list[Mutation]:
    """Every possible mutation of this file."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    def between(one: ast.expr, other: ast.expr, changes: dict[str, str]) -> Iterator[Mutation]:
        begin = at(one.end_lineno or 0, one.end_col_offset or 0)
        gap = source[begin : at(other.lineno, other.col_offset)].decode()
        for old, new in changes.items():
            found = re.fullmatch(rf"([\s)]*){re.escape(old)}([\s(]*)", gap)
            if found:
                place = begin + len(found[1].encode())
                yield Mutation(place, place + len(old), new.encode(), f"{old} → {new}")

    def visit(node: ast.AST) -> Iterator[Mutation]:
        if isinstance(node, ast.Compare):
            for one, other in zip([node.left, *node.comparators], node.comparators, strict=False):
                yield from between(one, other, COMPARISONS)
        elif isinstance(node, ast.BinOp):
            yield from between(node.left, node.right, ARITHMETIC)
        elif isinstance(node, ast.BoolOp):
            for one, other in zip(node.values, node.values[1:], strict=False):
                yield from between(one, other, BOOLEANS)
        elif isinstance(node, ast.If | ast.IfExp | ast.While):
            test = node.test
            begin = at(test.lineno, test.col_offset)
            end = at(test.end_lineno or 0, test.end_col_offset or 0)
            yield Mutation(begin, end, b"not (%b)" % source[begin:end], "condition turned round")
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int):
            begin = at(node.lineno, node.col_offset)
            new = repr(not node.value if isinstance(node.value, bool) else node.value + 1)
            end = at(node.end_lineno or 0, node.end_col_offset or 0)
            yield Mutation(begin, end, new.encode(), f"{node.value!r} → {new}")

    found: list[Mutation] = []
    tree = ast.parse(source)
    reasons = unread_parts(path, tree)
    waiting: list[tuple[ast.AST, str]] = [(tree, "")]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        unread = reasons.get(node, above)
        found += (replace(one, unread=unread) for one in visit(node))
        for name, child in ast.iter_fields(node):
            if name in ("annotation", "returns", "format_spec"):
                continue
            children = child if isinstance(child, list) else [child]
            waiting += [(one, unread) for one in children if isinstance(one, ast.AST)]
    return sorted(found, key=lambda one: (one.begin, one.text))


def _is_scale(node: ast.AST) -> bool:
    """Whether this is ``… / width**0.5``."""
    return isinstance(node, ast.BinOp) and ast.unparse(node.right).endswith("head_width ** 0.5")


def _is_list_of_samples(node: Any) -> bool:
    """Whether this is ``samples=(…)`` or ``SAMPLES = (…)``."""
    named = (isinstance(node, ast.keyword) and node.arg == "samples") or (
        isinstance(node, ast.Assign) and ast.unparse(node.targets[0]).endswith("SAMPLES")
    )
    return named and isinstance(node.value, ast.Tuple)


def _guarded_calls(tree: ast.AST) -> set[ast.AST]:
    """Calls inside a ``try`` statement, which may catch what they raise."""
    return {
        node
        for guard in ast.walk(tree)
        if isinstance(guard, ast.Try) and guard.handlers
        for node in ast.walk(guard)
    }


def unread_parts(path: str, tree: ast.AST) -> dict[ast.AST, str]:
    """Parts of a file whose mutations change nothing that a user sees, with the reason.

    Product code reads the first input shapes of `OpSpec.samples`; the others belong to the tests.
    The demo compares a net with the same net unfused, so the factor of its scores is free.
    ``zip(..., strict=True)`` differs from ``strict=False`` only if the program has another fault.
    A cache of functions with one more entry returns the same results.
    """
    guarded = _guarded_calls(tree)
    found: dict[ast.AST, str] = {}
    node: Any
    for node in ast.walk(tree):
        if path == "ms_fusion/cli/demo_block.py" and _is_scale(node):
            found[node] = "a factor in the demo's net, which is compared with itself"
        elif path.startswith("custom_ops/operators/") and _is_list_of_samples(node):
            found |= dict.fromkeys(node.value.elts[1:], "input shapes for tests only")
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "lru_cache":
            found |= {one: "the size of a cache" for one in node.keywords if one.arg == "maxsize"}
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "zip" and node not in guarded:
            strict = [one for one in node.keywords if ast.unparse(one) == "strict=True"]
            found |= dict.fromkeys(strict, "an assertion that always holds")
    return found


def random_faults(
    count: int, seed: int, packages: Sequence[str] = PACKAGES
) -> tuple[list[Fault], list[str]]:
    """Random mutants of product code, and equivalent ones with the reason."""
    generator = random.Random(seed)
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_bytes()
        for package in packages
        for path in sorted((ROOT / package).rglob("*.py"))
        # operators in CANN's layout repeat those of custom_ops
        if not path.is_relative_to(ROOT / "tbe_impl" / "ops")
    }
    places = [(name, one) for name, source in sources.items() for one in mutations(source, name)]
    faults: list[Fault] = []
    equal: list[str] = []
    while len(faults) < count:
        name, one = generator.choice(places)
        source = sources[name]
        changed = source[: one.begin] + one.text + source[one.end :]
        line = source.count(b"\n", 0, one.begin) + 1
        what = f"{name}:{line} {one.what}"
        reason = one.unread or (_code(source) == _code(changed) and "the byte code is the same")
        if reason:
            equal.append(f"{what}: {reason}")
            continue
        faults.append(Fault(what, name, source.decode(), changed.decode(), rooms_of(name)))
    return faults, equal


def _code(source: bytes) -> str:
    """The syntax tree without docstrings; it determines the byte code."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [  # type: ignore[attr-defined]
                one
                for one in body
                if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))
            ] or [ast.Pass()]
    return ast.dump(tree)


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns 1 when too many faults escape."""
    parser = argparse.ArgumentParser("python -m tests.fault_seeding", description=__doc__)
    parser.add_argument("--mutants", type=int, default=0, help="so many random faults instead")
    parser.add_argument("--seed", type=int, default=1, help="of the random faults")
    parser.add_argument("--only", help="faults whose text or path has this in it")
    parser.add_argument("--list", action="store_true", help="print the faults and run nothing")
    parser.add_argument("--escapes", type=int, help="how many may escape make test")
    parser.add_argument("--jobs", type=int, default=3, help="so many faults side by side")
    parser.add_argument("--quick-only", action="store_true", help="leave make test-all out")
    parser.add_argument("--unchecked", action="store_true", help="skip the run without a fault")
    asked = parser.parse_args(arguments)
    faults, equal = (
        random_faults(asked.mutants, asked.seed) if asked.mutants else (list(FAULTS), [])
    )
    faults = [one for one in faults if not asked.only or asked.only in f"{one.what} {one.path}"]
    for text in equal:
        print(f"changes nothing: {text}")
    if asked.list:
        for fault in faults:
            print(f"{fault.what:<60} {fault.path}  {' '.join(fault.rooms)}")
        return 0
    trees: Queue[Path] = Queue()
    for number in range(asked.jobs):
        tree = PLACE / f"tree_{number}"
        shutil.rmtree(tree, ignore_errors=True)
        copy_tree(tree)
        trees.put(tree)
    rooms = sorted({room for fault in faults for room in fault.rooms})
    sane = None if asked.unchecked else run_tests(tree, rooms, full=False, workers=asked.jobs)
    if sane and sane.test:
        print(f"without any fault {sane.test} fails", file=sys.stderr)
        return 2

    def planted(fault: Fault) -> str:
        tree = trees.get()
        caught, seconds = _plant(tree, fault, quick_only=asked.quick_only)
        trees.put(tree)
        print(f"{fault.what:<60} {caught}  ({seconds:.0f} s)", flush=True)
        return caught

    with ThreadPoolExecutor(asked.jobs) as pool:
        found = list(pool.map(planted, faults))
    escaped = sum(not caught.startswith("make test:") for caught in found)
    lost = found.count("nobody")
    allowed = asked.escapes if asked.escapes is not None else (4 if asked.mutants else 2)
    print(f"{len(faults)} faults, {len(faults) - escaped} caught by make test, {lost} by nobody")
    return int(escaped > allowed)


def _plant(tree: Path, fault: Fault, *, quick_only: bool) -> tuple[str, float]:
    """The catching test, and its time."""
    path = tree / fault.path
    sane = path.read_text("utf-8")
    assert sane.count(fault.before) == 1, f"{fault.path}: {fault.what}: the text is not there once"
    path.write_text(sane.replace(fault.before, fault.after), "utf-8")
    try:
        quick = run_tests(tree, ordered_tests(fault.path, fault.rooms), full=False)
        if quick.test or quick_only:
            return f"make test: {quick.test}" if quick.test else "nobody", quick.seconds
        rooms = tuple(dict.fromkeys((rooms_of(fault.path)[0], *fault.rooms)))
        full = run_tests(tree, rooms, full=True)
        seconds = quick.seconds + full.seconds
        return f"make test-all: {full.test}" if full.test else "nobody", seconds
    finally:
        path.write_text(sane, "utf-8")


if __name__ == "__main__":
    sys.exit(main())
