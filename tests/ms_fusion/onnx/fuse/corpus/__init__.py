"""Model corpus: transformers, convolutional and recurrent nets, random graphs, a torch export."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.ms_fusion.onnx.fuse.corpus import convolutional, random_graphs, recurrent, transformers

Write = Callable[[Path], Path]
EXPORTED = Path(__file__).resolve().parents[4] / "data" / "onnx" / "layer.onnx"


def _exported(path: Path) -> Path:
    shutil.copy(EXPORTED, path)
    return path


MODELS: Mapping[str, Write] = {
    **transformers.MODELS,
    **convolutional.MODELS,
    **recurrent.MODELS,
    **random_graphs.MODELS,
    "torch_layer": _exported,
}
"""Name, with its family before the first underscore → writes the model to a file and returns its
path.
"""
