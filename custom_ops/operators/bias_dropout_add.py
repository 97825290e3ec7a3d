"""dropout(x + bias) + residual."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.cell import ChoosingCell, FusedCell
from custom_ops.core.cell_call import real
from custom_ops.core.counter_random import NEXT_KEY, bits, bits_in_numpy, bits_of_mindspore
from custom_ops.core.framework import HAS_MINDSPORE, ms, ops
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.pointwise import common_shape, like, promoted, wide
from custom_ops.tbe_bridge.steps import TbeStep, TbeSteps, step_operator
from tbe_impl import dsl
from tbe_impl.dsl.expr import const, select
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import shape_text
from tbe_impl.errors import InputError

STEPS = 2**32


def share_dropped(argument: str, given: Any) -> float:
    """The share that is dropped, from ``p`` or from ``keep_prob``.

    Raises:
        InputError: that is no number, or out of range.
    """
    number = real("BiasDropoutAdd", argument, given)
    dropped = number if argument == "p" else 1.0 - number
    if not 0 <= dropped < 1:
        raise InputError(
            f"BiasDropoutAdd: {argument} is out of range",
            place="BiasDropoutAdd",
            expected="0 <= p < 1" if argument == "p" else "0 < keep_prob <= 1",
            got=repr(given),
        )
    return dropped


def kept(shape: Any, key: Any, p: float, dtype: str) -> Any:
    """1 / (1 − p) where an element stays, 0 where it is dropped."""
    numbers = bits(shape, key)
    bar, factor = const(round(p * STEPS), "uint32"), const(1.0 / (1.0 - p), dtype)
    return dsl.compute(
        shape, lambda *i: select(numbers(*i) >= bar, factor, const(0.0, dtype)), "kept"
    )


def compute(x: Any, bias: Any, residual: Any, key: Any, *, p: float) -> Any:
    """y = (x + bias)·kept + residual, rounded once."""
    if [str(size) for size in common_shape(x, bias, residual)] != [str(size) for size in x.shape]:
        raise InputError(
            "bias and residual do not fit x",
            expected=f"what is broadcast to {shape_text(x.shape)}",
            got=f"{shape_text(bias.shape)} and {shape_text(residual.shape)}",
        )
    if key.ndim != 1 or not is_one(key.shape[0]):
        raise InputError(
            f"{key.name} is no key", expected="int32 of shape (1,)", got=shape_text(key.shape)
        )
    a, b, c = wide(x, bias, residual)
    total = dsl.vadd(a, b)
    if p > 0:
        total = dsl.vmul(total, kept(total.shape, key, p, total.dtype))
    return dsl.cast_to(dsl.vadd(total, c), promoted(x, bias, residual))


def gradient(x: Any, bias: Any, residual: Any, key: Any, grad: Any, *, p: float) -> tuple[Any, ...]:
    """grad·kept of x and, summed, of bias; grad of residual. What was dropped is counted again."""
    (g,) = wide(grad)
    found = dsl.vmul(g, kept(g.shape, key, p, g.dtype)) if p > 0 else g
    return like(found, x), like(found, bias), like(g, residual)


def composite(x: Any, bias: Any, residual: Any, key: Any, p: float) -> Any:
    """The same from basic operators of MindSpore, with the same numbers."""
    total = ops.add(x, bias)
    if p > 0:
        stays = ops.greater_equal(bits_of_mindspore(total, key), round(p * 4294967296) - 2147483648)
        total = ops.mul(total, ops.mul(ops.cast(stays, total.dtype), 1.0 / (1.0 - p)))
    return ops.add(total, residual)


def formula(x: Any, bias: Any, residual: Any, key: Any, p: float) -> Any:
    """What is right, from float64."""
    total = x + bias
    stays = bits_in_numpy(total.shape, key) >= round(p * STEPS)
    return total * (stays / (1.0 - p)) + residual


KEPT = step_operator(
    "DropoutKept",
    ("x", "key"),
    ("kept",),
    "dropout_kept",
    lambda x, key, p: (x,),
    lambda x, key: (x,),
    "1 where a dropout of x keeps an element, else 0.",
    attributes={"p": 0.5},
    given={"key": "int32"},
)
OF_KEPT = step_operator(
    "BiasDropoutAddOfKept",
    ("x", "bias", "residual", "kept"),
    ("y",),
    "bias_dropout_add",
    lambda x, bias, residual, kept, p: (x,),
    lambda x, *_: (x,),
    "y = (x + bias)·kept / (1 − p) + residual",
    attributes={"p": 0.5},
)
GRADIENT_OF_KEPT = step_operator(
    "BiasDropoutAddOfKeptGrad",
    ("bias", "residual", "kept", "grad_y"),
    ("grad_x", "grad_bias", "grad_residual"),
    "bias_dropout_add_grad",
    lambda bias, residual, kept, grad_y, p: (grad_y, bias, residual),
    lambda bias, residual, kept, grad_y: (grad_y, bias, residual),
    "Gradients of BiasDropoutAddOfKept, of tensors of one dtype.",
    attributes={"p": 0.5},
)


def tbe_steps(p: float) -> TbeSteps:
    """What is kept, one element after the other, as CANN's vector words cannot count it; the rest by vectors."""
    told = {"p": p}
    if not p:
        return TbeSteps((TbeStep(OF_KEPT, ("x", "bias", "residual", "x"), ("y",), told),))
    kept = TbeStep(KEPT, ("x", "key"), ("kept",), told)
    return TbeSteps((kept, TbeStep(OF_KEPT, ("x", "bias", "residual", "kept"), ("y",), told)))


