"""Enables fusion after MindSpore's own generator ran with the user's flags."""

import os

from tests.programs.presets.child import RESULT, answer
from tests.programs.presets.generators import Net, called, enabled

os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"
RESULT["own"] = called(Net())
del os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"]
RESULT["enabled"] = enabled()
RESULT["then"] = called(Net())

answer()
