"""ONNX in, fused ONNX and kernels out, decided by cost.

In: a model file, options. Out: a fused model, ``kernels/`` beside it and a `Ledger`. It imports no MindSpore.
"""

from importlib.util import find_spec

from tbe_impl.errors import MissingError

_missing = [
    name for name in ("onnx", "onnx_ir", "onnxscript", "onnxruntime") if not find_spec(name)
]
if _missing:
    raise MissingError(
        f"ONNX models need {', '.join(_missing)}",
        remedy="Run: pip install 'ms_fusion[onnx]'",
    )
