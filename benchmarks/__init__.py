"""Repeatable benchmarks: ours and peers interleaved in one run, with the memory ceiling."""
