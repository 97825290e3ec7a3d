"""`auto_fuse(target="ort-kernels")`: custom operators where they are faster in ONNX Runtime."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ms_fusion import from_onnx
from ms_fusion.cli.main import run
from ms_fusion.onnx.fuse import model_times
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.fuse.model_times import is_gain
from ms_fusion.onnx.fuse.ort import operator_trials
from ms_fusion.onnx.fuse.ort.kernel_proposals import OURS
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder, transformer_layer
from tests.ms_fusion.onnx.ort_library.test_operator_library import run_plainly

LIBRARY = "libms_fusion_ort.so"


@pytest.fixture(autouse=True)
def _ours_is_fastest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Our kernels take half the time, so that the choice does not depend on the machine."""

    def times(paths: dict[str, Path], *_: object) -> dict[str, float]:
        return {name: 0.5 if name in (OURS, "all", "fused") else 1.0 for name in paths}

    monkeypatch.setattr(operator_trials, "measure_times", times)
    monkeypatch.setattr(model_times, "measure_times", times)
    monkeypatch.setattr("ms_fusion.onnx.fuse.kernel_operators.measure_times", times)


def domains(path: Path) -> list[str]:
    return [node.domain for node in onnx.load(path).graph.node]


@cases("dtype", ["float32", "float16"])
def test_a_layer_runs_in_a_plain_process(dtype: str, tmp_path: Path, native: NativeWorkers) -> None:
    """Sizes that the fusion did not see, every way to run a session, the original's results."""
    code = {"float32": TensorProto.FLOAT, "float16": TensorProto.FLOAT16}[dtype]
    source = transformer_layer(tmp_path / "layer.onnx", dtype=code)
    output = tmp_path / "net.onnx"
    ledger = auto_fuse(source, output, target="ort-kernels", verify=True)
    assert not [note for note in ledger.notes if "WRONG" in note]
    assert domains(output).count("ms_fusion") >= 3
    count = len(onnx.load(source).graph.node)
    assert len(domains(output)) < (count / 1.5 if dtype == "float32" else count)
    names = {kernel.name for kernel in ledger.kernels}
    assert (dtype == "float32") == any(name.startswith("Attention_") for name in names)
    assert all(kernel.time_us == 0.5 and kernel.unfused_time_us == 1.0 for kernel in ledger.kernels)
    assert ledger.environment["model times"] == {"original": 1.0, "fused": 0.5}
    (tmp_path / "lib.so").write_bytes((tmp_path / "kernels" / LIBRARY).read_bytes())
    for shape in ((1, 1, 32), (3, 70, 32)):
        x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
        expected = native.run(source, {"x": x}).outputs.values()
        sums = [np.abs(one.astype(np.float64)).sum() for one in expected]
        for way, found in run_plainly(tmp_path, {"x": x}).items():
            totals = [total for total, _ in found]  # type: ignore[attr-defined]
            assert totals == pytest.approx(sums, rel=2e-3 if dtype == "float16" else 1e-5), way


def test_models_in_one_directory_share_the_library(tmp_path: Path) -> None:
    """The library keeps the operators of the first model when a second one is written."""
    x = np.ones((2, 3, 8), np.float32)
    for name, op in (("first", "Sigmoid"), ("second", "Tanh")):
        b = Builder({"x": ("n", "t", 8)})
        made = b.add("Mul", "x", b.add(op, b.add("Softmax", "x", axis=-1)))
        source = b.save(tmp_path / f"{name}_source.onnx", made)
        auto_fuse(source, tmp_path / f"{name}.onnx", target="ort-kernels")
    told = json.loads((tmp_path / "kernels" / "manifest.json").read_text())
    assert told["model"] == "second.onnx"
    assert [one["model"] for one in told["others"]] == ["first.onnx"]
    (tmp_path / "lib.so").write_bytes((tmp_path / "kernels" / LIBRARY).read_bytes())
    for name in ("first", "second"):
        (tmp_path / "net.onnx").write_bytes((tmp_path / f"{name}.onnx").read_bytes())
        assert "error" not in run_plainly(tmp_path, {"x": x}, "one thread")


