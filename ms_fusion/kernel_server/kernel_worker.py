"""Worker process for our kernels: `ms_fusion.accuracy.kernel_worker` with a `Host` installed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ms_fusion.accuracy import kernel_worker
from ms_fusion.kernel_server.host import Host


def install_host(request: Mapping[str, Any]) -> None:
    """Installs a `Host`, which prepares each kernel at its first call.

    `request` names the library of one kernel. MindSpore writes the descriptions of all kernels into
    the directory of this library. The `Host` reads them from there.
    """
    Host(Path(request["library"]).parent).install()


if __name__ == "__main__":
    kernel_worker.main(sys.argv[1:], before=install_host)
