"""Worker process for our kernels: `ms_fusion.accuracy.kernel_worker` with a `Host` installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ms_fusion.accuracy import kernel_worker
from ms_fusion.kernel_server.host import Host


def install_host(request: Mapping[str, Any]) -> None:
    """Installs a `Host`, which prepares kernels at their first call.

    The `Host` reads the kernels' descriptions from the directory of the requested kernel's library.
    """
    Host(Path(request["library"]).parent).install()


if __name__ == "__main__":
    kernel_worker.main(sys.argv[1:], before=install_host)
