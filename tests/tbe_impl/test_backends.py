"""The table of back ends: each one on the same kernels, and what each refuses."""

from __future__ import annotations

import ast
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tbe_impl
from tbe_impl import backends
from tbe_impl.arguments import Argument
from tbe_impl.dsl import ext
from tbe_impl.dsl.expr import Var
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.errors import InputError, MissingError
from tbe_impl.kernel import Kernel
from tests.cases import cases
from tests.source_files import read_tree

ROOT = Path(__file__).resolve().parents[2]
X = np.linspace(-3, 3, 35, dtype=np.float32).reshape(5, 7)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))


def kernel(rows: int | Var = 5) -> Kernel:
    """exp(|x|) + 1."""
    x = placeholder((rows, 7), "float32", "x")
    y = OPERATIONS["vadds"](OPERATIONS["vexp"](OPERATIONS["vabs"](x)), 1.0)
    shape = (rows if isinstance(rows, int) else -1, 7)
    return Kernel("exp abs+1", "cpu", (Argument(x, shape, "x"),), (Argument(y, shape, "y"),))


def expected() -> np.ndarray:
    return np.exp(np.abs(X.astype(np.float64))) + 1


def test_the_table_is_ordered() -> None:
    assert [one.name for one in backends.BACKENDS] == ["cpu", "numpy", "cann"]
    assert backends.RUNNABLE_NAMES == ("cpu", "numpy")
    cpu, numpy, cann = backends.BACKENDS
    assert backends.replacement_of(cpu) is numpy
    assert backends.replacement_of(numpy) is None and backends.replacement_of(cann) is None


@cases("rows", [5, Var("m")], ids=["static", "dynamic"])
@cases("backend", backends.RUNNABLE_NAMES)
def test_back_ends_that_run_compute_the_graph(rows: int | Var, backend: str) -> None:
    if backend == "cpu" and not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    own = kernel(rows)
    out = np.empty_like(X)
    assert own(X, backend=backend, out=out) is out
    np.testing.assert_allclose(out, expected(), rtol=1e-6)
    np.testing.assert_array_equal(own(X, backend=backend), out)
    made = own.compiled_by(backend)
    assert own.compiled_by(backend) is made
    size = {id(rows): 5} if isinstance(rows, Var) else {}
    (given,) = made.run([X], size, 1, [np.zeros_like(X)])
    np.testing.assert_array_equal(given, out)


@cases("rows", [5, Var("m")], ids=["static", "dynamic"])
def test_the_operator_file_for_cann_computes_the_graph(rows: int | Var, tmp_path: Path) -> None:
    found = kernel(rows).compiled_by("cann")
    report = found.report()
    assert report.symbols == ("exp_abs_1",) and report.words[:2] == ("vabs", "vexp")
    file = tmp_path / "exp_abs_1.py"
    file.write_text(found.source)
    shape = (5, 7) if isinstance(rows, int) else (-1, 7)
    given = {"shape": shape, "dtype": "float32", "format": "ND"} | {
        "ori_shape": shape,
        "ori_format": "ND",
        "range": [(1, 9), (7, 7)],
    }
    built = tbe_impl.load_operator(file).build(given, given, soc="Ascend910B")
    np.testing.assert_array_equal(built(X, backend="numpy"), kernel()(X, backend="numpy"))


def test_the_operator_file_for_cann_has_no_reshape(tmp_path: Path) -> None:
    """CANN has no reshape: the file computes in one of the shapes."""
    x, y = placeholder((5, 7), "float32", "x"), placeholder((35,), "float32", "y")
    flat = ext.reshape(OPERATIONS["vabs"](x), (35,))
    given = Argument(x, (5, 7), "x"), Argument(y, (35,), "y")
    made = Argument(OPERATIONS["vadd"](flat, y), (35,), "z")
    own = Kernel("flat", "cpu", given, (made,))
    file = tmp_path / "flat.py"
    file.write_text(own.compiled_by("cann").source)
    assert "reshape" not in file.read_text()
    described = [
        {"shape": shape, "ori_shape": shape, "dtype": "float32", "format": "ND", "ori_format": "ND"}
        for shape in ((5, 7), (35,), (35,))
    ]
    built = tbe_impl.load_operator(file).build(*described, soc="Ascend910B")
    found = built(X, X.ravel(), backend="numpy")
    np.testing.assert_array_equal(np.ravel(found), np.abs(X.ravel()) + X.ravel())


