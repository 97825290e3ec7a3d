"""Blocks signals while MindSpore reads from its kernel generator, which fails with EINTR."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def block_signals() -> Iterator[None]:
    """Defers signals with Python handlers until the end of the block, in this thread.

    SIGINT and signals that end the process are not blocked.
    """
    waited_for = {
        one for one in signal.valid_signals() - {signal.SIGINT} if callable(signal.getsignal(one))
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
