"""Prints twice why our generator is unavailable where MindSpore cannot be imported."""

import json
import sys
from pathlib import Path

from ms_fusion.mindspore.presets import generator_proof

reasons = [generator_proof.why_unusable("2.10.0") for _ in range(2)]
Path(sys.argv[1]).write_text(json.dumps(reasons), encoding="utf-8")
