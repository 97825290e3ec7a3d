"""Makes the modules of the CANN toolkit importable inside a ``with installed():`` block.

In: calls of the toolkit's functions in operator files.
Out: a `Session` with graphs, schedules, registrations and build requests.
Must not: compile kernels.

>>> with installed(soc="Ascend910A") as record:
...     from te import tvm
...     x = tvm.placeholder((4,), dtype="float16", name="x")
>>> x.dtype
'float16'
"""

from tbe_impl.compat.install import installed, real_toolkit
from tbe_impl.compat.operator_errors import OperatorError
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
