"""The structure of all JSON output: reports, ``--json``, and stored records."""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ms_fusion.cli import doctor, main
from ms_fusion.cli.doctor import Check, Diagnosis
from ms_fusion.report.text import to_text
from ms_fusion.report.view import build_view
from tbe_impl.cli import timing
from tbe_impl.cli.timing import BenchResult, Timing
from tests.cases import cases
from tests.golden_code.comparing import Goldens
from tests.golden_code.test_commands import OPERATOR
from tests.ms_fusion.report.ledgers import transformer_ledger

GENERIC_NAME = re.compile(r"\b(KernelSequence|Step)_[\w.]*_(?=[\".])")
"""Name of a generic type with its arguments in a JSON schema; the types of the fields name them."""
RECORDS = (
    ("ms_fusion.report.document", "LedgerDocument"),
    ("ms_fusion.capture.capture_child", "CaptureRequest"),
    ("ms_fusion.capture.capture_child", "CaptureFailure"),
    ("ms_fusion.capture.capture_run", "CaptureOrder"),
    ("ms_fusion.capture.capture_run", "Measurements"),
    ("ms_fusion.kernel_server.compile_cache", "CachedKernel"),
    ("ms_fusion.mindspore.presets.generator_proof", "GeneratorProof"),
    ("ms_fusion.mindspore.presets.net_choices", "NetChoice"),
    ("tbe_impl.tuning_store", "Tuning"),
    ("tbe_impl.codegen.codegen_cache", "CodegenPlan"),
)
"""Written by one process and read by another."""

NO_MATTER = ("description", "title")
"""Schema keys without structural meaning."""

OPEN = ("environment", "versions")
"""Keys of objects whose keys depend on the machine."""

BY_NAME = ("values", "parameters")
"""Keys of objects whose keys are names in a graph: they share one path."""


def structure(value: Any, path: str = "$") -> Iterator[tuple[str, str]]:
    """Each path in a JSON value with its type; the elements of an array share one path."""
    if isinstance(value, Mapping):
        yield path, "object"
        last = path.rpartition(".")[2]
        for key, item in value.items():
            if last not in OPEN:
                yield from structure(item, f"{path}.{'*' if last in BY_NAME else key}")
    elif isinstance(value, list):
        yield path, "array"
        for item in value:
            yield from structure(item, f"{path}[]")
    else:
        names = {bool: "boolean", int: "integer", float: "number", str: "string"}
        yield path, names.get(type(value), "null")


def structure_text(value: Any) -> str:
    """A line for each path, with all types that occur there."""
    found: dict[str, set[str]] = {}
    for path, kind in structure(value):
        found.setdefault(path, set()).add(kind)
    return "".join(f"{path}: {' or '.join(sorted(found[path]))}\n" for path in sorted(found))


def flat(value: Any, path: str = "") -> Iterator[str]:
    """A line for each leaf of a JSON schema, without texts for readers."""
    if isinstance(value, Mapping):
        for key in sorted(value):
            is_name = path.endswith(("properties", "$defs"))
            if key not in NO_MATTER or is_name:
                yield from flat(value[key], f"{path}.{key}" if path else key)
    elif isinstance(value, list) and any(isinstance(item, (Mapping, list)) for item in value):
        for number, item in enumerate(value):
            yield from flat(item, f"{path}[{number}]")
    else:
        yield f"{path}: {json.dumps(value)}"


@cases("module, name", RECORDS)
def test_records_that_are_kept(module: str, name: str, goldens: Goldens) -> None:
    schema = msgspec.json.schema(getattr(importlib.import_module(module), name))
    lines = (GENERIC_NAME.sub(r"\1", line) for line in flat(schema))
    goldens.compare(f"schemas/{name}.txt", "".join(f"{line}\n" for line in lines))


def test_the_json_of_a_ledger_and_of_its_page(goldens: Goldens) -> None:
    ledger = transformer_ledger(full=True)
    goldens.compare("schemas/ledger.json.txt", structure_text(json.loads(ledger.to_json())))
    view = json.loads(json.dumps(build_view(ledger)))
    goldens.compare("schemas/page_data.txt", structure_text(view))
    goldens.compare("reports/page.txt", "".join(f"{line}\n" for line in items_of(view)))
    goldens.compare("reports/terminal.txt", to_text(ledger))


def items_of(view: Mapping[str, Any]) -> Iterator[str]:
    """A line for each item of the page's data: texts, figures and positions."""
    for key, value in view.items():
        entries = value if isinstance(value, list) else [value]
        yield from (f"{key}: {json.dumps(item, ensure_ascii=False)}" for item in entries)


BENCH = BenchResult(
    "twice", "twice.py", "twice", "cpu", 4, 160, (Timing("cpu", 3, 1.5, 1.0, 2.0, 0.5),)
)
DIAGNOSIS = Diagnosis((Check("compiler", "ok", "there is one", ""),))


def test_what_commands_print_as_json(
    goldens: Goldens,
    tmp_path: Path,
    repository: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`doctor` and `bench` get recorded results, since they compile and time."""
    monkeypatch.chdir(tmp_path)
    Path("twice.py").write_text(OPERATOR)
    monkeypatch.setattr(doctor, "diagnose", lambda: DIAGNOSIS)
    monkeypatch.setattr(timing, "bench", lambda *_, **__: BENCH)
    operator = ["twice.py", "--input", "4x5:float32", "--backend", "numpy", "--json"]
    calls = {
        "doctor": ["doctor", "--json"],
        "tbe_bench": ["tbe", "bench", *operator],
        "tbe_run": ["tbe", "run", *operator],
        "tbe_run_check": ["tbe", "run", *operator, "--check", "--formula", "data*2"],
    }
    for name, call in calls.items():
        assert main.run(call) == 0, name
        goldens.compare(f"schemas/{name}.txt", structure_text(json.loads(capsys.readouterr().out)))
    dumps = repository / "tests" / "data" / "ms_2_10" / "OpNet_f"
    assert main.run(["read", str(dumps), "--json", "read.json"]) == 0
    ledger = json.loads(Path("read.json").read_text())
    for kernel in ledger["ledger"]["kernels"]:
        kernel.pop(
            "bound", None
        )  # excluded for `memory`: it depends on the measured roofs of this machine
    goldens.compare("schemas/read.txt", structure_text(ledger))
