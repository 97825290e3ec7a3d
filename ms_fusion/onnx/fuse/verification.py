"""Compares the original and the fused model in ONNX Runtime, and each kernel with its operators."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import onnx_ir as ir

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.graph import Graph, Value
from ms_fusion.onnx.fuse.functions import FusedGroup, graph_of
from ms_fusion.onnx.fuse.size_request import SYMBOL_SIZE, request_sizes
from ms_fusion.onnx.kernels.group_kernel import SHAPED_BY_INPUT, GroupKernel
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops.call import numpy_dtype
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK
from ms_fusion.rewrite import Candidate
from tbe_impl.errors import InputError

TOLERANCES: Mapping[str, tuple[float, float]] = {
    "float64": (1e-10, 1e-10),
    "float32": (1e-4, 1e-5),
    "float16": (1e-2, 1e-2),
    "bfloat16": (5e-2, 5e-2),
}
"""Maps a dtype to (relative tolerance, absolute tolerance).

The absolute tolerance is a share of the tensor's largest magnitude. Tensors of other dtypes must be
equal.
"""
SAMPLED_DTYPES = frozenset(
    {*TOLERANCES, "bool", *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64))}
)
"""Dtypes for which sample values can be generated."""
ELEMENTS_MAX = 1 << 28
TRIAL_BYTES_MAX = 1 << 30
"""Largest total size in bytes of the inputs and results of a group that is run for verification.

ONNX Runtime needs further memory for the group's intermediate values.
"""
SAMPLED_NUMBERS_MAX = 1_048_573
"""Maximum number of generated values. A tensor with more elements repeats the values.

The number is prime, so that the rows of such a tensor differ.
"""
FEW_ELEMENTS, SAMPLES_MAX = 64, 8
"""Samples of a group with few results; see `check_group`."""
PIECE = 1 << 16
"""Number of elements that are compared at a time."""


@dataclass(frozen=True)
class Difference:
    """The difference of a tensor from the expected tensor.

    Attributes:
        name: name of the output.
        largest: absolute difference at the worst element, whose difference is greatest relative to
            its tolerance. If shapes, dtypes, or the positions of NaN or infinities differ, the
            value is infinite. For a dtype without a tolerance, the value is the number of unequal
            elements.
        allowed: absolute tolerance at the worst element.
    """

    name: str
    largest: float
    allowed: float

    @property
    def agrees(self) -> bool:
        return self.largest <= self.allowed


def difference(name: str, expected: np.ndarray, found: np.ndarray) -> Difference:
    """Compares `found` with `expected` by the tolerance of the dtype."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return Difference(name, np.inf, 0.0)
    if expected.dtype.kind not in "fV" and expected.dtype.name != "bfloat16":
        return Difference(name, float(np.count_nonzero(expected != found)), 0.0)
    relative, absolute = TOLERANCES[expected.dtype.name]
    scale = 0.0
    for a, b in _pieces(expected, found):
        if not (
            np.array_equal(np.isnan(a), np.isnan(b))
            and np.array_equal(a[np.isinf(a)], b[np.isinf(a)])
        ):
            return Difference(name, np.inf, 0.0)
        a, _ = _finite_parts(a, b)
        scale = max(scale, float(np.max(a, initial=0.0)), -float(np.min(a, initial=0.0)))
    worst: Difference | None = None
    for a, b in _pieces(expected, found):
        a, b = _finite_parts(a, b)
        if not a.size:
            continue
        gap = np.abs(a - b)
        allowed = relative * np.abs(a) + absolute * max(scale, 1e-30)
        place = int(np.argmax(gap - allowed))
        if worst is None or gap[place] - allowed[place] > worst.largest - worst.allowed:
            worst = Difference(name, float(gap[place]), float(allowed[place]))
    return worst or Difference(name, 0.0, 0.0)


