"""Lists calls that MindSpore 2.10 computes wrongly on CPU even without fusion.

Each entry of the list also names a correct call to use instead.

`ms-fusion doctor` and docs/presets.md show the list.
"""

from __future__ import annotations

from typing import NamedTuple


class Fault(NamedTuple):
    """A call that MindSpore 2.10 computes wrongly on CPU.

    Attributes:
        call: source text of the call.
        what: a description of the error in the result.
        instead: the call to use instead.
    """

    call: str
    what: str
    instead: str


FAULTS = (
    Fault(
        "ops.pad(x, …) with a constant",
        "the gradient is shorter in each call: with the padding `(1, 2)` around 7 numbers "
        "it has 4 numbers in the second call and 1 in the third",
        "`mf.enable()`, which replaces the padding in graphs; in PyNative mode `ops.Pad`",
    ),
    Fault(
        "ops.selu(x)",
        "the gradient below 0 is 1.05 · (selu + 1) instead of selu + 1.76; it may have the wrong "
        "sign",
        "`1.0507 * ops.select(x > 0, x, 1.67326 * (ops.exp(ops.minimum(x, 0)) - 1))`",
    ),
    Fault(
        "nn.Momentum(…, use_nesterov=True)",
        "it does not look ahead",
        "`nn.SGD(…, nesterov=True)`, or `custom_ops.optimizers.Momentum`",
    ),
    Fault(
        "nn.RMSProp(…)",
        "epsilon is added to the root for elements that fill whole vectors, "
        "and under the root for the rest",
        "an epsilon so small that it does not matter",
    ),
    Fault(
        "ops.fmax(x, y), ops.fmin(x, y)",
        "gradients are float32 in float64 nets",
        "`ops.maximum` and `ops.minimum`, if the net does not rely on `fmax` and `fmin` ignoring "
        "NaN",
    ),
    Fault(
        "parameter.set_data(shorter, slice_shape=True)",
        "nets that were compiled before read past the end of the new data",
        "set it before the first call, or call a new Cell",
    ),
    Fault(
        "ms.value_and_grad(f)(x) in PyNative mode, where f raises an error",
        "MindSpore continues to record. The next function under `@ms.jit` is therefore compiled "
        "with one derivative too many. If one of its operators does not have this further "
        "derivative, the compilation fails once",
        "`mf.enable()`, which ends the recording. If `net.set_grad()` was called, call the net "
        "only through `ms.value_and_grad`",
    ),
    Fault(
        'graph_kernel_flags="--opt_level=2"',
        "a read of a parameter may return a value that is assigned later",
        "`mf.enable()`, or `--opt_level=1`",
    ),
)
