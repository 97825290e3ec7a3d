"""Implements the command `ms-fusion fuse`: only converts arguments to a call."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ms_fusion.cli.command_support import (
    Command,
    check_places,
    info,
    record_debug_option,
    show_progress,
)
from ms_fusion.report.printable import printable_text
from ms_fusion.report.units import decimal_bytes_text, time_text
from tbe_impl.errors import pluralize

if TYPE_CHECKING:
    from ms_fusion.ledger import FusedKernel, Ledger

FILE = click.Path(path_type=Path, dir_okay=False)


@click.command(cls=Command)
@click.option(
    "--input", "source", type=FILE, required=True, help="The ONNX model; it is never changed."
)
@click.option(
    "--output",
    "target",
    type=FILE,
    help="File of the fused model; the directory kernels/ is written beside it.",
)
@click.option(
    "--fusion-rules",
    "rules",
    default="all",
    show_default=True,
    metavar="NAMES",
    help="Names of rules, separated by commas, or all; FILE.py or FILE.py:NAME for your own rules.",
)
@click.option(
    "--opt-level",
    type=click.IntRange(0, 3),
    default=3,
    show_default=True,
    help="0 clean-up only, 1 within operations, 2 across them, 3 everything with search.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="NAME",
    help="Device that will run the model: cpu (measured), ascend910a, ascend910b, ascend310p, or "
    "FILE.json that describes a device.",
)
@click.option(
    "--target",
    "kind",
    type=click.Choice(("any", "ort", "ort-kernels")),
    default="any",
    show_default=True,
    help="any: loads in every ONNX runtime; ort: ONNX Runtime's own operators, where it has them; "
    "ort-kernels: our kernels as a library of custom operators for ONNX Runtime.",
)
@click.option(
    "--assume",
    "assumptions",
    multiple=True,
    metavar="NAME=SIZE[,…]",
    help="NAME=SIZE: assumed value of a size that is known only at run time.  [default: 1]",
)
@click.option(
    "--lower",
    default="",
    metavar="NAMES",
    help="Operators to decompose: Gemm (into MatMul and Add), Conv (into im2col and "
    "MatMul); separated by commas.",
)
@click.option("--dry-run", is_flag=True, help="Decide what to fuse, and write nothing.")
@click.option(
    "--verify",
    is_flag=True,
    help="Run the original and the fused model in ONNX Runtime, and compare the results.",
)
@click.option(
    "--force", is_flag=True, help="Write a model for ONNX Runtime although nothing is gained."
)
@click.option("--report", type=FILE, help="Write the report as one HTML file.")
@click.option(
    "--debug",
    type=bool,
    is_flag=False,
    flag_value=True,
    default=False,
    metavar="[BOOLEAN]",
    callback=record_debug_option,
    help="Write maps from generated code to ONNX nodes beside the kernels; show the whole "
    "traceback of an error.",
)
def fuse(
    source: Path,
    target: Path | None,
    rules: str,
    opt_level: int,
    device: str,
    kind: str,
    assumptions: tuple[str, ...],
    lower: str,
    dry_run: bool,
    verify: bool,
    force: bool,
    report: Path | None,
    debug: bool,
) -> None:
    """Fuse operators of an ONNX model where fusion makes it faster.

    Exit code: 0 done, 2 bad input, 3 already fused (nothing was written).
    """
    from ms_fusion.cli.rule_files import load_rules, plain_rule_names
    from ms_fusion.onnx.fuse.arguments import check_arguments

    check_places(report)
    asked: dict[str, Any] = {
        "opt_level": opt_level,
        "device_name": device,
        "target": kind,
        "assume": dict(
            _parse_assumption(one) for text in assumptions for one in _split_assumptions(text)
        ),
        "lower": lower or (),
        "dry_run": dry_run,
        "report": report,
    }
    check_arguments(source, target, fusion_rules=plain_rule_names(rules), **asked)
    from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
    from ms_fusion.onnx.fuse.ledger_building import UNCHANGED_RUNTIME_WARNING

    with show_progress() as say:
        ledger = auto_fuse(
            source,
            target,
            fusion_rules=load_rules(rules),
            verify=verify,
            force=force,
            debug=debug,
            progress=say,
            **asked,
        )
    for warning in ledger.warnings:
        if warning != UNCHANGED_RUNTIME_WARNING:  # the log reports this warning
            click.echo(f"[WARNING] {printable_text(warning)}", err=True)
    for line in (*_log_lines(ledger, None if dry_run else target, force=force), *ledger.notes):
        info(line)


def _split_assumptions(text: str) -> list[str]:
    """Splits assumptions about symbolic sizes, such as ``n=2,t=16``, at the commas.

    A text with at most one ``=`` is not split, since the name of a size may contain commas.
    """
    return text.split(",") if text.count("=") > 1 else [text]


def _parse_assumption(text: str) -> tuple[str, int]:
    name, _, size = text.partition("=")
    if not name or not size.isdecimal() or not 0 < int(size) < 1 << 31:
        raise click.BadParameter(
            f"{text!r} is not of the form NAME=SIZE with a size above 0", param_hint="--assume"
        )
    return name, int(size)


def _log_lines(ledger: Ledger, written: Path | None, *, force: bool) -> Iterator[str]:
    """Yields log lines about the estimated benefit, the fused kernels, and the written file."""
    from ms_fusion.onnx.fuse.output_files import KERNELS
    from ms_fusion.onnx.ort_library.operator_library import LIBRARY

    told = ledger.environment
    mapped = told.get("operators of ONNX Runtime")
    custom = told.get("custom operators")
    yield from _runner_lines(ledger)
    yield (
        f"Estimated benefit: {decimal_bytes_text(told['saved bytes'])} less traffic, "
        f"{pluralize(told['saved launches'], 'launch', 'launches')} less, "
        f"{time_text(told['saved us'])}."
    )
    yield _traffic_line(ledger)
    if custom is not None:
        operators = sum(len(kernel.nodes) for kernel in _all_kernels(ledger))
        replaced, by = pluralize(operators, "operator"), pluralize(sum(custom.values()), "operator")
        yield f"Replaced {replaced} by {by}{':' * bool(custom)}{'.' * (not custom)}"
        yield from _group_lines(ledger)
    elif mapped is None:
        operators = sum(len(kernel.nodes) for kernel in ledger.kernels)
        kernels = pluralize(len(ledger.kernels), "kernel")
        yield f"Fused {pluralize(operators, 'operator')} into {kernels}."
        for name, alike in groupby(sorted(ledger.kernels, key=_kernel_name), _kernel_name):
            first, *others = alike
            times = f", {len(others) + 1} times" if others else ""
            place = f": {written.parent / KERNELS / name}.c" if written else ""
            yield f"Kernel {name} = {' + '.join(first.operators)}{times}{place}"
    else:
        names = ", ".join(f"{count} × {name}" for name, count in mapped.items())
        groups = sum(mapped.values())
        are = "is ONNX Runtime's operator" if groups == 1 else "are ONNX Runtime's operators"
        yield f"{pluralize(groups, 'group')} {are}{': ' * bool(names)}{names}."
    if written and not told.get("is gain", True) and not force:
        why = "Nothing is gained" if _all_kernels(ledger) else "No group was replaced"
        yield f"{why}, so nothing was written; --force writes the model."
        return
    yield f"Wrote {written}" if written else "Nothing was written."
    if written and custom and any(one.generator == "ms_fusion" for one in _all_kernels(ledger)):
        library = written.parent / KERNELS / LIBRARY
        yield f"Wrote {library}; load it with SessionOptions.register_custom_ops_library."


def _traffic_line(ledger: Ledger) -> str:
    """Returns a line with the bytes moved without fusion and with fusion.

    The line also states the total bytes of inputs, weights and outputs, a lower bound of the bytes
    moved.
    """
    told = ledger.environment
    before, again = ledger.before.bytes_moved, told["read again bytes"]
    after = ledger.after.bytes_moved + again
    return (
        f"Counted: {decimal_bytes_text(before)} moved apart, {decimal_bytes_text(after)} fused, of "
        f"which {decimal_bytes_text(again)} are read again by tiles; inputs, weights and outputs "
        f"alone are {decimal_bytes_text(told['floor bytes'])}."
    )


def _runner_lines(ledger: Ledger) -> Iterator[str]:
    """Yields a line on the runtime of the kernels, and a line on the original and fused times."""
    told = ledger.environment
    version, times = told.get("onnxruntime"), told.get("model times")
    if told.get("custom operators"):
        yield f"ONNX Runtime {version} runs the kernels, as operators of a library."
    elif told.get("operators of ONNX Runtime"):
        yield f"ONNX Runtime {version} runs the model with its own operators."
    elif ledger.kernels:
        yield "ONNX Runtime runs the model as before; its kernels run in `ms_fusion.from_onnx`."
    if times and (ledger.kernels or ledger.single_operator_kernels):
        before, after = times["original"], times["fused"]
        yield (
            f"Measured in ONNX Runtime {version}: original {time_text(before)}, fused "
            f"{time_text(after)}, {before / after:.2f} times as fast."
        )


def _group_lines(ledger: Ledger) -> Iterator[str]:
    """Yields a line for each kernel name, with operators, number of kernels, and measured times."""
    for name, alike in groupby(sorted(_all_kernels(ledger), key=_kernel_name), _kernel_name):
        first, *others = alike
        times = f", {len(others) + 1} times" if others else ""
        before, now = time_text(first.unfused_time_us or 0.0), time_text(first.time_us or 0.0)
        yield f"  {name} = {' + '.join(first.operators)}{times}: {before} before, {now} now"


def _all_kernels(ledger: Ledger) -> tuple[FusedKernel, ...]:
    return (*ledger.kernels, *ledger.single_operator_kernels)


def _kernel_name(kernel: FusedKernel) -> str:
    return kernel.name
