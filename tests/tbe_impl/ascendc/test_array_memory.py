"""Arrays begin at multiples of 512 bytes and have writable padding behind them."""

from __future__ import annotations

import ctypes

import numpy as np

from tbe_impl.ascendc.array_memory import allocate_copy, allocate_output
from tests.cases import cases


@cases("shared", [False, True])
def test_a_copy_is_aligned_and_padded(shared):
    values = np.arange(37, dtype=np.float32)
    found = allocate_copy(values, shared=shared)
    np.testing.assert_array_equal(found, values)
    assert found.ctypes.data % 512 == 0
    ctypes.memset(found.ctypes.data + found.nbytes, 1, 59)
    np.testing.assert_array_equal(found, values)


def test_a_new_output_holds_no_plausible_result():
    found = allocate_output((3, 5), np.dtype("float16"))
    assert found.shape == (3, 5)
    assert (found.view(np.uint8) == 0xA5).all()
