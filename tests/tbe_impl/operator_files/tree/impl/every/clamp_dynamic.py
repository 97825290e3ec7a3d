"""A function that its package hands on."""

from tbe import dsl


def clamp_dynamic(x):
    """x, at most 1."""
    return dsl.vmins(x, 1.0)
