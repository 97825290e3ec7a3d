"""Asks for the unknown sizes of a model's inputs, and proposes values."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass

from ms_fusion.graph import Graph, Value
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK

IMAGE_SIDE, SEQUENCE_TOKENS = "224", "128"
"""Examples of sizes in the request for `--assume`."""
SYMBOL_SIZE = 3
"""Value of an unknown size in verification runs.

It is above 1, so that a wrong order of axes is detected.
"""


@dataclass(frozen=True)
class SizeRequest:
    """The unknown sizes of a model's inputs for which no value is assumed.

    Attributes:
        unknown: maps the name of each input with such sizes to their names.
        looks: statements about inputs that look like an image or a sequence.
        wanted: the value of ``--assume`` that sets these sizes, with ``…`` for a size for which
            there is no proposal.
    """

    unknown: Mapping[str, tuple[str, ...]]
    looks: tuple[str, ...]
    wanted: str


def request_sizes(graph: Graph, sizes: Mapping[str, int]) -> SizeRequest | None:
    """Returns the request for the sizes of inputs that `sizes` does not contain.

    If the input looks like an image or a sequence, the request contains an example. If all sizes
    are known or assumed, the result is None.
    """
    unknown: dict[str, tuple[str, ...]] = {}
    looks: list[str] = []
    examples: dict[str, str] = {}
    values = [graph.values[name] for name in graph.inputs]
    batches = {value.shape[0] for value in values if value.shape}
    for value in values:
        name = value.name
        symbols = [size for size in value.shape if isinstance(size, str) and size not in sizes]
        if symbols and value.shape != UNKNOWN_RANK:
            unknown[name] = tuple(dict.fromkeys(symbols))
            kind, sample = _example_sizes(value, batches)
            looks += [f"{name} looks like {kind}"] * bool(kind)
            examples = {**sample, **examples}
    if not unknown:
        return None
    named = dict.fromkeys(size for some in unknown.values() for size in some)
    wanted = ",".join(f"{size}={examples.get(size, '…')}" for size in named)
    return SizeRequest(unknown, tuple(looks), wanted)


def unknown_size_warnings(
    graph: Graph, sizes: Mapping[str, int], measured: Mapping[str, int] | None = None
) -> tuple[str, ...]:
    """Returns a warning if an input has an unknown size for which no value is assumed.

    Args:
        graph: the graph of the model.
        sizes: assumed values of dynamic sizes.
        measured: values of dynamic sizes in measurements; None if unknown sizes count as 1 in the
            estimate and as `SYMBOL_SIZE` in runs.
    """
    request = request_sizes(graph, sizes)
    if request is None:
        return ()
    if measured is None:
        inputs = "; ".join(f"{name}: {', '.join(some)}" for name, some in request.unknown.items())
        first = (
            f"Unknown sizes of inputs count as 1 in the estimate, and as {SYMBOL_SIZE} in runs "
            f"({inputs})"
        )
    else:
        symbols = dict.fromkeys(size for some in request.unknown.values() for size in some)
        told = ", ".join(f"{size} = {measured[size]}" for size in symbols)
        first = f"Unknown sizes of inputs are small in the measurement ({told})"
    like = f" {', and '.join(request.looks)}." if request.looks else ""
    return (f"{first}.{like} Give them: --assume {request.wanted}.",)


def _example_sizes(value: Value, batches: Container[int | str]) -> tuple[str, dict[str, str]]:
    """Returns a pair: ``an image`` or ``a sequence``, and an example of each unknown size.

    If the input looks like neither, the pair is an empty string and an empty dict. An image has
    four axes, one or three channels, and an unknown height or width. A sequence has integers in two
    axes (words) or floats in three axes (vectors), and its second axis has an unknown size, which
    is not the size of the first axis of an input (`batches`).
    """
    shape = value.shape
    first = {str(shape[0]): "1"} if shape and isinstance(shape[0], str) else {}
    if len(shape) == 4 and {1, 3}.intersection((shape[1], shape[3])):
        sides = shape[2:4] if shape[1] in (1, 3) else shape[1:3]
        symbols = {str(side): IMAGE_SIDE for side in sides if isinstance(side, str)}
        return ("an image", first | symbols) if symbols else ("", {})
    is_sequence = len(shape) == (2 if value.dtype.startswith("int") else 3)
    if is_sequence and isinstance(shape[1], str) and shape[1] not in batches:
        return "a sequence", first | {shape[1]: SEQUENCE_TOKENS}
    return "", {}
