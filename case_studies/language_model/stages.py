"""The four stages: their settings, nets, training steps and inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from case_studies.language_model.sizes import Size
from case_studies.language_model.tokens import batch

LEARNING_RATE = 1e-3
LAYER, MODEL = "layer", "model"
"""Trained nets: one layer with a zero target, or the language model."""


@dataclass(frozen=True)
class Stage:
    """A way to run the same network.

    Attributes:
        says: short description.
        generator: kernel generator of MindSpore's groups, as in `ms_fusion.enable`; empty without
            fusion.
        custom_ops: whether layers, loss and optimizer are custom_ops Cells.
    """

    says: str
    generator: str = ""
    custom_ops: bool = False

    def enable(self) -> None:
        """Switches this process to graph mode and to the settings of the stage."""
        import mindspore as ms

        import ms_fusion as mf

        ms.set_context(mode=ms.GRAPH_MODE)
        if self.generator:
            mf.enable(generator=self.generator)
        else:
            mf.disable()

    def layer(self, size: Size) -> Any:
        """One layer: float32 (rows, context, d_model) in and out; deterministic weights."""
        from case_studies.language_model.layer import FusedTransformerLayer, TransformerLayer
        from case_studies.language_model.model import with_weights

        kind = FusedTransformerLayer if self.custom_ops else TransformerLayer
        return with_weights(kind(size.d_model, size.heads, size.d_ff, size.context))

    def model(self, size: Size) -> Any:
        """The language model with its loss; identical weights in every process."""
        from case_studies.language_model import model

        kind = model.FusedLanguageModel if self.custom_ops else model.LanguageModel
        return model.with_weights(kind(size))

    def training_step(self, what: str, size: Size) -> Any:
        """The Adam step of a layer or a model, as a Cell that returns the loss."""
        from mindspore import nn

        from case_studies.language_model.layer import MeanSquare
        from custom_ops import Adam

        loss = MeanSquare(self.layer(size)) if what == LAYER else self.model(size)
        optimizer = (Adam if self.custom_ops else nn.Adam)(loss.trainable_params(), LEARNING_RATE)
        return nn.TrainOneStepCell(loss, optimizer).set_train()


UNFUSED, PRESETS, SERVER, CUSTOM = "unfused", "presets", "kernel server", "custom_ops"
STAGES: Mapping[str, Stage] = {
    UNFUSED: Stage("MindSpore as it comes"),
    PRESETS: Stage("MindSpore's fusion and its own generator", "mindspore"),
    SERVER: Stage("MindSpore's groups, built by us", "ms_fusion"),
    CUSTOM: Stage("Cells of custom_ops, the rest built by us", "ms_fusion", custom_ops=True),
}
"""From default MindSpore to the fewest kernels."""


def arrays(what: str, size: Size, *, step: int) -> tuple[np.ndarray, ...]:
    """Inputs of that training step: floats for a layer, pairs of characters for a model."""
    if what == MODEL:
        return batch(size.rows, size.context, step=step)
    shape = (size.rows, size.context, size.d_model)
    return (np.random.default_rng([1, step]).standard_normal(shape).astype(np.float32),)
