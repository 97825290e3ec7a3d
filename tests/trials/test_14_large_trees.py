"""An operator of a large tree loads only its dependencies, and no file is compiled twice."""

from __future__ import annotations

import marshal
import os
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbe_impl import load_operator
from tbe_impl.errors import InputError
from tbe_impl.loading.bytecode import CachedLoader
from tbe_impl.loading.operator_packages import read_reexports
from tbe_impl.runtime.store import user_store
from tbe_impl.runtime.store_kinds import BYTECODE
from tests.cases import cases
from tests.trials.operators import described

MODULES = 958
OPERATOR = """
import te.lang.cce as cce
from te import tvm
{before}

def {name}_compute(x):
    return cce.vmuls(x, {factor})

{after}

def {name}(x, y, kernel_name="{name}"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    made = {other}_compute({name}_compute(data))
    with tvm.target.cce():
        schedule = cce.auto_schedule(made)
    cce.cce_build_code(schedule, {{"name": kernel_name, "tensor_list": [data, made]}})
"""
ROUND = {"a": ("b", ""), "b": ("c", ""), "c": ("", "a")}
"""File → its imports above and below its function: the cycle can begin at c alone."""


def operator(name: str, before: str, after: str = "") -> str:
    imports = [f"from impl.{one} import {one}_compute" if one else "" for one in (before, after)]
    return OPERATOR.format(
        name=name, before=imports[0], after=imports[1], other=before or after, factor=2.0
    )


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of operators that import each other, below a package that imports all of them."""
    place = tmp_path_factory.mktemp("tree")
    (place / "impl").mkdir()
    names = [f"op{number:03d}" for number in range(MODULES)]
    for one, other in zip(names[::2], names[1::2], strict=True):
        (place / "impl" / f"{one}.py").write_text(operator(one, other))
        (place / "impl" / f"{other}.py").write_text(operator(other, "", one))
    imports = [f"from .{name} import {name}" for name in names]
    (place / "impl" / "__init__.py").write_text("\n".join(imports))
    return place


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that Python compiles, in order."""
    found: list[str] = []
    original = SourceFileLoader.source_to_code

    def recorded(self: Any, data: Any, path: Any, **options: Any) -> Any:
        found.append(Path(path).stem)
        return original(self, data, path, **options)

    monkeypatch.setattr(SourceFileLoader, "source_to_code", recorded)
    return found


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The executed files, in order."""
    found: list[str] = []
    original = CachedLoader.exec_module

    def recorded(self: CachedLoader, module: Any) -> None:
        found.append(module.__name__.rpartition(".")[2])
        original(self, module)

    monkeypatch.setattr(CachedLoader, "exec_module", recorded)
    return found


def files(place: Path) -> list[Path]:
    return sorted(place.rglob("*"))


@cases("name, order", [("op040", "op040 op041 op041 op040"), ("op041", "op041 op040")])
def test_an_operator_loads_its_neighbours_alone(
    tree: Path, ran: list[str], name: str, order: str
) -> None:
    before = files(tree)
    ran.clear()
    x = np.ones((4, 8), np.float16)
    kernel = load_operator(tree / "impl" / f"{name}.py", search_path=[tree]).build(
        described(x.shape), described(x.shape)
    )
    assert np.array_equal(kernel(x, backend="numpy"), x * 4)
    assert ran == order.split()
    assert files(tree) == before


@cases("name", sorted(ROUND))
def test_a_circle_is_begun_where_it_can_be(tmp_path: Path, name: str) -> None:
    tree = tmp_path / "round"
    (tree / "impl").mkdir(parents=True, exist_ok=True)
    for one, (before, after) in ROUND.items():
        (tree / "impl" / f"{one}.py").write_text(operator(one, before, after))
    x = np.ones((4, 8), np.float16)
    kernel = load_operator(tree / "impl" / f"{name}.py", search_path=[tree]).build(
        described(x.shape), described(x.shape)
    )
    assert np.array_equal(kernel(x, backend="numpy"), x * 4)


INERT = '"""Operators."""\nimport os\n__all__ = ["op0"]\n'
"""Statements of an ``__init__`` that do not prevent lazy imports."""


@cases("more", ["", "print()", "os.environ", "names = []", "__all__[0] = ''", "if os: pass"])
def test_a_file_that_does_more_is_executed(tmp_path: Path, more: str) -> None:
    imports = "".join(f"from .op{number} import op{number}\n" for number in range(99))
    file = tmp_path / "__init__.py"
    file.write_text(INERT + imports + more)
    found = read_reexports(str(file), "impl")
    assert dict(found) == ({} if more else {f"op{n}": (f"impl.op{n}", f"op{n}") for n in range(99)})


def test_a_circle_without_a_beginning_is_refused(tmp_path: Path) -> None:
    (tmp_path / "impl").mkdir()
    for one, other in ("ab", "ba"):
        (tmp_path / "impl" / f"{one}.py").write_text(operator(one, other))
    with pytest.raises(
        InputError,
        match=r"a\.py:\d+: .*ImportError: cannot import name 'a_compute'",
    ):
        load_operator(tmp_path / "impl" / "a.py", search_path=[tmp_path])


def test_nothing_is_compiled_twice(tree: Path, compiled: list[str]) -> None:
    file = tree / "impl" / "op100.py"
    load_operator(file, search_path=[tree])
    assert sorted(compiled) == ["op100", "op101"]
    compiled.clear()
    load_operator(file, search_path=[tree])
    assert compiled == []


def test_another_text_of_the_same_age_and_length(tree: Path, compiled: list[str]) -> None:
    file = tree / "impl" / "op200.py"
    x = np.ones((4, 8), np.float16)
    load_operator(file, search_path=[tree])
    compiled.clear()
    status = file.stat()
    file.write_text(file.read_text().replace("2.0", "3.0"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))
    kernel = load_operator(file, search_path=[tree]).build(described(x.shape), described(x.shape))
    assert compiled == ["op200"]
    assert np.array_equal(kernel(x, backend="numpy"), x * 6)


def test_a_file_of_the_same_text_elsewhere_has_its_own_lines(tmp_path: Path) -> None:
    for folder in ("one", "other"):
        file = tmp_path / folder / "broken.py"
        file.parent.mkdir()
        file.write_text("def broken(x, y, kernel_name='broken'):\n    return x[3]\n")
        with pytest.raises(InputError, match=rf"{folder}/broken\.py:2: .*KeyError: 3"):
            load_operator(file).build({"shape": (4,), "dtype": "float16"}, None)


def test_large_files_are_cached_and_damage_is_not_believed(
    tmp_path: Path, compiled: list[str]
) -> None:
    file = tmp_path / "large.py"
    lines = "".join(f"def f{n}(x):\n    return x + {n} * {n}.5\n" for n in range(9000))
    text = f"{lines}\ndef large(x, y, kernel_name='large'):\n    pass\n"
    file.write_text(text)
    assert len(marshal.dumps(compile(text, str(file), "exec"))) > BYTECODE.bytes_max
    for _ in range(2):
        load_operator(file)
    assert compiled == ["large"]
    entries = user_store().entries(BYTECODE)
    assert entries
    for entry in entries:
        content = bytearray(entry.path.read_bytes())
        content[-80] ^= 1
        entry.path.write_bytes(content)
    load_operator(file)
    assert compiled == ["large", "large"]


@pytest.mark.mindspore
def test_files_of_nets_are_compiled_once_too(tmp_path: Path, compiled: list[str]) -> None:
    from ms_fusion.target import load_target

    place = tmp_path / "nets"
    place.mkdir()
    (place / "neighbour_14.py").write_text(
        "from mindspore import nn\n\nclass Net(nn.ReLU):\n    pass\n"
    )
    (place / "net_14.py").write_text("from neighbour_14 import Net\n")
    before = files(place)
    for times in range(2):
        load_target(f"{place / 'net_14.py'}:Net", inputs=("4",))
        assert [name for name in compiled if name.endswith("_14")] == ["net_14", "neighbour_14"], (
            times
        )
        for name in ("net_14", "neighbour_14"):
            sys.modules.pop(name, None)
    assert files(place) == before
