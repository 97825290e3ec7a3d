"""Looking at a net: compile and run it without and with fusion in a private place, join what MindSpore says, fill the ledger.

In: a live net and its inputs. Out: a `Ledger`. The net, the user's flags and the working directory are afterwards as before.
"""

from typing import Any

__all__ = ["assert_fused", "explain", "explain_target", "read"]


def __getattr__(name: str) -> Any:
    """The functions of `front`, fetched when asked for: the child process needs only `child`."""
    if name in __all__:
        from ms_fusion.capture import explain_net

        return getattr(explain_net, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
