"""Runs the command lines of a JSON list in this process; prints code, message, heavy modules."""

import contextlib
import io
import json
import sys

from ms_fusion.cli import main

HEAVY = ("numpy", "mindspore", "onnx", "onnx_ir", "onnxscript", "sympy", "rich")

found = []
for arguments in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        code = main.run(arguments)
    found.append([code, said.getvalue(), [name for name in HEAVY if name in sys.modules]])
print(json.dumps(found))
