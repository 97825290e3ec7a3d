"""Certificates of synthetic kernels (right, wrong, crashing, hanging) and of MindSpore's own."""

from __future__ import annotations

import functools
import hashlib
import json
import math
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.accuracy import certificate as certificates
from ms_fusion.accuracy.certificate import certify
from ms_fusion.accuracy.kernel_worker import load, save
from ms_fusion.accuracy.replay import replay
from ms_fusion.accuracy.tensor_dump import read_tensor_dump, write_dump_configuration
from ms_fusion.accuracy.ulp import ulp_difference
from ms_fusion.accuracy.worker_process import Worker
from ms_fusion.ledger import FusedKernel
from ms_fusion.readers.composite import parse_composite
from tests.cases import FULL, cases
from tests.fork_server import run_program

ROOT = Path(__file__).resolve().parents[3]
NAME = "Fused_Mul_Add_1"


def desc(name, shape, **more):
    return {
        "tensor_name": name,
        "shape": list(shape),
        "data_type": "float32",
        "format": "DefaultFormat",
        **more,
    }


def composite(shape=(4, 8), name=NAME, second="Add", middle=None):
    """x * 0.1 + y in MindSpore's format."""
    x, y, t, o = (desc(n, middle or shape if n == "t" else shape) for n in ("x", "y", "t", "o"))
    return {
        "op": name,
        "input_desc": [[x], [y]],
        "output_desc": [o],
        "op_desc": [
            {
                "name": "Mul",
                "attr": None,
                "input_desc": [[x], [desc("k", [1], value=0.10000000149011612)]],
                "output_desc": [t],
            },
            {"name": second, "attr": None, "input_desc": [[t], [y]], "output_desc": [o]},
        ],
    }


STOCK = """
#include <stddef.h>
typedef int (*body_t)(int, int, void *);
typedef struct {{
  int (*launch)(body_t, void *, int);
  void *(*get)(size_t);
  void (*put)(void *);
  void *spare;
}} table_t;
static int body(int task, int tasks, void *data) {{
  float **p = data;
  int per = 32 / tasks;
  for (int i = task * per; i < (task + 1) * per; i++) {{ {code} }}
  return 0;
}}
void {name}_kernel(void **args) {{
  table_t *table = args[0];
  float *pointers[3] = {{args[1], args[2], args[3]}};
  void *scratch = table->get(64);
  table->put(scratch);
  table->launch(body, pointers, 4);
}}
"""
V2 = """
void {name}(void *callback, int *threads, void **args) {{
  float **p = (float **)args;
  for (int i = 0; i < 32 * (*threads == 1); i++) {{ {code} }}
}}
"""
RIGHT = "p[2][i] = (float)(p[0][i] * 0.1f) + p[1][i];"


X8 = np.arange(32, dtype=np.float32).reshape(4, 8)


@functools.cache
def library_of(source):
    """The shared library of a C text."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    with tempfile.TemporaryDirectory() as place:
        text, library = Path(place, "kernel.c"), Path(place, "kernel.so")
        text.write_text(source)
        subprocess.run(
            [compiler, "-O1", "-ffp-contract=off", "-shared", "-fPIC", "-o", library, text],
            check=True,
        )
        return library.read_bytes()


def built(place, code, text=STOCK, **description):
    """Puts a kernel into a directory like MindSpore and returns its ledger record."""
    wanted = composite(**description)
    name = wanted["op"]
    folder = place / "akg_kernel_meta"
    folder.mkdir(exist_ok=True)
    library = library_of(text.format(name=name, code=code))
    (folder / f"{name}.so").write_bytes(library)
    digest = hashlib.sha256(library).hexdigest()
    (folder / f"{name}.json").write_text(
        json.dumps({"kernelName": f"{name}_kernel", "sha256": digest})
    )
    (folder / f"{name}.info").write_text(json.dumps(wanted))
    return kernel_of(wanted)


@pytest.fixture
def build(tmp_path):
    """`built` in this test's directory."""
    return functools.partial(built, tmp_path)


