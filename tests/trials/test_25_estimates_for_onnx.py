"""An estimate for an ONNX model states its assumptions first."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from ms_fusion import cost
from ms_fusion.cli.main import run
from ms_fusion.ledger import Ledger
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.report.text import to_text
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder


def gate(path: Path, *shape: int | str) -> Path:
    b = Builder({"x": shape})
    return b.save(path, b.add("Mul", "x", b.add("Sigmoid", "x")))


def fused(path: Path, **options: object) -> Ledger:
    return auto_fuse(path, dry_run=True, **options)  # type: ignore[arg-type]


@cases("written", [False, True])
def test_the_command_says_first_who_runs_the_kernels(
    written: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = gate(tmp_path / "gate.onnx", 64, 256)
    where = ["--output", str(tmp_path / "fused.onnx")] if written else ["--dry-run"]
    assert (
        run(["fuse", "--input", str(source), *where, "--report", str(tmp_path / "fusion.html")])
        == 0
    )
    said = capfd.readouterr().out
    first = said.index("ONNX Runtime runs the model as before")
    assert first < said.index("less traffic") and "ms_fusion.from_onnx" in said[first:]
    page = (tmp_path / "fusion.html").read_text("utf-8")
    assert (
        0
        < page.index("ONNX Runtime runs the fused model as before")
        < page.index('class="metrics"')
    )


def test_the_report_begins_with_the_assumption(tmp_path: Path) -> None:
    ledger = fused(gate(tmp_path / "gate.onnx", 64, 256))
    lines = to_text(ledger, width=200).splitlines()
    assert lines[2].startswith("Warning: ONNX Runtime runs the fused model as before")
    assert "ONNX Runtime runs the fused model as before" in ledger._repr_html_()
    again = Ledger.from_json(ledger.to_json())
    assert again.warnings == ledger.warnings and len(again.warnings) == 1
    assert fused(tmp_path / "gate.onnx", opt_level=0).warnings == (), "nothing was fused"


@cases(
    "shape, assume, says",
    [
        ((64, 256), {}, ""),
        (("n", 256), {}, "(x: n). Give them: --assume n=…."),
        (("n", "t"), {}, "(x: n, t). Give them: --assume n=…,t=…."),
        (("n", "t"), {"n": 8}, "(x: t). Give them: --assume t=…."),
        (("n", "t"), {"n": 8, "t": 16}, ""),
        (
            ("n", 3, "h", "w"),
            {},
            "x looks like an image. Give them: --assume n=1,h=224,w=224.",
        ),
        (("n", "t", 64), {}, "x looks like a sequence. Give them: --assume n=1,t=128."),
    ],
)
def test_unknown_sizes_are_asked_for(
    shape: tuple[int | str, ...],
    assume: dict[str, int],
    says: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    with tempfile.TemporaryDirectory() as place:
        source = gate(Path(place) / "gate.onnx", *shape)
        told = [text for text in fused(source, assume=assume).warnings if "Unknown sizes" in text]
        options = (
            ["--assume", ",".join(f"{name}={size}" for name, size in assume.items())]
            if assume
            else []
        )
        capfd.readouterr()
        assert run(["fuse", "--input", str(source), "--dry-run", *options]) == 0
    out, err = capfd.readouterr()
    if says:
        assert len(told) == 1 and told[0].endswith(says)
        assert told[0].startswith(
            "Unknown sizes of inputs count as 1 in the estimate, and as 3 in runs"
        )
        assert f"[WARNING] {told[0]}\n" in err
    else:
        assert told == [] and "[WARNING]" not in err
    assert out.startswith("[INFO] ")


def linear(path: Path, *, turned: bool) -> Path:
    """x Wᵀ + b, then a gate; the weight transposed in the model or beforehand, and with a product
    as another reader.
    """
    b = Builder({"x": (2, 64, 512), "z": (16, 1024)})
    shared = b.weight(1024, 512)
    weight = b.add("Transpose", shared, perm=[1, 0]) if turned else b.weight(512, 1024)
    product = b.add("Add", b.add("MatMul", "x", weight), b.weight(1024))
    gated = b.add("Mul", product, b.add("Sigmoid", product))
    return b.save(path, gated, b.add("MatMul", "z", shared))


def test_transposing_a_weight_is_no_benefit(tmp_path: Path) -> None:
    """A runtime does it once, when it loads the model."""
    plain = fused(linear(tmp_path / "plain.onnx", turned=False))
    turned = fused(linear(tmp_path / "turned.onnx", turned=True))
    for name in ("saved bytes", "saved launches"):
        assert turned.environment[name] == plain.environment[name], name
    assert turned.environment["saved us"] == pytest.approx(plain.environment["saved us"])
    for one in ("launches", "bytes_moved"):
        assert getattr(turned.before, one) == getattr(plain.before, one)
        assert getattr(turned.after, one) == getattr(plain.after, one)
    assert any("compute with weights alone" in note for note in turned.notes)


def test_a_weight_that_is_only_transposed_is_no_candidate(tmp_path: Path) -> None:
    b = Builder({"x": (2, 64, 512), "z": (16, 1024)})
    shared = b.weight(1024, 512)
    turned = b.add("MatMul", "x", b.add("Transpose", shared, perm=[1, 0]))
    ledger = fused(b.save(tmp_path / "net.onnx", turned, b.add("MatMul", "z", shared)))
    assert (ledger.kernels, ledger.environment["saved us"]) == ((), 0)


@cases(
    "op, inputs, beforehand",
    [
        ("Transpose", ("w",), True),
        ("Add", ("w", "v"), True),
        ("Add", ("w", "x"), False),
        ("RandomNormalLike", ("w",), False),
        ("Dropout", ("w",), False),
    ],
)
def test_what_computes_with_weights_alone_runs_once(
    op: str, inputs: tuple[str, ...], beforehand: bool
) -> None:
    from ms_fusion.graph import Graph, Node, Value

    kinds = {"w": "parameter", "v": "constant", "x": "input", "y": "result", "z": "result"}
    values = {name: Value(name, (4, 4), "float32", kind) for name, kind in kinds.items()}
    nodes = (Node("a", op, inputs, ("y",)), Node("b", "Neg", ("y",), ("z",)))
    graph = Graph("g", nodes, values, ("x", "w", "v"), ("z",))
    assert cost.constant_foldable_nodes(graph) == (frozenset("ab") if beforehand else frozenset())
