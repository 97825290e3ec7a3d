"""Operators of each style, traced and run: registrations, build requests, and results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbe_impl import compat
from tbe_impl.dsl.tensor import stages_of
from tbe_impl.loading.operator import load_operator
from tests.cases import cases

FOLDER = Path(__file__).parent / "operators"
RANDOM = np.random.default_rng(3)


def described(shape: tuple[int, ...], dtype: str, known: bool = True) -> dict[str, Any]:
    sizes = shape if known else (-1,) * len(shape)
    return {
        "shape": sizes,
        "dtype": dtype,
        "format": "ND",
        "ori_shape": sizes,
        "ori_format": "ND",
        "range": [(size, size) if known else (1, None) for size in shape],
    }


def array(shape: tuple[int, ...], dtype: str) -> np.ndarray:
    return (RANDOM.standard_normal(shape) * 4).astype(dtype)


def gated(x: np.ndarray, gate: np.ndarray) -> np.ndarray:
    return x / (1 + np.exp(-gate))


def momentum(var: np.ndarray, accum: np.ndarray, grad: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    new = accum * 0.9 + grad
    return var - 0.25 * new, new


def stretched(x: np.ndarray, wide: int = 11) -> np.ndarray:
    places = np.linspace(0, x.shape[1] - 1, wide)
    return np.stack([np.interp(places, np.arange(x.shape[1]), row) for row in x])


SMALL = (3, 5)
CASES: list[tuple[str, list[Any], list[tuple[tuple[int, ...], str]], Callable[..., Any], str]] = [
    ("scaled_2019", [SMALL, "float32"], [(SMALL, "float32")], lambda x: x * 3 + 1, "Ascend910A"),
    ("scaled_2019", [SMALL, "int32"], [(SMALL, "int32")], lambda x: x * 3 + 1, "Ascend910A"),
    (
        "distance_2019",
        [SMALL, (5,), "float32", 1],
        [(SMALL, "float32"), ((5,), "float32")],
        lambda x, y: np.sqrt(((x - y) ** 2).sum(1)),
        "Ascend910A",
    ),
    (
        "distance_2019",
        [(3, 1), SMALL, "float16", 0, "own", True],
        [((3, 1), "float16"), (SMALL, "float16")],
        lambda x, y: np.sqrt(((x - y) ** 2).sum(0)),
        "Ascend910A",
    ),
    (
        "softplus_static",
        [described(SMALL, "float16")] * 2,
        [(SMALL, "float16")],
        lambda x: np.logaddexp(x, 0),
        "Ascend910A",
    ),
    (
        "softplus_static",
        [described(SMALL, "float32")] * 2,
        [(SMALL, "float32")],
        lambda x: np.logaddexp(x, 0),
        "Ascend310",
    ),
    (
        "gated_dynamic",
        [
            described((2, 3, 5), "float32"),
            described((5,), "float32"),
            described((2, 3, 5), "float32"),
        ],
        [((2, 3, 5), "float32"), ((5,), "float32")],
        gated,
        "Ascend910A",
    ),
    (
        "gated_dynamic",
        [described((2, 3), "float32", known=False)] * 3,
        [((2, 3), "float32")] * 2,
        gated,
        "Ascend910B",
    ),
    (
        "mean_norm_dynamic",
        [described((4, 6), "float32")] * 2,
        [((4, 6), "float32")],
        lambda x: x - x.mean(-1, keepdims=True),
        "Ascend910A",
    ),
    (
        "mean_norm_dynamic",
        [described((4, 6), "float32", known=False)] * 2,
        [((4, 6), "float32")],
        lambda x: x - x.mean(-1, keepdims=True),
        "Ascend910A",
    ),
    (
        "momentum_manual",
        [described(SMALL, "float32")] * 5 + [0.9, 0.25],
        [(SMALL, "float32")] * 3,
        momentum,
        "Ascend910A",
    ),
    ("stretch_topi", [(3, 7), 11, "float32"], [((3, 7), "float32")], stretched, "Ascend910A"),
    ("stretch_topi", [(3, 7), 11, "float16"], [((3, 7), "float16")], stretched, "Ascend910A"),
    (
        "parts_dynamic",
        [described((4, 6), "float32"), [described((4, 2), "float32")] * 3, 1, 3],
        [((4, 6), "float32")],
        lambda x: tuple(np.split(x, 3, 1)),
        "Ascend910B",
    ),
    (
        "parts_dynamic",
        [
            described((4, 6), "int32", known=False),
            [described((4, 3), "int32", known=False)] * 2,
            1,
            2,
        ],
        [((4, 6), "int32")],
        lambda x: tuple(np.split(x, 2, 1)),
        "Ascend910A",
    ),
    (
        "parts_2020",
        [
            described((4, 6), "float16"),
            [described((4, 2), "float16"), described((4, 4), "float16")],
            [2, 4],
            1,
        ],
        [((4, 6), "float16")],
        lambda x: tuple(np.split(x, [2], 1)),
        "Ascend310",
    ),
    (
        "tiled_topi",
        [SMALL, "float32", 3],
        [(SMALL, "float32")],
        lambda x: np.tile(x, 3),
        "Ascend310",
    ),
    (
        "relu_mindspore",
        [described(SMALL, "float32")] * 2,
        [(SMALL, "float32")],
        lambda x: np.maximum(x / 2, 0),
        "Ascend310P3",
    ),
]


@cases("name, arguments, inputs, formula, chip", CASES, ids=lambda row: row[0])
def test_operators_of_each_style_agree_with_float64(
    name: str,
    arguments: list[Any],
    inputs: list[Any],
    formula: Callable[..., Any],
    chip: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # with MindSpore installed, its own registration is used, which takes seconds to import
    monkeypatch.setattr("tbe_impl.compat.install._is_missing", lambda *_: True)
    kernel = load_operator(FOLDER / f"{name}.py", name).build(*arguments, soc=chip)
    arrays = [array(*item) for item in inputs]
    found = kernel(*arrays, backend="numpy")
    expected = formula(*(item.astype("float64") for item in arrays))
    tolerance = 2e-3 if "float16" in str(arrays[0].dtype) else 2e-6
    if chip == "Ascend310":
        tolerance = 2e-3  # its exponential has float16 accuracy
    for one, other in zip(
        found if isinstance(found, tuple) else (found,),
        expected if isinstance(expected, tuple) else (expected,),
        strict=True,
    ):
        assert one.dtype == arrays[0].dtype
        np.testing.assert_allclose(one.astype("float64"), other, rtol=tolerance, atol=tolerance)


def traced(name: str, *arguments: Any, soc: str = "Ascend910A", **keywords: Any) -> compat.Session:
    """The record of running an operator's file and function."""
    with compat.installed(soc=soc) as record:
        space: dict[str, Any] = {"__name__": name}
        file = FOLDER / f"{name}.py"
        # as an import runs it
        exec(compile(file.read_text("utf-8"), str(file), "exec"), space)  # noqa: S102
        space[name](*arguments, **keywords)
    return record


