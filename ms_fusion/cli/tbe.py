"""Implements the commands `ms-fusion tbe`: only converts arguments to calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from ms_fusion.cli.command_support import Group
from tbe_impl.backends import RUNNABLE_NAMES

if TYPE_CHECKING:
    from tbe_impl.cli.commands import Request


@click.group(cls=Group)
def tbe() -> None:
    """Run operators written in the TBE DSL, unchanged, on this machine."""


def operator_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the operator and its build."""
    options = (
        click.argument("target", metavar="FILE.py:OPERATOR"),
        click.option(
            "--input",
            "inputs",
            multiple=True,
            metavar="SPEC",
            help="One for each input: 16x32:float16, :int32 (a scalar) or file.npy; a format "
            "may follow: 1x1x4x4x16:float16:NC1HWC0. -1x128@64x128:float32: the "
            "operator is built for an unknown first size, the array has 64.",
        ),
        click.option(
            "--attr",
            "attributes",
            multiple=True,
            metavar="NAME=VALUE",
            help="An attribute: beta=1.5, axis=0,1, keep_dims=true.",
        ),
        click.option(
            "--output",
            "outputs",
            multiple=True,
            metavar="SPEC",
            help="One for each output.  [default: inferred from the inputs]",
        ),
        click.option(
            "--soc",
            default="Ascend910A",
            show_default=True,
            help="Target chip; cpu has no limits.",
        ),
        click.option(
            "--search-path",
            "search_path",
            multiple=True,
            metavar="DIR",
            type=click.Path(exists=True, file_okay=False),
            help="Directory of the operator's own packages.  [default: the parent of the impl "
            "that FILE.py is in]",
        ),
        click.option(
            "--backend",
            type=click.Choice(RUNNABLE_NAMES),
            default=RUNNABLE_NAMES[0],
            show_default=True,
            help="cpu: compiled C; numpy: NumPy, one DSL operation after the other.",
        ),
        click.option(
            "--seed",
            type=click.IntRange(min=0),
            default=0,
            show_default=True,
            help="Seed of the random arrays.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")


@tbe.command("run")
@operator_options
@click.option(
    "--check",
    is_flag=True,
    help="Compare with the definition in float64, and with the operator's formula if it is known.",
)
@click.option(
    "--formula", metavar="TEXT", help='Compare with this formula, too: "x/(1+exp(-beta*x))".'
)
@json_option
def run_command(check: bool, formula: str | None, as_json: bool, **options: Any) -> int:
    """Run an operator on random arrays.

    OPERATOR may be omitted if the file has one. Exit code: 0 done, 1 a check failed, 2 error.
    """
    from tbe_impl.cli.formula_text import parse_formula

    if formula is not None:
        parse_formula(formula)
    wanted = build_request(**options)
    from tbe_impl.cli.commands import run

    found = run(wanted, check=check, formula=formula)
    show(found, "render_run", as_json=as_json, exit_code=found.exit_code)
    return found.exit_code


@tbe.command("show")
@operator_options
@click.option("--ir", is_flag=True, help="Print the loop IR between the loop nest and the C.")
@click.option("--passes", is_flag=True, help="Print the loop IR and what each pass changes in it.")
def show_command(ir: bool, passes: bool, **options: Any) -> None:
    """Print an operator's graph, loop nest, C and report."""
    wanted = build_request(**options)
    from tbe_impl.cli.show import show as show_operator

    click.echo(show_operator(wanted, ir=ir, passes=passes), nl=False)


@tbe.command("bench")
@operator_options
@click.option(
    "--loop",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Number of calls of the kernel.",
)
@json_option
def bench_command(loop: int, as_json: bool, **options: Any) -> None:
    """Time an operator, its NumPy definition and a copy of its data."""
    wanted = build_request(**options)
    from tbe_impl.cli.timing import bench

    show(bench(wanted, loop=loop), "render_bench", as_json=as_json)


def build_request(attributes: tuple[str, ...], **options: Any) -> Request:
    """Converts the command-line options into a `Request` to build an operator."""
    from ms_fusion.cli.tbe_request import attribute_of, request_of

    return request_of(attributes=[attribute_of(text) for text in attributes], **options)


def show(found: Any, renderer: str, *, as_json: bool, **more: Any) -> None:
    """Print a result: as JSON, coloured on a terminal, or as plain text into a file or pipe."""
    from rich.console import Console

    from ms_fusion.report import operator_text
    from ms_fusion.report.text import plain_text

    console, render = Console(), getattr(operator_text, renderer)
    if as_json:
        click.echo(operator_text.to_json_text(found, **more))
    elif console.is_terminal:
        render(found, console)
    else:
        click.echo(plain_text(render, found, width=operator_text.PLAIN_WIDTH))
