"""The layout: import directions, a small and fast public API, file sizes, module docstrings."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from tests.cases import cases
from tests.source_files import read_tree

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("tbe_impl", "custom_ops", "ms_fusion")
MODULES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
STUDIES = sorted((ROOT / "case_studies").rglob("*.py"))
FRAMEWORKS = ("mindspore", "torch", "onnx", "onnxruntime", "onnxscript", "onnx_ir", "matplotlib")

# A module may import those of an earlier or its own row; unlisted modules are leaves of their
# package.
ORDER = {
    "tbe_impl": (
        ("errors",),
        ("compiled", "environment", "soc"),
        ("dsl",),
        ("autodiff", "cann", "comparing", "interpreter", "runtime", "scheduling", "tracing"),
        ("ascendc", "chip", "codegen"),
        ("compat", "cpu"),
        ("arguments", "backends"),
        ("kernel", "kernel_report", "tuning_store"),
        ("tuning",),
        ("loading",),
        ("ops",),
        ("cli",),
    ),
    "custom_ops": (
        ("onednn",),
        ("core", "tbe_bridge", "ascend"),
        ("operators",),
        ("aliases", "optimizer_functions"),
        ("functional", "optimizers"),
        ("patching",),
    ),
    "ms_fusion": (
        (
            "graph",
            "disjoint_sets",
            "progress",
            "source_paths",
            "spelling",
            "vocabulary",
        ),
        ("ops",),
        ("devices", "mindspore.known_faults", "mindspore.patches"),
        ("mindspore.flags",),
        ("readers", "cost", "ledger"),
        ("rewrite", "rules", "accuracy", "target"),
        ("report",),
        ("lowering.onednn", "onnx.native", "why_not"),
        ("lowering", "onnx.canonicalization"),
        ("kernel_server", "onnx.kernels"),
        ("compile_server", "mindspore.state"),
        ("mindspore.calls",),
        ("mindspore.presets",),
        ("mindspore.specialize",),
        ("capture",),
        ("onnx.ort_library",),
        ("onnx.fuse",),
        ("onnx.cell",),
        ("cli",),
        ("__main__",),
    ),
}
MAY_LOAD_A_FRAMEWORK = {
    "ms_fusion/readers/onnx_attributes.py",
    "ms_fusion/readers/onnx_defaults.py",
    "ms_fusion/readers/onnx_file.py",
    "ms_fusion/readers/onnx_graph.py",
    "ms_fusion/onnx/cell/attention.py",
    "ms_fusion/onnx/cell/bits.py",
    "ms_fusion/onnx/cell/boxes.py",
    "ms_fusion/onnx/cell/from_onnx.py",
    "ms_fusion/onnx/cell/distinct.py",
    "ms_fusion/onnx/cell/einsum.py",
    "ms_fusion/onnx/cell/functions.py",
    "ms_fusion/onnx/cell/images.py",
    "ms_fusion/onnx/cell/inlining.py",
    "ms_fusion/onnx/cell/operators.py",
    "ms_fusion/onnx/cell/places.py",
    "ms_fusion/onnx/cell/quantized.py",
    "ms_fusion/onnx/cell/model_graph.py",
    "ms_fusion/onnx/cell/recurrent.py",
    "ms_fusion/onnx/cell/regions.py",
    "ms_fusion/onnx/cell/resizing.py",
    "ms_fusion/onnx/cell/sampling.py",
    "ms_fusion/onnx/cell/sequences.py",
    "ms_fusion/onnx/cell/spectra.py",
    "ms_fusion/onnx/cell/windows.py",
    "ms_fusion/onnx/fuse/kernel_functions.py",
    "ms_fusion/onnx/fuse/runtime_operators.py",
    "ms_fusion/onnx/fuse/assumed_sizes.py",
    "ms_fusion/onnx/fuse/auto_fuse.py",
    "ms_fusion/onnx/canonicalization/cleanup.py",
    "ms_fusion/onnx/fuse/decisions.py",
    "ms_fusion/onnx/fuse/functions.py",
    "ms_fusion/onnx/canonicalization/inlining.py",
    "ms_fusion/onnx/canonicalization/simpler_operators.py",
    "ms_fusion/onnx/native/child.py",
    "ms_fusion/onnx/fuse/ort/mapping.py",
    "ms_fusion/onnx/fuse/ort/placement.py",
    "ms_fusion/onnx/fuse/ort/operator_trials.py",
    "ms_fusion/onnx/native/ranks.py",
    "ms_fusion/onnx/fuse/reproducers.py",
    "ms_fusion/onnx/fuse/fusion_request.py",
    "ms_fusion/onnx/canonicalization/__init__.py",
    "ms_fusion/onnx/canonicalization/gemms.py",
    "ms_fusion/onnx/canonicalization/layer_norms.py",
    "ms_fusion/onnx/canonicalization/model_edits.py",
    "ms_fusion/onnx/canonicalization/global_pools.py",
    "ms_fusion/onnx/canonicalization/signs.py",
    "ms_fusion/onnx/canonicalization/transposes.py",
    "ms_fusion/onnx/canonicalization/exported_attention.py",
    "ms_fusion/onnx/canonicalization/reshapes.py",
    "ms_fusion/onnx/canonicalization/shared_products.py",
    "ms_fusion/onnx/fuse/bodies.py",
    "ms_fusion/onnx/fuse/verification.py",
    "ms_fusion/onnx/fuse/output_files.py",
    "ms_fusion/onnx/fuse/kernel_operators.py",
    "ms_fusion/onnx/fuse/model_times.py",
    "ms_fusion/onnx/fuse/ort/kernel_proposals.py",
    "ms_fusion/cli/demo_block.py",
    "ms_fusion/mindspore/patches/batch_norm.py",
    "ms_fusion/mindspore/patches/leaky_relu.py",
    "ms_fusion/mindspore/patches/padding.py",
    "ms_fusion/mindspore/patches/source_expansions.py",
    "ms_fusion/mindspore/state/outer_cell.py",
    "custom_ops/ascend.py",
    "custom_ops/core/bprops.py",
    "custom_ops/core/pynative_fast_path.py",
    "custom_ops/core/primitive.py",
    "custom_ops/core/optimizer_step_call.py",
    "custom_ops/tbe_bridge/primitive.py",
}
LONG_FILE_LINES = 500
RECORD = re.compile(r"(?:dataclasses\.)?dataclass\b|(?:msgspec\.)?Struct\b|.*\bfrozen=")


@dataclass(frozen=True)
class Facts:
    """Facts of a file for the tests: its imports, those not only for types, those at load time, and
    whether it has a docstring.
    """

    imports: frozenset[str]
    at_run: frozenset[str]
    at_load: frozenset[str]
    documented: bool


@functools.cache
def facts_of(path: Path) -> Facts:
    """The facts of a file, read once for all tests."""

    def read(tree: ast.Module) -> Facts:
        return Facts(
            imports_of(tree),
            imports_of(tree, also_types=False),
            imports_at_load(tree),
            bool(ast.get_docstring(tree)),
        )

    return read_tree(path, read)


def name_of(path: Path) -> str:
    """The dotted name of a module file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


