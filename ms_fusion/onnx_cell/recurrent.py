"""Recurrent nets: LSTM, GRU and RNN, step by step, forwards, backwards and both."""

from __future__ import annotations

from typing import Any

from mindspore import ops

from ms_fusion.onnx_cell.functions import tanh
from ms_fusion.onnx_cell.operator_use import Use, number

OWN = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}
"""Activations of one direction."""


def _told(use: Use) -> str:
    """Arguments that all have: weights, biases, where it starts; direction, whether the batch stands first, the clip, lengths."""
    way = str(use.attr("direction", "forward"))
    ways = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(way, 0)
    activations = tuple(map(str, use.attr("activations", OWN[use.op] * ways)))
    if not ways or activations != OWN[use.op] * ways or use.attr("input_forget", 0):
        raise use.refused("only its own activations, each gate by itself")
    size = int(use.attr("hidden_size", 0)) or f"{use.text(2)}.shape[2]"
    first = bool(use.attr("layout", 0))
    bias = use.text(3) or f"recurrent.no_bias({use.text(2)})"
    start = use.text(5) or f"recurrent.zeros_beside({use.text()}, {ways}, {size}, {first})"
    clip = use.attr("clip")
    limit = None if clip is None else number(float(clip))
    return (
        f"{use.given(0, 1, 2)}, {bias}, {start}, {way!r}, {first}, {limit}, {use.text(4) or None}"
    )


def _as_results(use: Use, made: str) -> str:
    """The first results, where fewer are asked for."""
    count = len(use.node.outputs)
    return f"{made}[:{count}]" if count > 1 else f"{made}[0]"


def lstm(use: Use) -> str:
    """``LSTM``."""
    ways = 2 if use.attr("direction", "forward") == "bidirectional" else 1
    size = int(use.attr("hidden_size", 0)) or f"{use.text(2)}.shape[2]"
    cell = (
        use.text(6)
        or f"recurrent.zeros_beside({use.text()}, {ways}, {size}, {bool(use.attr('layout', 0))})"
    )
    return _as_results(use, f"recurrent.by_lstm({_told(use)}, {cell}, {use.text(7) or None})")


def gru(use: Use) -> str:
    """``GRU``."""
    return _as_results(
        use, f"recurrent.by_gru({_told(use)}, {bool(use.attr('linear_before_reset', 0))})"
    )


def rnn(use: Use) -> str:
    """``RNN``."""
    return _as_results(use, f"recurrent.by_rnn({_told(use)})")


