"""The documents say what the code does, in both languages, and name no private place."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from click import Group

import ms_fusion
from ms_fusion import generator_limits, operators
from ms_fusion.cli import cli, run
from ms_fusion.presets import table
from ms_fusion.why_not.reasons import REASONS
from tbe_impl.environment import VARIABLES

ROOT = Path(__file__).resolve().parent.parent


def text_of(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def code_blocks(text: str) -> list[str]:
    return re.findall(r"^```[a-z]*\n(.*?)^```", text, re.M | re.S)


def test_the_table_of_environment_variables_is_whole() -> None:
    def row(choices: tuple[str, ...], default: str) -> str:
        values = ", ".join(f"`{choice}`" for choice in choices) or "any text"
        return f"{values} | {f'`{default}`' if default else 'none'}"

    expected = [
        f"| `{variable.name}` | {row(variable.choices, variable.default)} | {variable.doc} |"
        for variable in VARIABLES
    ]
    found = [line for line in text_of("docs/environment.md").splitlines() if "| `MS_FUSION" in line]
    assert found == expected


def test_every_reason_is_explained() -> None:
    table = text_of("docs/report.md").split("| reason |")[1].split("##")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [code for row in rows for code in re.findall(r"`([a-z-]+)`", row)]
    assert sorted(named) == sorted(REASONS)


def section_of(name: str, heading: str) -> str:
    return text_of(name).split(f"## {heading}\n")[1].split("\n## ")[0]


def test_every_preset_is_explained_with_its_flags() -> None:
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


@pytest.mark.parametrize(
    ("heading", "entries"),
    [
        ("Never, on CPU", table.NEVER_ON_CPU),
        ("Kept out by `auto` and `basic`, on CPU", table.INACCURATE_ON_CPU),
        ("Not expanded by `auto` and `basic`, on CPU", table.INACCURATE_EXPANSIONS),
        ("Clustered by `auto` besides MindSpore's list, on CPU", table.AUTO_CLUSTERED),
        ("Expanded by `auto` besides MindSpore's list, on CPU", table.AUTO_EXPANDED),
        ("Possible, but not added by `auto`, on CPU", table.NOT_ADDED),
        ("Who builds the kernels, on CPU", generator_limits.KEPT_OUT),
    ],
)
def test_every_operator_of_the_presets_is_explained(
    heading: str, entries: Mapping[str, str]
) -> None:
    lines = section_of("docs/presets.md", heading).splitlines()
    rows = [f"| `{name}` | {reason} |" for name, reason in entries.items()]
    assert [line for line in lines if line.startswith("| `")] == rows


def test_every_operator_that_precise_leaves_out_is_explained() -> None:
    """Those that a rounding alone would not keep out; the reasons are measured, the names follow from the code."""
    lines = section_of("docs/presets.md", "What `precise` fuses on CPU").splitlines()
    rows = [line.strip("| ").split(" | ") for line in lines if line.startswith("| `")]
    assert all(len(row) == 2 for row in rows), "names and a reason"
    named = [name for names, _ in rows for name in re.findall(r"`(\w+)`", names)]
    buildable = operators.CPU_CLUSTERED | operators.CPU_CLUSTERABLE
    exact = operators.CORRECTLY_ROUNDED & buildable
    assert sorted(named) == sorted(exact - set(table.PRECISE_ON_CPU))


def commands_of(block: str) -> list[str]:
    """A block without its comments and without what stands in a second column."""
    return [re.split(r"\s{2,}|\s*#", line.strip())[0] for line in block.splitlines()]


def test_both_readmes_stand_in_step() -> None:
    english, chinese = text_of("README.md"), text_of("README.zh.md")
    for pattern in (r"^#+ ", r"^- ", r"^\|"):
        counts = [len(re.findall(pattern, text, re.M)) for text in (english, chinese)]
        assert counts[0] == counts[1], pattern
    blocks = [list(map(commands_of, code_blocks(text))) for text in (english, chinese)]
    assert blocks[0] == blocks[1]
    links = [set(re.findall(r"\]\(([^)h][^)]*)\)", text)) for text in (english, chinese)]
    assert links[0] - {"README.zh.md"} == links[1] - {"README.md"}


@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "README.zh.md",
        "SECURITY.md",
        "docs/design.md",
        "docs/presets.md",
        "docs/report.md",
        "docs/write_an_operator.md",
    ],
)
def test_every_link_leads_somewhere(name: str) -> None:
    for link in re.findall(r"\]\(([^)]+)\)", text_of(name)):
        if not link.startswith("http"):
            assert ((ROOT / name).parent / link).exists(), link


def test_the_readme_names_every_command() -> None:
    assert isinstance(cli, Group)
    readme = text_of("README.md")
    for command in cli.commands:
        assert f"ms-fusion {command}" in readme or f"make {command}" in readme, command


def test_the_example_has_fifteen_lines_and_runs_as_it_stands(tmp_path: Path) -> None:
    (example,) = [
        block for block in code_blocks(text_of("README.md")) if "import mindspore" in block
    ]
    compile(example, "README.md", "exec")
    assert len([line for line in example.splitlines() if line.strip()]) <= 15


@pytest.mark.mindspore
def test_the_example_of_the_readme(tmp_path: Path) -> None:
    (example,) = [
        block for block in code_blocks(text_of("README.md")) if "import mindspore" in block
    ]
    (tmp_path / "example.py").write_text(example, "utf-8")
    done = subprocess.run(
        [sys.executable, "example.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "Mul" in done.stdout and "Add" in done.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["example.py", "fusion.html"]


OPERATOR_GUIDE = "docs/write_an_operator.md"


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
    exec(compile(program + shorter, OPERATOR_GUIDE, "exec"), {"__name__": "__guide__"})  # noqa: S102
    printed = capfd.readouterr().out
    assert "Tuning(" in printed
    assert "local.UB at its fullest" in printed and "int k_swish(" in printed
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cache", "swish.py"]


@pytest.mark.mindspore
def test_the_guide_to_operators_runs_as_it_stands(tmp_path: Path) -> None:
    (tmp_path / "guide.py").write_text(
        "\n".join(code_blocks(text_of("docs/custom_ops.md"))), "utf-8"
    )
    done = subprocess.run(
        [sys.executable, "guide.py"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=240,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert [path.name for path in tmp_path.iterdir()] == ["guide.py"]


def test_the_changelog_knows_the_version() -> None:
    assert f"## {ms_fusion.__version__}" in text_of("CHANGELOG.md")


def test_no_place_of_this_machine_is_named() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("not a git checkout")
    private = [f"{place}/".encode() for place in (ROOT, Path.home()) if len(place.parts) > 1]
    files = [ROOT / name for name in filter(None, listed.stdout.split("\0"))]
    contents = {path: path.read_bytes() for path in files if path.is_file()}
    assert [path for path, text in contents.items() if any(map(text.__contains__, private))] == []