def kernel_of(description, full_name=None):
    graph = parse_composite(json.dumps(description), file="test")
    ops = tuple(node.op for node in graph)
    values = graph.values
    return FusedKernel(
        graph.name,
        full_name or f"Default/{graph.name}-op0",
        ops,
        (),
        ops,
        graph,
        tuple(values[name] for name in graph.inputs),
        tuple(values[name] for name in graph.outputs),
    )


def certificate(kernel, directory, *, flags="--opt_level=2", captured=None, timeout_s=60.0, **more):
    found = certify(
        [kernel],
        kernel_directory=directory,
        flags=flags,
        captured=None if captured is None else {kernel.full_name: captured},
        timeout_s=timeout_s,
        **more,
    )
    return {entry.inputs: entry for entry in found[kernel.full_name]}


SEVERAL = {
    "crashing": "*(volatile int *)0 = 1;",
    "right": RIGHT,
    "rough": "p[2][i] = p[0][i] * 0.1f * 1.0001f + p[1][i];",
    "losing": "float r = p[0][i] * 0.1f + p[1][i]; p[2][i] = r != r ? 0.0f : r;",
    "empty": "",
}
"""Kernels in one check: the crash of the first must not affect the others."""


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """The certificates of `SEVERAL` in one call; the right kernel received `X8` in a run."""
    place = tmp_path_factory.mktemp("several")
    made = {name: built(place, code, name=f"Fused_{name}") for name, code in SEVERAL.items()}
    captured = {made["right"].full_name: (X8, X8)}
    found = certify(
        list(made.values()), kernel_directory=place, flags="", captured=captured, timeout_s=60.0
    )
    return {
        name: {entry.inputs: entry for entry in found[kernel.full_name]}
        for name, kernel in made.items()
    }


def check_right(found):
    assert list(found) == ["captured", "seeded", "edges"]
    assert found["captured"].fused_max_ulp <= 1.5  # the product and the sum are rounded
    assert found["seeded"].fused_max_abs < 1e-6
    assert "one side" not in found["edges"].note


def test_a_right_kernel(several):
    check_right(several["right"])


def test_a_right_kernel_of_the_other_generator(build, tmp_path, monkeypatch, full):
    if not full:
        # the test above covers MindSpore's operators beside a kernel: `make test` does not start
        # them here
        monkeypatch.setattr(certificates, "WORKER", "no_such_module")
    kernel = build(RIGHT, V2)
    found = certificate(kernel, tmp_path, flags="--kernel_generator=AKG_V2", captured=(X8, X8))
    check_right(found)


def test_wrong_in_the_last_places(several):
    assert 500 < several["rough"]["seeded"].fused_max_ulp < math.inf


def test_what_is_lost_is_counted(several):
    found = several["losing"]
    assert found["edges"].fused_max_ulp == math.inf
    assert "results are NaN or inf on one side only" in found["edges"].note
    assert found["seeded"].fused_max_ulp < math.inf


def test_an_output_never_written(several):
    assert "output 0 is never written" in several["empty"]["seeded"].note


def test_one_bad_kernel_does_not_stop_the_next(several):
    assert len(several["crashing"]) == 1
    assert "died of signal 11" in several["crashing"]["seeded"].note
    assert list(several["rough"]) == ["seeded", "edges"]


NOT_RUN = {
    "crashes": ("*(volatile int *)0 = 1;", {}, "died of signal 11"),
    "hangs": ('for (;;) __asm__ volatile("");', {"timeout_s": 3.0}, "no answer within"),
    "writes past the end": ("p[2][i + 32] = 1;", {}, "past the end"),
    "too large": (RIGHT, {"max_bytes": 100}, "384 bytes, more than 100"),
}


@cases(
    "code, options, said",
    [pytest.param(*row, marks=FULL) if name == "crashes" else row for name, row in NOT_RUN.items()],
    ids=list(NOT_RUN),
)
def test_degrades_to_a_note(tmp_path, code, options, said):
    found = certificate(built(tmp_path, code), tmp_path, **options)
    assert list(found) == ["seeded"]
    assert math.isnan(found["seeded"].fused_max_ulp)
    assert said in found["seeded"].note


