"""Operator files load unchanged, side by side, and become kernels; errors name the user's line."""

import logging
import re
import sys
import textwrap

import numpy as np
import pytest

from tbe_impl.codegen.options import Options
from tbe_impl.errors import CompileError, FusionError, InputError
from tbe_impl.loading.operator import load_operator
from tests.cases import cases

SWISH = """
import te.lang.cce
from te import tvm
from topi import generic

def swish(x, y, beta=1.0, kernel_name="swish"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        e = te.lang.cce.vexp(te.lang.cce.vmuls(data, -beta))
        result = te.lang.cce.vmul(data, te.lang.cce.vrec(te.lang.cce.vadds(e, 1)))
        schedule = generic.auto_schedule(result)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, result]})
"""

OLDEST = """
import te.lang.cce
from te import tvm
from topi import generic
from te.platform.cce_build import build_config

def scale(shape, dtype, kernel_name="scale", need_build=False, need_print=False):
    flat = [shape[0] * shape[1]]
    x = tvm.placeholder(flat, name="x", dtype=dtype)
    with tvm.target.cce():
        y = te.lang.cce.vmuls(x, 3.0)
        schedule = generic.auto_schedule(y)
    if need_build:
        with build_config:
            tvm.build(schedule, [x, y], "cce", name=kernel_name)
"""


def write(place, name, text):
    place.mkdir(parents=True, exist_ok=True)
    file = place / name
    file.write_text(textwrap.dedent(text))
    return file


def description(shape, dtype="float32"):
    return {"shape": shape, "dtype": dtype}


def swish(x, beta=1.0):
    return x / (1 + np.exp(-beta * x.astype(np.float64)))


@cases("backend", ["cpu", "numpy"])
def test_an_operator_file_becomes_a_kernel(tmp_path, backend):
    operator = load_operator(write(tmp_path, "swish.py", SWISH))
    given = description((16, 33))
    kernel = operator.build(given, given, 1.5)
    x = np.random.default_rng(0).standard_normal((16, 33)).astype(np.float32)
    y = kernel(x, backend=backend)
    assert y.shape == (16, 33) and y.dtype == np.float32
    np.testing.assert_allclose(y, swish(x, 1.5), rtol=1e-6, atol=1e-6)
    assert given == {"shape": (16, 33), "dtype": "float32"}, "the user's description is left alone"
    argument = r"\(16, 33\) float32"
    shown = rf"<Kernel swish for Ascend910A: data {argument} -> vmul_\d+ {argument}>"
    assert re.fullmatch(shown, repr(kernel))


HANDED_BACK = """
from tbe import dsl, tvm

def casts(x, y, z, kernel_name="casts"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        same = dsl.cast_to(data, "float32")
        made = [MADE]
        schedule = dsl.auto_schedule(made)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, *made]})
"""


@cases("made, factors", [("same", [1]), ("dsl.vmuls(same, 3.0), same", [3, 1])])
@cases("backend", ["cpu", "numpy"])
def test_an_input_that_is_handed_back_is_copied(tmp_path, made, factors, backend):
    place = tmp_path / f"{len(factors)}-{backend}"
    operator = load_operator(write(place, "casts.py", HANDED_BACK.replace("MADE", made)))
    kernel = operator.build(*[description((5, 7))] * 3)
    x = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    found = kernel(x, backend=backend)
    for one, factor in zip(found if len(factors) > 1 else [found], factors, strict=True):
        assert not np.shares_memory(one, x)
        np.testing.assert_array_equal(one, x * np.float32(factor))


@cases("where", ["inside", "imported"])
def test_an_operator_that_ends_the_program_is_refused(tmp_path, where):
    text = SWISH + "\nimport sys\nsys.exit(0)\n"
    if where == "inside":
        text = SWISH.replace('"swish"):', '"swish"):\n    raise SystemExit(0)')
    with pytest.raises(
        InputError,
        match=r"swish\.py:\d+: .* fails.*: SystemExit: 0\. Take the call of sys\.exit out",
    ):
        load_operator(write(tmp_path / where, "swish.py", text)).build(*[description((4, 4))] * 2)


