"""Builds a kernel in the store of the given root and prints its path."""

import sys
from pathlib import Path

from tbe_impl.runtime.store import Store
from tbe_impl.runtime.store_kinds import KERNELS


def build(path: Path) -> None:
    path.write_bytes(b"k")


print(Store(Path(sys.argv[1])).get_or_build(KERNELS, "0" * 64, build))
