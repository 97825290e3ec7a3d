"""An input that the build omits, or that has no description, is an error."""

from __future__ import annotations

import numpy as np
import pytest

from ms_fusion.cli import main
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.trials.operators import PROGRAMS, described, operator

FORGOTTEN = [
    ("forgotten_input", "b", r"a, vadd_\d+"),
    ("forgotten_by_hand", "a", "b, product"),
]


@cases("function, name, got", FORGOTTEN)
def test_a_forgotten_placeholder_is_an_error(function: str, name: str, got: str) -> None:
    message = (
        rf"forgotten_input\.py:\d+: {function}: the results read {name}, which the build was not "
        rf"given; expected every "
        rf"placeholder in tensor_list, inputs before results, got {got}\. Add to tensor_list: "
        rf"{name} \(.*\.py:\d+\)"
    )
    with pytest.raises(InputError, match=message):
        operator("forgotten_input", function).build(described((4, 8)), described((4, 8)))


@cases(
    "function, said",
    [
        ("forgotten_input", "forgotten_input: the results read b, which the build was not given"),
        (
            "undescribed_input",
            "undescribed_input: nothing describes the input table; expected (16, 1) float16",
        ),
    ],
)
def test_the_command_line_ends_with_an_error(
    function: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"{PROGRAMS / 'forgotten_input.py'}:{function}"
    assert main.run(["tbe", "run", target, "--input", "16x16:float16", "--check"]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.out == ""


def test_what_is_scheduled_and_not_built_has_all_inputs() -> None:
    one = described((4, 8))
    kernel = operator("forgotten_input", "scheduled_alone").build(one, one, one)
    x = np.arange(32, dtype="float16").reshape(4, 8)
    assert np.array_equal(kernel(x, x, backend="numpy"), 2 * x)