def tbe_gradient_steps(p: float) -> TbeSteps:
    """What was kept is counted again."""
    told, made = {"p": p}, ("grad_x", "grad_bias", "grad_residual")
    if not p:
        return TbeSteps(
            (TbeStep(GRADIENT_OF_KEPT, ("bias", "residual", "grad_y", "grad_y"), made, told),)
        )
    kept = TbeStep(KEPT, ("x", "key"), ("kept",), told)
    rest = TbeStep(GRADIENT_OF_KEPT, ("bias", "residual", "kept", "grad_y"), made, told)
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


class BiasDropoutAdd(ChoosingCell):
    r"""A residual plus a tensor with a bias, of which elements are dropped while training.

    .. math::
        y = \mathrm{dropout}(x + bias) + residual

    What is dropped is a function of the element's position and a key, which changes with each call: nothing is kept for the
    gradient, and a seed gives the same numbers again. The state is a Parameter of one number.

    Args:
        keep_prob: the share of elements that stay, as for nn.Dropout.
        p: the share that is dropped; takes precedence.
        dtype: as for nn.Dropout, which takes no notice of it either: the result has the dtype of the inputs. Default:
            ``mindspore.float32``.
        seed: where to start; without it at random, from NumPy's generator.
        route: ``native`` or ``composite``.

    Inputs:
        - **x** (Tensor) - float16, bfloat16, float32 or float64, any shape.
        - **bias** (Tensor) - broadcast to it.
        - **residual** (Tensor) - broadcast to it.

    Outputs:
        Tensor of the shape of x and the widest dtype. Not in training (`set_train`), or p = 0: x + bias + residual.
        Arrays: `forward` draws, unless ``training=False``. NaN propagates, and stays where it is dropped.

    Raises:
        InputError: p is not within 0 ≤ p < 1, or the shapes do not fit.

    Supported Platforms:
        ``CPU`` (``Ascend``: written, untested)

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
        dropped = share_dropped("keep_prob", keep_prob) if p is None else share_dropped("p", p)
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
        """A draw while training."""
        if not self.training:
            return self.plain.run(x, bias, residual, self.step)
        # a sum of its own: what the gradient reads later must not be the Parameter, which the next call changes
        key = ops.add(self.key, self.step)
        ops.assign(self.key, key)
        return self.drawn.run(x, bias, residual, key)

    def chosen(self, *arrays: Any) -> FusedCell:
        """That which draws, as long as `forward` does not say otherwise."""
        return self.drawn

    def forward(self, *arrays: Any, training: bool = True) -> Any:
        """The output for arrays x, bias and residual; they are kept for `backward`."""
        key = self._key_of_arrays
        if not training:
            object.__setattr__(self, "_last", self.plain)
            return self.plain.forward(*arrays, key)
        with np.errstate(over="ignore"):
            object.__setattr__(self, "_key_of_arrays", key + np.int32(NEXT_KEY))
        return super().forward(*arrays, self._key_of_arrays)
