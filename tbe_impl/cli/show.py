"""Shows an operator as text: graph, loop nests, loop IR, C and report."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tbe_impl.cli.commands import Request, build
from tbe_impl.errors import CompileError, FusionError, MissingError
from tbe_impl.kernel import Kernel
from tbe_impl.kernel_report import ANALYSIS_ERRORS, report_of, schedules_of

if TYPE_CHECKING:
    from tbe_impl.codegen.program import Layout


def show(request: Request, *, ir: bool = False, passes: bool = False) -> str:
    """Returns the graph, loop nests, C code and report of an operator as sections of plain text.

    Args:
        request: the operator and its build arguments.
        ir: whether to include the loop IR before all passes.
        passes: whether to include the loop IR and the changes of each pass.
    """
    from tbe_impl.dsl.graph_display import show as show_graph

    built = build(request)
    kernel = built.kernel
    sections = {
        "graph": show_graph([item.tensor for item in kernel.outputs]),
        "loops": _loops(kernel),
        **({"loop IR": _loop_ir(kernel, passes=passes)} if ir or passes else {}),
        "C": _source(kernel),
        "report": str(report_of(kernel)),
    }
    return "\n".join(f"==== {title} ====\n{text.rstrip()}\n" for title, text in sections.items())


def _loops(kernel: Kernel) -> str:
    from tbe_impl.chip.loop_text import show_loops

    found = []
    for schedule in schedules_of(kernel):
        try:
            found.append(show_loops(schedule))
        except FusionError as error:
            found.append(str(error))
        except ANALYSIS_ERRORS as error:
            found.append(f"its loops cannot be shown: {type(error).__name__}: {error}")
    own = "\n".join(found) or "the operator handed over no schedule"
    return f"{own.rstrip()}\n\n-- on this processor --\n{_nests(kernel)}"


def _nests(kernel: Kernel) -> str:
    """Returns the loop nests of the C code as text, or the reason why there are none."""
    from tbe_impl.codegen.nest_text import show_nests

    return _of_layout(kernel, lambda layout: show_nests(layout, kernel.options))


def _loop_ir(kernel: Kernel, *, passes: bool) -> str:
    """Returns the loop IR of the C code as text, or the reason why there is none."""
    from tbe_impl.codegen.ir_text import show_program

    return _of_layout(
        kernel, lambda layout: show_program(layout.codes, layout.entry, passes=passes)
    )


def _of_layout(kernel: Kernel, text: Callable[[Layout], str]) -> str:
    """Returns the text of a kernel's layout, or the reason why there is none."""
    try:
        layout = kernel.layout
    except CompileError as error:
        return f"there is no C: {error}"
    return "a library computes parts of it" if layout is None else text(layout)


def _source(kernel: Kernel) -> str:
    try:
        return kernel.source
    except (MissingError, CompileError) as error:
        return f"there is no C: {error}"
