"""An operator of 2018 that passes its arguments to a complete one of the toolkit."""

from topi.cce import tf_tile


def tiled_topi(shape, dtype, tiles, kernel_name="tiled", need_build=False):
    """y = x, repeated along its last axis."""
    tf_tile.tf_tile_cce(
        shape,
        dtype,
        [*[1] * (len(shape) - 1), tiles],
        kernel_name=kernel_name,
        need_build=need_build,
    )
