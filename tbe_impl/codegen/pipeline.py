"""Lists and runs the passes on the loop IR of a nest, in order.

Each pass is a pure function from statements to statements. `Pass.macro` names the macro of the
headers that limits a pass to some processors. The C code then contains both the code after this
pass and the code without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from tbe_impl import environment
from tbe_impl.codegen.loop_ir import For, Function, Node, Stmt, VectorLoop, map_statements
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.accumulators import add_accumulators, limit_accumulators
from tbe_impl.codegen.passes.common_subexpressions import merge_equal_values
from tbe_impl.codegen.passes.half_precision_tables import HalfLookupTable
from tbe_impl.codegen.passes.loop_coalescing import coalesce_loops
from tbe_impl.codegen.passes.loop_fission import fission_into_strips
from tbe_impl.codegen.passes.loop_interchange import interchange_rows
from tbe_impl.codegen.passes.loop_invariant_code_motion import hoist_invariants
from tbe_impl.codegen.passes.loop_restriction import restrict_function
from tbe_impl.codegen.passes.prefetching import prefetch_rows
from tbe_impl.codegen.passes.row_buffers import buffer_rows
from tbe_impl.codegen.passes.software_pipelining import pipeline_rows
from tbe_impl.codegen.passes.streaming_store_edges import join_row_edges
from tbe_impl.codegen.passes.table_loops import add_table_loop
from tbe_impl.codegen.passes.tile_packing import pack_tiles
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
        row_values: maps each variable whose value is worth a row buffer to the ``id`` of its stage.
    """

    options: Options
    cells: HalfLookupTable | None = None
    is_scheduled: bool = False
    row_values: Mapping[str, int] = field(default_factory=dict)


class Pass(Record):
    """A pass on the loop IR of a nest, and the condition under which the pass runs.

    Attributes:
        name: name of the pass.
        transform: function from a function and the `NestFacts` of its nest to the new function.
        is_asked: function from `NestFacts` to a bool, which states whether to run the pass. None
            for a pass that always runs, because the generated code needs the pass.
        macro: macro of the headers that limits the pass to some processors; empty for none.
    """

    name: str
    transform: Callable[[Function, NestFacts], Function]
    is_asked: Callable[[NestFacts], bool] | None = None
    macro: str = ""


def _on_body(change: Callable[[Body], Body]) -> Callable[[Function, NestFacts], Function]:
    return lambda function, facts: replace(function, body=change(function.body))


def _on_statements(
    kind: type[Node], change: Callable[..., Stmt]
) -> Callable[[Function, NestFacts], Function]:
    def change_one(node: Stmt) -> tuple[Stmt]:
        return (change(node) if isinstance(node, kind) else node,)

    return _on_body(lambda body: map_statements(body, change_one, frozenset({kind})))


def _add_table_loops(function: Function, facts: NestFacts) -> Function:
    assert facts.cells is not None
    add = functools.partial(add_table_loop, cells=facts.cells)
    return _on_statements(VectorLoop, add)(function, facts)


def _buffer_rows(function: Function, facts: NestFacts) -> Function:
    body = buffer_rows(function.body, facts.row_values, facts.options.offset)
    return replace(function, body=body)


PASSES = (
    Pass("loop-invariant-code-motion", _on_body(hoist_invariants), lambda facts: True),
    Pass("common-subexpressions", _on_body(merge_equal_values), lambda facts: True),
    Pass("row-buffers", _buffer_rows, lambda facts: bool(facts.row_values)),
    Pass("accumulator-count", _on_body(limit_accumulators), lambda facts: True),
    Pass(
        "tile-packing",
        lambda function, facts: pack_tiles(function),
        lambda facts: not facts.is_scheduled,
    ),
    Pass("loop-restriction", lambda function, facts: restrict_function(function)),
    Pass("loop-coalescing", _on_statements(For, coalesce_loops)),
    Pass("unroll-and-jam", _on_body(jam_rows), lambda facts: True),
    Pass(
        "loop-interchange",
        _on_body(interchange_rows),
        lambda facts: facts.options.loop_interchange,
    ),
    Pass("accumulators", _on_body(add_accumulators), lambda facts: True),
    Pass(
        "prefetching",
        _on_body(prefetch_rows),
        lambda facts: facts.options.prefetch and not facts.is_scheduled,
    ),
    Pass("vector-tails", _on_statements(VectorLoop, add_ends)),
    Pass("streaming-store-edges", _on_body(join_row_edges), lambda facts: True),
    Pass(
        "loop-fission",
        _on_statements(VectorLoop, fission_into_strips),
        lambda facts: facts.options.loop_fission,
        "LOOP_FISSION",
    ),
    Pass("table-loops", _add_table_loops, lambda facts: facts.cells is not None, "FLOAT16_TABLES"),
    Pass(
        "software-pipelining",
        _on_body(pipeline_rows),
        lambda facts: facts.options.software_pipelining,
        "SOFTWARE_PIPELINING",
    ),
    Pass("vector-loops", _on_statements(VectorLoop, expand_vector_loop)),
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
            function = item.transform(function, facts)
            yield item, function
