"""Lists and runs the passes on the loop IR of a nest, in order.

Each pass is a pure function from statements to statements. `Pass.macro` names the macro of the
headers that limits a pass to some processors. The C code then contains both the code after this
pass and the code without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from tbe_impl import environment
from tbe_impl.codegen.loop_ir import For, Function, Stmt, VectorLoop, map_statements
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.accumulators import add_accumulators
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable
from tbe_impl.codegen.passes.loop_coalescing import coalesce_loops
from tbe_impl.codegen.passes.loop_fission import fission_into_strips
from tbe_impl.codegen.passes.prefetching import prefetch_rows
from tbe_impl.codegen.passes.software_pipelining import pipeline_rows
from tbe_impl.codegen.passes.streaming_store_edges import join_row_edges
from tbe_impl.codegen.passes.table_loops import add_table_loop
from tbe_impl.codegen.passes.unroll_and_jam import jam_rows
from tbe_impl.codegen.passes.vector_loops import expand_vector_loop
from tbe_impl.codegen.passes.vector_tails import add_ends
from tbe_impl.errors import InputError
from tbe_impl.records import Record

Body = tuple[Stmt, ...]


class NestFacts(Record):
    """Facts about a nest that passes use, in addition to the statements of the nest.

    Attributes:
        options: code generation options.
        cells: lookup table of the function that the nest computes; None if there is none.
        is_scheduled: whether a schedule fixes all loops of the nest.
    """

    options: Options
    cells: HalfLookupTable | None = None
    is_scheduled: bool = False


class Pass(Record):
    """A pass on the loop IR of a nest, and the condition under which the pass runs.

    Attributes:
        name: name of the pass.
        transform: function from the statements of a nest and its `NestFacts` to new statements.
        is_asked: function from `NestFacts` to a bool, which states whether to run the pass. None
            for a pass that always runs, because the generated code needs the pass.
        macro: macro of the headers that limits the pass to some processors; empty for none.
    """

    name: str
    transform: Callable[[Body, NestFacts], Body]
    is_asked: Callable[[NestFacts], bool] | None = None
    macro: str = ""


def _on_vector_loops(change: Callable[[VectorLoop], Stmt]) -> Callable[[Body, NestFacts], Body]:
    def transform(body: Body, facts: NestFacts) -> Body:
        return map_statements(
            body,
            lambda node: (change(node) if isinstance(node, VectorLoop) else node,),
            frozenset({VectorLoop}),
        )

    return transform


def _add_table_loops(body: Body, facts: NestFacts) -> Body:
    assert facts.cells is not None
    return _on_vector_loops(functools.partial(add_table_loop, cells=facts.cells))(body, facts)


PASSES = (
    Pass(
        "loop-coalescing",
        lambda body, facts: map_statements(
            body, lambda node: (coalesce_loops(node),), frozenset({For})
        ),
    ),
    Pass("unroll-and-jam", lambda body, facts: jam_rows(body), lambda facts: True),
    Pass("accumulators", lambda body, facts: add_accumulators(body), lambda facts: True),
    Pass(
        "prefetching",
        lambda body, facts: prefetch_rows(body),
        lambda facts: facts.options.prefetch and not facts.is_scheduled,
    ),
    Pass("vector-tails", _on_vector_loops(add_ends)),
    Pass("streaming-store-edges", lambda body, facts: join_row_edges(body), lambda facts: True),
    Pass(
        "loop-fission",
        _on_vector_loops(fission_into_strips),
        lambda facts: facts.options.loop_fission,
        "LOOP_FISSION",
    ),
    Pass("table-loops", _add_table_loops, lambda facts: facts.cells is not None, "FLOAT16_TABLES"),
    Pass(
        "software-pipelining",
        lambda body, facts: pipeline_rows(body),
        lambda facts: facts.options.software_pipelining,
        "SOFTWARE_PIPELINING",
    ),
    Pass("vector-loops", _on_vector_loops(expand_vector_loop)),
)


def disabled_passes() -> frozenset[str]:
    """Returns the names of the passes that the environment switches off.

    Raises:
        InputError: a name is unknown, or the code needs the pass of this name.
    """
    names = frozenset(filter(None, environment.DISABLE_PASS.read().replace(" ", "").split(",")))
    known = [item.name for item in PASSES if item.is_asked is not None]
    if not names <= set(known):
        raise InputError(
            "unknown value of an environment variable",
            place=environment.DISABLE_PASS.name,
            expected=", ".join(known),
            got=", ".join(sorted(names - set(known))),
        )
    return names


def run_passes(function: Function, facts: NestFacts) -> Function:
    """Runs all passes on the function of a nest, and returns the new function."""
    for _, after in iterate_passes(function, facts):
        function = after
    return function


def iterate_passes(
    function: Function, facts: NestFacts, passes: Sequence[Pass] = PASSES
) -> Iterator[tuple[Pass, Function]]:
    """Runs passes on the function of a nest; yields each pass and the function after it.

    `passes` may omit optional passes. It may reorder the passes between ``vector-tails`` and
    ``vector-loops``.
    """
    disabled = disabled_passes()
    for item in passes:
        if item.is_asked is None or (item.is_asked(facts) and item.name not in disabled):
            function = replace(function, body=item.transform(function.body, facts))
            yield item, function
