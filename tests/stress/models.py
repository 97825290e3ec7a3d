"""Malicious ONNX models: damaged, with external paths, with code as names."""

from __future__ import annotations

import os
import re
from pathlib import Path

import numpy as np
import onnx

from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tbe_impl.errors import FusionError
from tests.ms_fusion.onnx.fuse.models import Builder
from tests.ms_fusion.readers.test_onnx_file import with_data_at
from tests.stress.networks import said
from tests.stress.parts import Row, Stress

PART = 250
LOCATIONS = (
    "/etc/passwd",
    "../outside.bin",
    "below/../../outside.bin",
    "link.bin",
    "linked/data.bin",
    "circle.bin",
    "fifo",
    "/dev/zero",
    "missing.bin",
    "",
)
NUMBERS = ({"offset": "99999999999999999999"}, {"offset": "-4"}, {"length": "4611686018427387904"})
NAMES = (
    'x"y',
    "a\nb",
    "*/ int main(void) {",
    "</script><script>alert(1)</script>",
    "\x1b[31m\x07",
    "../../x",
    "%s%n",
    "'; --",
    "\u202e",
)


def mutated(stress: Stress) -> str:
    """Runs a few hundred per process, so that a crash reports its position."""
    count = stress.times(10_000, 12)
    told = []
    for way in ("bytes", "structure"):
        first = stress.seed * count
        starts = range(first, first + count, PART)
        parts = [(way, str(one), str(min(one + PART, first + count))) for one in starts]
        fused = sum(
            int(lines.split()[2]) for lines in said(stress, "tests.stress.mutated_models", parts)
        )
        told.append(f"{count} by {way}, {fused} fused, the others refused")
    return "; ".join(told)


def elsewhere(stress: Stress) -> str:
    """Reads of external data, and writes of outputs to other places."""
    place = stress.place / "models"
    place.mkdir()
    for one in (stress.place / "outside.bin", place / "data.bin"):
        np.zeros(4, np.float32).tofile(one)
    (place / "link.bin").symlink_to(stress.place / "outside.bin")
    (place / "linked").symlink_to(stress.place)
    (place / "circle.bin").symlink_to(place / "circle.bin")
    os.mkfifo(place / "fifo")
    refused = 0
    for location, more in (
        *((one, {}) for one in LOCATIONS),
        *(("data.bin", one) for one in NUMBERS),
    ):
        model = with_data_at(place / "model.onnx", location, **more)
        refused += _is_refused(model, place / "fused.onnx")
    assert refused == len(LOCATIONS) + len(NUMBERS), f"{refused} refused"
    whole = _net(place / "whole.onnx", "x")
    before = whole.read_bytes()
    (place / "to_input.onnx").symlink_to(whole)
    kernels = place / "kernels"
    kernels.symlink_to(stress.place)
    targets = (
        whole,
        place / "to_input.onnx",
        place / "fifo",
        place / "no" / "fused.onnx",
        place / "fused.onnx",
    )
    for target in targets:
        assert _is_refused(whole, target), f"{target} was written"
    assert whole.read_bytes() == before
    assert not (stress.place / "manifest.json").exists()
    return f"{refused} places read and {len(targets)} written refused"


def _is_refused(model: Path, target: Path) -> bool:
    try:
        auto_fuse(model, target)
    except FusionError:
        return True
    return False


def _net(path: Path, name: str) -> Path:
    """A few operators, with every name derived from `name`."""
    b = Builder({name: ("n", 8)})
    x = b.add("Mul", name, b.add("Sigmoid", b.add("Add", name, b.weight(8))))
    model = b.model(b.add("Relu", b.add("Add", b.add("MatMul", x, b.weight(8, 8)), b.weight(8))))
    new = {
        value: f"{name}{number}"
        for number, value in enumerate(
            dict.fromkeys(one for node in model.graph.node for one in (*node.input, *node.output))
        )
    }
    for node in model.graph.node:
        node.name = f"{name}{node.name}"
        node.input[:] = [new[one] for one in node.input]
        node.output[:] = [new[one] for one in node.output]
    for value in (*model.graph.input, *model.graph.output, *model.graph.initializer):
        value.name = new.get(value.name, value.name)
    onnx.save(model, path)
    return path


def names(stress: Stress) -> str:
    """A model's names never become file names, code, report markup or terminal controls."""
    files = 0
    tried = NAMES[: stress.times(len(NAMES), 4)]
    for number, name in enumerate(tried):
        place = stress.place / f"named{number}"
        place.mkdir()
        ledger = auto_fuse(
            _net(place / "model.onnx", name),
            place / "fused.onnx",
            verify=True,
            report=place / "report.html",
        )
        assert ledger.kernels, "nothing was fused"
        assert {one.name for one in place.iterdir()} == {
            "model.onnx",
            "fused.onnx",
            "kernels",
            "report.html",
        }
        for file in (place / "kernels").rglob("*"):
            files += 1
            assert (
                file.is_dir()
                or file.name == "manifest.json"
                or file.suffix == ".h"
                or re.fullmatch(r"[A-Za-z0-9]+_[0-9a-f]{12}[\w.]*", file.name)
            ), file.name
            assert file.suffix != ".c" or name not in file.read_text("utf-8"), (
                f"{name!r} in {file.name}"
            )
        markup = (place / "report.html").read_text("utf-8")
        assert "<script>alert" not in markup, "a name became a script"
        shown = str(ledger)
        assert not any(mark in shown for mark in ("\x1b[31m", "\x07", "\u202e")), (
            f"{name!r} reaches the terminal"
        )
    return f"{len(tried)} names, {files} files"


ROWS = (
    Row(
        17,
        "mutated ONNX files, 10,000 bytewise and 10,000 structured",
        "0 signals, none over 10 s or 2 GiB, only our error",
        mutated,
    ),
    Row(
        18,
        "external data and outputs: .., absolute, links, fifo, /dev/zero, overflow",
        "all refused, reading and writing",
        elsewhere,
    ),
    Row(19, "names as injections into C, HTML, terminal, file names", "0 break-outs", names),
)
