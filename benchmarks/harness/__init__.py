"""Measures the README's claims, one line each, ours and all peers interleaved in one run."""
