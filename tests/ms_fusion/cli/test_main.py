"""The command line: output, exit codes, and a one-sentence error for every wrong input.

A wrong input writes no file.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ms_fusion import __version__
from ms_fusion.cli import main
from ms_fusion.cli.doctor import Check, Diagnosis
from ms_fusion.ledger import Ledger
from tbe_impl.errors import InputError
from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import KERNELS, PLANS
from tests.cases import FULL, cases
from tests.ms_fusion.report.ledgers import transformer_ledger

ROOT = Path(__file__).resolve().parents[3]
DUMPS = ROOT / "tests" / "data" / "ms_2_10" / "Block_f"

NET = """
from mindspore import nn, ops

class MyNet(nn.Cell):
    def construct(self, x):
        a = ops.mul(x, 2.0)
        return ops.add(a, 1.0)

class Sized(nn.Cell):
    def __init__(self, width):
        super().__init__()

class Shaped(nn.Cell):
    def construct(self, x, y):
        return ops.matmul(x, y)
"""

BLIND = ROOT / "tests" / "programs" / "ms_fusion" / "blind"
"""Simulates a machine without MindSpore: a directory with a sitecustomize.py."""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with one file, and a separate cache."""
    work = tmp_path / "work"
    work.mkdir()
    (work / "net.py").write_text(NET)
    monkeypatch.chdir(work)
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "120")
    return work


