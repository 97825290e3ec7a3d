"""Elementwise functions of the host model against NumPy in float64."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import check_case, lanes, warnings_of

SIZE, COUNT = 512, 200
BITS = [0x5A5A5A5A0000FFFF, 0x1]
DTYPES = {"float32": 0, "float16": 1, "int32": 2, "int16": 3, "uint16": 4}

Compute = Callable[..., np.ndarray]


def _inputs(dtype: str) -> list[np.ndarray]:
    random = np.random.default_rng(7)
    if dtype.startswith("float"):
        values = random.uniform(0.3, 3, (2, SIZE)) * random.choice([-1, 1], (2, SIZE))
        return list(values.astype(dtype))
    if dtype == "uint16":
        return list(random.integers(0, 1 << 16, (2, SIZE)).astype(dtype))
    return list(random.integers(-150, 150, (2, SIZE)).astype(dtype))


def _filled(dtype: str, index: np.ndarray | slice, values: np.ndarray) -> np.ndarray:
    expected = np.full(SIZE, 7, np.float64)
    expected[index] = values
    return expected.astype(dtype)


# name: what the first COUNT elements are of x and y, in float64.
COUNT_FORMS: dict[str, Compute] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "max": np.maximum,
    "min": np.minimum,
    "exp": lambda x, y: np.exp(x),
    "ln": lambda x, y: np.log(np.abs(x)),
    "abs": lambda x, y: np.abs(x),
    "reciprocal": lambda x, y: 1 / x,
    "sqrt": lambda x, y: np.sqrt(np.abs(x)),
    "rsqrt": lambda x, y: 1 / np.sqrt(np.abs(x)),
    "relu": lambda x, y: np.maximum(x, 0),
    "leaky_relu": lambda x, y: np.where(x >= 0, x, x / 4),
    "adds": lambda x, y: x + 2,
    "subs_left": lambda x, y: 2 - x,
    "muls": lambda x, y: x * 2,
    "divs_left": lambda x, y: 2 / x,
    "maxs": lambda x, y: np.maximum(x, 2),
    "mins": lambda x, y: np.minimum(x, 2),
    "axpy": lambda x, y: 2 * x + 7,
    "mul_add_dst": lambda x, y: x * y + 7,
    "fused_mul_add": lambda x, y: x * 7 + y,
    "fused_mul_add_relu": lambda x, y: np.maximum(x * 7 + y, 0),
    "add_relu": lambda x, y: np.maximum(x + y, 0),
    "sub_relu": lambda x, y: np.maximum(x - y, 0),
    "in_place": lambda x, y: 2 * (x + 2),
    "duplicate": lambda x, y: np.full_like(x, 2),
    "index": lambda x, y: 2.0 + np.arange(COUNT),
    "progression": lambda x, y: 2 + np.arange(COUNT) / 2,
    "counter": lambda x, y: x + y,
}


@cases("dtype", ["float32", "float16"])
@cases("name", list(COUNT_FORMS))
def test_forms_with_a_count(name: str, dtype: str) -> None:
    """The first elements are computed, the others stay."""
    inputs = _inputs(dtype)
    x, y = (one[:COUNT].astype(np.float64) for one in inputs)
    expected = _filled(dtype, slice(COUNT), COUNT_FORMS[name](x, y))
    report = check_case("elementwise", name, inputs, expected, dtype=DTYPES[dtype])
    assert not warnings_of(report), warnings_of(report)


def _mask_forms(dtype: str) -> dict[str, np.ndarray]:
    size = np.dtype(dtype).itemsize
    x, y = (one.astype(np.float64) for one in _inputs(dtype))
    per_repeat, per_block = 256 // size, 32 // size
    tail, bits, full = (
        lanes(size, per_repeat - 3, 2),
        lanes(size, BITS, 2),
        lanes(size, per_repeat, 2),
    )
    three = lanes(size, per_repeat, 3)
    rows, column = np.arange(2 * per_repeat) // per_repeat, np.arange(2 * per_repeat) % per_repeat
    short = lanes(size, per_block, 5, 1, 1)
    wide = np.arange(per_repeat + 5)

    def filled(index: np.ndarray, values: np.ndarray) -> np.ndarray:
        return _filled(dtype, index, values)

    return {
        "mask_tail": filled(tail, (x + y)[tail]),
        "mask_bits": filled(bits, np.exp(x)[bits]),
        "block_stride": filled(lanes(size, per_repeat, 2, 2, 16), np.abs(x)[full]),
        "broadcast_row": filled(three, x[three] + np.tile(y[:per_repeat], 3)),
        "broadcast_block": filled(full, x[full] * y[rows * per_block + column % per_block]),
        "short_rows": filled(lanes(size, per_block, 5, 1, 3), 2 * x[short]),
        "no_repeats": np.full(SIZE, 7, dtype),
        "counter_strides": filled(
            np.where(wide < per_repeat, wide, wide + 4 * per_block), np.abs(x)[wide]
        ),
        "register_bits": filled(bits, x[bits] + 2),
        "register_count": filled(np.arange(per_repeat // 2), x[: per_repeat // 2] + 2),
        "counter_ends": filled(np.arange(8), np.abs(x)[:8]),
        "duplicate_mask": filled(lanes(size, per_repeat - 3, 2, 1, 10), np.full(len(tail), 2)),
        "duplicate_bits": filled(lanes(size, BITS, 1), np.full(len(bits) // 2, 2)),
        "index_mask": filled(full, 2.0 + full),
        "axpy_mask": filled(tail, 2 * x[tail] + 7),
        "mul_add_dst_mask": filled(tail, (x * y)[tail] + 7),
        "add_operator": (x + y).astype(dtype),
        "subs_element": filled(np.arange(COUNT), x[per_block] - y[:COUNT]),
    }


@cases("dtype", ["float32", "float16"])
@cases("name", list(_mask_forms("float32")))
def test_forms_with_a_mask(name: str, dtype: str) -> None:
    """Masks, repeats and strides choose the elements; the others stay."""
    expected = _mask_forms(dtype)[name]
    check_case("elementwise", name, _inputs(dtype), expected, dtype=DTYPES[dtype])


INTEGER_FORMS: dict[str, Compute] = {
    "int_add": lambda x, y: x + y,
    "int_sub": lambda x, y: x - y,
    "int_mul": lambda x, y: x * y,
    "int_max": np.maximum,
    "int_adds": lambda x, y: x + 3,
    "int_muls": lambda x, y: x * 3,
    "int_shift_left": lambda x, y: x * 4,
    "int_shift_right": lambda x, y: x // 4,
    "int_duplicate": lambda x, y: np.full_like(x, -3),
    "int_index": lambda x, y: np.arange(COUNT) - 3,
    "int_shift_left_by": lambda x, y: x * 8,
    "int_shift_right_by": lambda x, y: x // 8,
    "int_mins": lambda x, y: np.minimum(x, 2),
}


@cases("dtype", ["int32", "int16"])
@cases("name", list(INTEGER_FORMS))
def test_integers(name: str, dtype: str) -> None:
    """Integer functions compute exactly."""
    inputs = _inputs(dtype)
    x, y = (one[:COUNT].astype(np.int64) for one in inputs)
    expected = _filled(dtype, slice(COUNT), INTEGER_FORMS[name](x, y))
    report = check_case("elementwise", name, inputs, expected, dtype=DTYPES[dtype])
    assert not warnings_of(report)


@cases("dtype", ["int32", "int16"])
def test_right_shift_rounds(dtype: str) -> None:
    """With roundEn the last bit that is shifted out is added."""
    inputs, per_repeat = _inputs(dtype), 256 // np.dtype(dtype).itemsize
    x = inputs[0][:per_repeat].astype(np.int64)
    expected = _filled(dtype, slice(per_repeat), (x >> 2) + (x >> 1 & 1))
    check_case("elementwise", "int_shift_round", inputs, expected, dtype=DTYPES[dtype])


@cases("dtype", ["int32", "int16"])
@cases("name", ["int_add", "int_sub", "int_mul", "int_muls"])
def test_wrapped_integers_are_counted(name: str, dtype: str) -> None:
    """Elements whose result wraps are a warning with their number."""
    limits = np.iinfo(dtype)
    inputs = [np.full(SIZE, limits.max, dtype), np.full(SIZE, -2, dtype)]
    if name == "int_add":
        inputs[1][:] = 2
    x, y = (one[:COUNT].astype(np.int64) for one in inputs)
    with np.errstate(over="ignore"):
        wrapped = INTEGER_FORMS[name](x, y).astype(dtype)
    expected = np.full(SIZE, 7, dtype)
    expected[:COUNT] = wrapped
    report = check_case("elementwise", name, inputs, expected, dtype=DTYPES[dtype])
    assert [(one.kind, one.count) for one in warnings_of(report)] == [("overflow", COUNT)]


def test_infinite_halves_are_counted() -> None:
    """Finite halves with an infinite product are a warning."""
    inputs = [np.full(SIZE, 300, np.float16), np.full(SIZE, 1, np.float16)]
    inputs[1][[3, 5, 199, 300]] = 300
    with np.errstate(over="ignore"):
        expected = _filled("float16", slice(COUNT), (inputs[0] * inputs[1])[:COUNT])
    report = check_case("elementwise", "mul", inputs, expected, dtype=1)
    assert [(one.kind, one.count) for one in warnings_of(report)] == [("overflow", 3)]


WORD_FORMS: dict[str, Compute] = {
    "and": lambda x, y: x & y,
    "or": lambda x, y: x | y,
    "not": lambda x, y: ~x,
    "shift_left_word": lambda x, y: (x.astype(np.int64) << 4).astype(np.uint16),
}


@cases("name", list(WORD_FORMS))
def test_words(name: str) -> None:
    """Bitwise functions."""
    x, y = _inputs("uint16")
    expected = np.full(SIZE, 7, np.uint16)
    expected[:COUNT] = WORD_FORMS[name](x, y)[:COUNT]
    check_case("elementwise", name, [x, y], expected, dtype=4)


def test_words_with_mask_bits() -> None:
    """A mask of bits applies to 16-bit words."""
    x, y = _inputs("uint16")
    expected, index = np.full(SIZE, 7, np.uint16), lanes(2, BITS, 2)
    expected[index] = (x & y)[index]
    check_case("elementwise", "and_bits", [x, y], expected, dtype=4)


def test_wide_logic_counts_words() -> None:
    """And of int32_t computes as many 16-bit words as the count says, and warns."""
    x, y = _inputs("uint16")
    expected = np.full(SIZE, 7, np.uint16)
    expected[:64] = (x & y)[:64]
    report = check_case("elementwise", "and_wide", [x, y], expected, dtype=4)
    assert [one.kind for one in warnings_of(report)] == ["argument"]


def test_half_into_float() -> None:
    """Axpy and MulAddDst add halves to a float tensor."""
    half = _inputs("float16")
    inputs = [np.concatenate([one, one]).view(np.float32) for one in half]
    x, y = (one.astype(np.float64) for one in half)
    index = lanes(4, 60, 3)
    expected = {
        "mixed_axpy": _filled("float32", slice(COUNT), 2 * x[:COUNT] + 7),
        "mixed_mul_add_dst": _filled("float32", slice(COUNT), (x * y)[:COUNT] + 7),
        "mixed_axpy_mask": _filled("float32", index, 2 * x[index] + 7),
    }
    for name, values in expected.items():
        check_case("elementwise", name, inputs, values, dtype=5)
