"""Builds one kernel in a store shared with concurrent processes, and logs each build.

Arguments: the root of the store, the key, the log.
"""

import random
import sys
import time
from pathlib import Path

from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import KERNELS

root, key, log = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
content = random.Random(7).randbytes(16000)


def build(path: Path) -> None:
    with log.open("a") as file:
        file.write("built\n")
    time.sleep(0.05)
    path.write_bytes(content)


assert Store(root).get_or_build(KERNELS, key, build).read_bytes().startswith(content)
