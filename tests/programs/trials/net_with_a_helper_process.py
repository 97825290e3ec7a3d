"""A net whose file starts a process that ignores SIGINT, like MindSpore's profiler."""

import multiprocessing
import os
import signal
import sys
import time
from pathlib import Path

from mindspore import nn

if "capture.capture_child" in " ".join(sys.orig_argv):
    manager = multiprocessing.Manager()
    draft = Path(os.environ["SEEN_PROCESSES"])
    draft.with_suffix(".new").write_text(f"{os.getpid()} {manager._process.ident}")
    draft.with_suffix(".new").rename(draft)
    if os.environ["HOW_IT_ENDS"] == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)

Net = nn.ReLU