def product_with_everything(b: Builder) -> str:
    product = b.add("Add", b.add("MatMul", "x", b.weight(16, 24)), b.weight(24))
    x = b.add("Mul", product, b.weight(24))
    gate = b.add("Erf", b.add("Div", x, b.constant(np.float32(2**0.5))))
    gate = b.add("Mul", b.add("Add", gate, b.constant(np.float32(1))), b.constant(np.float32(0.5)))
    return b.add("Add", "y", b.add("Mul", x, gate))


def product_of_gemm(b: Builder) -> str:
    made = b.add("Gemm", "m", b.weight(24, 16), b.weight(24), transB=1)
    return b.add("Mul", made, b.add("Sigmoid", made))


def product_read_twice(b: Builder) -> str:
    made = b.add("MatMul", "x", b.weight(16, 24))
    return b.add("Add", b.add("Relu", made), b.add("Softmax", made, axis=-1))


def product_of_inputs(b: Builder) -> str:
    made = b.add("MatMul", "x", "z")
    return b.add("Mul", made, b.add("Sigmoid", made))


def broadcast_residual(b: Builder) -> str:
    made = b.add("Relu", b.add("MatMul", "x", b.weight(16, 24)))
    return b.add("Mul", b.add("Add", made, "row"), b.add("Sigmoid", "y"))


def depthwise_norm(b: Builder, stride: int = 1) -> str:
    weights, bias, pads = b.weight(12, 1, 5, 5), b.weight(12), [2, 2, 2, 2]
    made = b.add("Conv", "image", weights, bias, group=12, pads=pads, strides=[stride, stride])
    turned = b.add("Transpose", made, perm=[0, 2, 3, 1])
    return b.add("LayerNormalization", turned, b.weight(12), b.weight(12), axis=-1)


def strided_depthwise_norm(b: Builder) -> str:
    return depthwise_norm(b, 2)


def two_products(b: Builder) -> str:
    made = b.add("Sigmoid", b.add("MatMul", "x", b.weight(16, 64)))
    made = b.add("MatMul", b.add("Relu", b.add("MatMul", made, b.weight(64, 32))), b.weight(32, 24))
    return b.add("Add", b.add("Add", made, b.weight(24)), "y")


def residual_blocks(b: Builder) -> str:
    """Two blocks with the channels last; the sums between have the channels first."""
    first, last = [0, 3, 1, 2], [0, 2, 3, 1]

    def norm(image: str) -> str:
        turned = b.add("Transpose", image, perm=last)
        return b.add("LayerNormalization", turned, b.weight(12), b.weight(12), axis=-1)

    def block(image: str) -> str:
        return norm(b.add("Conv", image, b.weight(12, 1, 3, 3), group=12, pads=[1, 1, 1, 1]))

    image = b.add("Transpose", norm("image"), perm=first)
    return block(b.add("Add", image, b.add("Transpose", block(image), perm=first)))


GELU = ("Div", "Erf", "Add", "Mul", "Mul")
DEPTHWISE = ("Conv", "Transpose", "LayerNormalization")


