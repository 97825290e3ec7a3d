"""Unpacks a training step; prints whether optimizer and net share the parameter, and its value."""

from pathlib import Path

from ms_fusion.capture.net_serialization import unpack

step, _ = unpack(Path("net.parcel").read_bytes())
names = step.__globals__
bias = names["net"].bias
print(any(item is bias for item in names["optimizer"].parameters), bias.asnumpy()[0])