def test_nothing_that_was_installed_stays(tmp_path):
    before = set(sys.modules)
    operator = load_operator(write(tmp_path, "swish.py", SWISH))
    operator.build(description((4, 4)), description((4, 4)))
    left = {
        name
        for name in set(sys.modules) - before
        if name.split(".")[0] in ("te", "tbe", "topi", "swish")
    }
    assert not left and not list(tmp_path.glob("__pycache__"))


def test_the_oldest_signature_and_no_build_still_give_a_kernel(tmp_path):
    kernel = load_operator(write(tmp_path, "scale.py", OLDEST)).build((4, 5), "float16")
    x = np.arange(20, dtype=np.float16).reshape(4, 5)
    assert np.array_equal(kernel(x), x * 3)


def test_trees_with_helpers_of_one_name_live_side_by_side(tmp_path):
    files = []
    for number in (2, 5):
        root = tmp_path / f"tree{number}"
        write(root / "impl", "__init__.py", "raise RuntimeError('imports everything')")
        write(root / "impl" / "util", "__init__.py", "")
        write(root / "impl" / "util", "factor.py", f"FACTOR = {number}.0")
        text = """
            from impl.util.factor import FACTOR
            from tbe import dsl, tvm
            def times(x, y, kernel_name="times"):
                from impl.util import factor  # once more, when it runs
                data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
                result = dsl.vmuls(data, FACTOR * factor.FACTOR)
                with tvm.target.cce():
                    schedule = dsl.auto_schedule(result)
                dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, result]})
            """
        files.append((root, write(root / "impl", "times.py", text)))
    loaded = [load_operator(file, search_path=[root]) for root, file in files]
    x = np.ones((3, 4), np.float32)
    for operator, wanted in [*zip(loaded, (4.0, 25.0), strict=True), (loaded[0], 4.0)]:
        kernel = operator.build(description((3, 4)), description((3, 4)))
        assert np.array_equal(kernel(x), x * wanted)
    assert "impl" not in sys.modules


def test_a_function_of_this_program_is_an_operator_too():
    def double(x, y, kernel_name="double"):
        from tbe import dsl, tvm

        data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
        result = dsl.vadd(data, data)
        with tvm.target.cce():
            schedule = dsl.auto_schedule(result)
        dsl.build(schedule, {"name": kernel_name, "tensor_list": [data, result]})

    kernel = load_operator(double).build(description((7,)), description((7,)))
    assert np.array_equal(kernel(np.ones(7, np.float32)), np.full(7, 2.0))


def test_options_of_the_code_are_seen_in_it(tmp_path):
    operator = load_operator(write(tmp_path, "swish.py", SWISH))
    given = description((64, 64))
    kernel = operator.build(given, given, inplace=True, threads=1, vector_bits=128)
    for text in ("b[1] = b[0];", "threads = 1;", "#define LANES 4"):
        assert text in kernel.source
    x = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    wanted = swish(x)
    y = kernel(x)
    assert np.shares_memory(x, y)
    np.testing.assert_allclose(x, wanted, rtol=1e-6, atol=1e-6)


def test_what_cannot_be_in_place_says_so():
    def turn(x, y, kernel_name="turn"):
        from tbe import tvm

        data = tvm.placeholder(x["shape"], name="x", dtype=x["dtype"])
        result = tvm.compute(x["shape"], lambda i, j: data(j, i), name="turned")
        tvm.create_schedule(result.op)

    given = description((8, 8))
    kernel = load_operator(turn).build(given, given, inplace=True)
    with pytest.raises(CompileError, match="turned cannot be written over an input"):
        _ = kernel.source


WRONG = {
    "scalar handed to vmul": (
        "te.lang.cce.vmul(data, -1.0)",
        "vmul takes tensors only.*`vmuls` takes a tensor and a scalar",
    ),
    "other shape": (
        "te.lang.cce.vadd(data, te.lang.cce.sum(data, 0, True))",
        "takes tensors of one shape",
    ),
    "no such word": ("te.lang.cce.vsubs(data, 1.0)", "vsubs"),
    "python error": ("data.no_such_thing()", "no_such_thing"),
}


