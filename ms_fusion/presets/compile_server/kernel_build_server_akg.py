"""Started by MindSpore as a script of this name; see the package."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # the script's own directory would hide modules of the same names; the package may not be installed, so its root is added
    sys.path[0] = str(Path(__file__).resolve().parents[3])
    from ms_fusion.presets.compile_server.serve import serve

    serve("AkgMessager")
