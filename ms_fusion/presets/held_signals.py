"""Signals of the user's timers are held back while MindSpore talks to its kernel generator: a read that one interrupts is empty to it."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator


@contextlib.contextmanager
def signals_held_back() -> Iterator[None]:
    """Inside, no signal for which a Python function waits interrupts this thread; it comes afterwards.

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