@cases("case", WRONG)
def test_a_mistake_names_the_operators_line(tmp_path, case):
    line, says = WRONG[case]
    text = f"""
        import te.lang.cce
        from te import tvm
        def wrong(x, y, kernel_name="wrong"):
            data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
            return {line}
        """
    file = write(tmp_path / case.replace(" ", "_"), "wrong.py", text)
    with pytest.raises(FusionError, match=says) as caught:
        load_operator(file).build(description((4, 4)), description((4, 4)))
    assert caught.value.place == f"{file}:6"


def test_wrong_files_and_functions_are_one_sentence(tmp_path):
    with pytest.raises(InputError, match="no such operator file"):
        load_operator(tmp_path / "absent.py")
    file = write(tmp_path, "two.py", "def a(x, kernel_name): pass\ndef b(x, kernel_name): pass\n")
    with pytest.raises(InputError, match=r"the operator function is ambiguous.*a, b"):
        load_operator(file)
    with pytest.raises(InputError, match="defines no function c"):
        load_operator(file, function="c")
    with pytest.raises(InputError, match=r"broken.py:2: .*nowhere.*search_path"):
        load_operator(write(tmp_path, "broken.py", "\nimport nowhere_at_all\n"))
    with pytest.raises(InputError, match="built nothing"):
        load_operator(file, function="a").build(description((4,)))


def test_wrong_arrays_are_refused(tmp_path, subtests):
    kernel = load_operator(write(tmp_path, "swish.py", SWISH)).build(
        description((4, 4)), description((4, 4))
    )
    x = np.ones((4, 4), np.float32)
    for arrays, says in (
        ((), "wrong number of input arrays"),
        ((x[:2],), r"\(4, 4\) float32.*\(2, 4\) float32"),
        ((x.astype(np.float64),), r"float64.*astype\('float32'\)"),
    ):
        with subtests.test(says), pytest.raises(InputError, match=says):
            kernel(*arrays)


@cases("backend", ["cpu", "numpy"])
def test_results_go_to_the_users_arrays_also_over_an_input(tmp_path, backend):
    given = description((8, 40))
    kernel = load_operator(write(tmp_path, "swish.py", SWISH)).build(given, given)
    x = np.random.default_rng(0).standard_normal((8, 40)).astype(np.float32)
    wanted, wide = swish(x), np.zeros((8, 80), np.float32)
    for out in (np.empty((8, 40), np.float32), wide[:, ::2], np.empty((40, 8), np.float32).T, x):
        assert kernel(x, backend=backend, out=out) is out
        np.testing.assert_allclose(out, wanted, rtol=1e-6, atol=1e-6)
    assert not wide[:, 1::2].any()
    with pytest.raises(
        InputError, match=r"an output array has a wrong shape or dtype.*\(8, 40\) float32"
    ):
        kernel(x, backend=backend, out=np.empty((8, 41), np.float32))


def test_without_a_compiler_numpy_computes_and_says_so_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("MS_FUSION_CC", "no-such-compiler")
    operator = load_operator(write(tmp_path, "swish.py", SWISH))
    x = np.ones((4, 4), np.float32)
    with caplog.at_level(logging.WARNING, "tbe_impl"):
        for _ in range(3):
            kernel = operator.build(description((4, 4)), description((4, 4)))
            np.testing.assert_allclose(kernel(x), swish(x), rtol=1e-6)
    told = [record.message for record in caplog.records if "no-such-compiler" in record.message]
    assert len(told) == 1 and "pip install ziglang" in told[0]


def test_building_decides_nothing_about_an_automatic_schedule(repository):
    operator = load_operator(repository / "tbe_impl" / "ops" / "swish.py", function="swish")
    described = {"shape": (4, 8), "dtype": "float32"}
    kernel = operator.build(described, described, 1.5)
    assert kernel.schedule.is_automatic
    assert kernel.options == Options()
