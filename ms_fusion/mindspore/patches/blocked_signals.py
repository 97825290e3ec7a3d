"""Blocks signals while MindSpore reads from its kernel generator, since a signal fails the read."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def block_signals() -> Iterator[None]:
    """Blocks signals that have Python handlers in this thread until the end of the block.

    Otherwise the read would fail with EINTR. SIGINT and signals without a Python handler are not
    blocked.
    """
    waited_for = {
        one for one in signal.valid_signals() - {signal.SIGINT} if callable(signal.getsignal(one))
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
