"""The table of chips against the toolkit's platform files."""

from __future__ import annotations

import pytest

from tbe_impl.errors import InputError
from tbe_impl.soc import (
    SOCS,
    find_soc,
    is_conversion_supported,
    is_instruction_supported,
    is_operation_supported,
)
from tests.cases import cases


@cases(
    "spelling, name",
    [
        ("Ascend910", "Ascend910A"),
        ("ascend910a", "Ascend910A"),
        ("910A", "Ascend910A"),
        ("Ascend910ProB", "Ascend910A"),
        ("Ascend910B", "Ascend910B1"),
        ("Ascend910B3", "Ascend910B3"),
        ("Ascend310P", "Ascend310P3"),
        ("310", "Ascend310"),
        ("Ascend710", "Ascend310P3"),
        ("CPU", "cpu"),
        (SOCS["Ascend310"], "Ascend310"),
    ],
)
def test_every_spelling_of_a_chip_is_known(spelling: str, name: str) -> None:
    assert find_soc(spelling).name == name


@cases(
    "name, short, unified, l1, cores",
    [
        ("Ascend310", "Ascend310", 248, 1024, 2),
        ("Ascend310P3", "Ascend310P", 256, 1024, 8),
        ("Ascend910A", "Ascend910", 256, 1024, 32),
        ("Ascend910B1", "Ascend910B", 192, 512, 24),
        ("Ascend910B3", "Ascend910B", 192, 512, 20),
        ("cpu", "cpu", 0, 0, 1),
    ],
)
def test_each_chip_has_its_memory_sizes_and_cores(
    name: str, short: str, unified: int, l1: int, cores: int
) -> None:
    chip = find_soc(name)
    assert (chip.short_name, chip.unified_buffer_bytes, chip.l1_bytes, chip.cores) == (
        short,
        unified * 1024,
        l1 * 1024,
        cores,
    )


@cases(
    "instruction, dtype, expected",
    [  # 310, 310P, 910A, 910B
        ("vadd", "int32", "yyyy"),
        ("vadd", "int16", "nyny"),
        ("vadds", "int32", "nyny"),
        ("vmuls", "float32", "yyyy"),
        ("vmaxs", "float32", "nyny"),
        ("vexp", "float32", "nyyy"),
        ("vln", "float32", "nyyy"),
        ("vdiv", "float16", "nyyy"),
        ("vsqrt", "float32", "nyyy"),
        ("vrec", "float32", "yyyy"),
        ("vrelu", "float16", "yyyy"),
        ("vrelu", "float32", "nyny"),
        ("vlrelu", "float16", "nyny"),
        ("vcmax", "float32", "nyny"),
        ("vcadd", "float32", "yyyy"),
        ("vand", "uint16", "yyyy"),
        ("vand", "int32", "nnnn"),
        ("vadd", "float64", "nnnn"),
        ("nothing", "float16", "nnnn"),
    ],
)
def test_instructions(instruction: str, dtype: str, expected: str) -> None:
    chips = ("Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B1")
    found = "".join("ny"[is_instruction_supported(chip, instruction, dtype)] for chip in chips)
    assert found == expected
    assert is_instruction_supported("cpu", instruction, dtype)


@cases(
    "mode, source, target, expected",
    [
        ("", "float32", "float16", "yyyy"),
        ("z", "float32", "int32", "nyyy"),
        ("r", "float16", "int32", "yyyy"),
        ("", "int32", "float32", "nyyy"),
        ("", "int32", "float16", "yyyy"),
        ("", "int8", "float32", "nnnn"),
        ("", "uint8", "float16", "yyyy"),
        ("", "int64", "int32", "nnny"),
        ("", "float16", "float16", "yyyy"),
    ],
)
def test_conversions(mode: str, source: str, target: str, expected: str) -> None:
    chips = ("Ascend310", "Ascend310P3", "Ascend910A", "Ascend910B1")
    assert (
        "".join("ny"[is_conversion_supported(chip, mode, source, target)] for chip in chips)
        == expected
    )


@cases(
    "word, dtype, expected",
    [
        ("vsubs", "", False),
        ("vexp", "", True),
        ("vexp", "float32", True),
        ("vexp", "int32", False),
        ("sum", "int32", True),
        ("round_to", "float16", True),
        ("vrelu", "float32", False),
        ("cast_to", "f322s32", True),
        ("cast_to", "f642s32", False),
        ("floor", "f162s32", True),
        ("floor", "f322s8", False),
    ],
)
def test_words_of_910a(word: str, dtype: str, expected: bool) -> None:
    assert is_operation_supported("Ascend910A", word, dtype) is expected


def test_an_unknown_chip_lists_the_known() -> None:
    with pytest.raises(InputError, match=r"Ascend910A.*'Ascend999'") as error:
        find_soc("Ascend999")
    assert "cpu" in str(error.value)
