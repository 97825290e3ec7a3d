"""The library of custom operators in ONNX Runtime, and what it refuses."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper
from scipy.special import ndtr

from ms_fusion.onnx.kernels.group_kernel import build
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.onnx.ort_library.attention_text import AttentionKernel, HeadOperand
from ms_fusion.onnx.ort_library.gelu_text import write_gelu
from ms_fusion.onnx.ort_library.operator_library import (
    X86_LEVELS,
    LibraryBuilder,
    architecture_flags,
)
from ms_fusion.onnx.ort_library.operator_text import OperatorText, write_operator
from ms_fusion.readers.onnx_graph import project
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder
from tests.ms_fusion.onnx.ort_library.operator_session import make_operator_runner

PROGRAM = Path(__file__).resolve().parents[3] / "programs" / "onnx" / "plain_session.py"
DTYPES = {
    "float32": (TensorProto.FLOAT, 1e-6),
    "float16": (TensorProto.FLOAT16, 1e-3),
    "bfloat16": (TensorProto.BFLOAT16, 1e-2),
}
SHAPES = [(2, 5, 16), (1, 1, 16), (8, 600, 16), (0, 3, 16)]


def gate_operator(dtype: str, size: int | str = 16) -> OperatorText:
    """y = softmax(a + b) · sigmoid(a), with dynamic batch and tokens."""
    code, _ = DTYPES[dtype]
    b = Builder({"a": ("n", "t", size), "b": ("n", "t", size)}, code)
    total = b.add("Add", "a", "b")
    made = b.add("Mul", b.add("Softmax", total, axis=-1), b.add("Sigmoid", "a"))
    model = onnx.shape_inference.infer_shapes(b.model(made))
    graph = project(ir.serde.deserialize_model(model)).graph
    return write_operator(build(fused_node(graph, [node.name for node in graph.nodes], "Gate")))


def expected_gate(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    a, b = a.astype(np.float64), b.astype(np.float64)
    powers = np.exp(a + b - (a + b).max(-1, keepdims=True, initial=-np.inf))
    return np.asarray(powers / powers.sum(-1, keepdims=True) / (1 + np.exp(-a)))


def save_model(path: Path, operators: Mapping[str, str], rank: int = 3) -> Path:
    """A model that casts its inputs to each dtype, calls its operator, and casts the result."""
    axes = [f"s{axis}" for axis in range(rank)]
    nodes, outputs = [], []
    for number, (name, dtype) in enumerate(operators.items()):
        code = DTYPES[dtype][0]
        nodes += [
            helper.make_node("Cast", [one], [f"{one}{number}"], to=code) for one in ("a", "b")
        ]
        nodes.append(
            helper.make_node(name, [f"a{number}", f"b{number}"], [f"g{number}"], domain="ms_fusion")
        )
        nodes.append(helper.make_node("Cast", [f"g{number}"], [f"y{number}"], to=TensorProto.FLOAT))
        outputs.append(helper.make_tensor_value_info(f"y{number}", TensorProto.FLOAT, axes))
    given = [helper.make_tensor_value_info(one, TensorProto.FLOAT, axes) for one in ("a", "b")]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ms_fusion", 1)]
    graph = helper.make_graph(nodes, "net", given, outputs)
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), path)
    return path


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a model that calls a kernel of each dtype, and their library."""
    found = tmp_path_factory.mktemp("ort")
    operators = {one.name: one for one in map(gate_operator, DTYPES)}
    LibraryBuilder(found).build(list(operators.values()), found / "lib.so")
    save_model(found / "net.onnx", dict(zip(operators, DTYPES, strict=True)))
    return found


def run_plainly(
    place: Path, feeds: Mapping[str, np.ndarray], way: str = "all"
) -> dict[str, object]:
    """Runs the model in a process without ms_fusion."""
    np.savez(place / "inputs.npz", **feeds)  # type: ignore[arg-type]
    asked = [place / "net.onnx", place / "lib.so", place / "inputs.npz", way]
    child = subprocess.run(
        [sys.executable, PROGRAM, *map(str, asked)], capture_output=True, text=True, check=True
    )
    return dict(json.loads(child.stdout.splitlines()[-1]))


