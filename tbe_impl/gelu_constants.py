"""Constants of GELU, x·Φ(x), and of its tanh approximation, x·σ(2√(2/π)·(x + 0.044715·x³)).

Φ(x) = ½·(1 + erf(x·√½)). The approximation equals ½·x·(1 + tanh(√(2/π)·(x + 0.044715·x³))).
"""

from __future__ import annotations

import math

SQRT_HALF = math.sqrt(0.5)
"""√½, the factor of x in the error function."""
TANH_SCALE = math.sqrt(2.0 / math.pi)
"""√(2/π), the factor in the hyperbolic tangent."""
SIGMOID_SCALE = 2.0 * TANH_SCALE
"""2√(2/π), the factor in the sigmoid."""
CUBIC = 0.044715
"""Coefficient of x³."""
