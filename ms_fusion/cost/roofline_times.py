"""Converts work to time by the roofline of a device."""

from __future__ import annotations

from collections.abc import Iterable

from ms_fusion.devices import Device
from ms_fusion.ledger import Stages, Work


def stages(work: Work, device: Device, *, matrix: bool = False) -> Stages:
    """Returns the times of the four stages of one kernel, in µs.

    The four times are: launches × launch cost, bytes read ÷ bandwidth, FLOPs ÷ rate, and bytes
    written ÷ bandwidth.
    """
    return Stages(
        launch_us=work.launches * device.launch_us,
        read_us=work.bytes_read / device.bandwidth_bytes_per_s * 1e6,
        compute_us=work.flops / device.rate(matrix=matrix) * 1e6,
        write_us=work.bytes_written / device.bandwidth_bytes_per_s * 1e6,
    )


def roofline_bound(parts: Stages) -> str:
    """Returns ``compute`` if a kernel's FLOPs take more time than its bytes, else ``memory``."""
    return "compute" if parts.compute_us > parts.read_us + parts.write_us else "memory"


def predicted_saving_us(before: Iterable[Stages], after: Stages) -> float:
    """Returns the time that the kernel `after` saves compared to the kernels `before`, in µs."""
    return sum(parts.total_us for parts in before) - after.total_us
