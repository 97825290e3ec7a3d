"""Explains the fusion of a transformer block and writes the report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ms_fusion.capture.explain_net import explain_target
from ms_fusion.ledger import Ledger
from tbe_impl.errors import InputError

NET = Path(__file__).with_name("demo_block.py")
INPUT = "8x128x256:float32"


def run_demo(output: Path, *, progress: Callable[[str], None] | None = None) -> Ledger:
    """Explains the transformer block in `ms_fusion.cli.demo_block` and writes its reports.

    The reports are ``fusion.html`` and ``fusion.json`` in the directory `output`.

    Args:
        output: a directory, which is created if it does not exist.
        progress: function that is called with a short message before each long step.

    Raises:
        InputError: the directory cannot be created.
        MissingError: MindSpore is not installed.
        CaptureError: MindSpore could not compile or run the block.
    """
    ledger = explain_target(f"{NET}:Block", (INPUT,), progress=progress)
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            "the directory cannot be made", place=str(output), got=error.strerror
        ) from error
    ledger.to_html(output / "fusion.html")
    ledger.to_json(output / "fusion.json")
    return ledger


def last_line(ledger: Ledger, output: Path) -> str:
    """Returns a line with the numbers of fused kernels and operators, and the report's path."""
    operators = sum(len(kernel.operators) for kernel in ledger.kernels)
    return (
        f"fused kernels: {len(ledger.kernels)}, operators: {operators}, "
        f"report: {output / 'fusion.html'}"
    )
