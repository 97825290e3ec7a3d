"""Large tensors of MindSpore's are moved into pages of 2 MiB by the kernels that meet them again and again.

MindSpore allocates with `malloc`, in pages of 4 KiB, and keeps a net's buffers from call to call. A kernel that moves 64 MB spends
some percent of its time on looking up those pages; moving the tensor costs as much as hundreds of calls gain, once.
"""

from __future__ import annotations

from pathlib import Path

from ms_fusion.kernel_server.translate import Group, size_bytes

SOURCE = Path(__file__).with_name("large_pages.c")
LARGE_BYTES = 16 << 20
"""From which on a tensor is moved: smaller ones stay in the caches, or are few pages."""


def large_pages(group: Group) -> tuple[str, list[str]]:
    """What moves the large tensors of a kernel: C before the function that MindSpore calls, and the calls that this begins with.

    Both are empty for a kernel without such a tensor.
    """
    bytes_of = dict(enumerate(map(size_bytes, group.inputs)))
    for result, places in zip(group.results, group.places, strict=True):
        bytes_of |= dict.fromkeys(places, size_bytes(result))
    large = {place: size for place, size in sorted(bytes_of.items()) if size >= LARGE_BYTES}
    calls = [f"large_pages(all[{place}], {size});" for place, size in large.items()]
    return (SOURCE.read_text("utf-8") if calls else ""), calls
