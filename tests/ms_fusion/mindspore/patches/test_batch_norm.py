"""MindSpore's batch norm functions during and after the expansion."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.mindspore


def test_one_inside_of_another_changes_nothing() -> None:
    from ms_fusion.mindspore.patches import batch_norm, parser_table

    table, own = parser_table._table(), batch_norm._replacements()
    original = batch_norm.OWNER.construct
    (first, *_) = own
    table[first] = original
    try:
        with batch_norm.expand_batch_norm():
            with batch_norm.expand_batch_norm():
                pass
            assert batch_norm.OWNER.construct is batch_norm.construct_expanded
            assert all(table[name] is ours for name, ours in own.items())
        assert batch_norm.OWNER.construct is original
        assert table.pop(first) is original and not own.keys() & table.keys()
    finally:
        table.pop(first, None)
