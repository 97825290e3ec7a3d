"""The language model with MindSpore's operators and with custom_ops; both compute their loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from mindspore import Parameter, Tensor, nn, ops

from case_studies.language_model.layer import FusedTransformerLayer, TransformerLayer
from case_studies.language_model.sizes import Size
from case_studies.language_model.tokens import characters
from case_studies.language_model.weights import weights
from custom_ops import LayerNorm, SoftmaxCrossEntropy, TokenEmbedding


class LanguageModel(nn.Cell):
    """As MindSpore users write it.

    Inputs:
        - **ids** (Tensor) - (rows, context), int32: characters.
        - **wanted** (Tensor) - of that shape: the next character of each.

    Outputs:
        Tensor: the mean negative log-likelihood of the wanted characters.
    """

    def __init__(self, size: Size):
        super().__init__()
        self.tokens = nn.Embedding(len(characters()), size.d_model)
        self.places = _places(size)
        self.layers = nn.SequentialCell(
            *(
                TransformerLayer(size.d_model, size.heads, size.d_ff, size.context)
                for _ in range(size.layers)
            )
        )
        self.norm = nn.LayerNorm((size.d_model,))
        self.head = nn.Dense(size.d_model, len(characters()), has_bias=False)

    def construct(self, ids: Any, wanted: Any) -> Any:
        x = self.norm(self.layers(self.tokens(ids) + self.places))
        logits = self.head(ops.reshape(x, (-1, x.shape[-1])))
        return ops.cross_entropy(logits, ops.reshape(wanted, (-1,)))


class FusedLanguageModel(nn.Cell):
    """The same of custom_ops Cells; the remaining products and sums are fused around them."""

    def __init__(self, size: Size):
        super().__init__()
        self.tokens = TokenEmbedding(len(characters()), size.d_model)
        self.places = _places(size)
        self.layers = nn.SequentialCell(
            *(
                FusedTransformerLayer(size.d_model, size.heads, size.d_ff, size.context)
                for _ in range(size.layers)
            )
        )
        self.norm = LayerNorm((size.d_model,))
        self.head = nn.Dense(size.d_model, len(characters()), has_bias=False)
        self.loss = SoftmaxCrossEntropy()

    def construct(self, ids: Any, wanted: Any) -> Any:
        x = self.norm(self.layers(self.tokens(ids) + self.places))
        logits = self.head(ops.reshape(x, (-1, x.shape[-1])))
        return self.loss(logits, ops.reshape(wanted, (-1,)))


def _places(size: Size) -> Parameter:
    return Parameter(Tensor(np.zeros((size.context, size.d_model), np.float32)), name="places")


def with_weights(net: nn.Cell) -> nn.Cell:
    """The net with the initial weights of every training."""
    parameters = {one.name: one for one in net.get_parameters()}
    for name, value in weights({name: one.shape for name, one in parameters.items()}).items():
        parameters[name].set_data(Tensor(value))
    return net
