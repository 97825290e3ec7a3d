"""Computes dropout(x + bias) + residual with a counter-based random mask."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from custom_ops.core.cell import DispatchingCell, FusedCell
from custom_ops.core.cell_call import check_real
from custom_ops.core.counter_random import (
    NEXT_KEY,
    random_bits,
    random_bits_in_mindspore,
    random_bits_in_numpy,
)
from custom_ops.core.framework import HAS_MINDSPORE, ms, ops
from custom_ops.core.function_spec import FunctionSpec, parameters_of
from custom_ops.core.operator_spec import FOR_FLOATS, OpSpec
from custom_ops.core.pointwise import broadcast_shape, promote_dtype, unbroadcast, widen_inputs
from custom_ops.core.row_helpers import sizes, widen
from custom_ops.tbe_bridge.tbe_sequence import TbeStep, TbeSteps, step_operator
from tbe_impl import dsl
from tbe_impl.dsl.expr import const, select
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError

RANDOM_RANGE = 2**32


def drop_probability(argument: str, given: Any) -> float:
    """Returns the drop probability: `given` for the argument ``p``, 1 − `given` for ``keep_prob``.

    Raises:
        InputError: `given` is not a number, or is out of range.
    """
    number = check_real("BiasDropoutAdd", argument, given)
    dropped = number if argument == "p" else 1.0 - number
    if not 0 <= dropped < 1:
        raise InputError(
            f"BiasDropoutAdd: {argument} is out of range",
            place="BiasDropoutAdd",
            expected="0 <= p < 1" if argument == "p" else "0 < keep_prob <= 1",
            got=repr(given),
        )
    return dropped


def dropout_mask(shape: Any, key: Any, p: float, dtype: str) -> Any:
    """Returns the scaled mask: 1 / (1 − p) at kept elements, and 0 at dropped elements."""
    numbers = random_bits(shape, key)
    bar, factor = const(round(p * RANDOM_RANGE), "uint32"), const(1.0 / (1.0 - p), dtype)
    return dsl.compute(
        shape, lambda *i: select(numbers(*i) >= bar, factor, const(0.0, dtype)), "kept"
    )


def compute(x: Any, bias: Any, residual: Any, key: Any, *, p: float) -> Any:
    """Computes y = (x + bias)·mask + residual; the result is rounded once, to the output dtype."""
    if [str(size) for size in broadcast_shape(x, bias, residual)] != [
        str(size) for size in x.shape
    ]:
        raise InputError(
            "bias and residual do not fit x",
            expected=f"shapes that broadcast to {shape_text(x.shape)}",
            got=f"{shape_text(bias.shape)} and {shape_text(residual.shape)}",
        )
    if key.ndim != 1 or not is_one(key.shape[0]):
        raise InputError(
            f"{key.name} is not a key", expected="int32 of shape (1,)", got=shape_text(key.shape)
        )
    a, b, c = widen_inputs(x, bias, residual)
    total = dsl.vadd(a, b)
    if p > 0:
        total = dsl.vmul(total, dropout_mask(total.shape, key, p, total.dtype))
    return dsl.cast_to(dsl.vadd(total, c), promote_dtype(x, bias, residual))


def gradient(x: Any, bias: Any, residual: Any, key: Any, grad: Any, *, p: float) -> tuple[Any, ...]:
    """Returns the gradients of x, bias and residual; recomputes the mask from the random key.

    The gradient of x and of bias is grad·mask. The gradient of residual is grad. If an input was
    broadcast, its gradient is summed over the broadcast axes.
    """
    (g,) = widen_inputs(grad)
    found = dsl.vmul(g, dropout_mask(g.shape, key, p, g.dtype)) if p > 0 else g
    return unbroadcast(found, x), unbroadcast(found, bias), unbroadcast(g, residual)


def composite(x: Any, bias: Any, residual: Any, key: Any, p: float) -> Any:
    """Computes this operator with MindSpore's basic operators.

    The random mask equals that of the kernel.
    """
    total = ops.add(x, bias)
    if p > 0:
        stays = ops.greater_equal(
            random_bits_in_mindspore(total, key), round(p * 4294967296) - 2147483648
        )
        total = ops.mul(total, ops.mul(ops.cast(stays, total.dtype), 1.0 / (1.0 - p)))
    return ops.add(total, residual)


def formula(x: Any, bias: Any, residual: Any, key: Any, p: float) -> Any:
    """Computes the reference result with NumPy, in float64."""
    total = x + bias
    stays = random_bits_in_numpy(total.shape, key) >= round(p * RANDOM_RANGE)
    return total * (stays / (1.0 - p)) + residual


def _kept_elements(x: Any, key: Any, *, p: float) -> Any:
    numbers = random_bits([math.prod(sizes(x))], key)
    bar, ends = (
        const(round(p * RANDOM_RANGE), "uint32"),
        [const(one, x.dtype) for one in (1.0, 0.0)],
    )
    kept = dsl.compute(numbers.shape, lambda i: select(numbers(i) >= bar, *ends), "kept")
    return dsl.ext.reshape(kept, sizes(x))


def _drop(x: Any, kept: Any, p: float) -> Any:
    return dsl.vmuls(dsl.vmul(x, widen(kept)), 1.0 / (1.0 - p)) if p else x


def _apply_mask(x: Any, bias: Any, residual: Any, kept: Any, *, p: float) -> Any:
    a, b, c = widen_inputs(x, bias, residual)
    return dsl.cast_to(dsl.vadd(_drop(dsl.vadd(a, b), kept, p), c), x.dtype)


def _apply_mask_gradient(
    bias: Any, residual: Any, kept: Any, grad: Any, *, p: float
) -> tuple[Any, ...]:
    given = widen(grad)
    found = _drop(given, kept, p)
    return dsl.cast_to(found, grad.dtype), unbroadcast(found, bias), unbroadcast(given, residual)


DROPOUT_MASK = step_operator(
    "DropoutKept",
    ("x", "key"),
    ("kept",),
    _kept_elements,
    lambda x, key: (x,),
    "1 where a dropout of x keeps an element, else 0.",
    tbe=FOR_FLOATS,
    attributes={"p": 0.5},
    given={"key": "int32"},
)
APPLY_DROPOUT_MASK = step_operator(
    "BiasDropoutAddOfKept",
    ("x", "bias", "residual", "kept"),
    ("y",),
    _apply_mask,
    lambda x, *_: (x,),
    "y = (x + bias)·kept / (1 − p) + residual",
    tbe=FOR_FLOATS,
    attributes={"p": 0.5},
)
APPLY_DROPOUT_MASK_GRADIENT = step_operator(
    "BiasDropoutAddOfKeptGrad",
    ("bias", "residual", "kept", "grad_y"),
    ("grad_x", "grad_bias", "grad_residual"),
    _apply_mask_gradient,
    lambda bias, residual, kept, grad_y: (grad_y, bias, residual),
    "Gradients of BiasDropoutAddOfKept, of tensors of one dtype.",
    tbe=FOR_FLOATS,
    attributes={"p": 0.5},
)


def tbe_steps(p: float) -> TbeSteps:
    """Returns the sequence of CANN operators that computes the output.

    The first operator computes the dropout mask. This operator uses scalar code, because CANN has
    no vector instruction for the random bits. If p is 0, the sequence does not contain the first
    operator.
    """
    told = {"p": p}
    if not p:
        return TbeSteps(
            (TbeStep(APPLY_DROPOUT_MASK, ("x", "bias", "residual", "x"), ("y",), told),)
        )
    kept = TbeStep(DROPOUT_MASK, ("x", "key"), ("kept",), told)
    return TbeSteps(
        (kept, TbeStep(APPLY_DROPOUT_MASK, ("x", "bias", "residual", "kept"), ("y",), told))
    )


def tbe_gradient_steps(p: float) -> TbeSteps:
    """Returns the CANN operators for the gradients; they recompute the dropout mask."""
    told, made = {"p": p}, ("grad_x", "grad_bias", "grad_residual")
    if not p:
        return TbeSteps(
            (
                TbeStep(
                    APPLY_DROPOUT_MASK_GRADIENT,
                    ("bias", "residual", "grad_y", "grad_y"),
                    made,
                    told,
                ),
            )
        )
    kept = TbeStep(DROPOUT_MASK, ("x", "key"), ("kept",), told)
    rest = TbeStep(APPLY_DROPOUT_MASK_GRADIENT, ("bias", "residual", "kept", "grad_y"), made, told)
    return TbeSteps((kept, rest))


BIAS_DROPOUT_ADD = OpSpec(
    name="BiasDropoutAdd",
    inputs=("x", "bias", "residual", "key"),
    forward=compute,
    backward=gradient,
    saves=("x", "bias", "residual", "key"),
    attributes={"p": 0.5},
    variants=({"p": 0.0}, {"p": 0.1}),
    composite=composite,
    formula=formula,
    undifferentiable=frozenset({"key"}),
    integers={"key": ("int32", 2**31 - 1)},
    samples=(
        ((4, 8), (8,), (4, 8), (1,)),
        ((3, 5, 7), (7,), (3, 5, 7), (1,)),
        ((1,), (1,), (1,), (1,)),
        ((0, 4), (4,), (0, 4), (1,)),
        ((6, 3), (6, 1), (3,), (1,)),
    ),
    tbe_steps=tbe_steps,
    tbe_gradient_steps=tbe_gradient_steps,
    doc="y = dropout(x + bias) + residual",
)


class BiasDropoutAdd(DispatchingCell):
    r"""Adds a residual to dropout(x + bias); outside of training, dropout has no effect.

    .. math::
        y = \mathrm{dropout}(x + bias) + residual

    The dropout mask is computed from the position of each element and a random key. The key changes
    with each call and is stored as a one-element Parameter. Backward recomputes the mask from the
    key, and equal seeds give equal masks.

    Args:
        keep_prob: probability of keeping an element, as for nn.Dropout.
        p: drop probability; takes precedence over `keep_prob`.
        dtype: ignored, as by nn.Dropout; the result has the dtype of the inputs. Default:
            ``mindspore.float32``.
        seed: the first random key. By default, NumPy's random generator draws the key.
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **bias** (Tensor) - broadcast to the shape of x.
        - **residual** (Tensor) - broadcast to the shape of x.

    Outputs:
        Tensor of the shape of x and the promoted dtype of the inputs. Outside of training
        (`set_train`) or if p is 0, the result is x + bias + residual. On arrays, `forward` applies
        dropout by default; ``training=False`` disables the dropout. NaN propagates, also from
        dropped elements.

    Raises:
        InputError: the drop probability is not within 0 ≤ p < 1, or bias or residual does not
            broadcast to the shape of x.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> x = np.ones((2, 3), np.float32)
        >>> BiasDropoutAdd(p=0.5, seed=1).forward(x, x[0], x, training=False)
        array([[3., 3., 3.],
               [3., 3., 3.]], dtype=float32)
    """

    def __init__(
        self,
        keep_prob: float = 0.5,
        p: float | None = None,
        dtype: Any = None,
        seed: int | None = None,
        route: str = "",
    ):
        dropped = (
            drop_probability("keep_prob", keep_prob) if p is None else drop_probability("p", p)
        )
        super().__init__()
        self.drawn = FusedCell(BIAS_DROPOUT_ADD, {"p": dropped}, route)
        self.plain = FusedCell(BIAS_DROPOUT_ADD, {"p": 0.0}, route)
        start = np.random.randint(0, 2**31) if seed is None else seed % 2**31
        first = np.array([start], np.int32)
        if HAS_MINDSPORE:
            self.key = ms.Parameter(ms.Tensor(first), name="key", requires_grad=False)
            self.step = ms.Tensor([NEXT_KEY], ms.int32)
        object.__setattr__(self, "_key_of_arrays", first)

    def construct(self, x: Any, bias: Any, residual: Any) -> Any:
        """Computes the output; applies dropout only in training."""
        if not self.training:
            return self.plain.run(x, bias, residual, self.step)
        # the key is a new tensor, because the gradient may read it after the next call has updated
        # the Parameter
        key = ops.add(self.key, self.step)
        ops.assign(self.key, key)
        return self.drawn.run(x, bias, residual, key)

    def select_cell(self, *arrays: Any) -> FusedCell:
        """Returns the Cell with dropout; `forward` calls this method only if `training` is true."""
        return self.drawn

    def forward(self, *arrays: Any, training: bool = True) -> Any:
        """Returns the output for the arrays x, bias and residual.

        The method saves these arrays for `backward`.
        """
        key = self._key_of_arrays
        if not training:
            object.__setattr__(self, "_last", self.plain)
            return self.plain.forward(*arrays, key)
        with np.errstate(over="ignore"):
            object.__setattr__(self, "_key_of_arrays", key + np.int32(NEXT_KEY))
        return super().forward(*arrays, self._key_of_arrays)


def _build_with_key(p: float = 0.5, route: str = "") -> FusedCell:
    return FusedCell(BIAS_DROPOUT_ADD, {"p": drop_probability("p", p)}, route)


FUNCTION_SPECS = (
    FunctionSpec(
        "bias_dropout_add",
        BIAS_DROPOUT_ADD.inputs,
        _build_with_key,
        parameters_of(_build_with_key),
        doc="""Returns dropout(x + bias) + residual.

        Args:
            x, bias, residual: as in `custom_ops.BiasDropoutAdd`.
            key: int32 of shape (1,), the key of the random mask. Equal keys drop the same elements.
            p: probability with which an element is dropped.
            route: as in `custom_ops.BiasDropoutAdd`.

        Returns:
            Tensor of the shape of x and the promoted dtype.

        Raises:
            InputError: p is not within 0 ≤ p < 1, or bias or residual does not broadcast to the
                shape of x.
        """,
    ),
)
