"""The documents match the code, in both languages, and contain no private path."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from click import Group

import ms_fusion
from ms_fusion.capture import capture_child
from ms_fusion.cli.main import cli, run
from ms_fusion.mindspore.flags import generator_limits, graph_kernel_flags
from ms_fusion.mindspore.flags import lint as flag_lint
from ms_fusion.mindspore.flags import preset_table as table
from ms_fusion.mindspore.known_faults import FAULTS
from ms_fusion.mindspore.presets import generator_choice, generator_proof
from ms_fusion.mindspore.state import mindspore_state, preset_record
from ms_fusion.onnx.native import child as native
from ms_fusion.onnx.native import worker as native_worker
from ms_fusion.ops import operators_with, selections
from ms_fusion.ops.op_info import Trait
from ms_fusion.readers import onnx_file, onnx_file_check
from ms_fusion.why_not.reasons import REASONS
from tbe_impl.environment import VARIABLES, EnvironmentVariable
from tbe_impl.runtime import compiler_process, store_kinds
from tests.cases import FULL, cases
from tests.fork_server import run_program
from tests.source_files import read_tree

ROOT = Path(__file__).resolve().parent.parent


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)


def the_table_of_environment_variables_is_whole() -> None:
    def row(variable: EnvironmentVariable) -> str:
        values = ", ".join(f"`{choice}`" for choice in variable.choices) or variable.takes
        return f"{values} | {f'`{variable.default}`' if variable.default else 'none'}"

    expected = [
        f"| `{variable.name}` | {row(variable)} | {variable.doc} |" for variable in VARIABLES
    ]
    found = [line for line in text_of("docs/environment.md").splitlines() if "| `MS_FUSION" in line]
    assert found == expected


def every_reason_is_explained() -> None:
    table = text_of("docs/report.md").split("| reason |")[1].split("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [code for row in rows for code in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(named) == sorted(REASONS)


def section_of(name: str, heading: str) -> str:
    return text_of(name).split(f"## {heading}\n")[1].split("\n## ")[0]


def every_preset_is_explained_with_its_flags() -> None:
    rows = [
        f"| `{preset.name}` | {preset.summary} | {preset.note} |".replace("|  |", "| |")
        for preset in table.PRESETS.values()
    ]
    head = text_of("docs/presets.md").split("\n## ")[0]
    assert [line for line in head.splitlines() if line.startswith("| `")] == rows
    for device in table.DEVICES:
        heading = (
            "Flags on CPU, for MindSpore's own generator"
            if device == "CPU"
            else "Flags on GPU and Ascend"
        )
        (block,) = code_blocks(section_of("docs/presets.md", heading))
        assert block.splitlines() == [
            f"{name:<12}{table.resolve(name, device=device).render()}" for name in table.PRESETS
        ]


@cases(
    "heading, entries",
    [
        ("Never, on CPU", table.UNSAFE_ON_CPU),
        ("Kept out by `auto` and `basic`, on CPU", table.INACCURATE_ON_CPU),
        ("Not expanded by `auto` and `basic`, on CPU", table.INACCURATE_EXPANSIONS),
        ("Clustered by `auto` besides MindSpore's list, on CPU", table.AUTO_CLUSTERED),
        ("Expanded by `auto` besides MindSpore's list, on CPU", table.AUTO_EXPANDED),
        ("Possible, but not added by `auto`, on CPU", table.EXCLUDED_FROM_AUTO),
        ("Who builds the kernels, on CPU", generator_limits.EXCLUDED_OPERATORS),
    ],
)
def test_every_operator_of_the_presets_is_explained(
    heading: str, entries: Mapping[str, str], request: pytest.FixtureRequest
) -> None:
    told = section_of("docs/presets.md", heading)
    found = [line for line in told.splitlines() if line.startswith("| `")]
    rows = [f"| `{name}` | {reason} |" for name, reason in entries.items()]
    if found != rows and request.config.getoption("--update-golden"):
        page = ROOT / "docs" / "presets.md"
        whole = page.read_text("utf-8").replace("\n".join(found), "\n".join(rows))
        page.write_text(whole, "utf-8")
        pytest.skip("written")
    assert found == rows, "pytest tests/test_docs.py --update-golden writes them"


def every_known_fault_of_mindspore_is_told() -> None:
    heading = "What MindSpore itself computes wrongly on CPU"
    lines = section_of("docs/presets.md", heading).splitlines()
    rows = [f"| `{call}` | {what} | {instead} |" for call, what, instead in FAULTS]
    assert [line for line in lines if line.startswith("| `")] == rows


def every_operator_that_precise_leaves_out_is_explained() -> None:
    """Operators whose exclusion has another reason than rounding; the reasons are measured, the
    names follow from the code.
    """
    lines = section_of("docs/presets.md", "What `precise` fuses on CPU").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    assert all(len(row) == 2 for row in rows), "names and a reason"
    named = [name for names, _ in rows for name in re.findall(r"`(\w+)`", names)]
    buildable = selections.CPU_CLUSTER_OPS | selections.CPU_CLUSTERABLE_OPS
    exact = operators_with(Trait.CORRECTLY_ROUNDED) & buildable
    assert sorted(named) == sorted(exact - set(table.PRECISE_ON_CPU))


def commands_of(block: str) -> list[str]:
    """A block without comments and without its second column."""
    return [re.split(r"\s{2,}|\s*#", line.strip())[0] for line in block.splitlines()]


def both_readmes_stand_in_step() -> None:
    english, chinese = text_of("README.md"), text_of("README.zh.md")
    for pattern in (r"^#+ ", r"^- ", r"^\|"):
        counts = [len(re.findall(pattern, text, re.M)) for text in (english, chinese)]
        assert counts[0] == counts[1], pattern
    blocks = [list(map(commands_of, code_blocks(text))) for text in (english, chinese)]
    assert blocks[0] == blocks[1]
    links = [set(re.findall(r"\]\(([^)h][^)]*)\)", text)) for text in (english, chinese)]
    assert links[0] - {"README.zh.md"} == links[1] - {"README.md"}


PAGES = (
    "README.md",
    "README.zh.md",
    "SECURITY.md",
    "CHANGELOG.md",
    *(f"docs/{path.name}" for path in sorted((ROOT / "docs").glob("*.md"))),
)
NOTEBOOKS = tuple(f"notebooks/{path.name}" for path in sorted((ROOT / "notebooks").glob("*.ipynb")))


def anchors_of(page: Path) -> set[str]:
    """Valid link anchors after `#`: headings in lower case, without punctuation, - for blanks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cases("name", [*PAGES, *NOTEBOOKS])
