"""Threads of OpenMP that sleep while they wait for work, so that they leave the processors to those of others."""

from __future__ import annotations

import _thread
import ctypes
import os

RUNTIME = "libgomp.so.1"
CHOSEN = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")
"""What a user can say about it."""


def let_threads_sleep() -> None:
    """Makes threads of GCC's OpenMP sleep soon after they have run out of work, unless the environment says otherwise.

    By default they wait busily for milliseconds, on processors that those of oneDNN and MindSpore need: a training step in
    which kernels take turns was seen to take 1.3 to 3 times as long, and two to three times the processor's time.

    The runtime reads its environment when it is loaded. Where that is done, since MindSpore came first, one way is left:
    with more threads than processors it hardly waits busily, as GCC's manual says of ``GOMP_SPINCOUNT``. So there will be
    more, asleep for ever. To be called once in a process, before its first kernel.
    """
    if any(os.environ.get(name) for name in CHOSEN):
        return
    os.environ[CHOSEN[0]] = "passive"
    try:
        runtime = ctypes.CDLL(RUNTIME, mode=os.RTLD_NOLOAD)
    except (OSError, AttributeError):
        return  # it is still to be loaded, or another
    _thread.start_new_thread(_outnumber, (runtime,))


def _outnumber(runtime: ctypes.CDLL) -> None:
    """Starts as many threads as there are processors, which stay while this one does: for ever."""
    wanted = len(os.sched_getaffinity(0)) + 1
    nothing = ctypes.CDLL(None).free
    runtime.GOMP_parallel(nothing, None, ctypes.c_uint(wanted), ctypes.c_uint(0))
    never = _thread.allocate_lock()
    never.acquire()
    never.acquire()
