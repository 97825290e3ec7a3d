"""``emit_insn``: an instruction that contradicts the expression is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tbe_impl.chip.schedule_checks import check
from tbe_impl.dsl.expr import Reduce, call
from tbe_impl.dsl.tensor import compute, placeholder, reduce_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.schedule import create_schedule
from tests.cases import cases
from tests.trials.operators import described, operator


def test_columns_with_channels_last_are_computed() -> None:
    x = np.arange(2 * 10 * 16, dtype="float16").reshape(2, 10, 16)
    padded = np.zeros((2, 18, 16), "float16")
    padded[:, 1:11] = x
    expected = np.stack([padded[:, k : k + 16] for k in range(3)], axis=1)
    kernel = operator("columns_by_hand").build(
        described(x.shape), described(expected.shape), swapped=False
    )
    assert np.array_equal(kernel(x, backend="numpy"), expected)


@cases("instruction", ["im2col", "im2col_v2", "img2col"])
def test_columns_with_positions_last_are_refused(instruction: str) -> None:
    message = (
        rf"columns_by_hand\.py:\d+: columns: {instruction} and the expression of the stage "
        rf"disagree, and the device "
        r"follows the instruction; expected elements of columns\[…, position, channel\], .* got "
        r"image\[.*\]\. "
        "Swap the axes of columns"
    )
    with pytest.raises(InputError, match=message):
        operator("columns_by_hand").build(
            described((2, 10, 16)), described((2, 3, 16, 16)), swapped=True, instruction=instruction
        )


def findings(body: Callable[..., Any], instruction: str) -> list[str]:
    """The errors against an instruction for a stage of two inputs."""
    x, y = (placeholder((8, 16), "float16", name) for name in "xy")
    z = compute((8, 16), lambda *i: body(x(*i), y(*i)), name="z")
    schedule = create_schedule(z.op)
    schedule[z].emit_insn(z.op.axis[0], instruction)
    return [str(one) for one in check(schedule, "Ascend910A") if one.code == "instruction"]


@cases(
    "instruction, body, agrees",
    [
        ("vector_add", lambda x, y: x + y, True),
        ("vector_sub", lambda x, y: x + y, False),
        ("vector_mul", lambda x, y: x / y, False),
        ("vector_adds", lambda x, y: x - 3, True),
        ("vector_muls", lambda x, y: x * 2, True),
        ("vector_adds", lambda x, y: x * 2, False),
        ("vector_exp", lambda x, y: call("exp", x), True),
        ("vector_ln", lambda x, y: call("exp", x), False),
        ("vector_exp", lambda x, y: x + y, False),
        # the compiler chooses, or several instructions result: nothing is checked
        ("vector_auto", lambda x, y: x + y, True),
        ("vector_mul", lambda x, y: x * y + x, True),
        ("phony_insn", lambda x, y: x + y, True),
    ],
)
def test_vector_instructions_are_those_of_the_expression(
    instruction: str, body: Callable[..., Any], agrees: bool
) -> None:
    found = findings(body, instruction)
    assert bool(found) != agrees
    assert all(f"z: {instruction} and the expression of the stage disagree" in one for one in found)


@cases(
    "instruction, agrees",
    [
        ("vector_reduce_sum", True),
        ("reduce_nlst_axis_reduce_sum", True),
        ("vector_reduce_max", False),
        ("reduce_last_axis_reduce_prod", False),
    ],
)
def test_reductions_are_those_of_the_expression(instruction: str, agrees: bool) -> None:
    x = placeholder((8, 16), "float16", name="x")
    k = reduce_axis((0, 16), "k")
    z = compute((8,), lambda i: Reduce("sum", x(i, k), (k,)), name="z")
    schedule = create_schedule(z.op)
    schedule[z].emit_insn(z.op.reduce_axis[0], instruction)
    found = [one for one in check(schedule, "Ascend910A") if one.code == "instruction"]
    assert bool(found) != agrees