PARTS = ("body", "orelse", "finalbody", "handlers", "cases")
"""Fields of a statement that hold other statements; no expression holds an import."""


def statements_in(node: ast.AST) -> list[ast.AST]:
    """The statements directly inside a node."""
    return [one for part in PARTS for one in getattr(node, part, [])]


def is_for_types(node: ast.AST) -> bool:
    """Whether a statement is an `if TYPE_CHECKING`."""
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports_of(tree: ast.AST, *, also_types: bool = True) -> frozenset[str]:
    """Every module that is imported anywhere in it, functions included."""
    found: set[str] = set()
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        if is_for_types(node) and not also_types:
            waiting.extend(getattr(node, "orelse", []))
            continue
        waiting.extend(statements_in(node))
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: imports are absolute here"
            found.add(node.module or "")
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return frozenset(found)


def imports_at_load(tree: ast.Module) -> frozenset[str]:
    """Modules imported at load time: not those inside functions or under TYPE_CHECKING."""
    found: set[str] = set()
    waiting: list[ast.AST] = list(tree.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if is_for_types(node):
            waiting.extend(getattr(node, "orelse", []))
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= imports_of(node)
        waiting.extend(statements_in(node))
    return frozenset(found)


def rank(package: str, module: str) -> int | None:
    """The row of ORDER with a module or the innermost room around it, else None."""
    rows = {name: row for row, names in enumerate(ORDER[package]) for name in names}
    parts = module.split(".")
    heads = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((rows[head] for head in heads if head in rows), None)


def backward_imports(name: str, imports: Iterable[str]) -> list[str]:
    """Imports against the direction of the rooms."""
    package, _, rest = name.partition(".")
    own = rank(package, rest)
    wrong = []
    for target in sorted(imports):
        other, _, inner = target.partition(".")
        if other not in PACKAGES:
            continue
        if PACKAGES.index(other) > PACKAGES.index(package):
            wrong.append(target)
        elif other == package and own is not None:
            row = rank(package, inner)
            if row is not None and row > own:
                wrong.append(target)
    return wrong


def test_imports_go_one_way() -> None:
    offences = {
        name: wrong
        for path in MODULES
        if (name := name_of(path)) not in PACKAGES  # the package's own module names its rooms
        and (wrong := backward_imports(name, facts_of(path).imports))
    }
    assert offences == {}


@cases(
    "name, code, wrong",
    [
        ("tbe_impl.runtime.store", "import ms_fusion.graph", ["ms_fusion.graph"]),
        ("tbe_impl.errors", "def f():\n    from tbe_impl import runtime", ["tbe_impl.runtime"]),
        (
            "tbe_impl.dsl.operation",
            "from tbe_impl.interpreter import evaluate",
            ["tbe_impl.interpreter"],
        ),
        (
            "tbe_impl.compat.session",
            "from tbe_impl.loading.operator import Operator",
            ["tbe_impl.loading.operator"],
        ),
        ("tbe_impl.cpu.loaded_program", "from tbe_impl.kernel import Kernel", ["tbe_impl.kernel"]),
        ("tbe_impl.loading.operator", "from tbe_impl.compat import installed", []),
        ("ms_fusion.graph", "from ms_fusion.report import html", ["ms_fusion.report"]),
        ("ms_fusion.report.html", "from ms_fusion.graph import Graph", []),
        ("custom_ops.core.operator_spec", "import ms_fusion", ["ms_fusion"]),
    ],
)
def test_a_backward_import_is_seen(name: str, code: str, wrong: list[str]) -> None:
    found = backward_imports(name, imports_of(ast.parse(code)))
    assert all(item in found for item in wrong)
    assert bool(found) == bool(wrong)


def circle(imports: Mapping[str, Iterable[str]]) -> list[str]:
    """Modules that import each other in a circle; empty if there is none.

    `imports` has what each module imports. A package counts where something other than its modules
    is imported from it.
    """

    def needed(found: Iterable[str]) -> set[str]:
        inner: dict[str, list[str]] = {}
        for one in found:
            inner.setdefault(one.rpartition(".")[0], []).append(one)
        return {
            one
            for one in set(found) & set(imports)
            if not set(inner.get(one, ["."])) <= set(imports)
        }

    try:
        TopologicalSorter(
            {name: needed(found) - {name} for name, found in imports.items()}
        ).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    assert circle({name_of(path): facts_of(path).at_run for path in MODULES}) == []


def test_a_circle_is_seen() -> None:
    codes = {
        "a": "",
        "a.one": "from a import two",
        "a.two": "def f():\n    from a.three import g",
        "a.three": "if TYPE_CHECKING:\n    from a.one import f",
    }
    trees = {name: ast.parse(code) for name, code in codes.items()}
    assert circle({name: imports_of(tree, also_types=False) for name, tree in trees.items()}) == []
    found = circle({name: imports_of(tree) for name, tree in trees.items()})
    assert sorted(set(found)) == ["a.one", "a.three", "a.two"]


def packages_imported(path: Path) -> set[str]:
    """The packages that a file names anywhere in an import."""
    return {name.partition(".")[0] for name in facts_of(path).imports}


def test_case_studies_import_packages_and_nothing_else_of_ours() -> None:
    ours = {"benchmarks", "tests"}
    offences = {
        name_of(path): wrong
        for path in STUDIES
        if (
            wrong := packages_imported(path)
            & (ours | ({"case_studies"} if path.parent.name == "case_studies" else set()))
        )
    }
    assert offences == {}


def test_packages_know_no_case_study() -> None:
    assert [name_of(path) for path in MODULES if "case_studies" in packages_imported(path)] == []


def test_no_framework_is_imported_at_load() -> None:
    offences = {
        name_of(path): loaded
        for path in MODULES
        if path.relative_to(ROOT).as_posix() not in MAY_LOAD_A_FRAMEWORK
        and (
            loaded := {name.partition(".")[0] for name in facts_of(path).at_load} & set(FRAMEWORKS)
        )
    }
    assert offences == {}


def test_modules_that_may_load_a_framework_are_there() -> None:
    assert [name for name in sorted(MAY_LOAD_A_FRAMEWORK) if not (ROOT / name).is_file()] == []


def test_a_module_says_what_it_is_and_why_it_is_long() -> None:
    files = [*MODULES, *STUDIES]
    assert [name_of(path) for path in files if not facts_of(path).documented] == []
    long = [path for path in files if len(path.read_text("utf-8").splitlines()) > LONG_FILE_LINES]
    why = "This module exceeds 500 lines because "
    assert [name_of(path) for path in long if why not in path.read_text("utf-8")] == []


MUTABLE = frozenset(
    """
    custom_ops.onednn.plans.PlanBuilder
    custom_ops.patching.call_site_edits.PatchedCell
    custom_ops.patching.source_edits.Edit
    ms_fusion.accuracy.tensor_dump._KernelFiles
    ms_fusion.capture.tune._Clock
    ms_fusion.lowering.onednn.channels_last._Rewriter
    ms_fusion.lowering.onednn.channels_last_profitability._Family
    ms_fusion.mindspore.calls.repeated_calls.SingleKernel
    ms_fusion.mindspore.presets.scopes._State
    ms_fusion.onnx.cell.net_source.NetClass
    ms_fusion.onnx.fuse.decisions.Outcome
    ms_fusion.onnx.fuse.kernel_operators.OperatorDecision
    ms_fusion.onnx.fuse.ort.equivalents.Site
    ms_fusion.onnx.fuse.ort.mapping.MappingDecision
    ms_fusion.readers.composite._Builder
    ms_fusion.readers.ir_projection.IrProjector
    ms_fusion.readers.ir_projection._GraphBuilder
    ms_fusion.readers.ir_text._Reader
    ms_fusion.report.document.LedgerDocument
    tbe_impl.autodiff.access_adjoints._Solution
    tbe_impl.codegen.loop_levels.LoopScope
    tbe_impl.codegen.planning.access_analysis.Accesses
    tbe_impl.compat.session.Session
    tbe_impl.compat.testing.WatchList
    tbe_impl.tuning.measurement.Candidate
    """.split()
)
"""Records that are built up step by step; all others are frozen."""


def records_of(path: Path) -> dict[str, bool]:
    """The record classes of a file, and whether each is frozen."""

    def read(tree: ast.Module) -> dict[str, bool]:
        return {
            f"{name_of(path)}.{node.name}": any("frozen=True" in text for text in told)
            for node in ast.walk(tree)
            if isinstance(node, ast.ClassDef)
            and (told := [text for text in decorations(node) if RECORD.match(text)])
        }

    def decorations(node: ast.ClassDef) -> list[str]:
        bases = ", ".join(map(ast.unparse, [*node.bases, *node.keywords]))
        return [bases, *map(ast.unparse, node.decorator_list)]

    return read_tree(path, read)


def test_records_are_frozen() -> None:
    found = {name: frozen for path in MODULES for name, frozen in records_of(path).items()}
    assert {name for name, frozen in found.items() if not frozen} == MUTABLE
    assert len(found) > 5 * len(MUTABLE)


IRREGULAR = frozenset(
    "again apart begun behind beside bent built chosen drawn first found full given gone half held "
    "here inside kept known laid late left lost made meant next off once only other outside own "
    "plain said seen sent shown such taken then thrown together told under whole why wide with "
    "within without written".split()
)
"""Participles, adverbs, adjectives and prepositions that do not end with ``ed``."""
NAMES_THAT_USERS_CALL = frozenset({"compiled", "computed", "full", "installed", "planned", "seen"})


def is_bare_participle(name: str) -> bool:
    """Whether a function's name is one word that is neither a verb nor a noun."""
    word = name.strip("_")
    return word in IRREGULAR or (word.endswith("ed") and word.isalpha() and len(word) > 4)


def test_functions_are_named_by_verbs_or_nouns() -> None:
    def names(tree: ast.Module) -> list[str]:
        kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
        return [node.name for node in ast.walk(tree) if isinstance(node, kinds)]

    offences = {
        name_of(path): wrong
        for path in [*MODULES, *STUDIES]
        if "tbe_impl/ops" not in path.as_posix()  # named as CANN and its operators are
        if (
            wrong := [
                name
                for name in read_tree(path, names)
                if is_bare_participle(name) and name not in NAMES_THAT_USERS_CALL
            ]
        )
    }
    assert offences == {}


def test_names_of_tests_are_short() -> None:
    """Test names state subject and property; details are in the docstring."""

    def names(tree: ast.Module) -> list[str]:
        return [node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]

    long = [
        f"{name_of(path)}: {name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in read_tree(path, names)
        if name.startswith("test_") and len(name) > 60
    ]
    assert long == []


def in_a_child(code: str) -> str:
    """The output of a fresh interpreter that runs this in the repository root."""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_the_package_is_quick_and_loads_no_framework() -> None:
    # Processor time, not wall time: other tests run in parallel.
    out = in_a_child(
        "import sys, time\n"
        "before = time.process_time()\n"
        "import ms_fusion\n"
        "spent = time.process_time() - before\n"
        f"heavy = [name for name in {(*FRAMEWORKS, 'numpy', 'rich', 'jinja2')!r} if name in "
        f"sys.modules]\n"
        "print(spent < 0.3, heavy)"
    )
    assert out == "True []"


def test_dumps_can_be_read_where_there_is_no_unix() -> None:
    out = in_a_child(
        "import os, sys\n"
        "sys.modules.update(dict.fromkeys(('fcntl', 'grp', 'pwd', 'resource', 'termios')))\n"
        "for name in ('O_CLOEXEC', 'O_NOFOLLOW', 'O_NONBLOCK', 'geteuid', 'getuid', 'killpg'):\n"
        "    delattr(os, name)\n"
        "import ms_fusion.cli.main, ms_fusion.cli.doctor\n"
        "print(ms_fusion.read.__name__)"
    )
    assert out == "read"


def test_the_command_line_starts_without_a_framework() -> None:
    out = in_a_child(
        "import sys\n"
        "import ms_fusion.cli.main\n"
        f"print([name for name in {FRAMEWORKS!r} if name in sys.modules])"
    )
    assert out == "[]"


def test_the_front_door_is_small_and_every_name_on_it_opens() -> None:
    import ms_fusion

    assert len(ms_fusion.__all__) <= 15
    assert sorted(ms_fusion.__all__) == sorted(ms_fusion._HOMES)
    assert set(ms_fusion.__all__) <= set(dir(ms_fusion))
    for name in ms_fusion.__all__:
        assert getattr(ms_fusion, name).__doc__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ms_fusion.nothing


def test_the_front_door_of_the_kernels_opens_and_is_quick() -> None:
    out = in_a_child(
        "import sys, time\n"
        "before = time.process_time()\n"
        "import tbe_impl\n"
        "spent = time.process_time() - before\n"
        f"heavy = [name for name in {(*FRAMEWORKS, 'numpy', 'rich')!r} if name in sys.modules]\n"
        "print(spent < 0.3, heavy, all(getattr(tbe_impl, name).__doc__ for name in "
        "tbe_impl.__all__))\n"
        f"print([name for name in {FRAMEWORKS!r} if name in sys.modules])"
    )
    assert out == "True [] True\n[]"


def test_packages_ship_what_they_need() -> None:
    for package in PACKAGES:
        assert (ROOT / package / "py.typed").is_file()
        assert (ROOT / package / "__init__.py").is_file()
