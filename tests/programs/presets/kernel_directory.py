"""Fuses one net and prints the path of its kernel.

KERNEL_DIRECTORY plain: by MindSpore's own flags. KERNEL_DIRECTORY enabled. KERNEL_DIRECTORY moved:
sets an unusable directory, then none, and after `enable` another.
"""

import os
import sys
import warnings
from pathlib import Path

import mindspore as ms
from mindspore import nn

import ms_fusion as mf
from ms_fusion.mindspore import presets
from tests.programs.presets.child import RESULT, answer, kernels, ones

ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")


class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0


way, first, variable = sys.argv[2], None, "MS_COMPILER_CACHE_PATH"
if way == "plain":
    os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2"
if way == "moved":
    os.environ[variable] = str(Path("gone").resolve())
    try:
        mf.enable()
    except mf.FusionError as error:
        RESULT["error"] = str(error)
    del os.environ[variable]
if way != "plain":
    first = mf.enable().kernel_directory
if way == "moved":
    Path("moved").mkdir()
    os.environ[variable] = str(Path("moved").resolve())
try:
    RESULT["value"] = float(Net()(ones(64, 64)).asnumpy()[0, 0])
except RuntimeError as error:
    RESULT["value"] = str(error)
RESULT["place"] = os.environ.get("MS_COMPILER_CACHE_PATH", "")
RESULT["mode"] = oct(Path(RESULT["place"]).stat().st_mode & 0o777) if RESULT["place"] else ""
RESULT["kernels"] = kernels()
if way == "moved":
    RESULT["first"] = [
        os.environ[variable].endswith("moved"),
        presets.in_force().kernel_directory == first,
    ]
    RESULT["built"] = len(list(Path(first, "akg_kernel_meta").glob("*.so")))

answer()
