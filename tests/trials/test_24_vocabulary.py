"""The linter knows the operator names in MindSpore's libraries; unknown names give a note."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from ms_fusion.cli.main import run
from ms_fusion.mindspore.flags.lint import lint
from ms_fusion.ops import selections
from ms_fusion.vocabulary import build, versions, vocabulary
from tests.cases import cases

REAL = """TensorScatterAdd AllReduce BCEWithLogitsLoss BinaryCrossEntropy LambApplyOptimizerAssign
    SoftmaxGradExt AdamApplyOneWithDecay CSRReduceSum CSRDiv Abs ReLU""".split()


@cases("name", REAL)
@cases("device", ["CPU", "GPU", "Ascend"])
def test_operators_of_mindspore_are_known(name: str, device: str) -> None:
    assert lint(f"--opt_level=2 --disable_cluster_ops={name}", device=device) == ()


def test_every_operator_of_our_tables_is_known() -> None:
    tables = (
        selections.CPU_CLUSTER_OPS,
        selections.CPU_EXPAND_OPS,
        selections.CPU_CLUSTERABLE_OPS,
        selections.CPU_EXPANDABLE_OPS,
        selections.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY,
        selections.ASCEND_CLUSTER_OPS,
        selections.ASCEND_CLUSTER_OPS_LEVEL_1,
    )
    assert frozenset().union(*tables) - vocabulary().operators == set()


@cases("name", ["grouped_matmul_assignadd_fusion", "swiglu_dynamic_quant_fusion"])
def test_passes_of_a_device_are_known_there_alone(name: str) -> None:
    text = f"--opt_level=2 --disable_pass={name}"
    assert lint(text, device="Ascend") == ()
    (found,) = lint(text, device="CPU")
    assert (found.severity, found.code) == ("warning", "device")
    assert "on Ascend only" in found.message


@cases(
    "text",
    [
        "--disable_cluster_ops=MyOwnThing",
        "--disable_pass=my_own_pass",
        "--disable_pass=split.my_own_pass",
        "--disable_fusion_pattern=my_own_pattern",
    ],
)
def test_what_is_not_known_is_a_note(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = lint(f"--opt_level=2 {text}")
    assert (found.severity, found.code, found.remedy) == ("note", "unknown", "")
    assert run(["lint-flags", "--opt_level=2", text]) == 0
    assert capsys.readouterr().out.startswith(f"note: column {found.column}: ")


def test_a_misspelled_name_is_a_warning() -> None:
    (found,) = lint("--opt_level=2 --enable_cluster_ops=Grater")
    assert (found.severity, found.remedy) == ("warning", "Write `Greater`.")


def test_the_newest_version_stands_for_one_that_is_not_known() -> None:
    assert vocabulary("1.0.0") == vocabulary(versions()[-1])
    assert vocabulary("2.10.0").version == "2.10.0"


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    """A minimal directory with the MindSpore files that the script reads."""
    root = tmp_path / "mindspore"
    for place in ("lib/plugin", "ops/operations"):
        (root / place).mkdir(parents=True)
    (root / "version.py").write_text("__version__ = '3.1.4'\n")
    symbols = ["4prim11kPrimGeLUv2", "4prim8kPrimExp", "4prim17kLambApplyLionOpt", "3ops4gCos"]
    names = "".join(f"_ZN9mindspore{one}E\0" for one in symbols)
    # Exp is stored as the end of ReduceExp; no library contains the text of a kPrimNowhere
    (root / "lib/libmindspore_core.so").write_bytes(
        f"\x7fELF\0{names}_ZN9mindspore4prim12kPrimNowhereE\0GeLUv2\0ReduceExp\0Cos\0".encode()
    )
    (root / "lib/plugin/libmindspore_ascend.so.2").write_bytes(
        b"\0new_matmul_fusion\0enable_x_fusion\0"
    )
    (root / "ops/operations/math.py").write_text(
        "class Base(Primitive): pass\nclass Deep(Base): pass\nclass _Hidden(Primitive): "
        "pass\nclass Other: pass\n"
        'op = CpuRegOp("Registered")\n'
    )
    return root


def test_the_script_reads_libraries_and_python_files(wheel: Path) -> None:
    found = build.build(wheel)
    assert found["version"] == "3.1.4"
    assert found["operators"] == ["Base", "Cos", "Deep", "Exp", "GeLUv2", "Registered"]
    assert found["passes"] == {"CPU": [], "GPU": [], "Ascend": ["new_matmul_fusion"]}


@pytest.mark.full
def test_the_stored_names_are_those_of_the_installed_version() -> None:
    spec = find_spec("mindspore")
    assert spec is not None and spec.origin is not None
    found = build.build(Path(spec.origin).parent)
    assert set(found["operators"]) == vocabulary().operators  # type: ignore[call-overload]
