"""Public names with their signatures: of packages, DSL operations, and operators."""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Iterator
from textwrap import wrap
from types import SimpleNamespace
from typing import Any

from custom_ops import functional
from tbe_impl import ops
from tbe_impl.compat import installed
from tbe_impl.compat.modules import NAMES_BY_MODULE, names_of
from tbe_impl.compat.platform import get_soc_spec
from tbe_impl.dsl import EXT_OPERATIONS, OPERATIONS
from tbe_impl.soc import SOCS
from tests.cases import cases
from tests.golden_code.comparing import Goldens
from tests.golden_code.declared import PACKAGES, Declared, bases_of, declared, file_of, lines_of

MORE_MODULES = (
    "te.lang.cce",
    "te.lang.dynamic",
    "te.platform",
    "te.tvm",
    "topi.cce",
    "tbe.common.platform",
    "tbe.common.register",
    "tbe.common.buildcfg",
    "tbe.dsl",
    "tbe.dsl.compute",
)
"""Modules whose names apply to all modules below them."""
SPECIFIED = (
    *("SOC_VERSION", "SHORT_SOC_VERSION", "FULL_SOC_VERSION", "AICORE_TYPE", "CORE_NUM"),
    *("MAX_CORE_NUM", "CUBE_CORE_CNT", "VECTOR_CORE_CNT", "UB_SIZE", "L2_SIZE", "L1_SIZE"),
    *("L0A_SIZE", "L0B_SIZE", "L0C_SIZE", "SMASK_SIZE", "CUBE_SIZE", "UNZIP"),
    *("CUBE_VECTOR_SPLIT", "cube_m_size", "cube_n_size", "cube_k_size", "Compiler_arch"),
    *("ubblock_size", "CORE_TYPE_LIST", "FB_SIZE", "VREG_SIZE", "cube_vector_combine"),
    *("vector_reg_width", "L0A_LAYOUT_IS_zN", "intrinsic_fix_pipe_l0c2out", "load3d_constraints"),
)
"""Properties of a chip that operators ask for."""


def names_with_signatures(package: str) -> Iterator[str]:
    """A line for each public name and each public member of a class; then the base classes."""
    homes: dict[str, str] = importlib.import_module(package)._HOMES
    bases: dict[str, Declared] = {}
    for name in importlib.import_module(package).__all__:
        home = homes[name]
        module = home if home.split(".")[0] in PACKAGES else f"{package}.{home}"
        found = declared(module, name)
        if found is None:
            assert file_of(module).exists(), f"{package}.{name}: there is no {module}"
            yield f"module {name}"
            continue
        yield from lines_of(name, found)
        bases.update(bases_of(found))
    waiting, seen = list(bases.items()), set[str]()
    yield from ("", "base classes:") if waiting else ()
    for name, found in waiting:
        if name not in seen:
            seen.add(name)
            yield from lines_of(name, found)
            waiting += bases_of(found)


@cases("package", PACKAGES)
def test_names_of_a_package(package: str, goldens: Goldens) -> None:
    text = "".join(f"{line}\n" for line in names_with_signatures(package))
    goldens.compare(f"public_names/{package}.txt", text)


def test_public_names_and_documented_modules_need_no_import() -> None:
    for package in PACKAGES:
        module = importlib.import_module(package)
        assert {*dir(module)} - {"__version__"} == {*module.__all__} == {*module._HOMES}
    for package in ("ms_fusion", "custom_ops"):
        module = importlib.import_module(package)
        for name in module._DOCUMENTED_MODULES:
            vars(module).pop(name, None)
            assert getattr(module, name) is sys.modules[f"{package}.{name}"]


def test_words_of_the_language_and_operators(goldens: Goldens) -> None:
    lines = [
        f"{title}.{name}{inspect.signature(word.build)}"
        for title, words in (("dsl", OPERATIONS), ("dsl.ext", EXT_OPERATIONS))
        for name, word in sorted(words.items())
    ]
    goldens.compare("public_names/words.txt", "".join(f"{line}\n" for line in lines))
    lines = []
    for name in ops.names():
        found = declared(f"tbe_impl.ops.{name}", name)
        lines += lines_of(name, found) if found is not None else [f"{name}: declared elsewhere"]
    goldens.compare("public_names/operators.txt", "".join(f"{line}\n" for line in lines))


def test_functions_of_tensors(goldens: Goldens) -> None:
    lines = [
        f"{name}{inspect.signature(getattr(functional, name))}\n" for name in functional.__all__
    ]
    goldens.compare("public_names/functional.txt", "".join(lines))


def test_modules_that_operators_import(goldens: Goldens) -> None:
    """The names in each provided CANN module; modules with equal names share a section."""
    together: dict[str, list[str]] = {}
    for module in sorted({*NAMES_BY_MODULE, *MORE_MODULES}):
        together.setdefault(", ".join(sorted(names_of(module))) or "none", []).append(module)
    lines = []
    for names, modules in together.items():
        lines += ["", *modules, *wrap(names, 96, initial_indent="    ", subsequent_indent="    ")]
    goldens.compare("public_names/compat.txt", "".join(f"{line}\n" for line in lines[1:]))
    values = {
        line
        for module in NAMES_BY_MODULE
        for name, value in names_of(module).items()
        for line in constants(name, value)
    }
    lines = [*sorted(values), "", *chip_properties()]
    goldens.compare("public_names/compat_values.txt", "".join(f"{line}\n" for line in lines))


def constants(name: str, value: Any) -> Iterator[str]:
    """A line for each constant of a name."""
    if isinstance(value, SimpleNamespace):
        for own, item in vars(value).items():
            yield from constants(f"{name}.{own}", item)
    elif isinstance(value, int | float | str | list | tuple | dict):
        yield f"{name} = {value!r}"


def chip_properties() -> Iterator[str]:
    """What `get_soc_spec` answers, and the sizes of each chip."""
    for chip in SOCS.values():
        sizes = {name: item for name, item in vars(chip).items() if isinstance(item, int)}
        yield f"{chip.name}: {sizes}"
    for chip in ("Ascend910A", "Ascend910B1"):
        with installed(soc=chip):
            yield f"{chip}: { {key: get_soc_spec(key) for key in SPECIFIED} }"
