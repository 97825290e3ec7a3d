"""Blocks timer signals while MindSpore reads from its kernel generator: EINTR fails there."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals_held_back() -> Iterator[None]:
    """Inside, a signal with a handler in Python does not interrupt this thread; it comes later.

    Ctrl-C does, and so do signals that end the process.
    """
    waited_for = {
        one for one in signal.valid_signals() - {signal.SIGINT} if callable(signal.getsignal(one))
    }
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited_for)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
