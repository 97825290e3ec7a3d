"""Operators that ONNX Runtime has as one: which patterns they stand for, and where they are the quicker ones."""
