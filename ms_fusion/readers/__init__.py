"""Reads MindSpore dumps, composite-kernel JSON and ONNX models into `Graph`.

In: untrusted files. Out: frozen `Graph` objects with normalised names and attributes. This package
must not decide anything about fusion.
"""
