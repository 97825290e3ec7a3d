"""Every suggestion works: unfused before, fused after, and within 1e-3 of float64."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.ops import operator_info, operators_where, selections
from ms_fusion.why_not import suggest
from ms_fusion.why_not.suggest import add_flags
from tests.cases import FULL, cases
from tests.ms_fusion.why_not import random_nets
from tests.ms_fusion.why_not import suggestion_cases as known
from tests.ms_fusion.why_not.suggestion_cases import Case
from tests.ms_fusion.why_not.suggestion_pairs import HEAD, PAIRS, Pair

BASE = "--opt_level=2"
ACCURATE = (
    f"{BASE} --disable_cluster_ops=Exp,Log,Tanh,Reciprocal,Equal,LogicalNot,Round "
    "--disable_expand_ops=GeLU,GeLUGrad,Softplus,SoftplusGrad"
)
DTYPES = ("float32", "float16", "int32")
TOLERANCE = 1e-3


def test_operators_of_flags_are_verified_or_have_a_reason():
    asked = (
        selections.CPU_CLUSTERABLE_OPS | selections.CPU_EXPANDABLE_OPS
    ) - selections.CPU_CLUSTER_OPS
    offered = set(suggest.VERIFIED_CLUSTER_FLAGS) | set(suggest.VERIFIED_EXPAND_FLAGS)
    assert asked - offered - set(suggest.EXCLUSION_REASONS) == set()
    assert not offered & set(suggest.EXCLUSION_REASONS)


REWRITTEN = operators_where(lambda operator: bool(operator.advice.rewriting))


def test_every_offer_has_a_case():
    assert {case.op for case in known.CLUSTERED} == set(suggest.VERIFIED_CLUSTER_FLAGS)
    assert {case.op for case in known.EXPANDED} == set(suggest.VERIFIED_EXPAND_FLAGS)
    assert {case.op for case in known.COMPOSITES} == REWRITTEN == set(known.REWRITTEN)


def test_every_composite_stands_beside_a_flag_and_beside_another():
    pairs = [{one.first.op, one.second.op} for one in PAIRS if one.kinds.startswith("composite")]
    both = [ops for ops in pairs if ops <= REWRITTEN]
    for some in (both, [ops for ops in pairs if ops not in both]):
        assert set().union(*some) >= REWRITTEN


@cases(
    "flags, added, merged",
    [
        ("", "--opt_level=2", "--opt_level=2"),
        ("--opt_level=2", "--enable_cluster_ops=Div", "--opt_level=2 --enable_cluster_ops=Div"),
        (
            "--enable_cluster_ops=Sin --dump_as_text",
            "--enable_cluster_ops=Sin,Div",
            "--enable_cluster_ops=Sin,Div --dump_as_text",
        ),
        ("--enable_cluster_ops=Sin", "--enable_cluster_ops=Div", "--enable_cluster_ops=Div,Sin"),
        ("--disable_cluster_ops=Exp", "--enable_cluster_ops=Exp", "--enable_cluster_ops=Exp"),
        (
            "--enable_cluster_ops_only=Add,Div",
            "--disable_cluster_ops=Div",
            "--enable_cluster_ops_only=Add",
        ),
    ],
)
def test_with_flags_merges(flags, added, merged):
    assert add_flags(flags, added) == merged


class Runner:
    """Runs nets in one child process with all its files below `place`."""

    def __init__(self, place: Path, repository: Path):
        self.place, self.repository = place, repository

    def run(self, jobs: list[dict]) -> list[dict]:
        work = self.place / f"run_{len(list(self.place.iterdir()))}"
        work.mkdir()
        (work / "request.json").write_text(json.dumps(jobs))
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "tests.ms_fusion.why_not.suggestion_child",
                str(work / "request.json"),
                str(work),
            ],
            cwd=self.repository,
            env=os.environ | {"PYTHONPATH": str(self.repository)},
            capture_output=True,
            text=True,
            timeout=240,
        )
        assert (work / "answer.json").exists(), done.stderr[-3000:]
        return json.loads((work / "answer.json").read_text())

    def store(self, array: np.ndarray) -> str:
        name = str(self.place / f"input_{len(list(self.place.iterdir()))}.npy")
        np.save(name, array)
        return name


@pytest.fixture
def runner(tmp_path, repository):
    pytest.importorskip("mindspore", reason="needs MindSpore")
    return Runner(tmp_path, repository)


def inputs_of(case: Case, dtype: str) -> list[np.ndarray]:
    rng = np.random.default_rng(sum(map(ord, case.op)))
    made = [
        (rng.random(known.SHAPE) * (case.high - case.low) + case.low).astype(dtype)
        for _ in range(4)
    ]
    made[2][::4] = np.maximum(made[0], made[1])[::4]  # some equal ones, for the comparisons
    return made


def chain(case: Case, number: int, code: str) -> list[str]:
    """Maximum → the operator → Neg, or Select for a boolean result; none of these rounds."""
    x, y, b, c = (f"x{number}_{index}" for index in range(4))
    code = re.sub(r"\b([bc])\b", lambda found: {"b": b, "c": c}[found[1]], code)
    end = f"ops.select(r, a, {b})" if case.truth else "ops.neg(r)"
    return [f"a = ops.maximum({x}, {y})", f"r = {code}", f"done.append({end})"]


def net_of(chosen: list[tuple[Case, str]]) -> str:
    names = [f"x{number}_{index}" for number in range(len(chosen)) for index in range(4)]
    lines = [
        line for number, (case, code) in enumerate(chosen) for line in chain(case, number, code)
    ]
    body = "".join(f"\n        {line}" for line in ["done = []", *lines, "return tuple(done)"])
    return f"class Net(nn.Cell):\n    def construct(self, {', '.join(names)}):{body}\n"


def check_numbers(case: Case, arrays: list[np.ndarray], got: np.ndarray, dtype: str) -> None:
    x, y, b, c = (array.astype(np.float64) for array in arrays)
    a = np.maximum(x, y)
    want = case.meaning(a, b, c)
    want = np.where(want, a, b) if case.truth else -want
    error = np.abs(got.astype(np.float64) - want) / np.maximum(np.abs(want), 1e-2)
    allowed = (
        4 * TOLERANCE if dtype == "float16" else TOLERANCE
    )  # float16 itself rounds by 5e-4, several times
    assert got.shape == want.shape
    assert error.max() <= allowed, (case.op, dtype, error.max())


def jobs_for(runner: Runner, chosen, dtypes, flags: str):
    arrays = [inputs_of(case, dtype) for (case, _), dtype in zip(chosen, dtypes, strict=True)]
    names = [runner.store(array) for group in arrays for array in group]
    return arrays, {"source": net_of(chosen), "inputs": names, "flags": flags}


def promised(case: Case, verified: suggest.VerifiedFlag, apart: list[dict]) -> list[dict]:
    """The edges between the operator and its neighbours, on the joined sides; casts are MindSpore's
    own.
    """
    before = "Less" if case.op.startswith("Logical") else "Maximum"
    after = "Select" if case.truth else "Neg"
    into = [one for one in apart if one["edge"] in ([before, case.op], ["Cast", case.op])]
    out = [one for one in apart if one["edge"] in ([case.op, after], [case.op, "Cast"])]
    return into * verified.takes_producer + out * verified.takes_consumer


@FULL
@pytest.mark.mindspore
@cases(
    "flag, table, listed, base",
    [
        ("enable_cluster_ops", suggest.VERIFIED_CLUSTER_FLAGS, known.CLUSTERED, BASE),
        ("enable_expand_ops", suggest.VERIFIED_EXPAND_FLAGS, known.EXPANDED, BASE),
        ("enable_expand_ops", suggest.VERIFIED_EXPAND_FLAGS, known.EXPANDED, ACCURATE),
    ],
    ids=["cluster", "expand", "expand-without-exp"],
    per_item=1,
)
def test_flags_fuse_what_they_promise(flag, table, listed, base, runner):
    pairs = [(case, dtype) for case in listed for dtype in DTYPES if dtype in table[case.op].dtypes]
    chosen, dtypes = [(case, case.code) for case, _ in pairs], [dtype for _, dtype in pairs]
    arrays, job = jobs_for(runner, chosen, dtypes, base)
    added = f"--{flag}={','.join(dict.fromkeys(case.op for case, _ in chosen))}"
    before, after = runner.run([job, job | {"flags": add_flags(base, added)}])
    for case, _ in chosen:
        offered = promised(case, table[case.op], before["apart"])
        dtypes_seen = sum(other is case for other, _ in pairs)
        assert len(offered) >= dtypes_seen * (1 + table[case.op].takes_consumer)
        for one in offered:
            assert one["kind"] == "flag", one
            assert re.fullmatch(rf"--enable_(cluster|expand)_ops={case.op}", one["flags"]), one
        assert any(case.op in edge for edge in after["edges"])
        assert promised(case, table[case.op], after["apart"]) == []
    for (case, dtype), group, result in zip(pairs, arrays, after["results"], strict=True):
        check_numbers(case, group, np.load(result), dtype)


@FULL
@pytest.mark.mindspore
def test_flags_fuse_with_a_reduction_where_they_promise_it(runner):
    """Maximum → the operator → ReduceSum, with its value as a further result."""
    listed = [case for case in known.CLUSTERED + known.EXPANDED if not case.truth]
    kept = [case for case in listed if case.op not in ("ReduceMin", "SquareSumAll", "Tile", "Erf")]
    chosen = [(case, case.code) for case in kept]
    _, job = jobs_for(runner, chosen, ["float32"] * len(chosen), BASE)
    source = re.sub(r"done.append.*", "done += [r, ops.ReduceSum()(r, (0,))]", job["source"])
    (before,) = runner.run([job | {"source": source}])
    offered = [one for one in before["apart"] if one["edge"][1] == "ReduceSum" and one["kind"]]
    flags = BASE
    for one in offered:
        flags = add_flags(flags, one["flags"])
    (after,) = runner.run([job | {"source": source, "flags": flags}])
    left = [one["edge"][0] for one in after["apart"] if one["edge"][1] == "ReduceSum"]
    promised_of = {one["edge"][0] for one in offered}
    assert len(promised_of) >= 15
    assert not promised_of & set(left)


@FULL
@pytest.mark.mindspore
def test_composites_fuse_what_they_promise(runner):
    chosen = [(case, case.code) for case in known.COMPOSITES]
    arrays, job = jobs_for(runner, chosen, ["float32"] * len(chosen), BASE)
    rewritten = []
    for case, _ in chosen:
        line = operator_info(case.op).advice.rewriting
        for name, meant in known.REWRITTEN[case.op].items():
            line = re.sub(rf"\b{name}\b", meant, line)
        rewritten.append((case, line))
    before, after = runner.run(
        [
            job,
            job | {"source": net_of(rewritten), "flags": f"{BASE} --enable_cluster_ops=Div,Floor"},
        ]
    )
    offered = {tuple(one["edge"]): one for one in before["apart"]}
    for case, _ in chosen:
        one = offered["Maximum", case.op]
        assert one["kind"] == "composite"
        advice = operator_info(case.op).advice
        line, needed = advice.rewriting, advice.rewriting_operators
        assert line in one["text"]
        added = set(needed) - selections.CPU_CLUSTER_OPS
        assert one["flags"] == (f"--enable_cluster_ops={','.join(added)}" if added else "")
    assert after["edges"] and after["apart"] == []
    for (case, _), group, result in zip(chosen, arrays, after["results"], strict=True):
        check_numbers(case, group, np.load(result), "float32")


def net(*lines: str, arguments: str = "x, y", head: str = "") -> str:
    body = "".join(f"\n        {line}" for line in lines)
    return f"{head}\nclass Net(nn.Cell):\n    def construct(self, {arguments}):{body}\n"


CHANGES = {
    "fusion-off": (
        {"source": net("return ops.neg(ops.maximum(x, y))"), "flags": "--opt_level=0"},
        {"flags": "--opt_level=2"},
    ),
    "disabled-by-flag": (
        {
            "source": net("return ops.neg(ops.maximum(x, y))"),
            "flags": f"{BASE} --disable_cluster_ops=Neg,Exp",
        },
        {"flags": f"{BASE} --disable_cluster_ops=Exp --enable_cluster_ops=Neg"},
    ),
    "dynamic-shape": (
        {"source": net("return ops.neg(ops.maximum(x, y))"), "dynamic": True},
        {"dynamic": False},
    ),
    "fence": (
        {
            "source": net(
                "return neg(ops.maximum(x, y))",
                head="neg = ops.Neg().add_prim_attr('aggregate', True)",
            )
        },
        {"source": net("return neg(ops.maximum(x, y))", head="neg = ops.Neg()")},
    ),
    "not-expanded": (
        {"source": net("return ops.neg(ops.tile(ops.maximum(x, y), (2, 1)))")},
        {"flags": f"{BASE} --enable_cluster_ops=Tile"},
    ),
    "control-flow": (
        {
            "source": net(
                "z = x * 2.0 + 1.0",
                "if y.max() > 0:",
                "    z = z * 3.0 - y",
                "else:",
                "    z = z * 0.5 + y",
                "return z + 1.0",
            )
        },
        {
            "source": net(
                "z = x * 2.0 + 1.0",
                "z = ops.where(ops.broadcast_to(y.max() > 0, z.shape), z * 3.0 - y, z * 0.5 + y)",
                "return z + 1.0",
            )
        },
    ),
    "dtype": (
        {
            "source": net(
                "return ops.neg(norm(ops.maximum(x, y), x[0], y[0])[0])",
                head="norm = ops.LayerNorm(-1, -1, 1e-5)",
            ),
            "dtype": "float16",
            "flags": f"{BASE} --enable_expand_ops=LayerNorm",
        },
        {
            "source": net(
                "z = ops.maximum(x, y).astype(mindspore.float32)",
                "gamma, beta = x[0].astype(mindspore.float32), y[0].astype(mindspore.float32)",
                "return ops.neg(norm(z, gamma, beta)[0])",
                head="norm = ops.LayerNorm(-1, -1, 1e-5)",
            )
        },
    ),
}
"""Reason → a net with that reason, and the suggested change."""

BESIDE = {"control-flow": {"ReduceMax", "Greater", "BroadcastTo"}, "dtype": {"StridedSlice"}}
"""Reason → operators of the condition or arguments that the suggestion does not cover."""


@FULL
@pytest.mark.mindspore
def test_changes_of_code_and_flags_fuse_what_they_promise(runner):
    rng = np.random.default_rng(5)
    jobs = []
    for before, change in CHANGES.values():
        arrays = [rng.random(known.SHAPE).astype(before.get("dtype", "float32")) for _ in "xy"]
        job = {"flags": BASE, "inputs": [runner.store(array) for array in arrays]} | before
        jobs += [job, job | change]
    answers = runner.run(jobs)
    for reason, before, after in zip(CHANGES, answers[::2], answers[1::2], strict=True):
        told = [one for one in before["apart"] if one["reason"] == reason]
        assert told and all(one["kind"] for one in told), (reason, before["apart"])
        for one in told:
            flags = CHANGES[reason][0].get("flags", BASE)
            assert add_flags(flags, one["flags"]) == CHANGES[reason][1].get("flags", flags)
        left = [one["edge"] for one in after["apart"] if len(set(one["edge"])) == 2]
        assert [edge for edge in left if not BESIDE.get(reason, set()) & set(edge)] == []
        assert len(after["apart"]) < len(after["edges"])
        was, now = np.load(before["results"][0]), np.load(after["results"][0])
        np.testing.assert_allclose(now.astype(np.float64), was, rtol=4e-3, atol=4e-3)


REDUCED_AND_SHARED = net(
    "y = x - ops.ReduceMax(True)(x, 1)",
    "return y * ops.ReduceSum(True)(y * y, 1) + ops.neg(y), ops.transpose(y * 2.0, (1, 0)) + 1.0",
    arguments="x",
)


@FULL
@pytest.mark.mindspore
def test_turning_fusion_on_is_offered_only_where_it_fuses(runner):
    rng = np.random.default_rng(6)

    def job(source: str, shapes: tuple[tuple[int, int], ...]) -> dict:
        arrays = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
        return {"source": source, "inputs": list(map(runner.store, arrays))}

    jobs = [job(REDUCED_AND_SHARED, ((64, 64),))]
    jobs += [job(random_nets.source(seed), random_nets.shapes(seed)) for seed in range(14)]
    off = runner.run([one | {"flags": "--opt_level=0"} for one in jobs])
    on = runner.run([one | {"flags": BASE} for one in jobs])
    fused = offered = 0
    for one, before, after in zip(jobs, off, on, strict=True):
        assert before["edges"] == after["edges"]
        apart = {tuple(told["nodes"]): told["reason"] for told in after["apart"]}
        assert "unexplained" not in apart.values(), (one["source"], after["apart"])
        for told in before["apart"]:
            together = tuple(told["nodes"]) not in apart
            fused += together
            offered += bool(told["kind"])
            assert together or not told["kind"], (one["source"], told, apart[tuple(told["nodes"])])
    assert offered >= 0.5 * fused > 40


def pair_inputs(number: int, one: Pair) -> list[np.ndarray]:
    rng = np.random.default_rng(number)
    return [(rng.random(known.SHAPE) + 0.5).astype(one.dtype) for _ in "xybc"]


def pairs_job(runner: Runner, chosen: Mapping[int, tuple[str, str]], flags: str) -> dict:
    """One net of some pairs, by their number: Maximum → the first expression → the second."""
    lines = []
    for number, codes in chosen.items():
        numbered = [re.sub(r"\b([bc])\b", rf"\g<1>{number}", code) for code in codes]
        lines += [f"a = ops.maximum(x{number}, y{number})", f"a = {numbered[0]}"]
        lines.append(f"done.append({numbered[1]})")
    names = ", ".join(f"{name}{number}" for number in chosen for name in "xybc")
    source = net("done = []", *lines, "return tuple(done)", arguments=names, head=HEAD)
    arrays = [array for number in chosen for array in pair_inputs(number, PAIRS[number])]
    return {"source": source, "inputs": list(map(runner.store, arrays)), "flags": flags}


def carried_out(one: Pair, told: str) -> tuple[str, str]:
    """The two expressions after the change: composites from the suggestion, other code from the
    table.
    """
    first, second = one.mended
    for case in (one.first, one.second):
        written = re.search(rf"write \S*\b{case.op}-op\d+ as ([^;]+)", told)
        if written:
            line = written[1]
            for name, meant in known.REWRITTEN[case.op].items():
                line = re.sub(rf"\b{name}\b", meant, line)
            first, second = (line, second) if case is one.first else (first, line)
    return first or one.first.code, second or one.second.code


def kind_of(step: str) -> str:
    if step.startswith("write "):
        return "composite"
    return "flag" if step.startswith(("let ", "take ")) else "code"


@FULL
@pytest.mark.mindspore
def test_changes_at_both_ends_fuse_what_they_promise(runner):
    groups: dict[tuple[str, str, bool], dict[int, Pair]] = {}
    for number, one in enumerate(PAIRS):
        groups.setdefault((one.flags, one.dtype, one.dynamic), {})[number] = one
    jobs = []
    for (flags, _, dynamic), group in groups.items():
        codes = {number: (one.first.code, one.second.code) for number, one in group.items()}
        jobs.append(pairs_job(runner, codes, flags) | {"dynamic": dynamic})
    changed: dict[str, dict[int, tuple[str, str]]] = {}
    for group, before in zip(groups.values(), runner.run(jobs), strict=True):
        for number, one in group.items():
            edge = [one.first.op, one.second.op]
            (told,) = [told for told in before["apart"] if told["edge"] == edge]
            steps = sorted(map(kind_of, told["text"].split("; ")))
            kinds = [kind for kind in steps if kind != "flag"] + ["flag"] * ("flag" in steps)
            assert (told["kind"], " ".join(kinds)) == (kinds[0], one.kinds), told
            flags = add_flags(one.flags, told["flags"])
            changed.setdefault(flags, {})[number] = carried_out(one, told["text"])
    jobs = [pairs_job(runner, chosen, flags) for flags, chosen in changed.items()]
    for chosen, after in zip(changed.values(), runner.run(jobs), strict=True):
        assert len(after["edges"]) >= 2 * len(chosen)
        assert after["apart"] == []
        for number, result in zip(chosen, after["results"], strict=True):
            one = PAIRS[number]
            x, y, b, c = (array.astype(np.float64) for array in pair_inputs(number, one))
            want = one.second.meaning(one.first.meaning(np.maximum(x, y), b, c), b, c)
            error = np.abs(np.load(result) - want) / np.maximum(np.abs(want), 1e-2)
            assert error.max() <= TOLERANCE, (one, error.max())
