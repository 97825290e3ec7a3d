"""Defines the names of the attributes that we set on Cells."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""The setting of a patched Cell; it applies to the Cell and its inner Cells."""
CALLED_NET = "called_net"
"""The net that our Cell `OneShape` wraps."""
HELD_FLAGS = "_ms_fusion_held"
"""The flags that applied to the last call of a Cell in a text generation phase."""
