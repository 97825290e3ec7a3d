"""The generator's record of a kernel is written beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion.kernel_server import build_records, driver
from ms_fusion.ledger import Build, BuildStep
from ms_fusion.readers.composite import CompositeKernel
from tests.ms_fusion.kernel_server.composites import Text


def softmax(name: str = "Fused_softmax") -> CompositeKernel:
    text, shape = Text(name), (6, 40)
    x = text.input(shape, "float32")
    total = text.step(
        "ReduceSum", [x, text.constant([1], "int64")], (6, 1), "float32", keep_dims=True
    )
    return text.kernel(text.step("RealDiv", [x, total], shape, "float32"))


def layer() -> CompositeKernel:
    text = Text("Fused_layer")
    x, weight, bias = (text.input(shape, "float32") for shape in ((4, 8), (8, 16), (16,)))
    wide = text.step("Exp", [x], (4, 8), "float32")
    product = text.step("MatMul", [wide, weight], (4, 16), "float32")
    added = text.step("Add", [product, bias], (4, 16), "float32")
    return text.kernel(text.step("Sin", [added], (4, 16), "float32"))


def built(kernel: CompositeKernel, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Build:
    monkeypatch.setattr(driver, "parse_kernel", lambda *_, **__: kernel)
    driver.build("{}", directory)
    return build_records.read(directory)[kernel.name]


def test_it_says_what_was_built_and_whether_a_compiler_ran(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    first = built(softmax(), tmp_path, monkeypatch)
    assert first.steps == (BuildStep("c", ("ReduceSum", "RealDiv"), 1),)
    assert first.seconds > 0 and not first.cached and not first.why
    again = built(softmax(), tmp_path, monkeypatch)
    assert again.cached and again.steps == first.steps


def test_calls_of_the_library_are_told_with_what_they_take_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = built(layer(), tmp_path, monkeypatch).steps
    assert steps == (
        BuildStep("c", ("Exp",), 1),
        BuildStep("onednn", ("MatMul", "Add")),
        BuildStep("c", ("Sin",), 1),
    )


def test_what_cannot_be_read_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "Fused_x.build").write_text("{")
    assert build_records.read(tmp_path) == {}
    assert build_records.read(tmp_path / "nowhere") == {}
