"""Large outputs are written past the caches, and nobody is told before they have arrived."""

from tbe_impl.backends.cpu.options import Options
from tbe_impl.backends.cpu.program import write_program
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.dsl.words import WORDS


def source(stream_bytes: int) -> str:
    x = placeholder((64, 1024), "float32", "x")
    return write_program([WORDS["vexp"](x)], [x], options=Options(stream_bytes=stream_bytes)).source


def test_a_nest_that_streams_ends_with_a_fence():
    text = source(1)
    assert "f32_stream(" in text
    nest = text[: text.index("int k_")]
    assert nest.rindex("stream_fence();") > nest.rindex("f32_stream(")


def test_a_small_output_stays_in_the_caches():
    assert "stream" not in source(1 << 30).replace("const int stream", "")
