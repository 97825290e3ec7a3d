"""Emits C stubs: small libraries for kernels that are prepared at their first call.

The name of a kernel does not depend on the generator that builds the kernel. MindSpore loads the
library of this name only once and does not unload it before the process ends. So each library
exports two entry functions: ``NAME`` for our generator, and ``NAME_kernel`` for MindSpore's own
generator.
"""

from __future__ import annotations

from pathlib import Path

UNKNOWN_COUNT = 0
STUB, OWN_STUB, SUBNORMALS = (
    Path(__file__).with_name(name) for name in ("stub.c", "own.c", "subnormals.h")
)


def stub(name: str, buffers: int) -> str:
    """Returns the C code of a stub for a kernel with `buffers` input and output buffers.

    The first call of either of the two entry functions prepares the kernel.
    """
    return f"{_stub(name, buffers)}{chr(10).join(akg_entry_alias(name))}\n"


def stub_beside_own(name: str) -> str:
    """Returns the C code of a stub for a kernel that MindSpore's own generator has built.

    At its first call, our entry function prepares our own kernel. The entry function of MindSpore's
    generator calls the original library, which was renamed to ``NAME.own``.
    """
    return f"{_stub(name, UNKNOWN_COUNT)}{OWN_STUB.read_text('utf-8')}\n"


def akg_entry_alias(name: str) -> list[str]:
    """Returns the C code of the entry function ``NAME_kernel``, which calls ours, ``NAME``."""
    return [
        f"void {name}_kernel(void **all) {{",
        f"int threads = 1; {name}(all[0], &threads, all + 1);",
        "}",
    ]


def launch_report(name: str, buffers: int) -> list[str]:
    """Returns C code that records a kernel launch in the log of `host.c`.

    The result has two items: a declaration, and a statement for the start of the kernel function.
    """
    return [
        "extern void ms_fusion_launched(const char *, void *, int, void **) __attribute__((weak));",
        f'if (ms_fusion_launched) ms_fusion_launched("{name}", (void *){name}, {buffers}, all);',
    ]


def _stub(name: str, buffers: int) -> str:
    return (
        f"#define NAME {name}\n#define COUNT {buffers}\n{subnormals()}{STUB.read_text('utf-8')}\n"
    )


def subnormals() -> str:
    """Returns the C code of the functions `keep_subnormals` and `restore_subnormals`.

    The first function stops the processor from flushing subnormal numbers to 0; the second function
    restores the previous mode.
    """
    return SUBNORMALS.read_text("utf-8")
