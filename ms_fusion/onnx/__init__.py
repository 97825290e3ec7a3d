"""Converts ONNX models to fused models with kernels (`fuse`) and to MindSpore Cells (`cell`).

In: an ONNX file. Out: a fused model and its kernels, or a Cell. The file may be hostile. Therefore
native code reads the file only in a child process.
"""

from importlib.util import find_spec

from tbe_impl.errors import MissingError

_missing_modules = [
    name for name in ("onnx", "onnx_ir", "onnxscript", "onnxruntime") if not find_spec(name)
]
if _missing_modules:
    raise MissingError(
        f"ONNX models need {', '.join(_missing_modules)}",
        remedy="Run: pip install 'ms_fusion[onnx]'",
    )
