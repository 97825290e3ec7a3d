"""A function that its package re-exports."""

from tbe import dsl


def clamp_dynamic(x):
    """x, at most 1."""
    return dsl.vmins(x, 1.0)
