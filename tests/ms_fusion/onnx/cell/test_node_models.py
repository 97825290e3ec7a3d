"""ONNX's single-operator models as Cells, compared with their stored results.

This test runs a part; ``python -m tests.ms_fusion.onnx.cell.test_node_models [graph]`` runs all,
and prints right results, refusals and reasons.
"""

from __future__ import annotations

import inspect
import re
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.case import base, node
from onnx.backend.test.loader import load_model_tests

import ms_fusion as mf
from ms_fusion.onnx.cell import model_graph
from ms_fusion.onnx.cell.operators import OPERATORS
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops import ONNX_OPERATORS
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.cell.test_rarer_operators import CASES as RARER
from tests.ms_fusion.onnx.fuse.test_corpus import IR_VERSION, Shared

WANTED = (
    "acosh",
    "argmax",
    "argmin",
    "asinh",
    "atanh",
    "attention_[34]d",
    "batchnorm",
    "bitcast",
    "bitshift",
    "bitwise",
    "celu",
    "center_crop",
    "compress",
    "constantofshape",
    "convtranspose",
    "cumprod",
    "cumsum",
    "depthtospace",
    "dequantizelinear",
    "det",
    "dropout_default",
    "dynamicquantize",
    "edge_pad",
    "einsum",
    "eyelike",
    "gather_[^e]",
    "gather_elements",
    "gathernd",
    "gridsample",
    "group_norm",
    "gru",
    "hardmax",
    "if$",
    "isinf",
    "l1norm",
    "l2norm",
    "layer_norm.*[^d]$",
    "loop11",
    "lppool",
    "lrn",
    "lstm",
    "matmulinteger",
    "maxpool",
    "mod_",
    "mvn",
    "nllloss",
    "nonmaxsuppression",
    "nonzero",
    "onehot",
    "qlinearmatmul",
    "quantizelinear",
    "range_(float|int32)",
    "reduce_log_sum",
    "reflect_pad",
    "resize_",
    "reversesequence",
    "rnn",
    "scan",
    "scatter",
    "selu",
    "sequence",
    "size",
    "slice",
    "softmax",
    "spacetodepth",
    "split_to_sequence",
    "thresholdedrelu",
    "top_k",
    "tril",
    "triu",
    "unique",
    "upsample",
    "wrap_pad",
    "xor",
)
"""Name prefixes or patterns."""
EVERY = 4
"""Samples one of this many of each kind."""
EVERY_QUICK = 32
"""Samples one of this many in `make test`."""
FEWER = {"attention_[34]d": 40}
"""Samples one of this many in `make test`, for slow kinds."""
MORE_QUICK = ["maxpool_with_argmax_2d_precomputed_strides"]
"""Further models of `make test`."""
SPELLED_OUT = ("test_range_",)
"""Name prefixes of models that `make test` also builds with expanded functions."""


@pytest.fixture(scope="module")
def models(full: bool) -> dict[str, Any]:
    return {one.name: one for one in all_cases(full=full)}


def all_cases(*, full: bool = True) -> list[Any]:
    """All of them, by name, or those of `WANTED` whose expected results are computed quickly.

    `make test` does not build the others, nor expanded functions except `EXPANSIONS`.
    """
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")
        if not full:
            patch.setattr(base, "Base", WithoutLargePools("Base", (), {}))
            patch.setattr(base, "process_snippet", lambda *_: ("", ""))
            patch.setattr(node, "expect", expect_wanted)
            patch.setattr(node, "function_testcase_helper", written_out_where_wanted)
        return sorted(load_model_tests(kind="node"), key=lambda one: str(one.name))


EXPECT, WRITTEN_OUT = node.expect, node.function_testcase_helper
IS_WANTED = re.compile(f"test_({'|'.join((*WANTED, *MORE_QUICK))})")


def expect_wanted(node_op: Any, inputs: Any, outputs: Any, name: str, **told: Any) -> None:
    """Builds a requested model; the name of an expanded one ends with ``_expanded``."""
    if any(IS_WANTED.match(one) for one in (name, f"{name}_expanded")):
        EXPECT(node_op, inputs=inputs, outputs=outputs, name=name, **told)


def written_out_where_wanted(node_op: Any, types: Any, name: str, **told: Any) -> Any:
    """The nodes of a function."""
    return WRITTEN_OUT(node_op, types, name, **told) if name.startswith(SPELLED_OUT) else ([], 0)


class WithoutLargePools(type(base.Base)):  # type: ignore[misc]
    """Skips two- and three-dimensional poolings that ONNX computes in Python: that takes 10 s."""

    def __init__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> None:
        kept = {key: value for key, value in body.items() if not cls.is_slow(key, value)}
        super().__init__(name, bases, kept)

    @staticmethod
    def is_slow(key: str, value: Any) -> bool:
        if re.match("export_(average|lp|max)pool_[23]d", key) is None:
            return False
        return bool(re.search(r"\bpool\(", inspect.getsource(value)))


@pytest.fixture(scope="module", autouse=True)
def pynative() -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=before)


