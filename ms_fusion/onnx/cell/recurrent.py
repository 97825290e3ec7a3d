"""Emits MindSpore code for ONNX LSTM, GRU and RNN: forward, reverse or bidirectional."""

from __future__ import annotations

from typing import Any

from mindspore import ops

from ms_fusion.onnx.cell.functions import tanh
from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal

DEFAULT_ACTIVATIONS = {
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
    "GRU": ("Sigmoid", "Tanh"),
    "RNN": ("Tanh",),
}
"""Maps an operator to the default activations of one direction."""


def _shared_arguments(use: OperatorUse) -> str:
    """Returns the arguments that `run_lstm`, `run_gru` and `run_rnn` share, joined by commas.

    The arguments are x, the weights, the biases, the initial state, the direction, the layout, the
    clip and the lengths.
    """
    way = str(use.attr("direction", "forward"))
    ways = {"forward": 1, "reverse": 1, "bidirectional": 2}.get(way, 0)
    activations = tuple(map(str, use.attr("activations", DEFAULT_ACTIVATIONS[use.op] * ways)))
    if not ways or activations != DEFAULT_ACTIVATIONS[use.op] * ways or use.attr("input_forget", 0):
        raise use.refusal("only its own activations, each gate by itself")
    size = int(use.attr("hidden_size", 0)) or f"{use.text(2)}.shape[2]"
    first = bool(use.attr("layout", 0))
    bias = use.text(3) or f"recurrent.zero_bias({use.text(2)})"
    start = use.text(5) or f"recurrent.zero_state({use.text()}, {ways}, {size}, {first})"
    clip = use.attr("clip")
    limit = None if clip is None else python_literal(float(clip))
    given, lengths = use.input_texts(0, 1, 2), use.text(4) or None
    return f"{given}, {bias}, {start}, {way!r}, {first}, {limit}, {lengths}"


def _select_results(use: OperatorUse, made: str) -> str:
    """Emits an expression that selects as many results of a call as the node has outputs.

    `made` is the Python expression of the call.
    """
    count = len(use.node.outputs)
    return f"{made}[:{count}]" if count > 1 else f"{made}[0]"


