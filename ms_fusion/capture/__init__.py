"""Captures a net: compiles and runs it without and with fusion, joins the dumps, fills the ledger.

In: a live net and its inputs. Out: a `Ledger`. Must leave the net, the user's flags and the working
directory unchanged.
"""

from typing import Any

__all__ = ["assert_fused", "explain", "explain_target", "read"]


def __getattr__(name: str) -> Any:
    """Lazy import of the functions of `explain_net`: the child process needs only
    `capture_child`.
    """
    if name in __all__:
        from ms_fusion.capture import explain_net

        return getattr(explain_net, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
