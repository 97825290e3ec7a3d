"""Defines the commands of `ms-fusion`: only converts arguments to calls.

Each command checks its arguments before it imports NumPy, ONNX or MindSpore, so that it refuses
invalid arguments quickly.

Exit codes:

- 0: done;
- 1: done with findings (`doctor`, `lint-flags`, `cache verify`, `tbe run --check`);
- 2: not done, for a reason that one sentence on standard error names, with the remedy;
- 3: not done, since `fuse` had already fused the model;
- 130: interrupted, as by Ctrl-C.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ms_fusion import __version__
from ms_fusion.cli.ascendc import ascendc
from ms_fusion.cli.command_support import (
    Group,
    check_can_make,
    check_places,
    record_debug_option,
    show_progress,
)
from ms_fusion.cli.fuse import fuse
from ms_fusion.cli.tbe import tbe
from ms_fusion.report.printable import printable_text
from ms_fusion.target import require_mindspore
from tbe_impl.errors import FusionError, pluralize

if TYPE_CHECKING:
    from ms_fusion.cli.doctor import Diagnosis
    from ms_fusion.ledger import Ledger

STYLES = {"ok": "green", "hint": "cyan", "warning": "yellow", "broken": "bold red"}
DEVICE = click.Choice(["CPU", "GPU", "Ascend"])
EXIT_CODES = {"already-fused": 3}
"""A dict from an error's code to its exit code; all other errors have exit code 2."""


@click.group(
    cls=Group,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="ms-fusion")
@click.option(
    "--debug",
    is_flag=True,
    callback=record_debug_option,
    help="Show the whole traceback of an error; with fuse, write line maps, too.",
)
def cli(debug: bool) -> None:
    """Operator fusion in MindSpore: see it, prove it, control it."""


@cli.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def doctor(as_json: bool) -> int:
    """Check this machine; really fuse a small net.

    Exit code: 0 all fine, 1 warnings, 2 broken.
    """
    from ms_fusion.cli.doctor import diagnose

    with show_progress() as say:
        say("checking, and fusing a small net")
        found = diagnose()
    if as_json:
        click.echo(found.to_json())
    else:
        show_diagnosis(found)
    return found.exit_code


@cli.command()
@click.option(
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("build/demo"),
    show_default=True,
    help="Directory of the report.",
)
def demo(output: Path) -> None:
    """Explain a real transformer block and write its report."""
    check_can_make(output)
    require_mindspore()
    from ms_fusion.cli.demo import last_line, run_demo

    with show_progress() as say:
        ledger = run_demo(output, progress=say)
    print_ledger(ledger)
    click.echo(last_line(ledger, output))


