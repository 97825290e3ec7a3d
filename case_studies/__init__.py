"""Whole programs with and without fusion, and their measurements."""
