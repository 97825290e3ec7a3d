"""Included files, and the directories in which a project keeps its headers, are found."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tbe_impl import load_ascendc
from tbe_impl.ascendc.included_files import find_include_directories, included_files
from tests.cases import cases

NOWHERE = Path("no model")


def test_included_files_are_found_with_those_that_they_include(tmp_path):
    (tmp_path / "other").mkdir()
    (tmp_path / "a.cpp").write_text(
        '#include "b.h"\n#include <cmath>\n#include "kernel_operator.h"'
    )
    (tmp_path / "b.h").write_text('#include "c.h"\n#include "b.h"')
    (tmp_path / "other" / "c.h").write_text("")
    found = included_files(tmp_path / "a.cpp", (tmp_path, tmp_path / "other"))
    assert [path.name for path in found] == ["b.h", "c.h"]


def _write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


@cases(
    "name, header, root",
    [
        ("tiling.h", "op/op_host/tiling.h", "op/op_host"),
        ("tiling.h", "op/op_kernel/deep/tiling.h", "op/op_kernel/deep"),
        ("common/math.h", "common/math.h", "."),
        ("../common/math.h", "shared/common/math.h", "shared/common"),
        ("kernel/common.h", "include/kernel/common.h", "include"),
    ],
)
def test_a_missing_header_is_searched_around_the_kernel(tmp_path, name, header, root):
    _write(tmp_path, {"op/op_kernel/a.cpp": f'#include "{name}"', header: "", ".git/x": ""})
    kernel = tmp_path / "op" / "op_kernel" / "a.cpp"
    found = find_include_directories(kernel, (), NOWHERE)
    assert found == (kernel.parent, (tmp_path / root).resolve())
    assert [one.name for one in included_files(kernel, found)] == [Path(header).name]


def test_the_nearest_directory_with_most_missing_headers_is_used(tmp_path):
    """A header that a found header lacks is searched, too; the repository bounds the search."""
    text = '#include "one.h"\n#include "two.h"\n#include "outside.h"\n#include "own.h"\n'
    files = {"repo/k/a.cpp": text, "repo/k/own.h": "", "outside.h": "", "repo/.git/x": ""}
    files |= {f"repo/{place}/one.h": '#include "three.h"' for place in ("a", "b", "c/d")}
    files |= {"repo/b/two.h": "", "repo/z/three.h": "", "repo/y/own.h": ""}
    _write(tmp_path, files)
    found = find_include_directories(tmp_path / "repo" / "k" / "a.cpp", (), NOWHERE)
    assert [one.name for one in found] == ["k", "b", "z"]


def test_headers_of_the_model_and_given_directories_come_first(tmp_path):
    text = '#include "kernel_operator.h"\n#include "own.h"\n#include "a\0b.h"\n'
    _write(tmp_path, {"r/k/a.cpp": text, "r/kernel_operator.h": "", "r/own.h": "", "r/.git/x": ""})
    _write(tmp_path, {"given/own.h": "", "model/kernel_operator.h": ""})
    kernel = tmp_path / "r" / "k" / "a.cpp"
    found = find_include_directories(kernel, [tmp_path / "given"], tmp_path / "model")
    assert found == (kernel.parent, tmp_path / "given")


HEADER = """
#pragma once
namespace project { constexpr int SIZE = 64; }
"""
KERNEL = """
#include "kernel_operator.h"
#include "project/sizes.h"
extern "C" __global__ __aicore__ void twice(GM_ADDR x, GM_ADDR y) {
    AscendC::GlobalTensor<float> from, to;
    from.SetGlobalBuffer((__gm__ float*)x, project::SIZE);
    to.SetGlobalBuffer((__gm__ float*)y, project::SIZE);
    for (int i = 0; i < project::SIZE; ++i) { to.SetValue(i, 2 * from.GetValue(i)); }
}
"""


def test_a_project_needs_no_include_directories(tmp_path, monkeypatch):
    """Paths with blanks; the working directory does not matter; a changed header counts."""
    root = tmp_path / "my project"
    _write(root, {"op_kernel/twice.cpp": KERNEL, "common/project/sizes.h": HEADER, ".git/x": ""})
    monkeypatch.chdir(tmp_path)
    operator = load_ascendc(Path("my project") / "op_kernel" / "twice.cpp")
    kernel = operator.build(((64,), "float32"), outputs=[((64,), "float32")], blocks=1)
    x = np.arange(64, dtype=np.float32)
    np.testing.assert_array_equal(kernel(x), 2 * x)
    _write(root, {"common/project/sizes.h": HEADER.replace("64", "32")})
    shorter = operator.build(((64,), "float32"), outputs=[((64,), "float32")], blocks=1)
    assert shorter.shared_library != kernel.shared_library
