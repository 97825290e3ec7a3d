"""Calls in PyNative past MindSpore's dispatch: the kernel runs at once, in the calling thread, on the memory of the tensors.

MindSpore hands a custom operator from thread to thread and waits for each: where they share a core with others, a call takes
hundreds of microseconds. Here it takes a few, and waits only for what the inputs still wait for. A gradient is recorded as a
function of MindSpore's own (`mindspore.common._grad_function`), whose backward calls the operator's gradient the same way.

What this cannot do goes through MindSpore's dispatch: other devices, casts of mixed precision, tensors that are not there yet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import mindspore
import numpy as np
from mindspore import Tensor, mint

from custom_ops.core import dispatch
from custom_ops.core.computation import Computation
from custom_ops.core.kernel_interface import Described
from custom_ops.core.recent import Recent
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.runtime.buffers import aligned_empty

try:  # names that MindSpore does not promise
    from mindspore._c_expression import TensorPy
    from mindspore._c_expression.amp import get_curr_amp_strategy
    from mindspore.common._grad_function import _Function
    from mindspore.graph.api import _pynative_executor
    from mindspore.ops.primitive import jit_context

    _requires_grad = _pynative_executor.requires_grad
    _push = type(_pynative_executor).set_mixed_precision_type
    address_of, is_dense = TensorPy._data_ptr, TensorPy.is_contiguous
    IS_KNOWN = all(
        map(
            callable,
            (
                address_of,
                is_dense,
                _pynative_executor.disable_frontend_and_bprop_pipeline,
                _pynative_executor.sync,
            ),
        )
    )
except (ImportError, AttributeError):
    IS_KNOWN = False
    _Function = object

SIGNATURES = 64
"""How many sets of shapes and dtypes an operator remembers."""
LARGE = 1 << 22
"""From so many bytes on memory comes from MindSpore, which keeps it: fresh memory costs a fault for each page."""
SMALL = 1 << 14
"""Up to so many bytes it does not matter where memory begins."""


class _Casting:
    """How many Cells of another precision are being called: inside of them MindSpore casts what operators get."""

    depth = 0


if IS_KNOWN:

    def _counted(self: Any, kind: Any, is_push: bool = True) -> Any:
        _Casting.depth += 1 if is_push else -1
        return _push(self, kind, is_push)

    type(_pynative_executor).set_mixed_precision_type = _counted


def is_free() -> bool:
    """Whether a call may go past MindSpore's dispatch: no graph is being built, nothing is cast."""
    return not (_Casting.depth or jit_context() or get_curr_amp_strategy() is not None)


def is_recording() -> bool:
    """Whether calls are recorded for a gradient."""
    return bool(_requires_grad())


def wait() -> None:
    """Until all that was called has run."""
    _pynative_executor.sync()


