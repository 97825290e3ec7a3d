"""DSL operations by chip family: casts in one, refusals in the other."""

from __future__ import annotations

from typing import Any

import pytest

from tbe_impl import compat
from tbe_impl.dsl.tensor import Tensor, stages_of
from tbe_impl.errors import InputError
from tests.cases import cases


def casts(tensor: Tensor) -> list[str]:
    """The dtypes of the casts between a tensor's stages, in order."""
    return [
        op.outputs[0].dtype
        for op in stages_of([tensor])
        if op.dsl_call and op.dsl_call.name == "cast_to"
    ]


@cases(
    "chip, word, dtype, scalar, found, result",
    [
        ("Ascend910A", "vrelu", "float32", (), ["float16"], "float16"),
        ("Ascend310P3", "vrelu", "float32", (), [], "float32"),
        ("Ascend910A", "vexp", "float16", (), [], "float16"),
        ("Ascend310", "vexp", "float32", (), ["float16"], "float16"),
        ("Ascend310", "vlog", "float32", (), [], "float32"),
        ("Ascend910A", "vexp", "int32", (), ["float32"], "float32"),
        ("Ascend310", "vexp", "int32", (), ["float16"], "float16"),
        ("Ascend910A", "vadds", "int32", (3,), ["float32"], "float32"),
        ("Ascend910B1", "vadds", "int32", (3,), [], "int32"),
        ("Ascend910A", "vmaxs", "int32", (3,), [], "int32"),
        ("Ascend910A", "vabs", "int8", (), ["float16"], "float16"),
        ("cpu", "vadds", "int32", (3,), [], "int32"),
        ("cpu", "vexp", "float64", (), [], "float64"),
    ],
)
def test_casting_family(
    chip: str, word: str, dtype: str, scalar: tuple[Any, ...], found: list[str], result: str
) -> None:
    with compat.installed(soc=chip):
        from te import tvm
        from te.lang import cce

        made = getattr(cce, word)(tvm.placeholder((4, 8), dtype=dtype), *scalar)
    assert (casts(made), made.dtype) == (found, result)


@cases(
    "chip, lhs, rhs, found, result",
    [
        ("Ascend910A", "float16", "float32", ["float32"], "float32"),
        ("Ascend910A", "int32", "float16", ["float32", "float32"], "float32"),
        ("Ascend910A", "int8", "int8", ["float16", "float16"], "float16"),
        ("Ascend310", "int32", "float16", ["float16"], "float16"),
        ("Ascend910A", "int32", "int32", [], "int32"),
        ("cpu", "float16", "float32", ["float32"], "float32"),
    ],
)
def test_operands_that_differ(chip: str, lhs: str, rhs: str, found: list[str], result: str) -> None:
    with compat.installed(soc=chip):
        from te import tvm
        from te.lang import cce

        made = cce.vadd(tvm.placeholder((4,), lhs), tvm.placeholder((4,), rhs))
    if chip == "Ascend310" and lhs == "int32":
        found, result = ["float16"], "float16"
    assert (casts(made), made.dtype) == (found, result)


@cases(
    "word, dtype, axis, more, found",
    [
        ("reduce_max", "float32", -1, {}, ["float16", "float32"]),
        ("reduce_max", "float32", -1, {"priority_flag": True}, []),
        ("reduce_max", "float32", 0, {}, []),
        ("reduce_max", "float16", [0, 1], {}, []),
        ("sum", "float32", -1, {}, []),
        ("sum", "int32", 0, {}, []),
        ("sum", "int32", 1, {"keepdims": True}, ["float32", "int32"]),
        ("reduce_min", "int8", 0, {}, ["float16", "int8"]),
    ],
)
def test_reductions_of_910a(
    word: str, dtype: str, axis: Any, more: dict[str, Any], found: list[str]
) -> None:
    with compat.installed(soc="Ascend910A"):
        from te import tvm
        from te.lang import cce

        made = getattr(cce, word)(tvm.placeholder((4, 8), dtype), axis, **more)
    assert (casts(made), made.dtype) == (found, dtype)


def test_the_condition_of_vsel_is_not_cast() -> None:
    with compat.installed():
        from te import tvm
        from te.lang import cce

        x = tvm.placeholder((4,), "int32")
        made = cce.vsel(tvm.placeholder((4,), "bool"), x, x)
    assert (casts(made), made.dtype) == (["float32", "float32"], "float32")