def array_of(value: Any) -> Any:
    """Data of a test as inputs: a list for a sequence."""
    if isinstance(value, onnx.TensorProto):
        return numpy_helper.to_array(value)
    return [array_of(one) for one in value] if isinstance(value, list) else np.asarray(value)


def known_sets(inputs: list[Any]) -> Iterator[frozenset[int]]:
    """Inputs that become constants: none; integers after the first, such as axes; small ones."""
    yield frozenset()
    whole = {
        place
        for place, one in enumerate(inputs)
        if isinstance(one, np.ndarray) and one.dtype.kind in "biu"
    }
    yield frozenset(whole - {0})
    yield frozenset(
        whole
        | {
            place
            for place, one in enumerate(inputs)
            if place and isinstance(one, np.ndarray) and one.size <= 8
        }
    )


def outcome(case: Any, place: Path) -> str:
    """``right``; or the refusal of a Cell for every choice of constant inputs.

    Raises:
        AssertionError: a result differs.
    """
    first = ""
    inputs, outputs = ([array_of(one) for one in part] for part in case.data_sets[0])
    for known in known_sets(inputs):
        try:
            net = mf.from_onnx(model_of(case, inputs, known, place))
        except InputError as error:
            first = first or f"refused: {error.what}" + (f" ({error.got})" if error.got else "")
            continue
        try:
            made = net(*(fed(one) for number, one in enumerate(inputs) if number not in known))
            results = read((made,) if len(outputs) == 1 else made)
        except (RuntimeError, TypeError, ValueError) as error:
            return f"MindSpore refuses: {str(error).strip()[:60]}"
        check(case.name, results, outputs)
        return "right"
    return first


def fed(value: Any) -> Any:
    """A tensor, or a tuple of them for a sequence."""
    return tuple(map(fed, value)) if isinstance(value, list) else ms.Tensor(value)


def read(made: Any) -> Any:
    """The same for the returned arrays."""
    return list(map(read, made)) if isinstance(made, tuple) else made.asnumpy()


def check(name: str, found: Any, expected: Any) -> None:
    """Same dtypes, same values."""
    if isinstance(expected, list):
        for one, other in zip(found, expected, strict=True):
            check(name, one, other)
        return
    # MindSpore's bfloat16 differs from ONNX's type of the same name
    assert found.dtype.name == expected.dtype.name, name
    relative = 1e-2 if expected.dtype.itemsize < 4 and expected.dtype.kind not in "biu" else 1e-4
    kind = expected.dtype if expected.dtype.kind in "biuc" else np.float64
    np.testing.assert_allclose(
        found.astype(kind), expected.astype(kind), rtol=relative, atol=relative / 10, err_msg=name
    )


def model_of(case: Any, inputs: list[Any], known: frozenset[int], place: Path) -> Path:
    """A model with some inputs as constants."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    model.ir_version = min(model.ir_version, IR_VERSION)
    for number, (value, array) in enumerate(zip(list(model.graph.input), inputs, strict=True)):
        if number in known:
            model.graph.initializer.append(numpy_helper.from_array(array, value.name))
            model.graph.input.remove(value)
    onnx.save(model, place / "model.onnx")
    return place / "model.onnx"


@cases(
    "kind, every",
    # the first of `range_` is refused, as are all whose length is an input
    [pytest.param(kind, EVERY, marks=() if kind.startswith("range_") else FULL) for kind in WANTED]
    + [(kind, FEWER.get(kind, EVERY_QUICK)) for kind in WANTED if not kind.startswith("range_")]
    + [(name, 1) for name in MORE_QUICK],
    per_item=60,
)
def test_single_operator_models_give_the_stored_results(
    kind: str, every: int, models: dict[str, Any], tmp_path: Path
) -> None:
    wanted = [one for name, one in models.items() if re.match(f"test_{kind}", name)]
    found = Counter(outcome(one, tmp_path) for one in wanted[::every])
    assert found["right"], found


def test_every_operator_is_tried(models: dict[str, Any]) -> None:
    tried = {
        node.op_type
        for kind in WANTED
        for name, one in models.items()
        if re.match(f"test_{kind}", name)
        for node in one.model.graph.node
    }
    tried |= {name.split()[0] for name in RARER}
    # `test_cell` covers operators that can join a kernel, and sequences
    assert not {
        one for one in OPERATORS.keys() - ONNX_OPERATORS.keys() - tried if "Sequence" not in one
    }


def main() -> int:
    """A line for each outcome; returns 1 when a result differs from ONNX's."""
    told: Counter[str] = Counter()
    ms.set_context(mode=ms.GRAPH_MODE if "graph" in sys.argv[1:] else ms.PYNATIVE_MODE)
    with NativeWorkers() as native, tempfile.TemporaryDirectory() as directory:
        model_graph.NativeWorkers = Shared(native)  # type: ignore[assignment, misc]
        for case in all_cases():
            try:
                told[outcome(case, Path(directory))] += 1
            except Exception as error:  # noqa: BLE001 - the others are still to be tried
                told["WRONG"] += 1
                sys.stdout.write(f"{case.name}: {type(error).__name__}: {str(error)[:200]}\n")
    for line, count in sorted(told.items()):
        sys.stdout.write(f"{count:5d}  {line}\n")
    return int(told["WRONG"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
