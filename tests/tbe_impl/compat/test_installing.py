"""The toolkit's names are installed, nested and removed without other changes."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from tbe_impl import compat, toolkit_finder
from tbe_impl.errors import InputError

ROOT = Path(__file__).resolve().parents[3]
MODULES = """
te te.lang.cce te.tvm te.platform te.platform.cce_conf te.platform.cce_build te.platform.cce_params
te.platform.cce_policy te.platform.fusion_manager te.platform.insn_cmd te.utils.op_utils
te.utils.para_check te.utils.shape_util te.op te.utils.error_manager
te.utils.error_manager.error_manager_vector te.lang.cce.te_compute.elewise_compute
te.lang.base.operation topi topi.generic topi.cce.util tbe tbe.dsl tbe.dsl.api
tbe.dsl.base.operation tbe.dsl.classifier tbe.tvm tbe.tvm.tir tbe.tvm.topi.generic
tbe.tvm.topi.cce.util tbe.common.platform tbe.common.utils tbe.common.utils.errormgr
tbe.common.register tbe.common.context tbe.common.buildcfg tbe.common.nobody.wrote.this te.tik
""".split()


@pytest.fixture(autouse=True)
def blocks_alone(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only blocks install names, also after another test imported `custom_ops` and them."""
    others = [one for one in sys.meta_path if not isinstance(one, toolkit_finder.Finder)]
    monkeypatch.setattr(sys, "meta_path", others)
    with toolkit_finder.hide_provided_modules():
        yield


def provided() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] in ("te", "tbe", "topi", "impl")]


def test_every_module_is_there_inside_and_gone_outside() -> None:
    with compat.installed():
        for name in MODULES:
            assert importlib.import_module(name).__name__ == name
    assert provided() == []
    with pytest.raises(ImportError):
        importlib.import_module("te.lang.cce")


def test_what_was_there_before_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = types.ModuleType("topi")
    monkeypatch.setitem(sys.modules, "topi", before)
    with compat.installed():
        assert importlib.import_module("topi") is not before
    assert sys.modules["topi"] is before


def test_they_go_when_the_block_fails() -> None:
    with pytest.raises(ZeroDivisionError), compat.installed():
        importlib.import_module("te")
        raise ZeroDivisionError
    assert provided() == []


def test_nested_blocks_answer_for_their_own_chip() -> None:
    with compat.installed(soc="Ascend310") as outer:
        from te import platform

        with compat.installed(soc="Ascend910B") as inner:
            assert platform.get_soc_spec("UB_SIZE") == 192 * 1024
            assert compat.session() is inner
        assert platform.get_soc_spec("UB_SIZE") == 248 * 1024
        assert compat.session() is outer
        assert "te" in sys.modules


def test_threads_have_their_own_sessions() -> None:
    chips = ["Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B1"] * 2
    gate, found = threading.Barrier(len(chips)), {}

    def work(index: int, chip: str) -> None:
        with compat.installed(soc=chip) as record:
            gate.wait(timeout=20)
            from te import platform

            found[index] = platform.get_soc_spec("FULL_SOC_VERSION"), compat.session() is record

    threads = [threading.Thread(target=work, args=item) for item in enumerate(chips)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert found == {index: (chip, True) for index, chip in enumerate(chips)}
    assert provided() == []


def test_a_real_toolkit_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "tbe"
    (package / "dsl").mkdir(parents=True)
    (package / "__init__.py").write_text("REAL = True\n")
    (package / "dsl" / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    with compat.installed() as record:
        assert record.real_toolkit == str(package / "__init__.py")
        assert importlib.import_module("tbe").REAL
    for name in ("tbe", "tbe.dsl"):
        sys.modules.pop(name, None)
    with compat.installed(replace_real=True) as record:
        assert not record.real_toolkit
        assert importlib.import_module("tbe").__name__ == "tbe"
        assert not isinstance(getattr(importlib.import_module("tbe"), "REAL", None), bool)


def test_a_folder_of_operators_called_tbe_is_no_toolkit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tbe" / "impl").mkdir(parents=True)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert compat.real_toolkit() == ""


def test_a_session_is_needed() -> None:
    with compat.installed():
        from te import platform
    with pytest.raises(InputError, match="installed"):
        platform.set_current_compile_soc_info("Ascend310")


def test_unwritten_names_can_be_imported_and_say_so_when_used(subtests: pytest.Subtests) -> None:
    with compat.installed():
        from tbe.common.nobody import something
        from te import tik
        from te.lang import cce

        class Inherits(something):
            pass

        @something.register_case("x")
        def kept() -> int:
            return 1

        assert kept() == 1
        assert not isinstance(3, something)
        for number, use in enumerate(
            (
                cce.vsubs,
                something,
                Inherits,
                lambda: tik.Tik().Tensor("float16", (16,)) + 1,
                lambda: something + 1,
                lambda: something[0],
            )
        ):
            said = pytest.raises(compat.NotWritten, match=r"test_installing\.py:\d+: `t")
            with subtests.test(use=number), said:
                use()
        with pytest.raises(
            compat.NotWritten, match=r"te\.lang\.cce\.vsubs.*nearest name is `te\.lang\.cce\.vsub`"
        ):
            cce.vsubs()
        made = tik.Tik()
        with pytest.raises(
            compat.NotWritten, match=r"tik\.Tik\(\)\.BuildCCE.*device's own instructions"
        ):
            made.BuildCCE("k", [], [])


def test_old_helpers_find_their_names() -> None:
    space: dict[str, object] = {}
    with compat.installed():
        exec("from te.utils.op_utils import *", space)  # noqa: S102 -- as operators write it
        exec("from te.lang.cce import *", space)  # noqa: S102
    assert {
        "fusion_manager",
        "check_op_params",
        "KERNEL_NAME",
        "broadcast_shapes",
        "vadd",
        "sum",
        "round",
    } <= set(space)


def test_operators_of_mindspore_import_with_it_and_without_it() -> None:
    out = subprocess.run(
        [
            sys.executable,
            ROOT / "tests" / "programs" / "tbe_impl" / "import_mindspore_operators.py",
        ],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert out.returncode == 0, out.stderr
    if out.stdout.strip() == "absent":
        pytest.skip("MindSpore is not installed")
    assert "op_info_register" in out.stdout and "fusion_manager.register" in out.stdout
