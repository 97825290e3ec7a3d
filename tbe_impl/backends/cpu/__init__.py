"""Stages to loop nests to C to a library, on this processor."""