@cases(
    "dtype, calls, result",
    [
        (
            "float32",
            ("vmuls", "vrelu"),
            "float32",
        ),  # the operator casts nothing: the output dtype is restored
        ("float32", ("vrelu",), "float16"),
        ("int32", ("vmuls",), "int32"),
        ("float32", ("cast", "vmuls"), "float16"),
        ("float32", ("vabs", "floor"), "int32"),
    ],
)
def test_outputs_are_cast_back(dtype: str, calls: tuple[str, ...], result: str) -> None:
    with compat.installed(soc="Ascend910A") as record:
        from te import tvm
        from te.lang import cce

        x = made = tvm.placeholder((4,), dtype, name="x")
        for call in calls:
            if call == "cast":
                made = cce.cast_to(made, "float16")
            else:
                made = getattr(cce, call)(made, *((2,) if call == "vmuls" else ()))
        if calls == ("vrelu",):
            made = made.op.input_tensors[0]  # the cast alone: one stage is unchanged
        cce.cce_build_code(cce.auto_schedule(made), {"name": "k", "tensor_list": [x, [made, None]]})
    assert record.builds[0].tensors[0] is x
    assert record.builds[0].tensors[1].dtype == result


@cases(
    "chip, word, dtype",
    [
        ("Ascend910A", "vexp", "int32"),
        ("Ascend910A", "vrelu", "float32"),
        ("Ascend310", "vlog", "float32"),
        ("Ascend910A", "vadd", "int8"),
        ("Ascend910A", "vabs", "float64"),
    ],
)
def test_refusing_family(chip: str, word: str, dtype: str) -> None:
    with compat.installed(soc=chip):
        from tbe import dsl, tvm

        x = tvm.placeholder((4,), dtype)
        operands = (x, x) if word == "vadd" else (x,)
        with pytest.raises(RuntimeError, match=rf"{word} does not take {dtype} on {chip}") as error:
            getattr(dsl, word)(*operands)
    assert isinstance(error.value, InputError)
    assert error.value.args[0]["errCode"] == "E90002"
    assert "test_families.py:" in str(error.value)


def test_refusing_family_on_cpu_and_with_operands_that_differ() -> None:
    with compat.installed(soc="cpu"):
        from tbe import dsl, tvm

        x = tvm.placeholder((4,), "float64")
        assert dsl.vexp(x).dtype == "float64"
        with pytest.raises(InputError, match="one dtype"):
            dsl.vadd(x, tvm.placeholder((4,), "float32"))


def test_one_family_packs_whole_bytes_only() -> None:
    with compat.installed():
        from tbe import dsl
        from te import tvm
        from te.lang import cce

        x = tvm.placeholder((4, 6), dtype="float16")
        with pytest.raises(
            InputError, match=r"by eights; expected a multiple of 8 .* got \(4, 6\)"
        ):
            cce.vcmp(x, 1.0, "lt", "bit")
        assert [int(size) for size in dsl.vcmp(x, 1.0, "lt", "bit").shape] == [4, 1]


def test_a_scalar_handed_to_vmul_is_named() -> None:
    with compat.installed():
        from te import tvm
        from te.lang import cce

        with pytest.raises(InputError, match=r"test_families\.py:\d+.*vmuls"):
            cce.vmul(tvm.placeholder((4,), "float16"), -1.0)


def test_questions_to_the_chip() -> None:
    with compat.installed(soc="Ascend310P3"):
        from tbe.common import platform
        from te.platform import cce_conf

        assert cce_conf.api_check_support("te.lang.cce.vexp", "float32")
        assert not platform.api_check_support("te.lang.cce.vsubs", "float32")
        assert not platform.api_check_support("tbe.dsl.vexp", "int32")
        assert platform.intrinsic_check_support("Intrinsic_vconv", "f322s32z")
        assert not platform.intrinsic_check_support("Intrinsic_vexp", "int32")
        assert platform.get_soc_spec(platform.SHORT_SOC_VERSION) == platform.ASCEND_310P
        assert (platform.get_bit_len("float16"), platform.get_align_factor("float16")) == (
            16,
            (16, 2),
        )
        with pytest.raises(RuntimeError, match="NO_SUCH_KEY"):
            platform.get_soc_spec("NO_SUCH_KEY")
        platform.set_current_compile_soc_info("Ascend310")
        assert platform.get_soc_spec("CORE_NUM") == 2


def test_attributes_are_read_in_both_dialects() -> None:
    with compat.installed():
        from te import tvm

        op = tvm.placeholder((4,), attrs={"format": "NC1HWC0", "axis": 2}).op
        assert op.attrs["format"].value == op.attrs["format"] == "NC1HWC0"
        assert op.attrs["format"] in ("NC1HWC0", "ND") and "C0" in op.attrs["format"]
        assert isinstance(op.attrs["format"], tvm.expr.StringImm) and op.attrs["axis"].value == 2


def test_cube_words_take_whole_numbers() -> None:
    with compat.installed(soc="Ascend910A"):
        import tbe
        from tbe import tvm

        image = tvm.placeholder((1, 1, 4, 4, 32), dtype="int8")
        weight = tvm.placeholder((9, 1, 16, 32), dtype="int8")
        sizes = {
            "strides": (1, 1),
            "pads": (1, 1, 1, 1),
            "dilations": (1, 1),
            "weight_ori_shape_nchw": (16, 32, 3, 3),
        }
        made = tbe.dsl.conv(image, weight, sizes)
    assert made.dtype == "int32"
