"""Kernel functions, their parameters and tiling structures are found in a kernel's text."""

from __future__ import annotations

import pytest

from tbe_impl.ascendc.kernel_source import read_kernel_source
from tbe_impl.errors import InputError
from tests.cases import cases

KERNELS = """
#include "kernel_operator.h"
// extern "C" __global__ __aicore__ void commented(GM_ADDR x) {}
const char* text = "__global__ __aicore__ void quoted(GM_ADDR x)";
extern "C" __global__ __aicore__ void first(GM_ADDR x, __gm__ float *y, uint32_t count,
                                            GM_ADDR workspace, GM_ADDR tiling);
extern "C" __global__ __aicore__ void first(GM_ADDR x, __gm__ float *y, uint32_t count,
                                            GM_ADDR workspace, GM_ADDR tiling) {
    GET_TILING_DATA_WITH_STRUCT(FirstTiling, data, tiling);
}
template <typename T>
__global__ __aicore__ void second(__gm__ uint8_t* x, float alpha, SecondTiling tiling) {}
void launch(uint32_t blocks, void* stream, uint8_t* x) {
    second<float><<<blocks, nullptr, stream>>>(x, 1.0f, {});
    first<<<blocks,
            nullptr, stream>>>(x, nullptr, 1, nullptr, nullptr);
}
"""


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "kernels.cpp"
    path.write_text(KERNELS)
    return read_kernel_source(path)


def test_functions_are_found_outside_of_comments_and_strings(source):
    assert [one.name for one in source.functions] == ["first", "second"]
    first = source.function("first")
    assert [(one.name, one.is_pointer) for one in first.parameters] == [
        ("x", True),
        ("y", True),
        ("count", False),
        ("workspace", True),
        ("tiling", True),
    ]
    assert KERNELS.splitlines()[first.line - 1].startswith('extern "C" __global__')


def test_an_instance_of_a_template_is_named_with_its_arguments(source):
    second = source.function("second<float>")
    assert [one.name for one in second.pointers] == ["x"]


def test_the_tiling_structure_is_the_one_that_the_kernel_reads(source):
    assert source.tiling_type(source.function("first")) == "FirstTiling"


def test_launches_become_calls_on_the_same_lines(source):
    text = source.compilable_text()
    assert "<<<" not in text and ">>>" not in text
    assert text.count("\n") == KERNELS.count("\n")
    assert "LaunchCall{static_cast<uint32_t>(blocks)}(x, 1.0f, {})" in text
    assert text.count("void ascendc_kernel_first(GM_ADDR x") == 2


@cases(
    "name, message",
    [(None, "2 kernel functions"), ("third", "no kernel function third")],
)
def test_an_unknown_or_ambiguous_function_is_an_error(name, message, source):
    with pytest.raises(InputError, match=message) as caught:
        source.function(name)
    assert "first, second" in str(caught.value)


def test_a_file_without_kernels_is_an_error(tmp_path):
    path = tmp_path / "none.cpp"
    path.write_text("int main() {}")
    with pytest.raises(InputError, match="no kernel function"):
        read_kernel_source(path).function()


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_kernel_source(tmp_path / "missing.cpp")
