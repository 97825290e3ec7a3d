"""Caches code generation results beside compiled libraries, so that a warm start emits no C.

The cached result of one code generation is called a plan (`CodegenPlan`). The cache key of a plan
covers the whole graph, the options and the sources of the generator. Instead of the C text, a plan
contains only the digest of the C text. The cache key of the compiled library consists of this
digest, the compiler and the machine. Each library exports a symbol that contains the digest of the
library's graph. A library that was built for another graph is therefore never loaded by mistake.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import msgspec

from tbe_impl.codegen.options import Options
from tbe_impl.codegen.pipeline import disabled_passes
from tbe_impl.codegen.planning.access_analysis import collect_derived_sizes
from tbe_impl.codegen.program import Program, collect_sizes, result_shapes, sizes_and_scalars
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import InputError
from tbe_impl.runtime.store import Store, make_key, text_digest
from tbe_impl.runtime.store_kinds import CODEGEN

CODEGEN_DIRECTORY = Path(__file__).resolve().parent
GENERATOR_DIRECTORIES = (
    CODEGEN_DIRECTORY,
    CODEGEN_DIRECTORY / "include",
    CODEGEN_DIRECTORY / "passes",
    CODEGEN_DIRECTORY / "planning",
    CODEGEN_DIRECTORY.parent / "dsl",
    CODEGEN_DIRECTORY.parent / "dsl" / "operations",
    CODEGEN_DIRECTORY.parent / "scheduling",
)
"""Directories with the sources of the generator."""


class CodegenPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The cached result of one code generation.

    Attributes:
        text: SHA-256 of the C text.
        symbol: name of the C function.
        overwritten: number of the input that the first output overwrites; −1 for none.
        derived: number of derived sizes, which are computed at call time.
    """

    text: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    symbol: Annotated[str, msgspec.Meta(max_length=200)]
    overwritten: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 20)]
    derived: Annotated[int, msgspec.Meta(ge=0, lt=1 << 20)]

    def restore_program(
        self,
        outputs: Sequence[Tensor],
        inputs: Sequence[Tensor],
        mark: str,
        text: Callable[[], str],
    ) -> Program | None:
        """Restores a graph's program from this plan; None if the plan belongs to another graph."""
        if self.overwritten >= len(inputs):
            return None
        sizes, scalars = sizes_and_scalars(outputs)
        with collect_derived_sizes() as derived:
            if self.derived:
                collect_sizes(outputs)
            shapes = result_shapes(outputs)
        if len(derived) != self.derived:
            return None
        return Program(
            text,
            self.symbol,
            tuple(inputs),
            tuple(outputs),
            (*sizes, *derived.values()),
            scalars,
            shapes,
            inputs[self.overwritten] if self.overwritten >= 0 else None,
            mark,
        )


_DECODER = msgspec.json.Decoder(CodegenPlan)


def graph_mark(graph: Callable[[], str], options: Options) -> str:
    """Returns a digest of a graph's text form and of the options that change results.

    `graph` is a function that returns the text form. The digest is "" if the graph has no text
    form. The digest is part of the C text. Options that change the code but not the results, for
    example the unroll factor, do not change the digest.
    """
    try:
        whole = f"{options.rounding} {options.inplace} {options.contract}\n{graph()}"
    except (InputError, RecursionError):
        return ""
    return hashlib.sha256(whole.encode()).hexdigest()[:40]


def plan_key(mark: str, name: str, options: Options) -> str:
    """Returns the cache key of the plan for a graph; `mark` is the graph's `graph_mark`."""
    return make_key(
        graph=mark,
        name=name,
        options=repr(options),
        passes=sorted(disabled_passes()),
        generator=_LOADED_GENERATOR_FINGERPRINT,
    )


def read_plan(store: Store, key: str) -> CodegenPlan | None:
    """Returns the plan that is cached under `key`; None if there is no valid plan."""
    return store.read_record(CODEGEN, key, _DECODER)


def write_plan(store: Store, key: str, program: Program) -> None:
    """Stores the plan of `program` under `key`, for `CodegenPlan.restore_program`."""
    # if a source file changed after this process loaded it, the program does not belong to the key
    if generator_fingerprint() != _LOADED_GENERATOR_FINGERPRINT:
        return
    derived = len(program.sizes) - len(sizes_and_scalars(program.outputs)[0])
    place = next((n for n, item in enumerate(program.inputs) if item is program.overwritten), -1)
    plan = CodegenPlan(text_digest(program.source), program.symbol, place, derived)
    store.write_record(CODEGEN, key, plan)


def generator_fingerprint() -> str:
    """Returns a digest of the names, sizes and modification times of the generator's files."""
    found = []
    for place in GENERATOR_DIRECTORIES:
        with os.scandir(place) as files:
            for item in files:
                if item.name.endswith((".py", ".h")):
                    status = item.stat()
                    found.append(f"{place.name}/{item.name} {status.st_size} {status.st_mtime_ns}")
    return hashlib.sha256("\n".join(sorted(found)).encode()).hexdigest()


_LOADED_GENERATOR_FINGERPRINT = generator_fingerprint()
"""Fingerprint of the generator sources when this process loaded them."""
