"""Stores an entry of each kind, prints "ready", and stores others until it is killed.

Arguments: the root of the store, the number of the turn.
"""

import sys
from pathlib import Path

from tbe_impl.runtime.store import Store, make_key
from tbe_impl.runtime.store_kinds import KINDS


def build(path: Path) -> None:
    with path.open("wb") as file:
        for _ in range(50):
            file.write(b"x" * 4096)
            file.flush()


def store_all(**parts: object) -> None:
    for kind in KINDS:
        if kind.is_file:
            store.get_or_build(kind, make_key(**parts), build)
        else:
            store.write(kind, make_key(**parts), b"x" * 64)


store = Store(Path(sys.argv[1]))
store_all(turn=sys.argv[2])
print("ready", flush=True)
for number in range(10000):
    store_all(turn=sys.argv[2], number=number)
