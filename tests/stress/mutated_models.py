"""Fuses mutated ONNX models: ``python -m tests.stress.mutated_models bytes|structure FIRST LAST``.

A seed determines the model and its mutation; then it is fused as far as possible. Any outcome
except a result or our own error ends the process with the seed, as does a timeout or a memory
limit.
"""

from __future__ import annotations

import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import onnx
from onnx import TensorProto

from ms_fusion.onnx.fuse import auto_fuse as module
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import FusionError
from tests.ms_fusion.onnx.fuse.corpus import MODELS
from tests.ms_fusion.onnx.fuse.test_corpus import Shared

LIMIT_S, LIMIT_BYTES = 10.0, 2 << 30
SOURCES = ("torch_layer", "lstm_one", "random_5", "resnet_small", "t5_small")
OPERATORS = (
    "Relu",
    "MatMul",
    "Add",
    "Softmax",
    "Reshape",
    "Concat",
    "Split",
    "Conv",
    "Loop",
    "If",
    "Nothing",
    "LSTM",
    "Cast",
    "",
)
NUMBERS = (-(2**63), -1, 0, 1, 3, 2**31, 2**62)
TEXTS = ("", "x", "\n", "*/", "</script>", "../x", "é" * 1000)


def by_bytes(whole: bytes, chance: random.Random) -> bytes:
    """Changes a few bytes, or truncates."""
    spoilt = bytearray(whole)
    for _ in range(chance.randint(1, 8)):
        spoilt[chance.randrange(len(spoilt))] = chance.randrange(256)
    if chance.random() < 0.1:
        del spoilt[chance.randrange(len(spoilt)) :]
    return bytes(spoilt)


def by_structure(whole: bytes, chance: random.Random) -> bytes:
    """Changes, removes, duplicates or reorders a few parts of the model."""
    model = onnx.ModelProto.FromString(whole)
    for _ in range(chance.randint(1, 4)):
        with suppress(IndexError):  # no part of that kind is left
            chance.choice(CHANGES)(model, chance)
    return model.SerializeToString()


def _operator(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(model.graph.node)
    node.op_type = chance.choice(OPERATORS)


def _input(model: onnx.ModelProto, chance: random.Random) -> None:
    node, other = chance.choice(model.graph.node), chance.choice(model.graph.node)
    names = [*other.input, *other.output, ""]
    if node.input:
        node.input[chance.randrange(len(node.input))] = chance.choice(names)


def _gone(model: onnx.ModelProto, chance: random.Random) -> None:
    parts = chance.choice(
        (
            model.graph.node,
            model.graph.initializer,
            model.graph.input,
            model.graph.output,
            model.opset_import,
        )
    )
    if parts:
        del parts[chance.randrange(len(parts))]


def _twice(model: onnx.ModelProto, chance: random.Random) -> None:
    model.graph.node.append(chance.choice(model.graph.node))


def _attribute(model: onnx.ModelProto, chance: random.Random) -> None:
    found = [one for node in model.graph.node for one in node.attribute]
    if not found:
        return
    one = chance.choice(found)
    one.i = chance.choice(NUMBERS)
    if one.ints:
        one.ints[chance.randrange(len(one.ints))] = chance.choice(NUMBERS)
    if chance.random() < 0.3:
        one.type = chance.randrange(1, 15)


def _tensor(model: onnx.ModelProto, chance: random.Random) -> None:
    if not model.graph.initializer:
        return
    one = chance.choice(model.graph.initializer)
    match chance.randrange(4):
        case 0:
            one.data_type = chance.choice([0, 7, 8, 10, 99])
        case 1 if one.dims:
            one.dims[chance.randrange(len(one.dims))] = chance.choice(NUMBERS)
        case 2:
            one.data_location = TensorProto.EXTERNAL
            entry = one.external_data.add()
            entry.key, entry.value = (
                "location",
                chance.choice(["/dev/zero", "../x", "model.onnx", ""]),
            )
        case _:
            one.raw_data = bytes(chance.randrange(64))


def _size(model: onnx.ModelProto, chance: random.Random) -> None:
    value = chance.choice([*model.graph.input, *model.graph.output])
    sizes = value.type.tensor_type.shape.dim
    if sizes:
        sizes[chance.randrange(len(sizes))].dim_value = chance.choice(NUMBERS)
    if chance.random() < 0.3:
        value.type.tensor_type.elem_type = chance.choice([0, 7, 8, 9, 11, 99])


def _name(model: onnx.ModelProto, chance: random.Random) -> None:
    node = chance.choice(model.graph.node)
    node.name = chance.choice(TEXTS)
    if node.output and chance.random() < 0.5:
        node.output[chance.randrange(len(node.output))] = chance.choice(TEXTS)


def _version(model: onnx.ModelProto, chance: random.Random) -> None:
    if model.opset_import:
        model.opset_import[0].version = chance.choice([0, 1, 7, 12, 99, 2**40])


Change = Callable[[onnx.ModelProto, random.Random], None]
CHANGES: tuple[Change, ...] = (
    _operator,
    _input,
    _gone,
    _twice,
    _attribute,
    _tensor,
    _size,
    _name,
    _version,
)
WAYS: dict[str, Callable[[bytes, random.Random], bytes]] = {
    "bytes": by_bytes,
    "structure": by_structure,
}


def tried(spoilt: bytes, level: int, place: Path) -> bool:
    """Whether a model could be fused; False for our own error.

    A timed-out model is tried once more: a busy machine pauses now and then, and the kernels are
    then in the cache, so that compilers, which have their own limit, do not count.
    """
    (place / "spoilt.onnx").write_bytes(spoilt)
    fused, took_s = _fused(level, place)
    if took_s >= LIMIT_S:
        fused, took_s = _fused(level, place)
    assert took_s < LIMIT_S, f"took {took_s:.1f} s"
    held = 1024 * max(
        resource.getrusage(who).ru_maxrss
        for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    assert held < LIMIT_BYTES, f"held {held} bytes"
    return fused


def _fused(level: int, place: Path) -> tuple[bool, float]:
    begin = time.monotonic()
    try:
        module.auto_fuse(place / "spoilt.onnx", place / "fused.onnx", opt_level=level)
        fused = True
    except FusionError:
        fused = False
    return fused, time.monotonic() - begin


def main(arguments: Sequence[str]) -> int:
    """Prints the numbers of fused and refused models."""
    way, first, last = arguments[0], int(arguments[1]), int(arguments[2])
    fused = 0
    with NativeWorkers() as native, tempfile.TemporaryDirectory() as directory:
        module.NativeWorkers = Shared(native)  # type: ignore[assignment, misc]
        place = Path(directory)
        wholes = [MODELS[name](place / "whole.onnx").read_bytes() for name in SOURCES]
        for seed in range(first, last):
            chance = random.Random(f"{way} {seed}")
            try:
                fused += tried(
                    WAYS[way](chance.choice(wholes), chance),
                    chance.choice((0, 0, 0, 1, 2, 3)),
                    place,
                )
            except BaseException:
                sys.stderr.write(f"{way} {seed}\n")
                raise
    sys.stdout.write(f"{last - first} models, {fused} fused, {last - first - fused} refused\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
