"""Defines the fusion rules; `DEFAULT_RULES` lists the rules in the order of matching.

In: a `Graph`. Out: matches, each with a reason if a check refuses the match. This package must not
depend on a framework.
"""

from __future__ import annotations

from ms_fusion.rewrite import Rule
from ms_fusion.rules.add_norm import ADD_LAYER_NORM
from ms_fusion.rules.attention import ATTENTION
from ms_fusion.rules.conv import CONV_BATCH_NORM, CONV_RESIDUAL
from ms_fusion.rules.gelu import GELU
from ms_fusion.rules.layer_norm import LAYER_NORM
from ms_fusion.rules.linear import LINEAR_ACTIVATION, LINEAR_BIAS, MATMUL_BIAS_RELU
from ms_fusion.rules.norm_linear import LAYER_NORM_LINEAR, LAYER_NORM_LINEAR_ACTIVATION
from ms_fusion.rules.residual import LINEAR_RESIDUAL
from ms_fusion.rules.rms_norm import RMS_NORM
from ms_fusion.rules.rotary import ROTARY
from ms_fusion.rules.softmax import SCALE_MASK_SOFTMAX
from ms_fusion.rules.swiglu import SWIGLU

DEFAULT_RULES: tuple[Rule, ...] = (
    GELU,
    LAYER_NORM,
    RMS_NORM,
    SCALE_MASK_SOFTMAX,
    ROTARY,
    SWIGLU,
    ADD_LAYER_NORM,
    CONV_BATCH_NORM,
    CONV_RESIDUAL,
    MATMUL_BIAS_RELU,
    LINEAR_ACTIVATION,
    LINEAR_BIAS,
    LINEAR_RESIDUAL,
    LAYER_NORM_LINEAR,
    LAYER_NORM_LINEAR_ACTIVATION,
    ATTENTION,
)
"""The rules in ascending order of size: a match may be part of a later rule's match."""
