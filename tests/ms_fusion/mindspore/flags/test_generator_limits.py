"""The guard in MindSpore's compile server refuses kernels that its CPU generator must not build."""

from __future__ import annotations

import json

from ms_fusion.mindspore.flags.generator_limits import kernel_refusal, refusal
from tests.cases import cases


def kernel(*steps: tuple[str, list[str], str]) -> str:
    def tensors(dtypes: list[str]) -> list[dict[str, str]]:
        return [{"data_type": dtype} for dtype in dtypes]

    return json.dumps(
        {
            "op_desc": [
                {
                    "name": name,
                    "input_desc": [[item] for item in tensors(sources)],
                    "output_desc": tensors([target]),
                }
                for name, sources, target in steps
            ]
        }
    )


@cases(
    "op, source, target, refused",
    [
        ("Add", "float32", "float32", False),
        ("Add", "bfloat16", "bfloat16", True),
        ("Cast", "float32", "bfloat16", True),
        ("Round", "float32", "float32", True),
        ("Pow", "float32", "float32", False),
        ("Pow", "int32", "int32", True),
        ("Sqrt", "bool", "bool", True),
        ("Sqrt", "float64", "float64", False),
        ("Cast", "float64", "float16", True),
        ("Cast", "float64", "float32", False),
        ("Cast", "float32", "float16", False),
        ("Cast", "float32", "int32", False),
        ("Cast", "float32", "int8", True),
        ("Cast", "float32", "bool", True),
        ("Cast", "bool", "float32", False),
        ("Cast", "int32", "bool", False),
        ("Reciprocal", "int32", "int32", True),
        ("Reciprocal", "float32", "float32", False),
        ("ReduceSum", "bool", "bool", True),
        ("ReduceSum", "float32", "float32", False),
        ("Neg", "uint32", "uint32", True),
        ("Neg", "int32", "int32", False),
        ("NotEqual", "float32", "bool", True),
        ("NotEqual", "int32", "bool", False),
        ("FloorMod", "float16", "float16", True),
        ("FloorMod", "float32", "float32", False),
        ("RealDiv", "int32", "int32", True),
        ("Div", "float32", "float32", False),
        ("Mod", "int64", "int64", True),
    ],
)
def test_unsupported_dtypes_of_an_operator_are_refused(
    op: str, source: str, target: str, refused: bool
) -> None:
    assert bool(refusal(op, source, target)) is refused
    assert (
        bool(
            kernel_refusal(
                kernel(("Mul", ["float32", "float32"], "float32"), (op, [source], target))
            )
        )
        is refused
    )


def test_the_condition_of_a_select_is_not_its_dtype() -> None:
    assert kernel_refusal(kernel(("Select", ["bool", "float32", "float32"], "float32"))) is None
    found = kernel_refusal(kernel(("Select", ["bool", "bfloat16", "bfloat16"], "bfloat16")))
    assert found.op == "Select" and "bfloat16" in found.reason


@cases(
    "text",
    [
        "",
        "{",
        "[]",
        "null",
        '{"op_desc": 3}',
        '{"op_desc": [{}]}',
        "[" * 100_000,
        '{"op_desc": [{"name": "Add"}]}',
    ],
)
def test_what_cannot_be_read_is_not_built(text: str) -> None:
    assert "cannot be read" in kernel_refusal(text).reason


def tensor(name: str, dtype: str, shape: list[int], **more: object) -> dict[str, object]:
    return {"tensor_name": name, "data_type": dtype, "shape": shape} | more


@cases(
    "dtype, order, results, says",
    [
        ("float32", [1, 0], ["t"], ""),
        ("float16", [1, 0], ["t"], "last axis"),
        ("float16", [1, 0, 2], ["t"], ""),
        ("float64", [0, 2, 1], ["t"], "last axis"),
        ("float32", [1, 0], ["t", "r"], "unwritten"),
        ("float32", [1, 0], ["r", "s"], ""),
    ],
)
def test_a_transpose(dtype: str, order: list[int], results: list[str], says: str) -> None:
    shape = [4, 5, 6][: len(order)]
    text = json.dumps(
        {
            "op_desc": [
                {
                    "name": "Transpose",
                    "input_desc": [
                        [tensor("x", dtype, shape)],
                        [tensor("order", "int64", [len(order)], value=order)],
                    ],
                    "output_desc": [tensor("t", dtype, [shape[i] for i in order])],
                }
            ],
            "output_desc": [tensor(name, dtype, shape) for name in results],
        }
    )
    found = kernel_refusal(text)
    assert bool(says) == (found is not None)
    if found:
        assert found.op == "Transpose" and says in found.reason


@cases("condition, refused", [([], True), ([1], True), ([4, 5], False), ([4, 1], False)])
def test_a_select(condition: list[int], refused: bool) -> None:
    text = json.dumps(
        {
            "op_desc": [
                {
                    "name": "Select",
                    "input_desc": [
                        [tensor("c", "bool", condition)],
                        [tensor("x", "float32", [4, 5])],
                        [tensor("y", "float32", [4, 5])],
                    ],
                    "output_desc": [tensor("z", "float32", [4, 5])],
                }
            ]
        }
    )
    assert bool(kernel_refusal(text)) is refused