def random_feeds(*shape: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    return {one: random.standard_normal(shape).astype(np.float32) for one in ("a", "b")}


@cases("shape", SHAPES)
def test_kernels_run_in_a_plain_process(shape: tuple[int, ...], place: Path) -> None:
    """Any number of threads, a fork, two sessions, every optimisation level, each dtype."""
    feeds = random_feeds(*shape)
    expected = np.abs(expected_gate(**feeds)).sum()
    for way, results in run_plainly(place, feeds).items():
        assert isinstance(results, list), (way, results)
        for dtype, (total, found) in zip(DTYPES, results, strict=True):
            assert tuple(found) == shape, way
            assert total == pytest.approx(expected, rel=DTYPES[dtype][1]), (way, dtype)


@cases("feeds", [random_feeds(2, 5, 17), random_feeds(2, 16) | random_feeds(2, 16)], ids=str)
def test_other_shapes_are_refused(feeds: dict[str, np.ndarray], place: Path) -> None:
    if feeds["a"].ndim == 2:
        names = [node.op_type for node in onnx.load(place / "net.onnx").graph.node]
        other = place / "flat"
        other.mkdir(exist_ok=True)
        (other / "lib.so").write_bytes((place / "lib.so").read_bytes())
        save_model(other / "net.onnx", {names[2]: "float32"}, rank=2)
        place = other
    said = str(run_plainly(place, feeds, "one thread")["error"])
    assert "ms_fusion: input 0 of " in said
    assert "does not have the shape for which the kernel was built; fuse the model again" in said


class Base(ctypes.Structure):
    """OrtApiBase."""

    _fields_ = (
        ("get_api", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)),
        ("version", ctypes.CFUNCTYPE(ctypes.c_void_p)),
    )