@cases(
    "make, products",
    [
        (product_with_everything, [("MatMul", "Add", "Mul", *GELU, "Add")]),
        (product_of_gemm, [("Gemm", "Sigmoid", "Mul")]),
        (product_read_twice, [("MatMul",)]),
        (broadcast_residual, [("MatMul", "Relu")]),
        (product_of_inputs, []),
        (two_products, [("MatMul",), ("MatMul", "Relu", "MatMul", "Add", "Add")]),
        (depthwise_norm, [DEPTHWISE]),
        (strided_depthwise_norm, []),
        (residual_blocks, [("Transpose", *DEPTHWISE)] * 2),
    ],
)
def test_products_that_our_kernels_compute(
    make: Callable[[Builder], str], products: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """Products with constant weights and their epilogues; other products stay ONNX Runtime's."""
    shapes = {"x": ("n", 7, 16), "y": ("n", 7, 24), "z": ("n", 16, 24), "m": ("k", 16)}
    b = Builder({**shapes, "row": (1, 24), "image": ("n", 12, 9, "w")})
    source = b.save(tmp_path / "net.onnx", make(b))
    ledger = auto_fuse(source, tmp_path / "fused.onnx", target="ort-kernels", verify=True)
    assert not [note for note in ledger.notes if "WRONG" in note]
    groups = [one.operators for one in (*ledger.kernels, *ledger.single_operator_kernels)]
    found = [one for one in groups if {"MatMul", "Gemm", "Conv"} & {*one}]
    assert sorted(found) == sorted(products), groups
    left = {node.op_type for node in onnx.load(tmp_path / "fused.onnx").graph.node}
    assert bool(left & {"MatMul", "Gemm", "Conv"}) == (not products)


@cases("target", ["ort", "ort-kernels"])
def test_without_a_gain_nothing_is_written(
    target: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for room in (operator_trials, model_times):
        monkeypatch.setattr(room, "measure_times", lambda paths, *_: dict.fromkeys(paths, 100.0))
    b = Builder({"x": ("n", 8)})
    source = b.save(tmp_path / "net.onnx", b.add("Mul", "x", b.add("Softmax", "x", axis=-1)))
    place = tmp_path / target
    place.mkdir()
    output = place / "fused.onnx"
    asked = ["fuse", "--input", str(source), "--output", str(output), "--target", target]
    assert run(asked) == 0
    said = capsys.readouterr().out
    assert "No group was replaced, so nothing was written; --force writes the model." in said
    assert "times as fast" not in said
    assert not list(place.iterdir())
    assert run([*asked, "--force"]) == 0
    assert f"Wrote {output}" in capsys.readouterr().out
    assert output.is_file()


def test_the_log_shows_both_times_and_the_library(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, output = transformer_layer(tmp_path / "layer.onnx"), tmp_path / "fused.onnx"
    asked = ["fuse", "--input", str(source), "--output", str(output), "--target", "ort-kernels"]
    assert run([*asked, "--report", str(tmp_path / "report.html")]) == 0
    said = capsys.readouterr().out
    assert "runs the kernels, as operators of a library." in said
    assert "2.00 times as fast." in said
    assert "Softmax" in said and ": 1.00 µs before, 0.50 µs now" in said
    assert "load it with SessionOptions.register_custom_ops_library." in said
    assert run(["fuse", "--input", str(output), "--dry-run"]) == 3
    with pytest.raises(InputError, match=r'kernels of a library.*original model with target="any"'):
        from_onnx(output)


def test_stale_kernels_go_and_files_of_the_user_stay(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 8)})
    source = b.save(tmp_path / "net.onnx", b.add("Mul", "x", b.add("Softmax", "x", axis=-1)))
    output, place = tmp_path / "fused.onnx", tmp_path / "kernels"
    auto_fuse(source, output, target="ort-kernels")
    assert (place / LIBRARY).is_file()
    for own in ("notes.txt", "include/mine.h", "data/a.bin"):
        (place / own).parent.mkdir(exist_ok=True)
        (place / own).write_text(own)
    for _ in range(2):
        auto_fuse(source, output, target="ort-kernels", opt_level=0, force=True)
        left = {file.relative_to(place).as_posix() for file in place.rglob("*") if file.is_file()}
        assert left == {"notes.txt", "include/mine.h", "data/a.bin", "manifest.json"}
    for own in left - {"manifest.json"}:
        (place / own).unlink()
    (place / "data").rmdir()
    (place / "include").rmdir()
    auto_fuse(source, output, target="ort-kernels", opt_level=0, force=True)
    assert not place.exists()


@cases(
    "times, groups, gained",
    [({}, 0, False), ({}, 2, True), ((100, 99), 2, False), ((100, 50), 0, False)],
)
@FULL
def test_what_counts_as_a_gain(times: object, groups: int, gained: bool) -> None:
    names = ("original", "fused")
    found = dict(zip(names, times, strict=False)) if times else {}  # type: ignore[call-overload]
    assert is_gain(found, groups) == gained
