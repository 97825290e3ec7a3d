"""Kernels in the user's directory: KEPT_DIRECTORY plain (without ms_fusion) | enabled | cleared.

``cleared`` calls no net.
"""

import os
import sys

from tests.programs.presets.child import RESULT, answer
from tests.programs.presets.generators import Line, called, enabled

if sys.argv[2] == "plain":
    os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"
else:
    RESULT["generator"] = enabled()
if sys.argv[2] != "cleared":
    RESULT["value"] = called(Line())

answer()
