"""A guard for speed: another commit beside the working tree, both measured interleaved in one run."""
