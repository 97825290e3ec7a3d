"""Compiles and runs a net without and with fusion, and compares both runs in a ledger.

The ledger is the record of fused and unfused operators. In: a net and its inputs, or a directory of
MindSpore's dumps. Out: a `Ledger`. This package must leave the net, the user's flags and the
working directory unchanged.
"""

from tbe_impl.lazy_attributes import lazy_attributes

_HOMES = {
    "assert_fused": "ms_fusion.capture.fusion_assertion",
    "explain": "ms_fusion.capture.explain_net",
    "explain_target": "ms_fusion.capture.explain_net",
    "read": "ms_fusion.capture.dump_ledger",
}
"""A dict from each exported name to the module that defines it.

The modules are imported on first use, because the child process needs only a few of them.
"""

__all__ = ["assert_fused", "explain", "explain_target", "read"]

__getattr__ = lazy_attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return list(__all__)