DAMAGE = {
    "not there": (lambda folder: shutil.rmtree(folder), "not in the kernel directory"),
    "no library": (lambda folder: (folder / f"{NAME}.so").unlink(), "cannot be read"),
    "another library": (lambda folder: (folder / f"{NAME}.so").write_bytes(b"\x7fELF"), "digest"),
    "no digest": (lambda folder: (folder / f"{NAME}.json").write_text("{}"), "digest"),
    "damaged digest": (lambda folder: (folder / f"{NAME}.json").write_text("[1"), "cannot be read"),
    "damaged description": (
        lambda folder: (folder / f"{NAME}.info").write_text('{"op": 1'),
        "cannot be read",
    ),
    "other shapes": (
        lambda folder: (folder / f"{NAME}.info").write_text(json.dumps(composite((2, 2)))),
        "other inputs",
    ),
    "a shape to fill the memory": (
        lambda folder: (folder / f"{NAME}.info").write_text(
            json.dumps(composite(middle=(1 << 40, 8)))
        ),
        "more than",
    ),
    "unknown dtype": (
        lambda folder: (folder / f"{NAME}.info").write_text(
            json.dumps(composite()).replace("float32", "float33")
        ),
        "float33",
    ),
    "unknown operator": (
        lambda folder: (folder / f"{NAME}.info").write_text(
            json.dumps(composite(second="Frobnicate"))
        ),
        "Frobnicate",
    ),
}


@cases("damage, said", DAMAGE.values(), ids=DAMAGE.keys())
def test_damaged_files_are_noted(tmp_path, damage, said):
    kernel = built(tmp_path, RIGHT)
    damage(tmp_path / "akg_kernel_meta")
    assert said in certificate(kernel, tmp_path)["seeded"].note


def test_a_name_is_not_a_pattern(build, tmp_path):
    kernel = build(RIGHT)
    hostile = kernel_of(composite(name="../*"))
    assert kernel.name != hostile.name
    assert "not in the kernel directory" in certificate(hostile, tmp_path)["seeded"].note


def test_captured_inputs_must_fit(build, tmp_path):
    assert (
        "captured"
        in certificate(build(RIGHT), tmp_path, captured=(np.zeros(3, np.float32),))["seeded"].note
    )


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A small net with MindSpore's own fusion: certificates and tensors by operators."""
    pytest.importorskip("mindspore", reason="MindSpore is not installed")
    home = tmp_path_factory.mktemp("real")
    kernels = home / "kernels"
    kernels.mkdir()
    environment = {
        **os.environ,
        "MS_COMPILER_CACHE_PATH": str(kernels),
        "MS_DEV_GRAPH_KERNEL_FLAGS": "--opt_level=2 --enable_expand_ops=Softmax",
        "MINDSPORE_DUMP_CONFIG": str(write_dump_configuration(home / "dump")),
        "GLOG_v": "4",
    }
    program = ROOT / "tests" / "programs" / "accuracy" / "net_of_six_kernels.py"
    ended = run_program(program, cwd=home, environment=environment, timeout_s=120, fresh=True)
    assert ended.returncode == 0, ended.output
    tensors = read_tensor_dump(home / "dump")
    records = []
    for path in sorted(kernels.rglob("*.info")):
        description = json.loads(path.read_text())
        kind = path.stem.removeprefix("Fused_").rpartition("_")[0]
        names = [name for name in tensors if f"GraphKernel_{kind}-op" in name]
        assert len(names) == 1, (kind, list(tensors))
        records.append(kernel_of(description, names[0]))
    found = certify(
        records,
        kernel_directory=kernels,
        flags="--opt_level=2",
        captured={name: one.inputs for name, one in tensors.items()},
        timeout_s=120.0,
    )
    return {
        record.operators: (
            {entry.inputs: entry for entry in found[record.full_name]},
            tensors[record.full_name],
            record,
        )
        for record in records
    }


@FULL
@pytest.mark.mindspore
def test_every_real_kernel_runs(real):
    assert len(real) >= 6
    for entries, _, _ in real.values():
        assert list(entries) == ["captured", "seeded", "edges"]
        assert all(entry.unfused_max_ulp is not None for entry in entries.values())


