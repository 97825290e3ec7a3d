"""Kernels that cannot be built run by their formulas; all other failures state the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ms_fusion.kernel_server import build_records, driver, host, host_preparation
from ms_fusion.kernel_server.driver import compile_kernel
from ms_fusion.ledger import BuildStep
from ms_fusion.readers import composite
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text, called


def momentum() -> CompositeKernel:
    text, shape = Text("Fused_by_formulas"), (3, 4)
    parameter, gradient = (text.input(shape, "float32") for _ in range(2))
    moved = text.step("Sub", [parameter, gradient], shape, "float32")
    total = text.step(
        "ReduceSum", [moved, text.constant([1], "int64")], (3,), "float32", keep_dims=False
    )
    done = text.step("Assign", [parameter, moved], (1,), "float32")
    return text.kernel(done, total)


def test_what_cannot_be_built_is_computed_by_its_formulas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = momentum()

    def refused(*_: object) -> None:
        raise InputError("Sub is not built")

    monkeypatch.setattr(driver, "lower_composite", refused)
    monkeypatch.setattr(host_preparation, "assemble", refused)
    monkeypatch.setattr(driver, "parse_kernel", lambda *_, **__: kernel)
    monkeypatch.setattr(composite, "parse_kernel", lambda *_, **__: kernel)
    (tmp_path / f"{kernel.name}.info").write_text("{}")
    with pytest.raises(InputError, match="Sub is not built"):
        driver.build("{}", tmp_path)
    assert not list(tmp_path.glob("*.so"))
    assert driver.stand_in("{}", tmp_path, "Sub is not built")
    host.Host(tmp_path).install()
    parameter, gradient = np.float32(np.arange(12)).reshape(3, 4), np.ones((3, 4), np.float32)
    found = called(
        kernel, tmp_path / f"{kernel.name}.so", {"input_0": parameter, "input_1": gradient}
    )
    (record,) = build_records.read(tmp_path).values()
    assert record.steps == (BuildStep("numpy", ("Sub", "ReduceSum", "Assign")),)
    assert "Sub is not built" in record.why
    done, total = kernel.graph.outputs
    np.testing.assert_array_equal(found[done], parameter - 1)
    np.testing.assert_array_equal(found[total], (parameter - 1).sum(1))


def test_a_group_that_nobody_knows_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Text("Fused_unknown")
    odd = text.step("Fold", [text.input((4,), "float32")], (4,), "float32")
    kernel = text.kernel(odd)
    monkeypatch.setattr(driver, "parse_kernel", lambda *_, **__: kernel)
    with pytest.raises(InputError, match="Fold"):
        driver.build("{}", tmp_path)
    assert not driver.stand_in("{}", tmp_path, "Fold is not built")
    assert list(tmp_path.iterdir()) == []


def test_a_group_whose_formulas_refuse_is_not_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = Text("Fused_odd")
    truth = text.input((4,), "bool")
    kernel = text.kernel(text.step("Sub", [truth, truth], (4,), "bool"))
    monkeypatch.setattr(driver, "parse_kernel", lambda *_, **__: kernel)
    assert not driver.stand_in("{}", tmp_path, "Sub of bool is not built")
    assert list(tmp_path.iterdir()) == []


@cases("name", ["", "1st", "Fused;system", "a b", "名"])
def test_names_that_are_none_in_c(name: str, tmp_path: Path) -> None:
    text = Text(name)
    made = text.step("Abs", [text.input((4,), "float32")], (4,), "float32")
    with pytest.raises(InputError, match="not a name in C"):
        compile_kernel(text.kernel(made))