@cases("version, known", [("1.9.0", 9), ("2.0.0", 1), ("3.0.0", 0)])
def test_another_version_of_the_interface_is_refused(
    version: str, known: int, place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A runtime that lacks our version of the interface gets a sentence and no operators.

    The sentence goes to standard error if the runtime knows no version at all.
    """
    messages: list[str] = []

    def make_status(_: int, message: bytes) -> int:
        messages.append(message.decode())
        return 42

    status = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(make_status)
    api = (ctypes.c_void_p * 288)(ctypes.cast(status, ctypes.c_void_p).value)
    text = ctypes.create_string_buffer(version.encode())
    base = Base(
        Base._fields_[0][1](lambda asked: ctypes.addressof(api) if asked <= known else 0),
        Base._fields_[1][1](lambda: ctypes.addressof(text)),
    )
    register = ctypes.CDLL(str(place / "lib.so")).RegisterCustomOps
    register.restype = ctypes.c_void_p
    assert register(None, ctypes.byref(base)) == (42 if known else None)
    said = messages[0] if known else capfd.readouterr().err
    assert f"need ONNX Runtime 1.23 or a later 1.x, and this is {version}" in said


def test_a_processor_without_a_feature_is_refused(tmp_path: Path) -> None:
    """No processor since 2017 has FMA4, so a library that is built for it is refused here."""
    flags = (*architecture_flags(), "-mfma4")
    LibraryBuilder(tmp_path, flags).build([gate_operator("float32")], tmp_path / "lib.so")
    save_model(tmp_path / "net.onnx", {gate_operator("float32").name: "float32"})
    said = str(run_plainly(tmp_path, random_feeds(1, 2, 16), "one thread")["error"])
    assert "need a processor with fma4, and this one lacks it" in said


def test_kernels_without_avx512_compute_the_same(tmp_path: Path) -> None:
    operator = gate_operator("float32")
    save_model(tmp_path / "net.onnx", {operator.name: "float32"})
    feeds, level = random_feeds(3, 7, 16), X86_LEVELS[1][0]
    LibraryBuilder(tmp_path, (f"-march={level}",)).build([operator], tmp_path / "lib.so")
    results = run_plainly(tmp_path, feeds, "two threads")
    ((total, shape),) = results["two threads"]  # type: ignore[misc]
    assert shape == [3, 7, 16]
    assert total == pytest.approx(expected_gate(**feeds).sum(), rel=1e-6)


def attend(
    q: np.ndarray, k: np.ndarray, v: np.ndarray, mask: np.ndarray, scale: float
) -> np.ndarray:
    q, k, v = (one.astype(np.float64) for one in (q, k, v))
    times = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, times, axis=1), np.repeat(v, times, axis=1)
    scores = q @ k.swapaxes(-1, -2) * scale + mask
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True) @ v)


def split(x: np.ndarray, heads: int) -> np.ndarray:
    return x.reshape(*x.shape[:2], heads, -1).swapaxes(1, 2)


MASKS = {
    "none": None,
    "keys": lambda b, h, q, k: np.where(np.arange(k) % 3 == 1, -1e9, 0.0)[None, None, None],
    "causal": lambda b, h, q, k: np.triu(np.full((q, k), -np.inf), 1 + k - q),
    "each": lambda b, h, q, k: np.random.default_rng(1).standard_normal((b, h, q, k)),
    "padded": lambda b, h, q, k: np.where(
        np.arange(k) > k * 2 // 3, -np.inf, np.random.default_rng(1).standard_normal((q, k))
    ),
    "one a query": lambda b, h, q, k: np.random.default_rng(1).standard_normal((q, 1)),
}


@cases("mask", list(MASKS))
@cases("layout", ["packed", "packed with bias", "flat", "split", "grouped"], sample=6)
def test_attention_agrees_with_float64(layout: str, mask: str, tmp_path: Path) -> None:
    """Tails of queries, keys and heads; masks of every rank; keys that serve several queries."""

    heads, size, groups = 4, 20, 2 if layout == "grouped" else 4
    random = np.random.default_rng(2)
    is_split = layout in ("split", "grouped")
    make = MASKS[mask]
    rank = make(1, heads, 1, 1).ndim if make else None
    has_bias, is_packed = layout == "packed with bias", layout.startswith("packed")
    inputs = 1 if is_packed else 3
    kernel = AttentionKernel(
        *(  # type: ignore[misc, arg-type]
            HeadOperand(0, is_split=False, offset=n * heads * size)
            if is_packed
            else HeadOperand(n, is_split=is_split)
            for n in range(3)
        ),
        ranks=(4 if is_split else 3,) * inputs,
        heads=heads,
        groups=groups,
        size=size,
        value_size=size,
        scale=0.25,
        mask_rank=rank,
        is_result_split=is_split,
        has_bias=has_bias,
    )
    operator = kernel.write()
    ranks = [*kernel.ranks, *([1] * has_bias), *([rank] if rank is not None else [])]
    run = make_operator_runner(operator, ranks, tmp_path, None)
    for batch, queries, keys in ((1, 1, 1), (2, 5, 5), (1, 70, 70), (2, 70, 200), (1, 130, 300)):
        keys = queries if is_packed else keys
        x = [
            random.standard_normal((batch, tokens, own * size)).astype(np.float32)
            for tokens, own in ((queries, heads), (keys, groups), (keys, groups))
        ]
        parts = [split(one, own) for one, own in zip(x, (heads, groups, groups), strict=True)]
        given = parts if is_split else x
        if is_packed:
            given = [np.concatenate(x, axis=-1)]
        if has_bias:
            added = random.standard_normal(3 * heads * size).astype(np.float32)
            given = [given[0] - added, added]
        bias = make(batch, heads, queries, keys).astype(np.float32) if make else np.float32(0)
        found = run(*map(np.ascontiguousarray, [*given, *([bias] if make else [])]))
        expected = attend(*parts, np.asarray(bias, np.float64), 0.25)
        if not is_split:
            expected = expected.swapaxes(1, 2).reshape(batch, queries, -1)
        np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)


@cases("level", [None, X86_LEVELS[1][0], X86_LEVELS[2][0]])
def test_gelu_agrees_with_float64(level: str | None, tmp_path: Path) -> None:
    """Both forms, a bias, tails, small results of negative numbers, special values, no element."""
    import onnxruntime

    flags = None if level is None else (f"-march={level}",)
    operators = [
        write_gelu(2, by_tanh=by_tanh, has_bias=has_bias)
        for has_bias in (False, True)
        for by_tanh in (False, True)
    ]
    LibraryBuilder(tmp_path, flags).build(operators, tmp_path / "lib.so")
    told = [
        helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", "m"]),
        helper.make_tensor_value_info("b", TensorProto.FLOAT, ["k"]),
    ]
    nodes = [
        helper.make_node(
            one.name, ["x", "b"][: 1 + number // 2], [f"y{number}"], domain="ms_fusion"
        )
        for number, one in enumerate(operators)
    ]
    made = [helper.make_tensor_value_info(f"y{n}", TensorProto.FLOAT, None) for n in range(4)]
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ms_fusion", 1)]
    graph = helper.make_graph(nodes, "net", told, made)
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    options = onnxruntime.SessionOptions()
    options.register_custom_ops_library(str(tmp_path / "lib.so"))
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for rows, columns in ((1, 1), (3, 7), (0, 4), (7, 12289)):
        given = np.linspace(-7, 7, rows * columns).astype(np.float32).reshape(rows, columns)
        bias = np.linspace(-1, 1, columns).astype(np.float32)
        found = session.run(None, {"x": given, "b": bias})
        for number, one in enumerate(found):
            wide = (given + bias if number > 1 else given).astype(np.float64)
            inner = np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3)
            exact = wide / (1 + np.exp(-2 * inner)) if number % 2 else wide * ndtr(wide)
            np.testing.assert_allclose(one, exact, rtol=1e-5, atol=1e-12)
    special = np.array([[np.nan, np.inf, -1e30, -100, 3e38, 0.0]], np.float32)
    for one in session.run(None, {"x": special, "b": np.zeros(6, np.float32)}):
        np.testing.assert_array_equal(one, np.maximum(special, 0))


def test_a_kernel_with_a_library_call_is_refused() -> None:
    b = Builder({"x": ("n", 4, 4)})
    made = b.add("Relu", b.add("MatMul", "x", b.weight(4, 4)))
    model = onnx.shape_inference.infer_shapes(b.model(made))
    graph = project(ir.serde.deserialize_model(model)).graph
    kernel = build(fused_node(graph, [node.name for node in graph.nodes], "Product"))
    with pytest.raises(InputError, match="the kernel calls a library"):
        write_operator(kernel)
