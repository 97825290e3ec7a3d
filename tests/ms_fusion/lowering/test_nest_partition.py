"""Partition of groups into loop nests; every partition computes the same results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.devices import PLANNING_CPU
from ms_fusion.lowering import nest_partition, plan_choice
from ms_fusion.lowering.composite_lowering import LoweredGroup, lower_composite
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl import compat, tuning_store
from tbe_impl.codegen import program
from tbe_impl.codegen.options import DEFAULT_OPTIONS
from tbe_impl.errors import CompileError
from tests.cases import cases
from tests.ms_fusion.kernel_server.composites import Text, check

ROWS, COLUMNS = 256, 320


def sums_both_ways(steps: int, shape: tuple[int, int] = (ROWS, COLUMNS)) -> CompositeKernel:
    """Exponentials of an expression with this many exponentials: over rows, and over columns."""
    text = Text("Fused_both_ways")
    value = text.input(shape, "float32")
    for _ in range(steps):
        value = text.step("Exp", [text.step("Neg", [value], shape, "float32")], shape, "float32")
    made = [
        text.step(
            "ReduceSum",
            [value, text.constant([axis], "int64")],
            (shape[1 - axis],),
            "float32",
            keep_dims=False,
        )
        for axis in (0, 1)
    ]
    return text.kernel(*made)


def row_shares() -> CompositeKernel:
    """A group of one nest: each element as a share of its row's sum."""
    text, shape = Text("Fused_shares"), (ROWS, COLUMNS)
    x = text.input(shape, "float32")
    total = text.step(
        "ReduceSum", [x, text.constant([1], "int64")], (ROWS, 1), "float32", keep_dims=True
    )
    return text.kernel(text.step("RealDiv", [x, total], shape, "float32"))


def shares_in_turns(turns: int, shape: tuple[int, int] = (9, 11)) -> CompositeKernel:
    """Shares of rows and of columns, as in the Sinkhorn algorithm."""
    text = Text("Fused_in_turns")
    value = text.step("Exp", [text.input(shape, "float32")], shape, "float32")
    for _ in range(turns):
        for axis in (1, 0):
            of = tuple(1 if at == axis else size for at, size in enumerate(shape))
            total = text.step(
                "ReduceSum", [value, text.constant([axis], "int64")], of, "float32", keep_dims=True
            )
            value = text.step("RealDiv", [value, total], shape, "float32")
    return text.kernel(value)


def translated(kernel: CompositeKernel) -> LoweredGroup:
    with compat.installed(soc="cpu"):
        return lower_composite(kernel)


def nests(kernel: CompositeKernel, names: Sequence[str]) -> nest_partition.Plan:
    return nest_partition.plan_with_stored(names, translated(kernel), kernel.graph)


def test_what_is_one_nest_stays_one() -> None:
    kernel = row_shares()
    found = nest_partition.plan_nests(translated(kernel), kernel.graph)
    assert found.stored == () and len(found.nests) == 1
    assert found.nests[0] == tuple(node.name for node in kernel.graph)
    assert found.repeated_operators == frozenset()
    # two arrays through memory, and one launch
    moved = 2 * 4 * ROWS * COLUMNS / PLANNING_CPU.bandwidth_bytes_per_s * 1e6
    assert found.cost_us == pytest.approx(moved + PLANNING_CPU.launch_us)


def test_dear_work_of_two_nests_is_stored_once() -> None:
    kernel = sums_both_ways(3)
    whole = nests(kernel, ())
    found = nest_partition.plan_nests(translated(kernel), kernel.graph)
    last = kernel.graph.nodes[5].outputs[0]
    assert whole.repeated_operators == {node.name for node in kernel.graph.nodes[:6]}
    assert (
        found.stored == (last,)
        and found.repeated_operators == frozenset()
        and len(found.nests) == 3
    )
    assert found.cost_us < whole.cost_us


def clipped_sums(count: int) -> CompositeKernel:
    """Sums over rows, each divided by the norm of all of them."""
    text = Text("Fused_clipped")
    sums, squares = [], text.constant(1.0, "float32")
    for _ in range(count):
        x = text.input((ROWS, COLUMNS), "float32")
        sums.append(
            text.step(
                "ReduceSum",
                [x, text.constant([0], "int64")],
                (COLUMNS,),
                "float32",
                keep_dims=False,
            )
        )
        square = text.step("Mul", [sums[-1], sums[-1]], (COLUMNS,), "float32")
        own = text.step(
            "ReduceSum", [square, text.constant([0], "int64")], (1,), "float32", keep_dims=True
        )
        squares = text.step("Add", [own, squares], (1,), "float32")
    norm = text.step("Sqrt", [squares], (1,), "float32")
    return text.kernel(*(text.step("RealDiv", [one, norm], (COLUMNS,), "float32") for one in sums))


def test_sums_that_several_nests_need_are_stored_all_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kernel = clipped_sums(8)
    whole, tries, written = nests(kernel, ()), [], nest_partition.plan_with_stored
    sums = {
        node.name
        for node in kernel.graph
        if node.op == "ReduceSum" and node.attr("keep_dims") is False
    }
    assert sums <= whole.repeated_operators

    def counted(*given: Any) -> nest_partition.Plan:
        tries.append(given[0])
        return written(*given)

    monkeypatch.setattr(nest_partition, "plan_with_stored", counted)
    found = nest_partition.plan_nests(translated(kernel), kernel.graph)
    assert len(tries) == 2 and not found.repeated_operators & sums and found.cost_us < whole.cost_us


