"""Runs kernels in the calling thread in PyNative, bypassing MindSpore's dispatch.

MindSpore passes a custom operator through several threads and waits for each of them. The fast path
passes the addresses of the tensors to the kernel, and waits only for pending inputs. For autograd,
the fast path records a call as a function of `mindspore.common._grad_function`. The backward of
this function calls the gradient operator on the fast path too.

MindSpore's dispatch is still used for calls on other devices, calls with mixed-precision casts, and
empty tensors.
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
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.lru_cache import LruCache
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.runtime.buffers import aligned_empty

try:  # private names of MindSpore, which may change
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

MAX_SIGNATURES = 64
"""Maximum number of call signatures (shapes and dtypes) that are cached per operator."""
LARGE_BYTES = 1 << 22
"""Outputs of at least this size come from MindSpore's memory pool.

Newly allocated memory would cost one page fault per page.
"""
SMALL_BYTES = 1 << 14
"""Outputs up to this size are not aligned, because alignment does not make them faster."""


class _CastDepth:
    """Nesting depth of mixed-precision Cells, in which MindSpore casts the inputs of operators."""

    depth = 0


if IS_KNOWN:

    def _track_mixed_precision(self: Any, kind: Any, is_push: bool = True) -> Any:
        _CastDepth.depth += 1 if is_push else -1
        return _push(self, kind, is_push)

    type(_pynative_executor).set_mixed_precision_type = _track_mixed_precision


def can_bypass_dispatch() -> bool:
    """Whether calls may now bypass MindSpore's dispatch.

    The condition is that no graph is being compiled and that MindSpore does not cast inputs (mixed
    precision).
    """
    return not (_CastDepth.depth or jit_context() or get_curr_amp_strategy() is not None)


def is_recording() -> bool:
    """Whether MindSpore currently records calls for autograd."""
    return bool(_requires_grad())


def wait() -> None:
    """Waits until all operators that MindSpore has dispatched have run."""
    _pynative_executor.sync()


class Output(NamedTuple):
    """Shape, NumPy dtype, MindSpore dtype (`kind`) and bytes (`size`) of an output."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    kind: Any
    size: int


@dataclass(frozen=True)
class FastCallPlan:
    """Kernel call of an operator for given shapes and dtypes.

    Attributes:
        call: function that takes the addresses of the inputs, then of the outputs.
        outputs: the outputs to allocate.
    """

    call: Callable[[Sequence[int]], None]
    outputs: tuple[Output, ...]


@dataclass(frozen=True)
class Gradient:
    """Operator that computes the gradients of all or some inputs of another operator.

    Attributes:
        call: function that takes the saved tensors, then the gradients of the visible outputs. The
            function returns a tensor, or a tuple if there are several gradients.
        saved: indices of the saved tensors among the inputs and outputs of the other operator.
        places: for each input of the other operator, the index of its gradient among the results of
            `call`. The index is −1 if `call` does not compute this gradient.
        visible: number of leading outputs of the other operator that have a gradient. The remaining
            outputs are hidden.
    """

    call: Callable[..., Any]
    saved: tuple[int, ...]
    places: tuple[int, ...]
    visible: int

    @property
    def gradient_count(self) -> int:
        """Number of gradients that `call` returns."""
        return max(self.places) + 1


class FastCall:
    """Calls an operator on the fast path.

    Args:
        computation: object that builds and caches the operator's kernels.
        gradients: operators that compute the gradients. All these operators read the same saved
            tensors. The tuple is empty if the operator has no gradient.
        refusal: error message that backward raises if `gradients` is empty.
    """

    def __init__(self, computation: Computation, gradients: tuple[Gradient, ...], refusal: str):
        self.computation, self.gradients, self.refusal = computation, gradients, refusal
        self._known: LruCache[tuple[Any, ...], FastCallPlan] = LruCache(MAX_SIGNATURES)

    def __call__(self, tensors: tuple[Any, ...]) -> Any:
        """Returns the output or a tuple of outputs, or None if the fast path does not apply.

        Raises:
            InputError: the operator rejects these shapes or dtypes.
        """
        if not can_bypass_dispatch():
            return None
        for one in tensors:
            if not isinstance(one, Tensor):
                return None
        signature = tuple([(one.shape, one.dtype) for one in tensors])
        known = self._known.get(signature)
        if known is None:
            if not _is_plain(tensors):
                return None
            known = self._known[signature] = self._plan_call(signature)
        made = self._record(known, tensors) if _requires_grad() else self.run(known, tensors)
        return made[0] if len(made) == 1 else made

    def run(self, known: FastCallPlan, tensors: Sequence[Any]) -> tuple[Any, ...]:
        """Returns the outputs without recording a gradient."""
        dense = [one if is_dense(one) else one.contiguous() for one in tensors]
        made = tuple([_allocate(output) for output in known.outputs])
        addresses = list(map(address_of, (*dense, *made)))
        if 0 in addresses:
            for one in dense:
                one.asnumpy()  # initializes a Parameter with delayed initialization
            addresses = list(map(address_of, (*dense, *made)))
        known.call(addresses)
        return made

    def _record(self, known: FastCallPlan, tensors: tuple[Any, ...]) -> tuple[Any, ...]:
        """Records the call for autograd, and returns the outputs.

        During the recording, MindSpore's pipeline is turned off, so that this thread records the
        call.
        """
        was_off = _pynative_executor.disable_frontend_and_bprop_pipeline()
        try:
            return tuple(_RecordedCall.apply(self, known, *tensors))
        finally:
            if not was_off:
                _pynative_executor.enable_frontend_and_bprop_pipeline()

    def _plan_call(self, signature: Sequence[tuple[Any, Any]]) -> FastCallPlan:
        given = [ArraySpec(tuple(shape), str(kind).lower()) for shape, kind in signature]
        ready = dispatch.prepare_call(self.computation, given)
        outputs = []
        for one in ready.outputs:
            dtype = dtype_of(one.dtype).numpy
            kind = getattr(mindspore, "bool_" if one.dtype == "bool" else one.dtype)
            outputs.append(Output(one.shape, dtype, kind, math.prod(one.shape) * dtype.itemsize))
        return FastCallPlan(ready.call, tuple(outputs))


class _RecordedCall(_Function):
    """Autograd function of a call on the fast path."""

    @staticmethod
    def forward(ctx: Any, direct: FastCall, known: FastCallPlan, *tensors: Any) -> tuple[Any, ...]:
        """Returns the outputs."""
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
        """Returns, for each argument of `forward`, a gradient, or None if no gradient is needed."""
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


def _allocate(output: Output) -> Any:
    if output.size >= LARGE_BYTES:
        return mint.empty(output.shape, dtype=output.kind)
    array = (np.empty if output.size <= SMALL_BYTES else aligned_empty)(output.shape, output.dtype)
    return Tensor.from_numpy(array)


def _is_plain(tensors: Sequence[Any]) -> bool:
    """Whether the device is CPU and no tensor is empty."""
    return mindspore.get_context("device_target") == "CPU" and all(one.size for one in tensors)