@cases(
    "name, function",
    [
        ("swish", "swish"),
        ("a/b c", "a_b_c"),
        ("7", "v7"),
        ("dsl", "dsl_1"),
        ("lambda", "lambda_1"),
        ('"""\nimport os', "import_os"),
    ],
)
def test_the_operator_function_has_a_valid_name(name: str, function: str) -> None:
    found = replace(kernel(), name=name).compiled_by("cann")
    assert found.report().symbols == (function,)
    names = [one.name for one in ast.parse(found.source).body if isinstance(one, ast.FunctionDef)]
    assert names == [f"{function}_compute", function]


def test_the_operator_file_is_not_run() -> None:
    with pytest.raises(InputError, match=r"exp_abs_1: the CANN back end writes .* runs nothing"):
        kernel().compiled_by("cann").run([X], {}, 1)


def test_a_size_that_cann_cannot_read_is_refused() -> None:
    x, n = placeholder((5, 7), "float32", "x"), Var("n")
    y = OPERATIONS["broadcast"](OPERATIONS["vabs"](x), (n, 5, 7))
    own = Kernel("wide", "cpu", (Argument(x, (5, 7), "x"),), (Argument(y, (-1, 5, 7), "y"),))
    with pytest.raises(InputError, match="wide: a size that is not the size of an input"):
        own.compiled_by("cann")


@cases("backend", ["cann", "cuda"])
def test_a_call_names_the_back_ends_that_run(backend: str) -> None:
    wanted = f"exp abs\\+1: unknown back end; expected cpu or numpy, got '{backend}'"
    with pytest.raises(InputError, match=wanted):
        kernel()(X, backend=backend)


def test_an_unknown_back_end_is_refused() -> None:
    with pytest.raises(InputError, match="expected cpu or numpy or cann, got 'cuda'"):
        kernel().compiled_by("cuda")


def test_numpy_computes_nothing_in_place() -> None:
    own = kernel().with_options(inplace=True)
    with pytest.raises(InputError, match="the NumPy back end computes nothing in place"):
        own(X, backend="numpy")


def test_the_next_back_end_replaces_one_that_cannot_build(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise MissingError("there is no C compiler in this test")

    monkeypatch.setattr("tbe_impl.cpu.prepared_kernel.plan", refuse)
    x = X.copy()
    found = kernel().with_options(inplace=True)(x)
    np.testing.assert_allclose(found, expected(), rtol=1e-6)
    np.testing.assert_array_equal(x, X)
    (said,) = caplog.messages
    assert said.startswith("exp abs+1 runs on the NumPy back end: there is no C compiler in this")


def compared_names(tree: ast.AST) -> list[str]:
    """Comparisons of something that is named like a back end with the name of an entry."""
    names = {one.name for one in backends.BACKENDS}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            values = [part.value for side in sides for part in ast.walk(side) if is_text(part)]
            subjects = [getattr(side, "id", getattr(side, "attr", "")) for side in sides]
            if names & {*values} and any(one in ("backend", "engine") for one in subjects):
                found.append(ast.unparse(node))
    return found


def is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def test_no_code_compares_the_name_of_a_back_end() -> None:
    assert compared_names(ast.parse("backend == 'cpu'")) == ["backend == 'cpu'"]
    assert compared_names(ast.parse("one.backend in ('cann', 'x')")) != []
    files = [
        path
        for name in ("tbe_impl", "custom_ops", "ms_fusion")
        for path in (ROOT / name).rglob("*.py")
    ]
    assert {str(path): wrong for path in files if (wrong := read_tree(path, compared_names))} == {}
