"""Where kernels stand: a private directory of each process, or the user's own; nothing is left behind, nothing planted is used."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ms_fusion.presets.mindspore_child import HEAD, run

pytestmark = pytest.mark.mindspore

NET = """
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
#ENABLE
try:
    RESULT["value"] = float(Net()(ones(64, 64)).asnumpy()[0, 0])
except RuntimeError as error:
    RESULT["value"] = str(error)
RESULT["place"] = os.environ.get("MS_COMPILER_CACHE_PATH", "")
RESULT["mode"] = oct(Path(RESULT["place"]).stat().st_mode & 0o777) if RESULT["place"] else ""
RESULT["kernels"] = kernels()
"""


def _plant(directory: Path, kernel: str, source: Path) -> None:
    """A kernel of the right name that computes something else, with the hash that MindSpore checks."""
    import hashlib
    import json
    import shutil

    meta = directory / "akg_kernel_meta"
    meta.mkdir(parents=True)
    shutil.copytree(source, meta, dirs_exist_ok=True)
    wrong = next(path for path in meta.glob("Fused_*.so") if path.stem != kernel)
    # both names have the same length, so the symbol can be renamed in place; MindSpore then runs it, or fails to
    binary = wrong.read_bytes().replace(wrong.stem.encode(), kernel.encode())
    (meta / f"{kernel}.so").write_bytes(binary)
    record = json.loads((meta / f"{kernel}.json").read_text())
    record["sha256"] = record["objSha256"] = hashlib.sha256(binary).hexdigest()
    (meta / f"{kernel}.json").write_text(json.dumps(record))


FOR_PLANTING = """
ms.set_context(mode=ms.GRAPH_MODE)
os.environ["MS_COMPILER_CACHE_PATH"] = os.getcwd()
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"
class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
Net()(ones(64, 64))
first = set(kernels())
for factor in range(3, 12):
    class Other(nn.Cell):
        def construct(self, x):
            return x * factor + 1.0
    Other()(ones(64, 64))
    if any(len(name) == len(min(first)) for name in set(kernels()) - first):
        break
RESULT["kernel"] = min(first)
RESULT["others"] = sorted(set(kernels()) - first)
"""


def test_nothing_is_left_behind_and_a_planted_kernel_is_never_used(tmp_path: Path) -> None:
    made = run(FOR_PLANTING, tmp_path / "made")
    kernel, others = made.result["kernel"], made.result["others"]
    same = [name for name in others if len(name) == len(kernel)]
    assert same, others
    source = tmp_path / "made" / "akg_kernel_meta"
    for name in [*(other for other in others if other != same[0])]:
        for path in source.glob(f"{name}.*"):
            path.unlink()
    for place in ("control", "ours"):
        (tmp_path / place).mkdir()
        _plant(tmp_path / place, kernel, source)

    plain = 'os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"'
    control = run(NET.replace("#ENABLE", plain), tmp_path / "control").result
    assert control["value"] != 3.0, (
        "the plant must work where we do nothing, else this proves nothing"
    )

    before = sorted(path.relative_to(tmp_path / "ours") for path in (tmp_path / "ours").rglob("*"))
    ours = run(NET.replace("#ENABLE", "mf.enable()"), tmp_path / "ours", own_cache=True).result
    assert ours["value"] == 3.0 and kernel in ours["kernels"]
    after = sorted(path.relative_to(tmp_path / "ours") for path in (tmp_path / "ours").rglob("*"))
    assert after == before, "files were left in the working directory"
    assert ours["mode"] == "0o700"
    assert not Path(ours["place"]).exists(), "the private directory goes at exit"
    assert str(tmp_path / "ours.cache") in ours["place"]


def test_the_users_own_kernel_directory_is_used_and_kept(tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    child = run(
        NET.replace("#ENABLE", "mf.enable()"),
        tmp_path / "work",
        environment={"MS_COMPILER_CACHE_PATH": str(own)},
    )
    assert child.result["place"] == str(own) and child.result["kernels"] and own.is_dir()
    assert list((tmp_path / "work").iterdir()) == []


MOVED = """
os.environ["MS_COMPILER_CACHE_PATH"] = str(Path("moved").resolve())
os.mkdir("moved")
"""


def test_a_kernel_directory_that_comes_later_is_too_late(tmp_path: Path) -> None:
    """MindSpore would look for the libraries there, and ours stand elsewhere."""
    body = NET.replace("#ENABLE", "first = mf.enable().kernel_directory" + MOVED)
    body += """
RESULT["first"] = [os.environ["MS_COMPILER_CACHE_PATH"].endswith("moved"), presets.in_force().kernel_directory == first]
RESULT["built"] = len(list(Path(first, "akg_kernel_meta").glob("*.so")))
"""
    found = run(body, tmp_path / "work").result
    assert (found["value"], found["kernels"], found["built"]) == (3.0, [], 1)
    assert found["first"] == [True, True]


def test_a_kernel_directory_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    body = """
try:
    mf.enable()
except mf.FusionError as error:
    RESULT["error"] = str(error)
"""
    gone = str(tmp_path / "gone")
    child = run(body, tmp_path / "work", environment={"MS_COMPILER_CACHE_PATH": gone}, head=HEAD)
    assert "MS_COMPILER_CACHE_PATH" in child.result["error"] and gone in child.result["error"]
