"""Operators on any dtype, as `vocabulary` for floats: compare, select, reduce, move, cast."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.ms_fusion.kernel_server.vocabulary import ALWAYS

DTYPES = (
    "float16",
    "bfloat16",
    "float32",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
)
"""Every dtype that MindSpore passes on CPU."""

BOTH: Callable[[Any, Any], bool] = lambda x, y: True  # noqa: E731
BY: Callable[[Any, Any], bool] = lambda x, y: y.min() > 0  # noqa: E731
COMPARED = ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")

ANY_UNARY: tuple[tuple[str, str, Callable[[Any], bool]], ...] = (
    ("ops.sign({0})", "np.sign({0})", ALWAYS),
    ("ops.floor({0})", "np.floor({0})", ALWAYS),
    ("ops.ceil({0})", "np.ceil({0})", ALWAYS),
    ("ops.trunc({0})", "np.trunc({0})", ALWAYS),
    ("ops.round({0})", "np.rint({0})", ALWAYS),
    ("ops.Rint()({0})", "np.rint({0})", ALWAYS),
    ("ops.isnan({0})", "np.isnan({0})", ALWAYS),
    ("ops.isinf({0})", "np.isinf({0})", ALWAYS),
    ("ops.isfinite({0})", "np.isfinite({0})", ALWAYS),
    ("ops.logical_not({0})", "np.logical_not({0})", ALWAYS),
    ("ops.amax({0}, -1)", "np.max({0}, -1)", ALWAYS),
    ("ops.amin({0}, 0, True)", "np.min({0}, 0, keepdims=True)", ALWAYS),
    ("ops.ReduceMax()({0}, -1)", "np.max({0}, -1)", ALWAYS),
    ("ops.ReduceMin()({0}, 0)", "np.min({0}, 0)", ALWAYS),
    ("ops.ReduceSum()({0}, -1)", "np.sum({0}, -1)", ALWAYS),
    ("ops.ReduceMean()({0}, -1)", "np.mean({0}, -1)", ALWAYS),
    ("ops.sum({0}, (0, 1))", "np.sum({0}, (0, 1))", ALWAYS),
    ("ops.mean({0}, 0)", "np.mean({0}, 0)", ALWAYS),
    ("ops.any({0} > 0, -1)", "np.any({0} > 0, -1)", ALWAYS),
    ("ops.all({0} > 0, -1)", "np.all({0} > 0, -1)", ALWAYS),
    ("ops.any({0}, -1)", "np.any({0}, -1)", ALWAYS),
    ("ops.all({0}, 0)", "np.all({0}, 0)", ALWAYS),
    ("ops.transpose({0}, (1, 0))", "{0}.T", ALWAYS),
    ("ops.reshape({0}, (-1,))", "{0}.reshape(-1)", ALWAYS),
    ("ops.tile({0}, (2, 1))", "np.tile({0}, (2, 1))", ALWAYS),
    ("ops.broadcast_to({0}, (2, 6, 9))", "np.broadcast_to({0}, (2, 6, 9))", ALWAYS),
    ("ops.expand_dims({0}, 1)", "{0}[:, None]", ALWAYS),
    ("ops.slice({0}, (1, 2), (4, 5))", "{0}[1:5, 2:7]", ALWAYS),
    ("{0}[1:, ::2]", "{0}[1:, ::2]", ALWAYS),
    ("ops.stack(({0}, {0}), 1)", "np.stack(({0}, {0}), 1)", ALWAYS),
    ("ops.concat(({0}, {0}), -1)", "np.concatenate(({0}, {0}), -1)", ALWAYS),
    ("ops.split({0}, 3, 1)[1]", "{0}[:, 3:6]", ALWAYS),
    ("ops.ones_like({0})", "np.ones_like({0})", ALWAYS),
    ("ops.zeros_like({0})", "np.zeros_like({0})", ALWAYS),
    ("ops.pow({0}, 2)", "{0} ** 2", ALWAYS),
    ("{0} + 2", "{0} + 2", ALWAYS),
    ("{0} * 3", "{0} * 3", ALWAYS),
    ("{0} / 2", "{0} / 2", ALWAYS),
    ("ops.clamp({0}, 0, 2)", "np.clip({0}, 0, 2)", ALWAYS),
    ("ops.AddN()(({0}, {0}, {0}))", "{0} + {0} + {0}", ALWAYS),
    ("ops.Inv()({0})", "1 / {0}", lambda x: x.min() > 0),
    (
        "ops.one_hot(ops.cast({0}, ms.int32), 4)",
        "({0}.astype(np.int32)[..., None] == np.arange(4)).astype(np.int64)",
        lambda x: x.min() >= 0,
    ),
    *(
        (f"ops.cast({{0}}, ms.{name + '_' * (name == 'bool')})", "{0}", lambda x: x.min() >= 0)
        for name in DTYPES
    ),
)
"""MindSpore expression, NumPy formula, input range; a cast keeps the formula."""

ANY_BINARY: tuple[tuple[str, str, Callable[[Any, Any], bool]], ...] = (
    *((f"ops.{word}({{0}}, {{1}})", f"np.{word}({{0}}, {{1}})", BOTH) for word in COMPARED),
    *(
        (f"ops.logical_{word}({{0}}, {{1}})", f"np.logical_{word}({{0}}, {{1}})", BOTH)
        for word in ("and", "or", "xor")
    ),
    ("ops.floor_div({0}, {1})", "{0} // {1}", BY),
    ("ops.floor_mod({0}, {1})", "{0} % {1}", BY),
    ("ops.Mod()({0}, {1})", "np.fmod({0}, {1})", BY),
    ("ops.RealDiv()({0}, {1})", "{0} / {1}", BY),
    ("ops.Div()({0}, {1})", "{0} / {1}", BY),
    ("ops.hypot({0}, {1})", "np.hypot({0}, {1})", BOTH),
    ("ops.fmin({0}, {1})", "np.fmin({0}, {1})", BOTH),
    ("ops.select({0} > {1}, {0}, {0} + {0})", "np.where({0} > {1}, {0}, {0} + {0})", BOTH),
    ("ops.where({0} > 0, {0}, {1})", "np.where({0} > 0, {0}, {1})", BOTH),
    ("mint.add({0}, {1}, alpha=2)", "{0} + 2 * {1}", BOTH),
    ("mint.sub({0}, {1}, alpha=2)", "{0} - 2 * {1}", BOTH),
)