def report_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the two report files of a ledger."""
    file = click.Path(path_type=Path, dir_okay=False)
    command = click.option("--json", "json_file", type=file, help="Write the ledger as JSON.")(
        command
    )
    return click.option("--html", "html_file", type=file, help="Write the report as one file.")(
        command
    )


@cli.command()
@click.argument("target", metavar="FILE.py:NET")
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="SPEC",
    help="One for each input: 64x128:float32, :int32 (a scalar) or file.npy.",
)
@click.option("--preset", default="auto", show_default=True, help="See `ms-fusion presets`.")
@click.option("--flags", help="Graph kernel flags, merged into the preset's.")
@click.option("--only-flags", help="Graph kernel flags instead of a preset's.")
@click.option(
    "--generator",
    type=click.Choice(["ms_fusion", "mindspore"]),
    help="Generator that builds the kernels.  [default: ms_fusion on CPU]",
)
@click.option("--measure/--no-measure", default=True, help="Time each kernel, too.  [default: on]")
@click.option("--accuracy/--no-accuracy", default=True, help="Compare with float64.  [default: on]")
@report_options
def explain(
    target: str,
    inputs: tuple[str, ...],
    preset: str,
    flags: str | None,
    only_flags: str | None,
    generator: str | None,
    measure: bool,
    accuracy: bool,
    html_file: Path | None,
    json_file: Path | None,
) -> None:
    """Report which operators of NET are fused, and why the others are not.

    NET is a Cell class without constructor arguments, a Cell, a function of the inputs, or a
    function without arguments that returns one of these.
    """
    from ms_fusion.capture.arguments import check_arguments

    check_places(html_file, json_file)
    check_arguments(target, inputs, preset=preset, flags=flags, only_flags=only_flags)
    from ms_fusion.capture.explain_net import explain_target

    with show_progress() as say:
        ledger = explain_target(
            target,
            inputs,
            preset=preset,
            flags=flags,
            only_flags=only_flags,
            generator=generator,
            measure=measure,
            accuracy=accuracy,
            progress=say,
        )
    show_ledger(ledger, html_file, json_file)


@cli.command()
@click.argument("directory", metavar="DUMP_DIR", type=click.Path(path_type=Path))
@click.option(
    "--flags",
    help="The graph kernel flags of that run.  [default: those recorded in ms_fusion.json]",
)
@click.option(
    "--device",
    type=DEVICE,
    help="Device of that run.  [default: as recorded beside the dumps, else guessed]",
)
@report_options
def read(
    directory: Path,
    flags: str | None,
    device: str | None,
    html_file: Path | None,
    json_file: Path | None,
) -> None:
    """Report what is fused in MindSpore's graph dumps, from any machine.

    DUMP_DIR is where MindSpore wrote its graphs (MS_DEV_SAVE_GRAPHS=2). MindSpore itself is not
    needed.
    """
    from ms_fusion.readers.dumps import check_directory

    check_places(html_file, json_file)
    check_directory(directory)
    from ms_fusion.capture.dump_ledger import read as read_dumps

    show_ledger(read_dumps(directory, flags=flags, device=device), html_file, json_file)


@cli.command()
@click.argument("name", required=False)
@click.option("--device", type=DEVICE, default="CPU", show_default=True)
@click.option("--version", help="MindSpore's version.  [default: the installed one, else 2.10.0]")
@click.option(
    "--yaml", "as_yaml", is_flag=True, help="Print a block to paste into a configuration."
)
def presets(name: str | None, device: str, version: str | None, as_yaml: bool) -> None:
    """List the presets, or show what one of them sets."""
    from ms_fusion.cli.doctor import version_of
    from ms_fusion.mindspore.flags.preset_table import (
        PRESETS,
        is_built_by_own_generator,
        resolve,
        to_yaml,
    )

    version = version or version_of("mindspore") or "2.10.0"
    if as_yaml:
        click.echo(to_yaml(name or "auto", device=device, version=version), nl=False)
        return
    if name is None:
        for preset in PRESETS.values():
            click.echo(f"{preset.name:<12}{preset.summary}")
        return
    own = resolve(name, device=device, version=version).render()
    click.echo(f"{name}: {PRESETS[name].summary}")
    if PRESETS[name].note:
        click.echo(PRESETS[name].note)
    where = f"{device}, MindSpore {version}"
    if device == "CPU" and is_built_by_own_generator(name):
        ours = resolve(name, device=device, version=version, generator="ms_fusion").render()
        click.echo(f"{where}, built by us (in force by `mf.enable` only): {ours}")
        where += ", built by MindSpore's own generator"
    click.echo(f"{where}: {own}")


@cli.command("lint-flags", context_settings={"ignore_unknown_options": True})
@click.argument("flags", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("--device", type=DEVICE, default="CPU", show_default=True)
def lint_flags(flags: tuple[str, ...], device: str) -> int:
    """Report errors in graph kernel flags.

    Exit code: 0 no errors, 1 errors.
    """
    from ms_fusion.mindspore.flags.lint import lint

    found = lint(" ".join(flags), device=device)
    for item in found:
        click.echo(f"{item.severity}: column {item.column}: {printable_text(item.message)}")
        if item.remedy:
            click.echo(f"  {printable_text(item.remedy)}")
    wrong = [item for item in found if item.severity != "note"]
    if not found:
        click.echo("nothing wrong")
    return 1 if wrong else 0


@cli.group()
def cache() -> None:
    """List, check and clear the compiled kernels on disk."""


@cache.command("ls")
def cache_ls() -> None:
    """List all entries, least recently used first, and the tuning results."""
    from datetime import datetime

    from ms_fusion.mindspore.presets import net_choices
    from tbe_impl import tuning_store
    from tbe_impl.runtime.store import Store

    for entry in Store().entries():
        if not entry.kind.is_measured:
            used = datetime.fromtimestamp(entry.used).isoformat(" ", "seconds")
            click.echo(
                f"{entry.key[:16]}  {entry.kind.name:<8}  {entry.bytes:>10,} bytes  used {used}"
            )
    for key, kernel in tuning_store.records():
        click.echo(f"{key[:16]}  tuned kernel {printable_text(kernel.line())}")
    for key, net in net_choices.records():
        click.echo(f"{key[:16]}  tuned net {printable_text(net.line())}")


@cache.command("info")
def cache_info() -> None:
    """Print the directory of the cache, its size and its limit."""
    from tbe_impl.environment import printable_path
    from tbe_impl.runtime.store import Store
    from tbe_impl.runtime.store_kinds import KINDS

    found = Store().info()
    click.echo(f"directory  {printable_path(found.root)}")
    for kind in KINDS:
        click.echo(f"{kind.name:<9}  {found.entries[kind.name]}")
    click.echo(f"bytes      {found.bytes:,} of {found.limit_bytes:,}")
    click.echo(f"free       {found.free_bytes:,}")
    if found.problem:
        click.echo(f"not used   {found.problem}")


@cache.command("clear")
@click.option(
    "--tuned", "only_tuned", is_flag=True, help="Remove the tuning results instead of the kernels."
)
def cache_clear(only_tuned: bool) -> None:
    """Remove all compiled kernels; tuning results stay."""
    from tbe_impl.runtime.store import Store
    from tbe_impl.runtime.store_kinds import CHOICES, KERNELS, TUNINGS

    if only_tuned:
        click.echo(f"removed {pluralize(len(Store().clear(TUNINGS, CHOICES)), 'record')} of tuning")
    else:
        kernels = sum(entry.kind == KERNELS for entry in Store().clear())
        click.echo(f"removed {pluralize(kernels, 'kernel')}")


@cache.command("verify")
def cache_verify() -> int:
    """Check every entry. Exit code: 0 all valid, 1 some invalid (they are never used)."""
    from tbe_impl.runtime.store import Store

    cache = Store()
    wrong = cache.verify()
    for entry, reason in wrong:
        click.echo(f"{entry.key[:16]}  {entry.kind.name:<8}  {reason}")
    click.echo(f"{len(cache.entries()) - len(wrong)} sound, {len(wrong)} not")
    return 1 if wrong else 0


cli.add_command(tbe)
cli.add_command(ascendc)
cli.add_command(fuse)


def show_ledger(ledger: Ledger, html_file: Path | None, json_file: Path | None) -> None:
    """Print a ledger and write the requested files."""
    if html_file is not None:
        ledger.to_html(html_file)
    if json_file is not None:
        ledger.to_json(json_file)
    print_ledger(ledger)
    for file in filter(None, (html_file, json_file)):
        click.echo(f"report: {file}")


def print_ledger(ledger: Ledger) -> None:
    """Print a ledger: in colour on a terminal, or as plain text into a file or pipe."""
    from rich.console import Console

    from ms_fusion.report.text import render_text

    console = Console()
    if console.is_terminal:
        render_text(ledger, console)
    else:
        click.echo(str(ledger))


def show_diagnosis(found: Diagnosis) -> None:
    """Print a diagnosis as a table."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 2))
    for check in found.checks:
        what = Text(printable_text(check.what))
        if check.remedy:
            what.append(f"\n→ {printable_text(check.remedy)}", "dim")
        table.add_row(Text(check.status, STYLES[check.status]), check.name, what)
    Console().print(table)
    verdict = ("everything is fine", "it works, with warnings", "fusion does not work here")
    click.echo(verdict[found.exit_code])


def run(arguments: list[str]) -> int:
    """Runs the program and returns its exit code; reports an error in one sentence."""
    told: dict[str, bool] = {}
    try:
        return int(cli.main(arguments, prog_name="ms-fusion", standalone_mode=False, obj=told) or 0)
    except click.exceptions.Abort:
        return fail("interrupted", 130)
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return 2
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "ms-fusion"
        return fail(f"{error.format_message().rstrip('.')}. See: {path} --help")
    except FusionError as error:
        if told.get("debug"):
            raise
        return fail(str(error), EXIT_CODES.get(error.code, 2))
    except Exception as error:
        if told.get("debug"):
            raise
        lines = str(error).splitlines() or [""]
        return fail(f"{type(error).__name__}: {lines[0]} (run ms-fusion --debug … to see where).")


def fail(sentence: str, code: int = 2) -> int:
    """Prints an error in one line, with escaped control characters; returns the exit code."""
    click.echo(f"ms-fusion: {printable_text(sentence)}", err=True)
    return code


def main() -> None:
    """Runs `ms-fusion`; entry point of `ms-fusion` and of `python -m ms_fusion`."""
    sys.exit(run(sys.argv[1:]))