def by_lstm(
    x: Any,
    weight: Any,
    recurrent: Any,
    bias: Any,
    start: Any,
    way: str,
    batch_first: bool,
    clip: Any,
    lengths: Any,
    cell: Any,
    peep: Any,
) -> tuple[Any, Any, Any]:
    """A long short-term memory: all steps, the last ones, and their cells; gates in the order i o f c."""
    if batch_first:
        x, start, cell = ops.swapaxes(x, 0, 1), ops.swapaxes(start, 0, 1), ops.swapaxes(cell, 0, 1)
    size = recurrent.shape[2]
    steps, last, cells = [], [], []
    for one in range(weight.shape[0]):
        turned, again = ops.transpose(weight[one], (1, 0)), ops.transpose(recurrent[one], (1, 0))
        both = bias[one][: 4 * size] + bias[one][4 * size :]
        hidden, memory = start[one], cell[one]
        is_back = way == "reverse" or one == 1
        own = []
        for step in range(x.shape[0]):
            at = x.shape[0] - 1 - step if is_back else step
            old, kept = hidden, memory
            gates = ops.matmul(x[at], turned) + ops.matmul(hidden, again) + both
            fresh = tanh(limited(gates[:, 3 * size :], clip))
            if peep is None:
                share = ops.sigmoid(limited(gates[:, : 3 * size], clip))
                memory = share[:, 2 * size :] * memory + share[:, :size] * fresh
                hidden = share[:, size : 2 * size] * tanh(memory)
            else:
                enter = ops.sigmoid(limited(gates[:, :size] + peep[one][:size] * memory, clip))
                keep = ops.sigmoid(
                    limited(gates[:, 2 * size : 3 * size] + peep[one][2 * size :] * memory, clip)
                )
                memory = keep * memory + enter * fresh
                leave = gates[:, size : 2 * size] + peep[one][size : 2 * size] * memory
                hidden = ops.sigmoid(limited(leave, clip)) * tanh(memory)
            hidden, memory = within(hidden, old, at, lengths), within(memory, kept, at, lengths)
            own.append(within(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(in_order(own, is_back))
        last.append(hidden)
        cells.append(memory)
    return (*together(steps, last, batch_first), of_both(cells, batch_first))


def by_gru(
    x: Any,
    weight: Any,
    recurrent: Any,
    bias: Any,
    start: Any,
    way: str,
    batch_first: bool,
    clip: Any,
    lengths: Any,
    reset_last: bool,
) -> tuple[Any, Any]:
    """A gated recurrent unit: all steps, and the last ones; gates in the order z r h."""
    if batch_first:
        x, start = ops.swapaxes(x, 0, 1), ops.swapaxes(start, 0, 1)
    size = recurrent.shape[2]
    steps, last = [], []
    for one in range(weight.shape[0]):
        turned, again = ops.transpose(weight[one], (1, 0)), ops.transpose(recurrent[one], (1, 0))
        own, other = bias[one][: 3 * size], bias[one][3 * size :]
        hidden = start[one]
        is_back = way == "reverse" or one == 1
        made = []
        for step in range(x.shape[0]):
            at = x.shape[0] - 1 - step if is_back else step
            given = ops.matmul(x[at], turned) + own
            before = ops.matmul(hidden, again[:, : 2 * size]) + other[: 2 * size]
            share = ops.sigmoid(limited(given[:, : 2 * size] + before, clip))
            reset = share[:, size:]
            if reset_last:
                inner = reset * (ops.matmul(hidden, again[:, 2 * size :]) + other[2 * size :])
            else:
                inner = ops.matmul(reset * hidden, again[:, 2 * size :]) + other[2 * size :]
            fresh = tanh(limited(given[:, 2 * size :] + inner, clip))
            fresh = (1.0 - share[:, :size]) * fresh + share[:, :size] * hidden
            hidden = within(fresh, hidden, at, lengths)
            made.append(within(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(in_order(made, is_back))
        last.append(hidden)
    return together(steps, last, batch_first)


def by_rnn(
    x: Any,
    weight: Any,
    recurrent: Any,
    bias: Any,
    start: Any,
    way: str,
    batch_first: bool,
    clip: Any,
    lengths: Any,
) -> tuple[Any, Any]:
    """hidden ← tanh(x · W + hidden · R + biases): all steps, and the last ones."""
    if batch_first:
        x, start = ops.swapaxes(x, 0, 1), ops.swapaxes(start, 0, 1)
    size = recurrent.shape[2]
    steps, last = [], []
    for one in range(weight.shape[0]):
        turned, again = ops.transpose(weight[one], (1, 0)), ops.transpose(recurrent[one], (1, 0))
        both = bias[one][:size] + bias[one][size:]
        hidden = start[one]
        is_back = way == "reverse" or one == 1
        made = []
        for step in range(x.shape[0]):
            at = x.shape[0] - 1 - step if is_back else step
            fresh = tanh(
                limited(ops.matmul(x[at], turned) + ops.matmul(hidden, again) + both, clip)
            )
            hidden = within(fresh, hidden, at, lengths)
            made.append(within(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(in_order(made, is_back))
        last.append(hidden)
    return together(steps, last, batch_first)


def limited(x: Any, clip: Any) -> Any:
    """x between −clip and clip, where there is one."""
    return x if clip is None else ops.minimum(ops.maximum(x, -clip), clip)


def in_order(steps: list[Any], is_back: bool) -> Any:
    """Steps as one tensor, in the order of the sequence."""
    found = ops.stack(steps)
    return ops.flip(found, (0,)) if is_back else found


def within(fresh: Any, old: Any, step: int, lengths: Any) -> Any:
    """What a step makes, for sequences that reach it; the others keep what they had."""
    if lengths is None:
        return fresh
    return ops.where(ops.expand_dims(step < lengths, 1), fresh, old)


def together(steps: list[Any], last: list[Any], batch_first: bool) -> tuple[Any, Any]:
    """All steps of all directions, and the last ones."""
    if batch_first:
        return ops.transpose(ops.stack(steps), (2, 1, 0, 3)), of_both(last, batch_first)
    return ops.swapaxes(ops.stack(steps), 0, 1), of_both(last, batch_first)


def of_both(last: list[Any], batch_first: bool) -> Any:
    """What is one for each direction."""
    found = ops.stack(last)
    return ops.swapaxes(found, 0, 1) if batch_first else found


def zeros_beside(x: Any, ways: int, size: int, batch_first: bool) -> Any:
    """Where a recurrent net starts when nobody says."""
    if batch_first:
        return ops.zeros((x.shape[0], ways, size), x.dtype)
    return ops.zeros((ways, x.shape[1], size), x.dtype)


def no_bias(recurrent: Any) -> Any:
    """The biases of a recurrent net that has none."""
    return ops.zeros((recurrent.shape[0], 2 * recurrent.shape[1]), recurrent.dtype)