@pytest.fixture
def shared_cache(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache in ``build/tests``, which holds the result of the generator trial, like a user's
    cache.
    """
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", os.environ["MS_FUSION_TEST_CACHE"])


def program(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The real program in its own process."""
    paths = os.pathsep.join(filter(None, [variables.pop("PYTHONPATH", ""), str(ROOT)]))
    return subprocess.run(
        [sys.executable, "-m", "ms_fusion", *arguments],
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1", **variables},
        capture_output=True,
        text=True,
        timeout=240,
    )


def here(capfd: pytest.CaptureFixture[str], *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same in this process."""
    capfd.readouterr()
    code = main.run(list(arguments))
    return subprocess.CompletedProcess(arguments, code, *capfd.readouterr())


def everything_in(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


WRONG = [
    (["explain", "absent.py:Net", "--input", "4"], "absent.py: no such file"),
    (["explain", "net.py", "--input", "4"], "expected FILE.py:NAME"),
    (["explain", "net.py:MyNet", "--input", "4:float31"], "Did you mean float32?"),
    (["explain", "net.py:MyNet", "--input", "4", "--html", "no/where.html"], "mkdir -p no"),
    (["explain", "net.py:MyNet", "--input", "4", "--json", "."], "is a directory"),
    (["explain"], "Missing argument 'FILE.py:NET'"),
    (["explain", "net.py:MyNet", "--wrong"], "No such option"),
    (["read", "absent"], "absent"),
    (["read", "."], "no"),
    (["presets", "agressive"], "aggressive"),
    (["presets", "auto", "--device", "TPU"], "TPU"),
    (["lint-flags"], "Missing argument"),
    (["read", "no\x1b[31m\nwhere"], "no\\x1b[31m\\nwhere"),
    (["frobnicate"], "No such command 'frobnicate'"),
    (["cache", "frobnicate"], "No such command 'frobnicate'"),
]


@cases(
    "arguments, says",
    WRONG,
    ids=lambda row: " ".join(row[0][:3]),
)
def test_wrong_input_is_one_sentence_and_leaves_nothing(
    place: Path, arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = everything_in(place.parent)
    code = main.run(arguments)
    out, err = capfd.readouterr()
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("ms-fusion: ") and err.count("\n") == 1, err
    assert everything_in(place.parent) == before


@pytest.mark.mindspore
@cases(
    "arguments, says",
    [
        pytest.param(["net.py:MyNot", "--input", "4"], "Did you mean MyNet?", marks=FULL),
        pytest.param(
            ["net.py:Sized", "--input", "4"], "constructor needs arguments (width)", marks=FULL
        ),
        pytest.param(["net.py:MyNet"], "expected 1 (x), got 0", marks=FULL),
        (["net.py:Shaped", "--input", "4x5", "--input", "4x5"], "net.py:15"),
        pytest.param(
            ["net.py:MyNet", "--input", "4", "--preset", "agressive"], "aggressive", marks=FULL
        ),
        pytest.param(
            ["net.py:MyNet", "--input", "4", "--flags", "--opt_level=2 --kernel_generator=DVM"],
            "kernel_generator",
            marks=FULL,
        ),
    ],
)
@pytest.mark.usefixtures("shared_cache")
def test_a_wrong_net_is_one_sentence_and_leaves_nothing(
    place: Path, arguments: list[str], says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    before = everything_in(place.parent)
    code = main.run(["explain", *arguments, "--html", "out.html", "--json", "out.json"])
    out, err = capfd.readouterr()
    assert (code, out) == (2, "")
    assert says in err
    assert "Traceback" not in err and err.count("\n") == 1, err
    assert everything_in(place.parent) == before


def test_without_mindspore_explain_names_the_install_line(place: Path) -> None:
    before = everything_in(place)
    done = program(
        "explain", "net.py:MyNet", "--input", "4", "--html", "a.html", PYTHONPATH=str(BLIND)
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(
        "ms-fusion: MindSpore is not installed. Run: pip install 'ms_fusion[cpu]'"
    )
    assert everything_in(place) == before


def test_without_mindspore_dumps_are_read(place: Path) -> None:
    done = program(
        "read", str(DUMPS), "--html", "a.html", "--json", "a.json", PYTHONPATH=str(BLIND)
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Traceback" not in done.stdout
    assert "<script" in Path("a.html").read_text("utf-8")
    assert json.loads(Path("a.json").read_text("utf-8"))


@pytest.mark.mindspore
@cases(
    "more",
    [pytest.param([], marks=FULL), ["--no-measure", "--no-accuracy"]],
    ids=["with times", "without"],
)
@pytest.mark.usefixtures("shared_cache")
def test_explain_prints_the_ledger_and_writes_what_was_asked_for(
    place: Path, more: list[str], capfd: pytest.CaptureFixture[str], full: bool
) -> None:
    """In `make test` the command runs in this process, which has already imported its modules."""
    started = program if full else functools.partial(here, capfd)
    for name in ("a.html", "a.json"):
        Path(name).unlink(missing_ok=True)
    done = started(
        "explain",
        *more,
        "net.py:MyNet",
        "--input",
        "64x128:float32",
        "--html",
        "a.html",
        "--json",
        "a.json",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "Mul" in done.stdout and "Add" in done.stdout and "built by ms_fusion" in done.stdout
    assert done.stdout.endswith("report: a.html\nreport: a.json\n")
    assert sorted(path.name for path in place.iterdir()) == ["a.html", "a.json", "net.py"]
    (kernel,) = Ledger.from_json(Path("a.json").read_text("utf-8")).kernels
    assert kernel.sources[-1].line == 7


def test_the_demo_prints_a_ledger_and_writes_two_reports(
    place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger, asked = transformer_ledger(60), []
    monkeypatch.setattr(
        "ms_fusion.cli.demo.explain_target", lambda *given, **more: asked.append(given) or ledger
    )
    assert main.run(["demo", "--output", "build/demo"]) == 0
    operators = sum(len(kernel.operators) for kernel in ledger.kernels)
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == (
        f"fused kernels: {len(ledger.kernels)}, operators: {operators}, report: "
        f"build/demo/fusion.html"
    )
    assert any(ledger.title in line for line in lines[:-1])
    ((target, inputs),) = asked
    assert target.endswith("ms_fusion/cli/demo_block.py:Block") and inputs == ("8x128x256:float32",)
    assert sorted(path.name for path in (place / "build/demo").iterdir()) == [
        "fusion.html",
        "fusion.json",
    ]


@pytest.mark.mindspore
@pytest.mark.usefixtures("shared_cache")
def test_the_demo_ends_with_its_one_line(place: Path) -> None:
    done = program("demo", "--output", "build/demo")
    assert done.returncode == 0, done.stderr
    last = done.stdout.splitlines()[-1]
    words = last.split()
    assert last == f"fused kernels: {words[2]} operators: {words[4]} report: build/demo/fusion.html"
    kernels, operators = (int(words[place].rstrip(",")) for place in (2, 4))
    assert operators >= 2 * kernels > 0
    ledger = json.loads(Path("build/demo/fusion.json").read_text("utf-8"))
    assert len(ledger["ledger"]["kernels"]) == kernels
    assert everything_in(place) == sorted(
        place / name
        for name in (
            "net.py",
            "build",
            "build/demo",
            "build/demo/fusion.html",
            "build/demo/fusion.json",
        )
    )


@cases(
    "flags, code, says",
    [
        (["--opt_level=2"], 0, "nothing wrong"),
        (["--opt_level=2 --enable_cse"], 1, "graph_kernel_cse"),
        (["--opt_level=2", "--enable_cluster_ops=Dvi"], 1, "Div"),
    ],
)
def test_lint_flags(
    flags: list[str], code: int, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(["lint-flags", *flags]) == code
    assert says in capsys.readouterr().out


@cases("status, code", [("ok", 0), ("hint", 0), ("warning", 1), ("broken", 2)])
def test_the_doctor_exits_with_its_diagnosis(
    status: str, code: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = Diagnosis((Check("thing", status, "what [bold]it[/bold] is", "mend it"),))
    monkeypatch.setattr("ms_fusion.cli.doctor.diagnose", lambda: found)
    assert main.run(["doctor"]) == code
    out = capsys.readouterr().out
    assert "what [bold]it[/bold] is" in out and "→ mend it" in out
    assert main.run(["doctor", "--json"]) == code
    assert json.loads(capsys.readouterr().out)["exit_code"] == code


def test_the_cache_commands(capsys: pytest.CaptureFixture[str]) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        code = main.run(["cache", *arguments])
        return code, capsys.readouterr().out

    key = "ab" + "0" * 62
    assert said("ls") == (0, "")
    path = Store().get_or_build(KERNELS, key, lambda path: path.write_bytes(b"code"))
    Store().write(PLANS, key, b"[]")
    lines = [line.split()[:2] for line in said("ls")[1].splitlines()]
    assert lines == [[key[:16], "kernels"], [key[:16], "plans"]]
    assert "kernels    1\n" in said("info")[1] and "plans      1\n" in said("info")[1]
    assert said("verify") == (0, "2 sound, 0 not\n")
    path.write_bytes(b"evil")
    code, out = said("verify")
    assert (code, "is damaged" in out, out.endswith("1 sound, 1 not\n")) == (1, True, True)
    assert said("clear") == (0, "removed 1 kernel\n")
    assert said("ls") == (0, "")


def test_the_module_is_the_program() -> None:
    done = program("--version")
    assert done.stdout == f"ms-fusion, version {__version__}\n"


def test_an_unexpected_error_is_a_sentence_unless_debugging(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> None:
        raise ZeroDivisionError("deep\ninside")

    monkeypatch.setattr("ms_fusion.cli.doctor.diagnose", broken)
    assert main.run(["doctor"]) == 2
    assert capsys.readouterr().err == (
        "ms-fusion: ZeroDivisionError: deep (run ms-fusion --debug … to see where).\n"
    )
    with pytest.raises(ZeroDivisionError):
        main.run(["--debug", "doctor"])


@cases("place", [0, 1])
def test_debugging_means_the_same_before_fuse_and_behind_it(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[bool] = []
    Path("model.onnx").touch()

    def broken(*_: object, debug: bool, **__: object) -> None:
        given.append(debug)
        raise InputError("no good")

    monkeypatch.setattr("ms_fusion.onnx.fuse.auto_fuse.auto_fuse", broken)
    arguments = ["fuse", "--input", "model.onnx", "--dry-run"]
    assert main.run(arguments) == 2
    with pytest.raises(InputError):
        main.run([*arguments[:place], "--debug", *arguments[place:]])
    assert given == [False, True]


def test_presets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["presets"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert set(names) == {"auto", "off", "basic", "aggressive", "expert", "precise"}
    for name in names:
        assert main.run(["presets", name, "--device", "Ascend", "--version", "2.7.0"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(f"{name}: ") and "Ascend, MindSpore 2.7.0: --opt_level=" in out
    assert main.run(["presets", "auto", "--version", "2.10.0"]) == 0
    lines = capsys.readouterr().out.splitlines()
    (ours,) = [line for line in lines if "built by us" in line]
    (own,) = [line for line in lines if "built by MindSpore's own generator" in line]
    assert "--kernel_generator=AKG_V2" in ours and "--kernel_generator" not in own
    assert main.run(["presets", "precise"]) == 0
    assert "built by us" not in capsys.readouterr().out
    assert main.run(["presets", "basic", "--yaml"]) == 0
    block = yaml.safe_load(capsys.readouterr().out)
    # the output is independent of ms_fusion
    assert "--opt_level=1" in block["context"]["graph_kernel_flags"]
    assert "AKG_V2" not in block["context"]["graph_kernel_flags"]
