"""Tests load operator files with the toolkit's names; pytest does not collect them."""

collect_ignore = ["operators"]