def test_what_a_build_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tbe_impl.compat.install._is_missing", lambda *_: True)
    record = traced("scaled_2019", (2, 3), "float32", "named", False, True)
    (request,) = record.builds
    assert request.name == "named"
    assert request.config == {"print_ir": True, "need_build": False}
    assert [tensor.op.kind for tensor in request.tensors] == ["placeholder", "compute"]
    assert request.location and request.location.file.endswith("scaled_2019.py")
    record = traced("momentum_manual", *[described((2, 3), "float32")] * 5, 0.9)
    (request,) = record.builds
    assert len(request.tensors) == 5 and request.name == "momentum"
    assert {"new_accum", "new_var"} <= {op.name for op in stages_of(request.tensors[3:])}
    assert "elewise_binary_momentum" in {op.tag for op in stages_of(request.tensors[3:])}
    record = traced("mean_norm_dynamic", *[described((2, 3), "float32", known=False)] * 2)
    assert record.builds[0].compile_info == {"axes_idx": 0}
    assert sorted(record.variables) == ["_dim_1", "_dim_2"]


@cases(
    "name, kind, registered",
    [
        ("softplus_static", "fusion_manager.register", "softplus_static"),
        ("gated_dynamic", "register_operator", "Gated"),
        ("gated_dynamic", "register_op_compute", "Gated"),
        ("relu_mindspore", "op_info_register", "ReluMindspore"),
    ],
)
def test_registrations(
    name: str, kind: str, registered: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tbe_impl.compat.install._is_missing", lambda *_: True)
    shape = described((2, 3), "float32")
    record = traced(name, *[shape] * (3 if name == "gated_dynamic" else 2))
    (found,) = [
        item for item in record.registrations if (item.name, item.kind) == (registered, kind)
    ]
    assert found.file == str(FOLDER / f"{name}.py") and found.line > 10
    assert callable(found.wrapper) and found.function.__name__ in (
        name,
        f"{name}_compute",
        "gated_compute",
    )


def test_mistakes_name_the_operators_line() -> None:
    with pytest.raises(compat.OperatorError, match=r"gated_dynamic.*lacks the item 'format'"):
        traced("gated_dynamic", {"shape": (2,), "dtype": "float32"}, None, None)
    with pytest.raises(RuntimeError, match=r"mean_norm_dynamic\.py:\d+: MeanNorm: .*int32"):
        traced("mean_norm_dynamic", *[described((2, 3), "int32")] * 2)
