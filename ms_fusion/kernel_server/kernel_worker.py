"""`ms_fusion.accuracy.kernel_worker` for kernels of ours: those with a library in them are prepared in the child."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ms_fusion.accuracy import kernel_worker
from ms_fusion.kernel_server.host import Host


def hosted(request: Mapping[str, Any]) -> None:
    """The descriptions lie beside the libraries."""
    Host(Path(request["library"]).parent).install()


if __name__ == "__main__":
    kernel_worker.main(sys.argv[1:], before=hosted)
