"""ONNX in, fused ONNX and kernels out, decided by cost."""
