"""A guard for speed: another commit beside the working tree, measured in turns."""
