"""The advice for a wrong flag never reverses the written meaning."""

from __future__ import annotations

import re

from ms_fusion.mindspore.flags.graph_kernel_flags import FLAGS, convert
from ms_fusion.mindspore.flags.lint import FALSE_TEXTS, TRUE_TEXTS, lint
from ms_fusion.spelling import near_names
from tests.cases import cases

BOOLEAN = [name for name, item in FLAGS.items() if item.metadata["kind"] == "bool"]
NUMBERS = [name for name, item in FLAGS.items() if item.metadata["kind"] == "int"]


@cases(
    "flag, remedy",
    [
        ("--opt_level=9", "Write `--opt_level=3`."),
        ("--opt_level=-1", "Write `--opt_level=0`."),
        ("--opt_level=O2", "Write `--opt_level=2`."),
        ("--opt_level", "Write `--opt_level=2`."),
        ("--opt_level=", "Write `--opt_level=2`."),
        ("--opt_level=on", "Write `--opt_level=2`."),
        ("--opt_level=off", "Write `--opt_level=0`."),
        ("--opt_level=high", "Write one of these values, or leave it out."),
        ("--fusion_ops_level=5", "Write `--fusion_ops_level=2`."),
        ("--parallel_ops_level=true", "Write one of these values, or leave it out."),
        ("--composite_op_limit_size=0", "Write `--composite_op_limit_size=1`."),
        ("--composite_op_limit_size=100.5", "Write `--composite_op_limit_size=100`."),
        ("--online_tuning=9", "Leave it out."),
        ("--kernel_generator=akg", "Write `--kernel_generator=AKG`."),
        ("--kernel_generator=CUDA", "Write one of these values, or leave it out."),
        ("--cpu_feature=AVX512", "Write `--cpu_feature=avx512`."),
        ("--cpu_feature=avx2", "Write one of these values, or leave it out."),
        ("--dump_as_text=perhaps", "Write one of these values, or leave it out."),
        ("--enable_matmul_post_fusion=true", ""),
        ("--disable_recompute_fusion=true", ""),
        ("--enable_cse=false", ""),
    ],
)
def test_the_advice_is_what_was_meant(flag: str, remedy: str) -> None:
    (found,) = (
        item
        for item in lint(f"--opt_level=2 {flag}")
        if item.column == 15 and item.code != "repeated"
    )
    assert found.severity == "error" and found.remedy == remedy


@cases("name", BOOLEAN)
def test_truth_stays_truth(name: str) -> None:
    for words, good in ((TRUE_TEXTS, "true"), (FALSE_TEXTS, "false")):
        for word in (*words, *(one.capitalize() for one in words), *map(str.upper, words)):
            for item in lint(f"--{name}={word}"):
                if item.code == "value":
                    assert item.remedy in (f"Write `--{name}={good}`.", "Leave it out."), word


@cases("name", NUMBERS)
def test_an_advised_number_is_good_and_the_nearest(name: str) -> None:
    for number in (-7, 9, 10**15):
        for item in lint(f"--{name}={number}"):
            if item.code == "value" and item.remedy != "Leave it out.":
                advised = re.fullmatch(rf"Write `--{name}=(-?\d+)`\.", item.remedy)
                assert advised is not None, item
                good = [
                    one for one in range(-7, 10) if item.code == "value" and _is_good(name, one)
                ]
                assert int(advised[1]) == min(good, key=lambda one: abs(one - number))


def _is_good(name: str, number: int) -> bool:
    try:
        return convert(name, str(number)) == number
    except ValueError:
        return False


@cases(
    "flag, says",
    [
        ("--enable_cse=false", "--disable_pass=split.graph_kernel_cse"),
        ("--enable_cse=true", "--enable_pass=split.graph_kernel_cse"),
        ("--disable_cse=true", "--disable_pass=split.graph_kernel_cse"),
        ("--disable_cse=false", "leave it out"),
        ("--enable_low_precision=false", "leave it out"),
        ("--auto_tune=False", "leave it out"),
    ],
)
def test_a_flag_that_is_gone_keeps_its_direction(flag: str, says: str) -> None:
    (found,) = (item for item in lint(f"--opt_level=2 {flag}") if item.code == "gone")
    assert says in found.message


@cases(
    "written, valid, near",
    [
        ("enable_x_fusion", ["disable_x_fusion"], ()),
        ("ReduceMix", ["ReduceMax", "ReduceMin"], ("ReduceMax", "ReduceMin")),
        ("reduce_fwd_widht", ["reduce_fwd_width", "reduce_bwd_width"], ("reduce_fwd_width",)),
        ("NotEqual", ["Equal"], ()),
        ("ReLU7", ["ReLU6"], ()),
        ("TanhGrad", ["Tanh"], ()),
        ("tanh", ["Tanh", "TanhGrad"], ("Tanh",)),
        ("Xyz", ["Add", "Abs"], ()),
        ("", ["Add"], ()),
    ],
)
def test_a_name_near_by_does_not_mean_another(
    written: str, valid: list[str], near: tuple[str, ...]
) -> None:
    assert near_names(written, valid) == near
