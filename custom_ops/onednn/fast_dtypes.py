"""What oneDNN is quick at on this machine."""

from __future__ import annotations

from functools import cache

from custom_ops.onednn.convolution import prepare_conv2d
from custom_ops.onednn.verified_library import why_missing


@cache
def quick_channels_last() -> bool:
    """Whether convolutions of images whose channels come last have an implementation made for the processor.

    Measured on AVX-512, theirs (``brg_conv``) are 1.0 to 1.3 times as fast as those in blocks of channels.
    """
    if why_missing():
        return False
    probe = prepare_conv2d((1, 32, 8, 8), (32, 32, 3, 3), padding=1, channels_last=("x", "y"))
    return all("brg" in name for name in probe.implementations)
