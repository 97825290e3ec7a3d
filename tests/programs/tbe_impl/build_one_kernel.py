"""Builds one kernel in a cache shared with concurrent processes, and logs each build.

Arguments: the root of the cache, the key, the log.
"""

import random
import sys
import time
from pathlib import Path

from tbe_impl.runtime.cache import KernelCache

root, key, log = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
content = random.Random(7).randbytes(16000)


def build(path: Path) -> None:
    with log.open("a") as file:
        file.write("built\n")
    time.sleep(0.05)
    path.write_bytes(content)


assert KernelCache(root).get_or_build(key, build).read_bytes() == content