def _pieces(expected: np.ndarray, found: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yields both tensors piece by piece in float64.

    A full copy in float64 would use several times the memory of the tensors.
    """
    one, other = expected.reshape(-1), found.reshape(-1)
    for start in range(0, one.size, PIECE):
        part = slice(start, start + PIECE)
        yield one[part].astype(np.float64), other[part].astype(np.float64)


def _finite_parts(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the elements of both tensors at the positions where `a` is finite."""
    known = np.isfinite(a)
    return (a, b) if known.all() else (a[known], b[known])


def sample(value: Value, sizes: Mapping[str, int], seed: int = 0) -> np.ndarray:
    """Generates reproducible values with the shape and dtype of `value`.

    Floats have a normal distribution; integers are from 0 to 3.

    Raises:
        InputError: the shape has too many elements, or the dtype is not in `SAMPLED_DTYPES`.
    """
    shape = _sizes(value, sizes)
    if math.prod(shape) > ELEMENTS_MAX:
        raise InputError(
            "the input is too large to be tried",
            place=value.name,
            expected=f"at most {ELEMENTS_MAX} elements",
            got=str(shape),
        )
    name = hashlib.sha256(f"{seed} {value.name}".encode()).digest()
    random = np.random.default_rng(int.from_bytes(name[:8], "little"))
    if value.dtype == "bool":
        return random.integers(0, 2, shape).astype(bool)
    if value.dtype not in SAMPLED_DTYPES:
        raise InputError(
            "no sample values can be generated for this input",
            place=value.name,
            got=value.dtype or "no dtype",
        )
    if value.dtype not in TOLERANCES:
        return random.integers(0, 4, shape).astype(value.dtype)
    numbers = random.standard_normal(min(math.prod(shape), SAMPLED_NUMBERS_MAX)).astype(
        numpy_dtype(value.dtype)
    )
    return np.resize(numbers, shape)


def check_group(
    kernel: GroupKernel,
    fused: FusedGroup,
    model: ir.Model,
    native: NativeWorkers,
    nodes: Mapping[str, ir.Node],
    values: Mapping[str, ir.Value],
    sizes: Mapping[str, int],
) -> tuple[Difference, ...]:
    """Compares the results of a kernel with ONNX Runtime's results for the same operators.

    If a result of less than `FEW_ELEMENTS` elements differs, more samples of the inputs are run,
    and all samples are compared together: the magnitude of a few elements is no scale for an
    absolute error. For example, ONNX Runtime's sigmoid of -30 is 0.

    Returns one difference for each output.

    Raises:
        WorkerError: ONNX Runtime cannot run the operators.
        InputError: `group_inputs` cannot generate the inputs.
    """
    body = fused.node.fused_body
    alone = ir.Model(graph_of(model, fused, nodes, values), ir_version=model.ir_version)
    path = native.directory / f"{kernel.name}.onnx"
    ir.save(alone, path)
    expected: list[list[np.ndarray]] = [[] for _ in body.outputs]
    found: list[list[np.ndarray]] = [[] for _ in body.outputs]
    differences: tuple[Difference, ...] = ()
    try:
        for seed in range(SAMPLES_MAX):
            given = group_inputs(body, values, sizes, seed)
            inputs = {f"x{number}": array for number, array in enumerate(given)}
            results = kernel.kernel(*given)
            for place, (one, two) in enumerate(
                zip(
                    native.run(path, inputs).outputs.values(),
                    results if isinstance(results, tuple) else (results,),
                    strict=True,
                )
            ):
                expected[place].append(one)
                found[place].append(two)
            differences = tuple(map(_difference_of_samples, body.outputs, expected, found))
            if all(
                one.agrees or samples[0].size >= FEW_ELEMENTS
                for one, samples in zip(differences, expected, strict=True)
            ):
                break
    finally:
        path.unlink(missing_ok=True)
    return differences


def _difference_of_samples(
    name: str, expected: Sequence[np.ndarray], found: Sequence[np.ndarray]
) -> Difference:
    """Compares the samples of a result as one tensor; equal shapes are required of each sample."""
    for one, two in zip(expected, found, strict=True):
        if len(expected) == 1 or one.shape != two.shape:
            return difference(name, one, two)
    return difference(
        name,
        np.concatenate([one.reshape(-1) for one in expected]),
        np.concatenate([one.reshape(-1) for one in found]),
    )


def group_inputs(
    body: Graph, values: Mapping[str, ir.Value], sizes: Mapping[str, int], seed: int = 0
) -> list[np.ndarray]:
    """Returns the inputs with which a group is run for verification, in the group's order.

    Different values of `seed` give different samples.

    Raises:
        InputError: the inputs (without weights) and results exceed `TRIAL_BYTES_MAX`, or no values
            can be generated for an input.
    """
    computed = [
        body.values[name]
        for name in (*body.inputs, *body.outputs)
        if values[name].const_value is None
    ]
    size = sum(
        math.prod(_sizes(value, sizes)) * numpy_dtype(value.dtype).itemsize
        for value in computed
        if value.dtype in SAMPLED_DTYPES
    )
    if size > TRIAL_BYTES_MAX:
        raise InputError(
            "the group is too large to be tried",
            expected=f"at most {TRIAL_BYTES_MAX >> 20} MiB of inputs and results",
            got=f"{size >> 20} MiB",
        )
    return [_input(name, body, values, sizes, seed) for name in body.inputs]


def _input(
    name: str, body: Graph, values: Mapping[str, ir.Value], sizes: Mapping[str, int], seed: int
) -> np.ndarray:
    """Returns an input of a group: a weight, a target shape, or generated values.

    A target shape is an input of a Reshape or Expand.
    """
    tensor = values[name].const_value
    if tensor is not None:
        return np.ascontiguousarray(tensor.numpy())
    for node in body.consumers.get(name, ()):
        if node.op in SHAPED_BY_INPUT and name in node.inputs[1:2]:
            return np.array(_sizes(body.values[node.outputs[0]], sizes), np.int64)
    return sample(body.values[name], sizes, seed)


def _sizes(value: Value, sizes: Mapping[str, int]) -> list[int]:
    return [
        size if isinstance(size, int) and size >= 0 else sizes.get(str(size), SYMBOL_SIZE)
        for size in value.shape
    ]


@dataclass(frozen=True)
class Comparison:
    """Compares a model with fused variants of the model in ONNX Runtime, on seeded inputs.

    Attributes:
        original: path of the original model.
        graph: graph of the original model.
        sizes: values of dynamic sizes.
        defaults: maps the name of an optional input to its default value, which is used in the
            runs.
        native: child processes that run the models.
    """

    original: Path
    graph: Graph
    sizes: Mapping[str, int]
    defaults: Mapping[str, ir.TensorProtocol]
    native: NativeWorkers

    @cached_property
    def inputs(self) -> dict[str, np.ndarray]:
        """The inputs for all runs, by name."""
        values = (self.graph.values[name] for name in self.graph.inputs)
        return {value.name: self._input_of(value) for value in values if value.kind == "input"}

    def _input_of(self, value: Value) -> np.ndarray:
        if value.name in self.defaults:
            return np.asarray(self.defaults[value.name].numpy())
        return sample(value, self.sizes)

    @cached_property
    def original_outputs(self) -> Mapping[str, np.ndarray]:
        """The outputs of the original model, by name."""
        try:
            return self.native.run(self.original, self.inputs).outputs
        except WorkerError as error:
            raise InputError(
                "the models could not be compared in ONNX Runtime",
                place=str(self.original),
                got=str(error),
                remedy=self._remedy(),
            ) from error

    def _remedy(self) -> str | None:
        """Returns the advice in the error message for a model that fails on the generated inputs.

        Returns None if there is no advice.
        """
        values = [self.graph.values[name] for name in self.graph.inputs]
        shapeless = [value.name for value in values if value.shape == UNKNOWN_RANK]
        if shapeless:
            return (
                "Say in the model what shape its inputs have: "
                f"none is told of {', '.join(shapeless)}"
            )
        symbols = dict.fromkeys(
            size for value in values for size in value.shape if isinstance(size, str)
        )
        told = ",".join(f"{symbol}={self.sizes.get(symbol, SYMBOL_SIZE)}" for symbol in symbols)
        if not told:
            return None
        request = request_sizes(self.graph, self.sizes)
        wanted = "" if request is None else f" {request.wanted}"
        return f"It was run with {told}. Give sizes that the model takes: --assume{wanted}"

    def compare_fused(self, model: ir.Model, library: Path | None = None) -> tuple[Difference, ...]:
        """Returns the difference of each output from the original's output.

        The differences are infinite if the fused model does not run. `library` is a library of the
        custom operators in the model.

        Raises:
            InputError: ONNX Runtime cannot run the original model.
        """
        expected = self.original_outputs
        path = self.native.directory / "fused.onnx"
        ir.save(ir.external_data.load_to_model(model), path)
        try:
            found = self.native.run(path, self.inputs, library=library).outputs
        except WorkerError:
            return tuple(Difference(name, np.inf, 0.0) for name in expected)
        return tuple(difference(name, array, found[name]) for name, array in expected.items())


def is_within_tolerance(found: Iterable[Difference]) -> bool:
    """Returns whether every difference is within its tolerance."""
    return all(one.agrees for one in found)


def bisect_culprit(
    chosen: Sequence[Candidate], agrees: Callable[[Sequence[Candidate]], bool]
) -> Candidate:
    """Finds by bisection one fusion that changes the model's results.

    `agrees` is a function that returns whether the model with only the given fusions has the right
    results.
    """
    left = list(chosen)
    while len(left) > 1:
        first, second = left[: len(left) // 2], left[len(left) // 2 :]
        left = second if agrees(first) else first
    return left[0]
