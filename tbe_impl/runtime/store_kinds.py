"""The kinds of entries of the store.

The module that uses a kind defines its cache keys and the meaning of its content.
"""

from __future__ import annotations

from tbe_impl.records import Record


class Kind(Record):
    """A kind of entries of the store.

    Attributes:
        name: name of the kind, and of the directory that holds its entries.
        content: description of the content of an entry, as a noun phrase.
        bytes_max: largest size of the content.
        suffix: suffix of the file name, after the key. A suffix is needed, because MindSpore treats
            a library whose file name ends in ``cc`` as C++ source code.
        is_file: whether the content is used as a file that the process loads or the C compiler
            reads.
        is_measured: whether the content was measured at the user's request. An entry of such a kind
            is removed only by an explicit call. A failure to read or write the entry causes a
            warning.
    """

    name: str
    content: str
    bytes_max: int = 1 << 20
    suffix: str = ""
    is_file: bool = False
    is_measured: bool = False

    def file_name(self, key: str) -> str:
        """Returns the name of the file of an entry."""
        return f"{key}{self.suffix}"


KERNELS = Kind("kernels", "the shared library of a kernel", 1 << 30, ".so", is_file=True)
HEADERS = Kind("headers", "precompiled headers of generated C", 1 << 30, ".gch", is_file=True)
ALIASES = Kind("aliases", "the key of a library that holds several kernels", 64)
CODEGEN = Kind("codegen", "the result of generating the C of a graph")
PLANS = Kind("plans", "the values that a kernel stores in memory")
GROUPS = Kind("groups", "the libraries of a compiled group of MindSpore operators")
PROOFS = Kind("proofs", "the result of the self-test of the kernel generator")
BYTECODE = Kind("bytecode", "bytecode of an operator file")
LAUNCH_COSTS = Kind("launch_costs", "the cost of one more operator in a graph of MindSpore")
TUNINGS = Kind("tunings", "the result of tuning a kernel", 1 << 16, is_measured=True)
CHOICES = Kind("choices", "the result of tuning a net", 1 << 16, is_measured=True)

KINDS = (
    KERNELS,
    HEADERS,
    ALIASES,
    CODEGEN,
    PLANS,
    GROUPS,
    PROOFS,
    BYTECODE,
    LAUNCH_COSTS,
    TUNINGS,
    CHOICES,
)
"""All kinds of entries."""
