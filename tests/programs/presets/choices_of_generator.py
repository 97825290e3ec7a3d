"""The generator in use for each request."""

import os

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, kernels
from tests.programs.presets.generators import Kept, Line, called, enabled

os.environ["MS_FUSION_CC"] = "/no/such/compiler"
RESULT["no compiler"] = enabled()
mf.disable()
del os.environ["MS_FUSION_CC"]
RESULT["default"] = enabled()
RESULT["named"] = enabled(generator="mindspore")
with mf.fusion("basic") as block:
    RESULT["block"] = block.generator
RESULT["by flags"] = enabled(flags="--kernel_generator=AKG")
mf.disable()
RESULT["precise"] = enabled(preset="precise")
RESULT["precise, ours"] = enabled(preset="precise", generator="ms_fusion")
RESULT["precise, ours by flags"] = enabled(preset="precise", flags="--kernel_generator=AKG_V2")
RESULT["flags of it"] = mf.enable("precise", flags="--kernel_generator=AKG_V2").flags
RESULT["off"] = enabled(preset="off")
RESULT["unfused"] = enabled()
with mf.fusion("precise"):
    RESULT["within precise"] = called(Kept())
RESULT["turns"] = []
for generator in ("mindspore", "ms_fusion") * 2:
    with mf.fusion("basic", generator=generator) as block:
        RESULT["turns"].append([block.generator, *called(Line())])
RESULT["lines"] = sum("Mul_Add" in name for name in kernels())

answer()
