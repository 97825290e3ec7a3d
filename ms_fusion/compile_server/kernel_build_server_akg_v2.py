"""Starts the compile server for the AKG_V2 generator; MindSpore runs a script of this name."""

import sys
from pathlib import Path

if __name__ == "__main__":
    # The script's own directory would shadow modules of the same names. The package may not be
    # installed, hence its root.
    sys.path[0] = str(Path(__file__).resolve().parents[2])
    from ms_fusion.compile_server.serve import serve

    serve("AkgV2Messager")