@FULL
@pytest.mark.mindspore
def test_fused_exp_is_far_off(real):
    entries, _, _ = (
        real["Mul", "Exp", "Sub"] if ("Mul", "Exp", "Sub") in real else real["Mul", "Exp", "Add"]
    )
    assert entries["captured"].fused_max_ulp > 1000 > entries["captured"].unfused_max_ulp
    assert "NaN or inf on one side only" in entries["edges"].note  # it never reaches inf


@FULL
@pytest.mark.mindspore
def test_fused_relu_loses_nan(real):
    entries, _, _ = real["Add", "Maximum"]
    assert entries["captured"].fused_max_ulp <= 0.5
    assert entries["edges"].fused_max_ulp == math.inf
    assert "NaN or inf on one side only" in entries["edges"].note


@FULL
@pytest.mark.mindspore
def test_transpose_beside_its_reshape_is_never_written(real):
    """MindSpore 2.10's own generator compiles this kernel to nothing."""
    entries, _, _ = real["Transpose", "Reshape"]
    assert "output 0 is never written" in entries["captured"].note
    assert entries["captured"].unfused_max_ulp == 0.0


@FULL
@pytest.mark.mindspore
def test_in_place_kernel_is_compared_by_its_target(real):
    entries, _, _ = real["Add", "Assign"]
    assert entries["seeded"].fused_max_ulp <= 0.5
    assert entries["seeded"].fused_max_abs > 0.0  # the target was compared, not an empty output
    assert "after the launch" in entries["captured"].note


@FULL
@pytest.mark.mindspore
def test_dumped_outputs_are_what_float64_says(real):
    """The dump's inputs and outputs belong together: an exact kernel maps one to the other."""
    _, tensors, record = real["Add", "Maximum"]
    names = record.body_graph.inputs
    (reference,) = replay(record.body_graph, dict(zip(names, tensors.inputs, strict=True))).values()
    assert ulp_difference(tensors.outputs[0], reference, "float32").max_ulp <= 0.5


X = np.array([[-2.5, -1.0, 0.5], [1.5, 2.5, 3.0]], np.float32)
P = np.array([0.1, 0.5, 0.9], np.float32)
I = np.array([-7, 7, 6, 5], np.int32)  # noqa: E741
J = np.array([2, -2, 3, 5], np.int32)
YES = np.array([True, False, True])

