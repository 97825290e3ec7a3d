"""Characters round-trip through their codes; batches are deterministic."""

from __future__ import annotations

import numpy as np

from case_studies.language_model import tokens
from tests.cases import cases


def test_the_text_is_what_its_numbers_say() -> None:
    assert tokens.text_of(tokens.numbers()) == tokens.TEXT.read_text("utf-8")
    assert 100_000 < len(tokens.numbers()) < 300_000
    assert tokens.numbers().max() == len(tokens.characters()) - 1


def test_what_is_wanted_is_the_next_character() -> None:
    ids, wanted = tokens.batch(5, 17, step=3)
    assert ids.shape == wanted.shape == (5, 17) and ids.dtype == wanted.dtype == np.int32
    np.testing.assert_array_equal(ids[:, 1:], wanted[:, :-1])
    for row in ids:
        assert tokens.text_of(row) in tokens.TEXT.read_text("utf-8")


@cases("other", [{"step": 4}, {"step": 3, "seed": 1}])
def test_step_and_seed_decide_the_batch(other: dict[str, int]) -> None:
    ids, _ = tokens.batch(5, 17, step=3)
    np.testing.assert_array_equal(ids, tokens.batch(5, 17, step=3)[0])
    assert not np.array_equal(ids, tokens.batch(5, 17, **other)[0])


def test_the_last_passage_of_the_text_can_be_read() -> None:
    context = len(tokens.numbers()) - 1
    ids, wanted = tokens.batch(2, context, step=0)
    np.testing.assert_array_equal(ids[0], tokens.numbers()[:-1])
    np.testing.assert_array_equal(wanted[1], tokens.numbers()[1:])
