"""The module names that operators in the wild import, provided for the time of a ``with`` block.

In: what operators call under the toolkit's names. Out: graphs, schedules and records in a session. Nothing is compiled here.

>>> with installed(soc="Ascend910A") as record:
...     from te import tvm
...     x = tvm.placeholder((4,), dtype="float16", name="x")
>>> x.dtype
'float16'
"""

from tbe_impl.compat.faults import OperatorError
from tbe_impl.compat.install import installed, real_toolkit
from tbe_impl.compat.placeholders import NotWritten
from tbe_impl.compat.session import BuildRequest, Registration, Session, session

__all__ = [
    "BuildRequest",
    "NotWritten",
    "OperatorError",
    "Registration",
    "Session",
    "installed",
    "real_toolkit",
    "session",
]
