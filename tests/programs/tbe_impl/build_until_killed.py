"""Builds one kernel, prints "ready", and builds others until it is killed.

Arguments: the root of the cache, the number of the turn.
"""

import sys
from pathlib import Path

from tbe_impl.runtime.cache import KernelCache, make_key


def build(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()


cache = KernelCache(Path(sys.argv[1]))
cache.get_or_build(make_key(turn=sys.argv[2]), build)
print("ready", flush=True)
for number in range(10000):
    cache.get_or_build(make_key(turn=sys.argv[2], number=number), build)
