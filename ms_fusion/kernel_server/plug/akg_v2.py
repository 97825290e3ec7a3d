"""Plug-in that MindSpore's compile server imports for ``--kernel_generator=AKG_V2``."""

from ms_fusion.kernel_server.driver import AkgV2Driver, build, stand_in

__all__ = ["AkgV2Driver", "build", "stand_in"]
