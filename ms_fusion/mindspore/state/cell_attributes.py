"""Defines the names of the attributes that we set on Cells."""

from __future__ import annotations

CELL_FLAGS = "_ms_fusion_flags"
"""Attribute of a patched Cell that contains the setting for this Cell and its inner Cells."""
CALLED_NET = "called_net"
"""Attribute of our Cell `OneShape` that contains the wrapped net."""
HELD_FLAGS = "_ms_fusion_held"
"""Attribute that contains the flags of a Cell's last call in a text generation phase."""
