"""Contains helpers for several commands: log lines, progress, checks of arguments."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from ms_fusion.progress import Milestone, Step
from ms_fusion.report.printable import printable_text
from tbe_impl.errors import InputError

Progress = Callable[[str], None]


class Command(click.Command):
    """A command that refuses arguments and options with a blank value."""

    def parse_args(self, context: click.Context, arguments: list[str]) -> list[str]:
        """Parses the arguments; raises `click.BadParameter` for a blank value."""
        rest = super().parse_args(context, list(arguments))  # click's own errors come first
        given, _, _ = self.make_parser(context).parse_args(list(arguments))
        for parameter in self.params:
            found = given.get(str(parameter.name))
            for text in found if isinstance(found, (list, tuple)) else (found,):
                if isinstance(text, str) and not text.strip():
                    raise _blank_value_error(context, parameter)
        return rest


class Group(click.Group):
    """A group of commands that refuse blank values."""

    command_class = Command
    group_class = type


def _blank_value_error(context: click.Context, parameter: click.Parameter) -> click.BadParameter:
    expected = (getattr(parameter, "help", None) or "a value").rstrip(".")
    remedy = "" if parameter.required else ". Or leave it out"
    return click.BadParameter(f"it is blank; expected: {expected}{remedy}", context, parameter)


def info(text: str) -> None:
    """Print a line of a command's log."""
    click.echo(f"[INFO] {printable_text(text)}")


def record_debug_option(context: click.Context, _: click.Parameter, given: bool) -> bool:
    """Records in the context whether ``--debug`` was given.

    The option may stand before or after the command's name.
    """
    told: dict[str, bool] = context.ensure_object(dict)
    told["debug"] = given or told.get("debug", False)
    return told["debug"]


def check_places(*files: Path | None) -> None:
    """Raises `InputError` if the directory of a file to write is missing.

    Commands call this function before long work.
    """
    for file in files:
        if file is not None and not file.parent.is_dir():
            raise InputError(
                "there is no such directory",
                place=str(file),
                remedy=f"Make it first: mkdir -p {file.parent}",
            )


def check_can_make(directory: Path) -> None:
    """Raises `InputError` if a directory cannot be created.

    Commands call this function before long work. The function creates no directory.
    """
    there = directory.absolute()
    while not there.exists():
        there = there.parent
    number = 0
    if not there.is_dir():
        number = errno.ENOTDIR
    elif not os.access(there, os.W_OK | os.X_OK):
        number = errno.EACCES
    if number:
        raise InputError(
            "the directory cannot be made", place=str(directory), got=os.strerror(number)
        )


@contextmanager
def show_progress() -> Iterator[Progress]:
    """Yields a function that shows the progress of long work.

    If standard error is a terminal, the yielded function shows a bar with the current step. It
    writes each `Milestone` as a log line.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (BarColumn(), TimeElapsedColumn(), TextColumn("{task.description}"))
    with Bar(
        *columns,
        console=console,
        transient=True,
        disable=not console.is_terminal,
        redirect_stdout=sys.stdout.isatty(),
    ) as bar:
        task = bar.add_task("starting", total=None)

        def show(text: str) -> None:
            if isinstance(text, Milestone):
                info(text)
                return
            bar.update(task, description=escape(text))
            if isinstance(text, Step):
                bar.update(task, total=1.0, completed=text.share)

        yield show
