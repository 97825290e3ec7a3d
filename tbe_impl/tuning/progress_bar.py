"""Shows the progress bar of the tuner."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[float, str], None]
"""A callback with two arguments: the elapsed seconds, and a string that describes the progress."""


@contextmanager
def show_progress(name: str, seconds: float, *, shown: bool) -> Iterator[Progress]:
    """Context manager that yields a progress callback.

    The callback updates a progress bar on the error stream. If `shown` is false or the error stream
    is not a terminal, the callback does nothing.
    """
    if not shown or not sys.stderr.isatty():
        yield lambda elapsed, text: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("tuning {task.fields[kernel]}"),
        BarColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as shown_bar:
        task = shown_bar.add_task("", total=seconds, kernel=name, best="")
        yield lambda elapsed, text: shown_bar.update(task, completed=elapsed, best=text)