class Output(NamedTuple):
    """What a kernel writes."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: Any
    size: int


@dataclass(frozen=True)
class Known:
    """How an operator is called for certain shapes and dtypes."""

    call: Callable[[Sequence[int]], None]
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Gradient:
    """Of an operator, of all inputs or of some.

    Attributes:
        call: takes what is saved, then the gradients of the visible outputs; gives a tensor, or a tuple.
        saved: which of inputs and outputs it reads.
        places: for each input which of its outputs is that gradient; -1 for none.
        visible: how many outputs have a gradient; hidden ones follow.
    """

    call: Callable[..., Any]
    saved: tuple[int, ...]
    places: tuple[int, ...]
    visible: int

    @property
    def made(self) -> int:
        """How many gradients it computes."""
        return max(self.places) + 1


class Direct:
    """An operator called at once.

    Args:
        computation: its kernels.
        gradients: the operators that compute its gradient, which save the same; none where it has none.
        refusal: what is said then.
    """

    def __init__(self, computation: Computation, gradients: tuple[Gradient, ...], refusal: str):
        self.computation, self.gradients, self.refusal = computation, gradients, refusal
        self._known: Recent[tuple[Any, ...], Known] = Recent(SIGNATURES)

    def __call__(self, tensors: tuple[Any, ...]) -> Any:
        """The output, or a tuple of them; None where MindSpore has to call.

        Raises:
            InputError: the operator refuses these shapes or dtypes.
        """
        if not is_free():
            return None
        for one in tensors:
            if not isinstance(one, Tensor):
                return None
        signature = tuple([(one.shape, one.dtype) for one in tensors])
        known = self._known.get(signature)
        if known is None:
            if not _is_plain(tensors):
                return None
            known = self._known[signature] = self._find(signature)
        made = self._record(known, tensors) if _requires_grad() else self.run(known, tensors)
        return made[0] if len(made) == 1 else made

    def run(self, known: Known, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs; nothing is recorded."""
        dense = [one if is_dense(one) else one.contiguous() for one in tensors]
        made = tuple([_new(output) for output in known.outputs])
        addresses = list(map(address_of, (*dense, *made)))
        if 0 in addresses:
            for one in dense:
                one.asnumpy()  # a Parameter whose first value was put off gets it
            addresses = list(map(address_of, (*dense, *made)))
        known.call(addresses)
        return made

    def _record(self, known: Known, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """The outputs, and their gradient is recorded: in this thread, instead of one that would have to be waited for."""
        was_off = _pynative_executor.disable_frontend_and_bprop_pipeline()
        try:
            return tuple(_Recorded.apply(self, known, *tensors))
        finally:
            if not was_off:
                _pynative_executor.enable_frontend_and_bprop_pipeline()

    def _find(self, signature: Sequence[tuple[Any, Any]]) -> Known:
        given = [Described(tuple(shape), str(kind).lower()) for shape, kind in signature]
        ready = dispatch.ready(self.computation, given)
        outputs = []
        for one in ready.outputs:
            dtype = dtype_of(one.dtype).numpy
            kind = getattr(mindspore, "bool_" if one.dtype == "bool" else one.dtype)
            outputs.append(Output(one.shape, dtype, kind, math.prod(one.shape) * dtype.itemsize))
        return Known(ready.call, tuple(outputs))


class _Recorded(_Function):
    """A call whose gradient may be asked for."""

    @staticmethod
    def forward(ctx: Any, direct: Direct, known: Known, *tensors: Any) -> tuple[Any, ...]:
        """The outputs."""
        made = direct.run(known, tensors)
        ctx.direct, ctx.known = direct, known
        if direct.gradients:
            every, first = (*tensors, *made), direct.gradients[0]
            ctx.save_for_backward(*[every[place] for place in first.saved])
            ctx.set_materialize_grads(False)
            if first.visible < len(made):
                ctx.mark_non_differentiable(*made[first.visible :])
        return made

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """For each argument of `forward` a gradient, or None."""
        gradients = ctx.direct.gradients
        if not gradients:
            raise RuntimeError(ctx.direct.refusal)
        outputs = ctx.known.outputs[: gradients[0].visible]
        given = [
            mint.zeros(output.shape, dtype=output.kind) if grad is None else grad
            for grad, output in zip(grads, outputs, strict=False)
        ]
        saved, is_wanted = ctx.saved_tensors, ctx.needs_input_grad[2:]
        found: list[Any] = [None] * len(is_wanted)
        for gradient in gradients:
            own = [i for i, place in enumerate(gradient.places) if place >= 0 and is_wanted[i]]
            if not own:
                continue
            made = gradient.call(*saved, *given)
            made = made if isinstance(made, tuple) else (made,)
            for i in own:
                found[i] = made[gradient.places[i]]
        return (None, None, *found)


def _new(output: Output) -> Any:
    if output.size >= LARGE:
        return mint.empty(output.shape, dtype=output.kind)
    array = (np.empty if output.size <= SMALL else aligned_empty)(output.shape, output.dtype)
    return Tensor.from_numpy(array)


def _is_plain(tensors: Sequence[Any]) -> bool:
    """Whether the tensors have memory of this machine's."""
    return mindspore.get_context("device_target") == "CPU" and all(one.size for one in tensors)
