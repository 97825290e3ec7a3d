"""A MindSpore Cell from an ONNX model: fused groups run as our kernels, the other operators are MindSpore's."""