def test_every_link_leads_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(name)):
        if not link.startswith("http"):
            place, _, anchor = link.partition("#")
            page = (ROOT / name).parent / place if place else ROOT / name
            assert page.exists(), link
            assert not anchor or anchor in anchors_of(page), link


def the_readme_names_every_command() -> None:
    assert isinstance(cli, Group)
    readme = text_of("README.md")
    for command in cli.commands:
        assert f"ms-fusion {command}" in readme or f"make {command}" in readme, command


def every_module_that_the_docs_run_is_there() -> None:
    pages = ["README.md", *(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md"))]
    named = {name for page in pages for name in re.findall(r"python -m ([\w.]*\w)", text_of(page))}
    assert len(named) > 10
    for name in named:
        spec = importlib.util.find_spec(name)
        assert spec is not None, name
        assert spec.submodule_search_locations is None or importlib.util.find_spec(
            f"{name}.__main__"
        ), name


def test_the_example_has_fifteen_lines_and_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = [
        block for block in code_blocks(text_of("README.md")) if "import mindspore" in block
    ]
    compile(example, "README.md", "exec")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15


def printed_by(name: str, program: str, place: Path) -> str:
    """Standard output and error of a documentation program; its file stays in `place`."""
    (place / name).write_text(program, "utf-8")
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = run_program(place / name, cwd=place, environment=variables, timeout_s=240)
    assert ended.returncode == 0, ended.output[-2000:]
    return ended.output


QUICKLY = """
import functools
from ms_fusion.capture import explain_net
explain_net.explain = functools.partial(
    explain_net.explain, isolate=False, measure=False, accuracy=False
)
"""
"""Prepended to a program: its ledger comes from its own process, and nothing is measured."""


@pytest.mark.mindspore
@cases("before", [pytest.param("", marks=FULL), QUICKLY], ids=["as it stands", "quickly"])
def test_the_example_of_the_readme(tmp_path: Path, before: str) -> None:
    (example,) = [
        block for block in code_blocks(text_of("README.md")) if "import mindspore" in block
    ]
    place = tmp_path / ("quickly" if before else "as it stands")
    place.mkdir()
    printed = printed_by("example.py", before + example, place)
    assert "Mul" in printed and "Add" in printed
    assert sorted(path.name for path in place.iterdir()) == ["example.py", "fusion.html"]


OPERATOR_GUIDE = "docs/write_an_operator.md"


@pytest.fixture(scope="module")
def native_once() -> Iterator[native.NativeWorkers]:
    """One pair of child processes for all models of this file."""
    with native.NativeWorkers() as found:
        yield found


@pytest.fixture
def shared_native(native_once: native.NativeWorkers, monkeypatch: pytest.MonkeyPatch) -> None:
    """`auto_fuse` and `from_onnx` use this pair instead of a new one."""
    for room in ("onnx.fuse.auto_fuse", "onnx.cell.model_graph"):
        module = importlib.import_module(f"ms_fusion.{room}")
        monkeypatch.setattr(module, "NativeWorkers", lambda: contextlib.nullcontext(native_once))


@pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")
def test_the_operator_of_the_guide_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    blocks = code_blocks(text_of(OPERATOR_GUIDE))
    operator, commands, sentence, program, tuning = blocks
    (tmp_path / "swish.py").write_text(operator, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    for line in commands.splitlines():
        arguments = shlex.split(line.replace("4096x1024", "8x16"))
        assert arguments[0] == "ms-fusion" and run(arguments[1:]) == 0, line
    assert "agrees with its formula" in capfd.readouterr().out
    wrong = operator.replace("te.lang.cce.vrec(te.lang.cce.vadds(power, 1))", "-1.0")
    (tmp_path / "swish.py").write_text(wrong, "utf-8")
    assert run(shlex.split(commands.splitlines()[0])[1:]) == 2
    said = capfd.readouterr().err
    assert said.split("swish.py")[1] == sentence.split("swish.py")[1]
    (tmp_path / "swish.py").write_text(operator, "utf-8")
    assert "steps=1000, seconds=60" in tuning
    shorter = tuning.replace("steps=1000, seconds=60", "steps=4, seconds=1")
    exec(  # noqa: S102
        compile(program + shorter, OPERATOR_GUIDE, "exec"), {"__name__": "__guide__"}
    )
    printed = capfd.readouterr().out
    assert "Tuning(" in printed
    assert "local.UB at its fullest" in printed and "int k_swish(" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "swish.py"]


@FULL
@pytest.mark.mindspore
def test_the_guide_to_operators_runs_as_it_stands(tmp_path: Path) -> None:
    printed_by("guide.py", "\n".join(code_blocks(text_of("docs/custom_ops.md"))), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["guide.py"]


@pytest.mark.mindspore
def test_the_kernel_of_the_page_on_ascend_c_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    kernel, command, program, net = code_blocks(text_of("docs/ascend_c.md"))
    (tmp_path / "scale_shift.cpp").write_text(kernel, "utf-8")
    monkeypatch.chdir(tmp_path)
    _, _, *arguments = shlex.split(command)
    assert run(["ascendc", *arguments]) == 0
    printed = capfd.readouterr().out
    assert "agrees with its formula" in printed and "no errors, no warnings" in printed
    printed = printed_by("guide.py", f"{program}\n{net}", tmp_path)
    assert "inQueue" in printed and "[2. 2. 2.]" in printed
    wrong = kernel.replace("DataCopyPad(yGm[start], y, copy);", "DataCopy(yGm[start], y, n);")
    (tmp_path / "scale_shift.cpp").write_text(wrong, "utf-8")
    assert run(["ascendc", *arguments]) == 1
    line = 1 + wrong[: wrong.index("DataCopy(yGm")].count("\n")
    assert f"scale_shift.cpp:{line}: error: alignment" in capfd.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["guide.py", "scale_shift.cpp"]


def every_check_of_ascend_c_is_explained() -> None:
    table = section_of("docs/ascend_c.md", "Checks")
    told = set(re.findall(r"`([a-z_]+)`", table))
    headers = (ROOT / "tbe_impl/ascendc/host_model/model").glob("*.h")
    text = "\n".join(path.read_text("utf-8") for path in headers)
    kinds = set(
        re.findall(r"(?:fail|warn|note|Finding\{|add_\w+\(Finding\{)\(?\s*\"([a-z_]+)\"", text)
    )
    assert kinds - {"unsupported"} <= told, kinds - told


@pytest.mark.usefixtures("shared_native")
def test_the_rule_of_the_guide_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    rules, program, commands, _ = code_blocks(text_of("docs/write_a_rule.md"))
    (tmp_path / "my_rules.py").write_text(rules, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    exec(compile(program, "docs/write_a_rule.md", "exec"), {"__name__": "__guide__"})  # noqa: S102
    said = capfd.readouterr().out
    assert "('Mul', 'Sigmoid', 'Mul')" in said and "('Sigmoid', 'Mul')" in said
    for line in commands.splitlines():
        arguments = shlex.split(line)
        assert arguments[0] == "ms-fusion" and run(arguments[1:]) == 0, line
        assert "SoftGate" in (tmp_path / "kernels" / "manifest.json").read_text("utf-8")
    sys.modules.pop("my_rules", None)


def words_of(line: str) -> list[str]:
    """Beginning of a log line, without its numbers, in the plural."""
    return re.sub(r"[\d.,]+", "", line.replace("group is ", "groups are ")).split()[:2]


@pytest.mark.mindspore
@pytest.mark.usefixtures("shared_native")
def test_the_commands_of_the_page_on_onnx_run_as_they_stand(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _, program, *_ = code_blocks(text_of("docs/write_a_rule.md"))
    model = program.split("onnx.save(")[1].split('"gates.onnx"')[0]
    monkeypatch.chdir(tmp_path)
    exec(f"import onnx.parser\nonnx.save({model}'model.onnx')")  # noqa: S102
    fused, _, _, mapped, kernels, session, cell = code_blocks(text_of("docs/onnx.md"))
    for block in (fused, mapped, kernels):
        command, *log = block.splitlines()
        assert run(shlex.split(command)[1:]) == 0, command
        said = [words_of(line) for line in capfd.readouterr().out.splitlines()]
        assert [line for line in log if words_of(line) not in said] == []
    program = compile(session, "session", "exec")
    if Path("kernels/libms_fusion_ort.so").is_file():  # a kernel was faster on this machine
        exec(program, {})  # noqa: S102
    names: dict[str, object] = {
        "ms_fusion": ms_fusion,
        "mindspore": importlib.import_module("mindspore"),
    }
    exec(cell, names)  # noqa: S102
    assert callable(names["loss_and_gradients"])


def flags_page() -> str:
    """docs/flags.md, generated from the code."""

    def takes(name: str) -> str:
        data = graph_kernel_flags.FLAGS[name].metadata
        kinds = {
            "bool": "`true`, `false`",
            "int": f"a number from {data['minimum']}",
            "list": {"pass": "passes", "number": "numbers"}.get(data["names"], f"{data['names']}s"),
            "str": "a text",
        }
        return ", ".join(f"`{choice}`" for choice in data["choices"]) or kinds[data["kind"]]

    def written(value: object) -> str:
        return f"`{str(value).lower() if isinstance(value, bool) else value}`"

    def default(value: object) -> str:
        return "none" if value in ((), "") else written(value)

    def warned(name: str) -> str:
        killed = graph_kernel_flags.FLAGS[name].metadata["killed_by"]
        values = " or ".join(map(written, killed))
        return (
            f" On CPU {values} kills the process: {flag_lint.FATAL_FLAGS[name]}." if killed else ""
        )

    rows = [
        f"| `--{name}` | {takes(name)} | {default(item.metadata['default'])} | "
        f"{item.metadata['doc']}{warned(name)} |"
        for name, item in graph_kernel_flags.FLAGS.items()
    ]
    gone = [f"| `--{name}` | {what} |" for name, what in flag_lint.REMOVED_FLAGS.items()]
    stages = [
        f"| {number} | `{stage}` | {', '.join(f'`{one}`' for one in passes)} |"
        for number, (stage, passes) in enumerate(flag_lint.STAGES.items())
    ]
    patterns = [
        f"| `{name}` | {', '.join(devices)} |" for name, devices in flag_lint.PATTERNS.items()
    ]
    tables = {
        "The flags": ("| flag | takes | default | what it does |", rows),
        "Names that MindSpore 2.10 does not know": ("| flag | instead |", gone),
        "Passes": ("| stage | name | passes |", stages),
        "Patterns of the splitter": ("| pattern | devices |", patterns),
    }
    introductions = {
        "Passes": "Named as `stage.pass` or by two numbers, both from 0. The back end's own, by "
        "name alone: "
        + ", ".join(f"`{name}`" for name in sorted(flag_lint.BACKEND_PASSES, key=str.lower))
        + ".\n\n"
    }
    parts = [
        "# Flags\n\nThe flags of MindSpore's graph kernel fusion, as the presets set them and as "
        '`mf.enable(flags="…")`, `--flags` of '
        "`ms-fusion explain` and the\nvariable `MS_DEV_GRAPH_KERNEL_FLAGS` take them: "
        "`--key=value` with spaces between, lists with commas. "
        '`ms-fusion lint-flags "…"` finds what is wrong in\nsuch a string, about which MindSpore '
        "is mostly silent. What each preset sets: "
        "[presets.md](presets.md).\n\nThis page is written from "
        "`ms_fusion/mindspore/flags/graph_kernel_flags.py` and `ms_fusion/mindspore/flags/lint.py` "
        "by\n"
        "`pytest tests/test_docs.py --update-golden`, and a test compares them.\n"
    ]
    for heading, (head, lines) in tables.items():
        rule = "|---" * head.count(" | ") + "|---|"
        parts.append(
            f"\n## {heading}\n\n{introductions.get(heading, '')}"
            + "\n".join((head, rule, *lines, ""))
        )
    return "".join(parts)


def test_the_page_of_flags_is_what_the_code_knows(request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--update-golden"):
        (ROOT / "docs/flags.md").write_text(flags_page(), "utf-8")
    assert text_of("docs/flags.md") == flags_page()


def the_limits_in_the_security_model_are_those_of_the_code() -> None:
    rows = dict(
        re.findall(
            r"^\| ([^|]+) \| [^|]+ \| ([^|]+) \|$",
            section_of("SECURITY.md", "Processes that are started"),
            re.M,
        )
    )
    assert (
        f"{compiler_process.TIME_LIMIT_S} s of processor time, "
        f"{compiler_process.TIME_LIMIT_S * compiler_process.WALL_LIMIT_FACTOR:g} s in total, "
        f"{compiler_process.MEMORY_LIMIT_BYTES >> 30} GiB of memory" in rows["the C compiler"]
    )
    assert f"{capture_child.TIME_LIMIT_S:g} s for `explain`" in rows["`explain` and `tune`"]
    memory = native_worker.MEMORY_BYTES
    for mode, what, seconds in (
        ("shapes", "shape inference", native.SHAPES_LIMIT_S),
        ("runtime", "ONNX Runtime", native.RUN_LIMIT_S),
    ):
        limit = rf"{what}: {memory[mode] >> 30} GiB( of memory)? and {seconds:g} s"
        assert re.search(limit, rows["shape inference and ONNX Runtime"]), limit
    assert f"{generator_proof.TIME_LIMIT_S:g} s" in rows["the proof of our generator"]
    limits = section_of("SECURITY.md", "Limits on what is read")
    assert (onnx_file_check.FILE_BYTES_MAX + 1, onnx_file.TENSORS_MAX) == (2 << 30, 2**20)
    for size, what in (
        (store_kinds.KERNELS.bytes_max, "a library 1 GiB"),
        (store_kinds.GROUPS.bytes_max, "another entry 1 MiB"),
        (store_kinds.TUNINGS.bytes_max, "a result of tuning 64 KiB"),
    ):
        unit = {"GiB": 30, "MiB": 20, "KiB": 10}[what[-3:]]
        assert what in limits and int(what.split()[-2]) << unit == size, what


@functools.cache
def said_in_the_code() -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The string texts of the packages, and file and text of each warning; read once."""
    texts: list[str] = []
    warned: list[tuple[str, str]] = []

    def read(tree: ast.Module) -> None:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and node.args and warns(node.func):
                warned.append((name, text_in(node.args[0])))
            elif text := text_in(node):
                texts.append(text)

    for package in ("ms_fusion", "custom_ops", "tbe_impl"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            read_tree(path, read)
    return tuple(texts), tuple(warned)


def texts_of_the_code() -> str:
    """Every text in the packages; inserted values become …, and white space is one space."""
    texts = [re.sub(r"%(?:\.\d)?[sdf]\b", "…", text) for text in said_in_the_code()[0]]
    return "\n".join(" ".join(text.split()) for text in texts)


def text_in(node: ast.AST) -> str:
    """A text with … for inserted values; nothing for other nodes."""
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(one.value) if isinstance(one, ast.Constant) else "…" for one in node.values
        )
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def texts_in_troubleshooting() -> list[str]:
    said = section_of("docs/troubleshooting.md", "What ms_fusion says")
    return [
        text.strip(" …")
        for line in re.findall(r"^### (.*)$", said, re.M)
        for text in re.findall(r"`(.*?)`(?:, |$)", line)
    ]


def our_own_texts_are_quoted_as_they_are() -> None:
    quoted, known = texts_in_troubleshooting(), texts_of_the_code()
    assert len(quoted) > 25
    assert [text for text in quoted if text not in known] == []


def warns(function: ast.expr) -> bool:
    """Whether a call shows a message to the user."""
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if name not in {"warning", "warn", "say", "_say"}:
        return False
    return bool(re.search(r"(log\.warning|warnings\.warn|\bsay|\b_say)$", ast.unparse(function)))


def warnings_of_the_code() -> list[str]:
    """The texts of warnings, with … for inserted values."""
    places = (
        "ms_fusion/mindspore/presets/",
        "ms_fusion/kernel_server/",
        "custom_ops/",
        "tbe_impl/",
    )
    return [
        re.sub(r"%(?:\.\d)?[a-z]", "…", text)
        for name, text in said_in_the_code()[1]
        if name.startswith(places) and re.search("[a-z]{3}", text)
    ]


def every_warning_is_explained_in_troubleshooting() -> None:
    quoted, said = texts_in_troubleshooting(), warnings_of_the_code()
    assert len(said) > 10
    named = (
        preset_record.PYNATIVE_MESSAGE,
        preset_record.O1_ON_CPU,
        generator_choice.PRECISE_NOTE,
        mindspore_state.EARLIER_KERNELS,
    )
    assert [text for text in (*said, *named) if not any(one in text for one in quoted)] == []


@FULL
@pytest.mark.mindspore
def test_what_troubleshooting_tells_to_run_runs(tmp_path: Path) -> None:
    text = text_of("docs/troubleshooting.md")
    (doctor, program) = code_blocks(text)
    assert doctor == "ms-fusion doctor\n"
    printed = printed_by("program.py", program, tmp_path)
    assert "PyNative mode fuses nothing" in printed
    for command in re.findall(r"`ms-fusion (lint-flags \"--.*?\")`", text):
        assert run(shlex.split(command)) == 1, command


def the_changelog_knows_the_version() -> None:
    assert f"## {ms_fusion.__version__}" in text_of("CHANGELOG.md")


def no_place_of_this_machine_is_named() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    private = [f"{place}/".encode() for place in (ROOT, Path.home()) if len(place.parts) > 1]
    files = [ROOT / name for name in filter(None, listed.stdout.split("\0"))]
    contents = {path: path.read_bytes() for path in files if path.is_file()}
    assert [path for path, text in contents.items() if any(map(text.__contains__, private))] == []


@cases(
    "holds",
    [
        the_table_of_environment_variables_is_whole,
        every_reason_is_explained,
        every_preset_is_explained_with_its_flags,
        every_known_fault_of_mindspore_is_told,
        every_operator_that_precise_leaves_out_is_explained,
        both_readmes_stand_in_step,
        the_readme_names_every_command,
        every_module_that_the_docs_run_is_there,
        every_check_of_ascend_c_is_explained,
        the_limits_in_the_security_model_are_those_of_the_code,
        our_own_texts_are_quoted_as_they_are,
        every_warning_is_explained_in_troubleshooting,
        the_changelog_knows_the_version,
        no_place_of_this_machine_is_named,
    ],
    ids=lambda check: check.__name__,
)
def test_the_documents_agree_with_the_code(holds: Callable[[], None]) -> None:
    holds()
