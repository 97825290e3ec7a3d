"""A complete operator of the toolkit, and a schedule lookup in a store."""

from te.lang.cce.rl_bank import rl_bank
from topi.scatter import Scatter


def rows_2020(var, indices, updates, var_out, kind, kernel_name="rows_2020"):
    """var with elements changed by updates."""
    found, schedule = rl_bank.query_rl_bank([])
    assert not found and schedule is None
    Scatter(var, indices, updates, var_out, True, kernel_name, kind).scatter_operator()