def lstm(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``LSTM``."""
    ways = 2 if use.attr("direction", "forward") == "bidirectional" else 1
    size = int(use.attr("hidden_size", 0)) or f"{use.text(2)}.shape[2]"
    cell = (
        use.text(6)
        or f"recurrent.zero_state({use.text()}, {ways}, {size}, {bool(use.attr('layout', 0))})"
    )
    return _select_results(
        use, f"recurrent.run_lstm({_shared_arguments(use)}, {cell}, {use.text(7) or None})"
    )


def gru(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``GRU``."""
    return _select_results(
        use,
        f"recurrent.run_gru({_shared_arguments(use)}, {bool(use.attr('linear_before_reset', 0))})",
    )


def rnn(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``RNN``."""
    return _select_results(use, f"recurrent.run_rnn({_shared_arguments(use)})")


def run_lstm(
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
    """Computes an LSTM (long short-term memory); the gates are in the order i, o, f, c.

    Args:
        x: tensor (steps, batch, inputs), or (batch, steps, inputs) if `batch_first` is true.
        weight, recurrent, bias: ONNX's W, R and B. The first axis is the direction.
        start, cell: the initial hidden states and the initial cell states of all directions.
        way: ``forward``, ``reverse`` or ``bidirectional``.
        batch_first: whether the batch is the first axis of `x`, `start` and `cell`.
        clip: largest absolute value of an activation's operand; None for no limit.
        lengths: number of steps of each sequence; None if all sequences have all steps.
        peep: ONNX's peephole weights P, or None.

    Returns:
        A tuple (all hidden states, the last hidden states, the last cell states).
    """
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
            fresh = tanh(clip_values(gates[:, 3 * size :], clip))
            if peep is None:
                share = ops.sigmoid(clip_values(gates[:, : 3 * size], clip))
                memory = share[:, 2 * size :] * memory + share[:, :size] * fresh
                hidden = share[:, size : 2 * size] * tanh(memory)
            else:
                enter = ops.sigmoid(clip_values(gates[:, :size] + peep[one][:size] * memory, clip))
                keep = ops.sigmoid(
                    clip_values(
                        gates[:, 2 * size : 3 * size] + peep[one][2 * size :] * memory, clip
                    )
                )
                memory = keep * memory + enter * fresh
                leave = gates[:, size : 2 * size] + peep[one][size : 2 * size] * memory
                hidden = ops.sigmoid(clip_values(leave, clip)) * tanh(memory)
            hidden, memory = (
                mask_finished(hidden, old, at, lengths),
                mask_finished(memory, kept, at, lengths),
            )
            own.append(mask_finished(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(stack_steps(own, is_back))
        last.append(hidden)
        cells.append(memory)
    return (*stack_directions(steps, last, batch_first), stack_states(cells, batch_first))


def run_gru(
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
    """Computes a GRU (gated recurrent unit); the gates are in the order z, r, h.

    Returns all hidden states and the last hidden states. The arguments are those of `run_lstm`.
    `reset_last` is ONNX's ``linear_before_reset``.
    """
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
            share = ops.sigmoid(clip_values(given[:, : 2 * size] + before, clip))
            reset = share[:, size:]
            if reset_last:
                inner = reset * (ops.matmul(hidden, again[:, 2 * size :]) + other[2 * size :])
            else:
                inner = ops.matmul(reset * hidden, again[:, 2 * size :]) + other[2 * size :]
            fresh = tanh(clip_values(given[:, 2 * size :] + inner, clip))
            fresh = (1.0 - share[:, :size]) * fresh + share[:, :size] * hidden
            hidden = mask_finished(fresh, hidden, at, lengths)
            made.append(mask_finished(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(stack_steps(made, is_back))
        last.append(hidden)
    return stack_directions(steps, last, batch_first)


def run_rnn(
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
    """Computes a recurrent net by the step hidden ← tanh(x · W + hidden · R + biases).

    Returns all hidden states and the last hidden states. The arguments are those of `run_lstm`.
    """
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
                clip_values(ops.matmul(x[at], turned) + ops.matmul(hidden, again) + both, clip)
            )
            hidden = mask_finished(fresh, hidden, at, lengths)
            made.append(mask_finished(hidden, ops.zeros_like(hidden), at, lengths))
        steps.append(stack_steps(made, is_back))
        last.append(hidden)
    return stack_directions(steps, last, batch_first)


def clip_values(x: Any, clip: Any) -> Any:
    """Clips x to [−clip, clip]; returns x unchanged if `clip` is None."""
    return x if clip is None else ops.minimum(ops.maximum(x, -clip), clip)


def stack_steps(steps: list[Any], is_back: bool) -> Any:
    """Stacks the states of all steps in the order of the sequence.

    `is_back` states that the steps were computed in reverse order.
    """
    found = ops.stack(steps)
    return ops.flip(found, (0,)) if is_back else found


def mask_finished(fresh: Any, old: Any, step: int, lengths: Any) -> Any:
    """Selects `fresh` for the sequences that are longer than `step`, and `old` for the others."""
    if lengths is None:
        return fresh
    return ops.where(ops.expand_dims(step < lengths, 1), fresh, old)


def stack_directions(steps: list[Any], last: list[Any], batch_first: bool) -> tuple[Any, Any]:
    """Stacks the states of all directions (forward, reverse) on a new axis.

    Returns a pair: the states of all steps, and the last states.
    """
    if batch_first:
        return ops.transpose(ops.stack(steps), (2, 1, 0, 3)), stack_states(last, batch_first)
    return ops.swapaxes(ops.stack(steps), 0, 1), stack_states(last, batch_first)


def stack_states(last: list[Any], batch_first: bool) -> Any:
    """Stacks the last states of all directions (forward, reverse) on a new axis."""
    found = ops.stack(last)
    return ops.swapaxes(found, 0, 1) if batch_first else found


def zero_state(x: Any, ways: int, size: int, batch_first: bool) -> Any:
    """Returns the default initial state, which is zero, for `ways` directions.

    `size` is the number of elements of a hidden state.
    """
    if batch_first:
        return ops.zeros((x.shape[0], ways, size), x.dtype)
    return ops.zeros((ways, x.shape[1], size), x.dtype)


def zero_bias(recurrent: Any) -> Any:
    """Returns the default biases, which are zero."""
    return ops.zeros((recurrent.shape[0], 2 * recurrent.shape[1]), recurrent.dtype)
