"""C stubs of libraries that are prepared at load time, and of MindSpore's kernel names.

A group has one name, whoever is asked for it, and MindSpore keeps what it has loaded under that name for as long as the process lives.
So each library can be called both as a kernel of ours and as one of MindSpore's own generator.
"""

from __future__ import annotations

from pathlib import Path

UNKNOWN = 0
STUB, OWN, SUBNORMALS = (
    Path(__file__).with_name(name) for name in ("stub.c", "own.c", "subnormals.h")
)


def stub(name: str, buffers: int) -> str:
    """The text of a kernel with so many buffers that is prepared at its first call, by whichever name."""
    return f"{_stub(name, buffers)}{chr(10).join(by_name_of_akg(name))}\n"


def stub_beside_own(name: str) -> str:
    """The text of a kernel that is prepared when it is called as ours; as MindSpore's own, it is that of the file ``NAME.own``."""
    return f"{_stub(name, UNKNOWN)}{OWN.read_text('utf-8')}\n"


def by_name_of_akg(name: str) -> list[str]:
    """The same as MindSpore calls what its own generator builds."""
    return [
        f"void {name}_kernel(void **all) {{",
        f"int threads = 1; {name}(all[0], &threads, all + 1);",
        "}",
    ]


def told(name: str, buffers: int) -> list[str]:
    """What a kernel with so many buffers says of its launch to whoever watches (`host.c`): C before it, and its first statement."""
    return [
        "extern void ms_fusion_launched(const char *, void *, int, void **) __attribute__((weak));",
        f'if (ms_fusion_launched) ms_fusion_launched("{name}", (void *){name}, {buffers}, all);',
    ]


def _stub(name: str, buffers: int) -> str:
    return (
        f"#define NAME {name}\n#define COUNT {buffers}\n{subnormals()}{STUB.read_text('utf-8')}\n"
    )


def subnormals() -> str:
    """The C of `keep_subnormals` and `restore_subnormals`."""
    return SUBNORMALS.read_text("utf-8")
