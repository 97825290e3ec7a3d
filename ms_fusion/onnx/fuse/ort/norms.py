"""Replaces layer and RMS normalisation by ONNX Runtime's operators.

The normalisation may be one operator or decomposed, and may follow a residual sum.
"""

from __future__ import annotations

import numpy as np

from ms_fusion.onnx.fuse.ort.equivalents import CONTRIB, Equivalent, Site
from ms_fusion.rules.add_norm import ADD_LAYER_NORM
from ms_fusion.rules.last_axes import check_last_axis
from ms_fusion.rules.layer_norm import LAYER_NORM
from ms_fusion.rules.rms_norm import RMS_NORM

_OPERATORS = ("LayerNorm", "RmsNorm")
_RMS_VERSION = 23
"""First opset that contains RMSNormalization.

Models of earlier opsets get ONNX Runtime's SimplifiedLayerNormalization.
"""


class _Normalisation:
    """The parameters of a matched normalisation, which is one operator or a decomposition."""

    def __init__(self, site: Site):
        self.site = site
        self.nodes = site.match.nodes
        self.known = next((node for node in self.nodes if node.op in _OPERATORS), None)
        self.is_rms = (
            self.known.op == "RmsNorm"
            if self.known
            else not any(node.op == "Sub" for node in self.nodes)
        )
        self.reason = self._refusal_reason()

    def _refusal_reason(self) -> str:
        if self.known is None:
            return check_last_axis(self.site.match)
        rank = len(self.site.value(self.known.inputs[0]).shape)
        is_last = self.known.attr("axis", -1) in (-1, rank - 1)
        return "" if is_last else "it goes over more than the last axis"

    @property
    def size(self) -> tuple[int | str, ...]:
        return self.site.value(self.site.result).shape

    @property
    def epsilon(self) -> float:
        if self.known is not None:
            return float(self.known.attr("epsilon", 1e-5))
        return self.site.match.number("epsilon") or 0.0

    @property
    def weights(self) -> list[str]:
        """Names of the scale and, if there is one, of the shift.

        If the matched normalisation has no scale, a constant scale of ones is added.
        """
        if self.known is not None:
            return list(self.known.inputs[1:])
        bound = self.site.match.bound
        if "scale" in bound:
            return [bound[name] for name in ("scale", "shift") if name in bound]
        return [
            self.site.constant(
                np.ones(
                    self.size[-1:],  # type: ignore[arg-type]
                    self.site.value(self.site.result).dtype,
                )
            )
        ]

    def write(self, x: str) -> None:
        """Adds an operator that normalises `x` to the replacement of the match."""
        kind = "LayerNormalization"
        if self.is_rms:
            kind = (
                "RMSNormalization"
                if self.site.version >= _RMS_VERSION
                else "SimplifiedLayerNormalization"
            )
        self.site.call(kind, x, *self.weights, to=self.site.result, axis=-1, epsilon=self.epsilon)


def _write_normalisation(site: Site) -> str:
    found = _Normalisation(site)
    if not found.reason:
        found.write(site.match.bound["x"])
    return found.reason


def _residual_sum(site: Site) -> tuple[str, str, str]:
    """Returns the names of the two addends of the residual sum, and the name of the sum."""
    x, residual = site.match.bound["x"], site.match.bound["residual"]
    return (
        x,
        residual,
        next(
            node.outputs[0]
            for node in site.match.nodes
            if node.op == "Add" and set(node.inputs) == {x, residual}
        ),
    )


def _write_skip_normalisation(site: Site) -> str:
    found = _Normalisation(site)
    x, residual, total = _residual_sum(site)
    if found.reason:
        return found.reason
    if site.value(x).shape != site.value(residual).shape or len(found.size) not in (2, 3):
        return "the added tensor has a different shape"
    weights = found.weights
    if any(name in site.match.graph.producers for name in weights):
        return "scale and shift are computed, perhaps from the sum"
    kind = "SkipSimplifiedLayerNormalization" if found.is_rms else "SkipLayerNormalization"
    site.call(
        kind,
        x,
        residual,
        *weights,
        to=site.result,
        domain=CONTRIB,
        more=("", "", total),
        epsilon=found.epsilon,
    )
    return ""


def _write_sum_and_normalisation(site: Site) -> str:
    found = _Normalisation(site)
    if not found.reason:
        x, residual, total = _residual_sum(site)
        site.call("Sum", x, residual, to=total)
        found.write(total)
    return found.reason


_DTYPES = ("float32", "float16")
EQUIVALENTS = (
    Equivalent(
        ADD_LAYER_NORM,
        (
            ("Skip(Simplified)LayerNormalization", _write_skip_normalisation),
            ("Sum and LayerNormalization", _write_sum_and_normalisation),
        ),
        _DTYPES,
        "whichever is quicker; ONNX Runtime itself fuses an `Add` into the first, but not a `Sum`",
    ),
    Equivalent(
        LAYER_NORM,
        (("LayerNormalization", _write_normalisation),),
        _DTYPES,
        "from opset 17 on",
    ),
    Equivalent(
        RMS_NORM,
        (("RMSNormalization or SimplifiedLayerNormalization", _write_normalisation),),
        _DTYPES,
        "the first from opset 23 on, the second before",
    ),
)