def test_cheap_work_and_large_memory_are_not() -> None:
    for kernel in (sums_both_ways(0), sums_both_ways(1, (8192, 4096))):
        assert nest_partition.plan_nests(translated(kernel), kernel.graph).stored == ()


def test_sums_that_wait_for_one_another_repeat_nothing(full: bool) -> None:
    shape = (19, 35) if full else (9, 11)
    few, many = (
        shares_in_turns(turns, shape)
        for turns in (nest_partition.MAX_REDUCTION_CHAIN, nest_partition.MAX_REDUCTION_CHAIN + 4)
    )
    found = nest_partition.plan_nests(translated(many), many.graph)
    assert not found.repeated_operators and len(found.nests) < len(many.graph.nodes)
    assert nest_partition.plan_nests(translated(few), few.graph).stored != found.stored
    if full:
        check(many, {many.graph.inputs[0]: np.random.default_rng(0).standard_normal(shape)})


def test_each_operator_apart() -> None:
    kernel = sums_both_ways(2)
    found = nests(kernel, nest_partition.full_fission_values(translated(kernel), kernel.graph))
    assert sorted(name for nest in found.nests for name in nest) == sorted(
        node.name for node in kernel.graph
    )
    assert len(found.stored) == 4 and found.repeated_operators == frozenset()


def sums_of_each(steps: int) -> CompositeKernel:
    """A chain of exponentials, each summed over rows and over columns."""
    text, shape, made = Text("Fused_sums_of_each"), (ROWS, COLUMNS), []
    value = text.input(shape, "float32")
    for _ in range(steps):
        value = text.step("Exp", [value], shape, "float32")
        for axis in (0, 1):
            made.append(
                text.step(
                    "ReduceSum",
                    [value, text.constant([axis], "int64")],
                    (shape[1 - axis],),
                    "float32",
                    keep_dims=False,
                )
            )
    return text.kernel(*made)


def test_a_nest_for_each_operator_is_planned_where_cheapest(full: bool) -> None:
    kernel = sums_of_each(6)
    group = translated(kernel)
    found = nest_partition.plan_nests(group, kernel.graph)
    assert (
        found.stored == nest_partition.full_fission_values(group, kernel.graph)
        and not found.repeated_operators
    )
    assert found.cost_us < nests(kernel, ()).cost_us
    if full:
        check(kernel, {"input_0": -np.random.default_rng(0).random((ROWS, COLUMNS))})
    few = sums_of_each(2)
    assert nest_partition.plan_nests(
        translated(few), few.graph
    ).stored != nest_partition.full_fission_values(translated(few), few.graph)


@cases("way", ["whole", "planned", "apart"])
def test_every_way_computes_the_same(way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def names(group: LoweredGroup, graph: nest_partition.Graph) -> Sequence[str]:
        return {
            "whole": (),
            "planned": nest_partition.plan_nests(group, graph).stored,
            "apart": nest_partition.full_fission_values(group, graph),
        }[way]

    monkeypatch.setattr(
        plan_choice,
        "choose_options",
        lambda own, group, graph: plan_choice.store_values(own, group, names(group, graph)),
    )
    x = np.random.default_rng(0).standard_normal((ROWS, COLUMNS), np.float32)
    check(sums_both_ways(2), {"input_0": x})


def test_what_cannot_be_planned_is_cut_into_its_operators(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> None:
        raise CompileError("there is no loop nest for it")

    monkeypatch.setattr(plan_choice, "plan_nests", refused)
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    kernel = sums_both_ways(2)
    group = translated(kernel)
    own = plan_choice.choose_options(
        plan_choice.default_kernel(group, kernel.graph.inputs), group, kernel.graph
    )
    assert len(own.options.stored) == 4


def test_what_was_measured_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    kernel = sums_both_ways(3)
    group = translated(kernel)
    own = plan_choice.default_kernel(group, kernel.graph.inputs)
    record = tuning_store.Tuning(
        name="sums",
        choice=tuning_store.Choice(accumulators=2),
        default_us=2.0,
        tuned_us=1.0,
        ratio=0.5,
        bound=0.6,
        steps=9,
        seconds=1.0,
    )
    tuning_store.save(tuning_store.key_of(own), record)
    # another lowering of the same description, as in another process
    again = translated(kernel)
    found = plan_choice.choose_options(
        plan_choice.default_kernel(again, kernel.graph.inputs), again, kernel.graph
    )
    assert found.options.accumulators == 2 and found.options.stored == ()
    np.testing.assert_equal(found.tuning, record)


def test_who_is_told_a_plan_writes_it_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = Text("Fused_share_of_all")
    x = text.input((ROWS, COLUMNS), "float32")
    total = text.step(
        "ReduceSum", [x, text.constant([0, 1], "int64")], (1, 1), "float32", keep_dims=True
    )
    kernel = text.kernel(text.step("RealDiv", [x, total], (ROWS, COLUMNS), "float32"))
    group, tries, nests_of = translated(kernel), [], program.nests_of
    monkeypatch.setattr(program, "nests_of", lambda *given: tries.append(1) or nests_of(*given))
    found = nest_partition.plan_nests(group, kernel.graph)
    assert found.stored == () and len(tries) > 1
    tries.clear()
    told = replace(DEFAULT_OPTIONS, stored=nest_partition.stored_value_numbers(found, group))
    written = program.write_program(group.results, group.inputs, options=told).source
    assert len(tries) == 1
    assert written == program.write_program(group.results, group.inputs).source