SINGLE = [
    *(
        (op, [P], (3,), "float32", {})
        for op in """Abs Neg Sign Square Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan
      Asin ACos Atan Sinh Cosh Tanh Asinh Atanh Erf Erfc Floor Ceil Trunc Rint ReLU Sigmoid
      OnesLike ZerosLike""".split()
    ),
    *(
        (op, [X, X[::-1].copy()], (2, 3), "float32", {})
        for op in """Add Sub Mul Div RealDiv FloorDiv Mod FloorMod Atan2
      Maximum Minimum SquaredDifference""".split()
    ),
    *(
        (op, [X, X[::-1].copy()], (2, 3), "bool", {})
        for op in "Equal NotEqual Less LessEqual Greater GreaterEqual".split()
    ),
    *(
        (op, [np.float32([1, np.nan, np.inf])], (3,), "bool", {})
        for op in "IsNan IsInf IsFinite".split()
    ),
    *((op, [YES, ~YES], (3,), "bool", {}) for op in "LogicalAnd LogicalOr".split()),
    ("LogicalNot", [YES], (3,), "bool", {}),
    ("Pow", [P, 3.0], (3,), "float32", {}),
    ("FloorDiv", [I, J], (4,), "int32", {}),
    ("FloorMod", [I, J], (4,), "int32", {}),
    ("Select", [YES, P, -P], (3,), "float32", {}),
    ("Cast", [X, 43], (2, 3), "int32", {}),
    ("Cast", [X, 42], (2, 3), "float16", {}),
    *(
        (op, [X, (1,)], (2, 1), "float32", {"keep_dims": True})
        for op in "ReduceSum ReduceMax ReduceMin ReduceMean ReduceProd".split()
    ),
    *((op, [YES, (0,)], (), "bool", {}) for op in "ReduceAll ReduceAny".split()),
    ("CumSum", [X, 1], (2, 3), "float32", {"exclusive": True, "reverse": True}),
    ("Reshape", [X, (3, 2)], (3, 2), "float32", {}),
    ("Transpose", [X, (1, 0)], (3, 2), "float32", {}),
    ("BroadcastTo", [P, (2, 3)], (2, 3), "float32", {}),
    ("Tile", [P, (2, 2)], (2, 6), "float32", {}),
    (
        "OneHot",
        [np.int32([0, 2]), 3, np.float32(1), np.float32(0)],
        (2, 3),
        "float32",
        {"axis": -1},
    ),
    ("OneHot", [np.int32([0, 2]), 3, np.float32(1), np.float32(0)], (3, 2), "float32", {"axis": 0}),
    ("StridedSlice", [X, (0, 2), (2, 0), (1, -1)], (2, 2), "float32", {}),
    (
        "StridedSlice",
        [X, (1, 0), (2, 0), (1, 1)],
        (3,),
        "float32",
        {"end_mask": 2, "shrink_axis_mask": 1},
    ),
    ("Gather", [X, np.int32([1, 0]), 0], (2, 3), "float32", {}),
    ("Concat", [X, X], (4, 3), "float32", {"axis": 0}),
    ("AddN", [X, X, X], (2, 3), "float32", {}),
    ("MatMul", [X, X], (2, 2), "float32", {"transpose_b": True}),
    ("Assign", [X, X + 1], (2, 3), "float32", {}),
]


@FULL
@pytest.mark.mindspore
def test_formulas_mean_what_mindspores_operators_do(tmp_path):
    """Every operator alone, as MindSpore expression and in our formulas."""
    pytest.importorskip("mindspore", reason="MindSpore is not installed")
    wrong = []
    environment = {"MS_DEV_GRAPH_KERNEL_FLAGS": "--opt_level=0", "GLOG_v": "4"}
    with Worker(
        "ms_fusion.accuracy.kernel_worker", "unfused", directory=tmp_path, environment=environment
    ) as worker:
        for number, (op, operands, shape, dtype, attrs) in enumerate(SINGLE):
            values = {"o": {"shape": shape, "dtype": dtype, "data": None}}
            given = {}
            for position, operand in enumerate(operands):
                name = f"i{position}"
                if isinstance(operand, np.ndarray | np.generic):
                    given[name] = np.asarray(operand)
                    values[name] = {
                        "shape": np.shape(operand),
                        "dtype": operand.dtype.name,
                        "data": None,
                    }
                else:
                    kind = "float32" if isinstance(operand, float) else "int64"
                    values[name] = {"shape": np.shape(operand), "dtype": kind, "data": operand}
            names = [f"i{position}" for position in range(len(operands))]
            save(tmp_path / "inputs.npz", list(given.values()))
            request = {
                "nodes": [{"op": op, "inputs": names, "output": "o", "attrs": attrs}],
                "values": values,
                "input_names": list(given),
                "output_names": ["o"],
                "inputs": str(tmp_path / "inputs.npz"),
                "results": str(tmp_path / "results.npz"),
            }
            worker.ask(request, timeout_s=60)
            got = load(tmp_path / "results.npz")[0].view(dtype)
            found = ulp_difference(
                got, replay(_graph(op, names, values, attrs, given), given)["o"], dtype
            )
            if found.max_ulp > 8:
                wrong.append((number, op, found))
    assert wrong == []


def _graph(op, names, values, attrs, given):
    from ms_fusion.graph import Graph, Node, Value

    described = {
        name: Value(
            name,
            tuple(v["shape"]),
            v["dtype"],
            "constant" if v["data"] is not None else "input",
            v["data"],
        )
        for name, v in values.items()
    }
    node = Node("n", op, tuple(names), ("o",), tuple(sorted(attrs.items())))
    return Graph("g", (node,), described, tuple(given), ("o",))
