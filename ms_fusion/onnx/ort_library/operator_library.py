"""Compiles custom operators and links them into one library."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from ms_fusion.onnx.ort_library.operator_text import OperatorText
from tbe_impl import environment
from tbe_impl.runtime import compiler, compiler_process, machine
from tbe_impl.runtime.shared_library_check import check_library
from tbe_impl.runtime.store import text_digest

LIBRARY = "libms_fusion_ort.so"
SOURCES = Path(__file__).resolve().parent
ENTRY = "RegisterCustomOps"
"""The symbol that ONNX Runtime calls."""
X86_LEVELS = (
    ("x86-64-v4", {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx2", "fma"}),
    ("x86-64-v3", {"avx2", "fma", "bmi1", "bmi2", "f16c", "movbe"}),
    ("x86-64", set[str]()),
)
"""Levels of the x86-64 architecture, with the CPU features that each level requires."""
FEATURE_MACROS = {
    "__AVX__": "avx",
    "__AVX2__": "avx2",
    "__FMA__": "fma",
    "__BMI__": "bmi",
    "__BMI2__": "bmi2",
    "__FMA4__": "fma4",
    "__XOP__": "xop",
    "__AVX512F__": "avx512f",
    "__AVX512BW__": "avx512bw",
    "__AVX512CD__": "avx512cd",
    "__AVX512DQ__": "avx512dq",
    "__AVX512VL__": "avx512vl",
}
"""Maps a compiler macro to the CPU feature that ``registration.c`` requires for kernels."""


def architecture_flags() -> tuple[str, ...]:
    """Returns the compiler flags of the kernels, which select the x86-64 level of this processor.

    The flags select the highest level that this processor supports (such as x86-64-v3), and tuning
    for this processor. Every processor of this level can run the library. On architectures other
    than x86-64, there are no flags.
    """
    if os.uname().machine != "x86_64":
        return ()
    present = set(machine.cpu_features())
    level = next(name for name, needed in X86_LEVELS if needed <= present)
    return (f"-march={level}", "-mtune=native")


class LibraryBuilder:
    """Compiles each custom operator once, and links libraries of custom operators.

    Args:
        place: directory for object files.
        flags: flags of the kernels; by default those of `architecture_flags`.
    """

    def __init__(self, place: Path, flags: Sequence[str] | None = None):
        self.place = place.resolve()  # the compiler runs in another directory
        self.flags = (*compiler.FLAGS, "-fvisibility=hidden", "-ffp-contract=off", "-g0", "-w")
        self.own_flags = tuple(architecture_flags() if flags is None else flags)
        self.objects: dict[str, Path] = {}

    def build(self, operators: Sequence[OperatorText], target: Path) -> None:
        """Links a library with the given operators, which have distinct names.

        Raises:
            MissingError: there is no compiler.
            CompileError: an operator cannot be compiled, or the library cannot be linked.
        """
        texts = [*(one.source for one in operators), write_tables([one.name for one in operators])]
        registration = (SOURCES / "registration.c").read_text("utf-8")
        with ThreadPoolExecutor(environment.threads()) as pool:
            objects = list(
                pool.map(partial(self._compile, flags=self.own_flags), dict.fromkeys(texts))
            )
        objects.append(self._compile(registration, flags=()))
        found = compiler.find_compiler()
        with tempfile.TemporaryDirectory(dir=self.place) as directory:
            linked = Path(directory) / LIBRARY
            flags = ["-shared", "-Wl,-z,defs", "-s", "-o", str(linked)]
            compiler_process.run(
                found, [*flags, *map(str, objects), "-lm", "-lpthread", "-lc"], Path(directory)
            )
            check_library(linked, [ENTRY], compiler=" ".join(found.command))
            linked.replace(target)

    def _compile(self, text: str, *, flags: Sequence[str]) -> Path:
        key = text_digest(text)
        if key not in self.objects:
            place = Path(tempfile.mkdtemp(dir=self.place))
            source = place / "operator.c"
            source.write_text(text, "utf-8")
            kept = [flag for flag in self.flags if flag != "-shared"]
            include = [f"-I{compiler.INCLUDE}", f"-I{SOURCES}"]
            made = place / "operator.o"
            compiler_process.run(
                compiler.find_compiler(),
                [*kept, *flags, *include, "-c", "-o", str(made), str(source)],
                place,
            )
            self.objects[key] = made
        return self.objects[key]


def write_tables(names: Sequence[str]) -> str:
    """Returns the C text of the tables for ``registration.c``: operators and CPU features."""
    declared = [f"extern const struct operator_kernel kernel_{name};" for name in names]
    features = [f'#ifdef {macro}\n"{name}",\n#endif' for macro, name in FEATURE_MACROS.items()]
    return "\n".join(
        [
            '#include "operator_kernel.h"',
            *declared,
            "const struct operator_kernel *const ms_fusion_kernels[] = {",
            *(f"&kernel_{name}," for name in names),
            "0};",
            "const char *const ms_fusion_needed_features[] = {",
            *features,
            "0};",
            "",
        ]
    )
