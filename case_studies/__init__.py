"""Whole programs with what this project does for them, told with their numbers."""
