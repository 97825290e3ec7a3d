"""Models whose texts would be code: a Cell is Python source generated from a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

import ms_fusion as mf
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.onnx.cell.conftest import FusedOnce
from tests.ms_fusion.onnx.fuse.models import Builder


@pytest.fixture
def trap(tmp_path: Path) -> Iterator[str]:
    """Python that creates a file, and the check that it did not run."""
    place = tmp_path / "was here"
    yield f"__import__('pathlib').Path({str(place)!r}).touch()"
    assert not place.exists()


@cases(
    "op, attribute, more",
    [
        ("BatchNormalization", "epsilon", 4),
        ("GroupNormalization", "num_groups", 2),
        ("Elu", "alpha", 0),
        ("Swish", "alpha", 0),
        ("Shape", "start", 0),
        ("HardSigmoid", "beta", 0),
    ],
)
def test_a_text_is_no_number(op: str, attribute: str, more: int, trap: str, tmp_path: Path) -> None:
    b = Builder({"x": ("n", 4, 3, 3)})
    made = b.add(op, "x", *(b.weight(4) for _ in range(more)), **{attribute: trap})
    source = b.save(tmp_path / "model.onnx", made)
    for use in (mf.from_onnx, lambda path: mf.auto_fuse(path, tmp_path / "fused.onnx")):
        with pytest.raises(InputError):
            use(source)


def test_what_an_operator_does_not_have_is_refused(tmp_path: Path) -> None:
    b = Builder({"x": (2, 3, 3)})
    source = b.save(tmp_path / "model.onnx", b.add("MatMul", "x", b.weight(3, 3), transpose_a=1))
    with pytest.raises(InputError, match="MatMul has no attribute 'transpose_a'"):
        mf.auto_fuse(source, tmp_path / "fused.onnx")


def test_the_name_of_an_operator_is_no_line_of_code(
    trap: str, fused_once: FusedOnce, tmp_path: Path
) -> None:
    fused = tmp_path / "fused.onnx"
    assert fused_once("layer").ledger.kernels
    model = onnx.load(fused_once("layer").fused)
    for function in model.functions:
        function.node[0].op_type = f"Relu\n{trap}\n"
    onnx.save(model, fused)
    with pytest.raises(InputError):
        mf.from_onnx(fused)
