"""Each documented error of the basic functions is named, with its kind and its line."""

from __future__ import annotations

import numpy as np

from tests.cases import cases
from tests.tbe_impl.ascendc.harness import build, case_lines, run_case, warnings_of

# name: (kind, part of the message).
ERRORS = {
    "copy_tail": ("alignment", "20 bytes"),
    "copy_out_tail": ("alignment", "36 bytes"),
    "copy_unaligned": ("alignment", "byte 4 of ba"),
    "copy_out_unaligned": ("alignment", "byte 12 of ba"),
    "copy_past_buffer": ("out_of_range", "which has 2048 bytes"),
    "copy_past_tensor": ("out_of_range", "bytes 2016 to 2080 of gx"),
    "copy_block_count": ("argument", "blockCount is 5000"),
    "copy_block_length": ("argument", "blockLen is 70000"),
    "pad_length": ("argument", "blockLen is 10 bytes"),
    "pad_too_wide": ("argument", "rightPadding is 36"),
    "pad_gap": ("argument", "srcStride is 3 bytes"),
    "atomic_type": ("argument", "atomic mode is one of half"),
    "negative_count": ("argument", "a count of -4"),
    "repeats": ("argument", "300 repeats"),
    "repeat_stride": ("argument", "a stride of 300 blocks between repeats"),
    "vector_unaligned": ("alignment", "byte 16 of ba"),
    "vector_past_buffer": ("out_of_range", "which has 2048 bytes"),
    "shift_distance": ("argument", "by 33 bits"),
    "reduce_work_space": ("alignment", "byte 2044 of bw"),
    "reduce_index_work_space": ("workspace_overflow", "sharedTmpBuffer has 64"),
    "reduce_count": ("argument", "a count of -4"),
    "gather_offset": ("alignment", "offset 0 is 6 bytes"),
    "gather_range": ("out_of_range", "bytes 4096 to 4100 of bb"),
    "gather_pattern": ("argument", "pattern 9"),
    "merge_lists": ("argument", "validBit is 5"),
    "sort_work_space": ("workspace_overflow", "needs 1024 bytes"),
    "block_offset": ("alignment", "offset 0 is 4 bytes"),
    "address": ("argument", "in no buffer of UB"),
    "transpose_work_space": ("workspace_overflow", "needs 33792 bytes"),
    "no_scale": ("argument", "SetDeqScale"),
    "assertion": ("assert", "kept == 1"),
    "assertion_text": ("assert", "kept is 0"),
    "trap": ("assert", "Trap()"),
    "select_work_space": ("workspace_overflow", "8192 bytes of hidden work space"),
    "slice_parts": ("argument", "not a whole number of parts"),
    "old_pad_length": ("argument", "blockLen is 70000"),
    "macro_assertion": ("assert", "kept"),
    "operator_past_buffer": ("out_of_range", "which has 2048 bytes"),
}
WARNINGS = {
    "mask": ("argument", "a mask of 65 elements"),
    "compare_count": ("alignment", "240 bytes, no multiple of 256"),
    "compare_integers": ("unsupported", "CMPMODE::EQ only"),
    "bfloat_add": ("unsupported", "int16_t, half, int32_t, float"),
    "exact_cast": ("argument", "CAST_RINT"),
    "unknown_cast": ("unsupported", "from float to uint32_t"),
}


@cases("name", list(ERRORS))
def test_errors(name: str) -> None:
    """The error has its kind, its line, a message with the values, and a remedy."""
    kind, text = ERRORS[name]
    _, report = run_case("faults", name, np.zeros(512, np.float32), out_bytes=2048)
    assert [one.kind for one in report.errors] == [kind], report.errors
    error = report.errors[0]
    assert text in error.message
    assert error.line == case_lines("faults")[name][1]
    assert error.file.endswith("faults.cpp")
    assert error.remedy
    if name == "select_work_space":  # a chip for which the documentation names no work space
        check_without_work_space()


def check_without_work_space() -> None:
    kernel = build("faults", (2048,), (2048,)).with_options(
        arguments={"dtype": "0", "which": str(case_lines("faults")["select_work_space"][0])},
        soc="Ascend310B1",
    )
    assert not kernel.run(np.zeros(2048, np.uint8))[1].errors


@cases("name", list(WARNINGS))
def test_warnings(name: str) -> None:
    """A warning has its kind, its line and a remedy; the run goes on."""
    kind, text = WARNINGS[name]
    _, report = run_case("faults", name, np.zeros(512, np.float32), out_bytes=2048)
    assert not report.errors, report.errors
    assert [one.kind for one in warnings_of(report)] == [kind], warnings_of(report)
    warning = warnings_of(report)[0]
    assert text in warning.message
    assert warning.line == case_lines("faults")[name][1]
    assert warning.remedy
