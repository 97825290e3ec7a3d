"""Starts the compile server for MindSpore's AKG generator; MindSpore runs a script of this name."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The script's own directory is removed, since its files would shadow other modules. The root of
    # our package takes its place, since the package may not be installed.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from ms_fusion.compile_server.serve import serve

    serve("AkgMessager")
