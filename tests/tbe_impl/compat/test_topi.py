"""``topi`` functions against NumPy, on arrays with broadcasting shapes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import special

from tbe_impl import compat
from tbe_impl.compat.tvm import topi
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.interpreter import evaluate
from tests.cases import cases

RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((4, 1, 5)).astype(np.float32)
Y = RANDOM.uniform(0.5, 2, (3, 1)).astype(np.float32)
N = RANDOM.integers(-9, 9, (4, 5)).astype(np.int32)
M = RANDOM.integers(1, 4, (5,)).astype(np.int32)
BINARY: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "equal": np.equal,
    "not_equal": np.not_equal,
    "greater": np.greater,
    "greater_equal": np.greater_equal,
    "less": np.less,
    "less_equal": np.less_equal,
}
WHOLE: dict[str, Callable[..., Any]] = {
    "divide": lambda x, y: np.trunc(x / y),
    "floor_divide": np.floor_divide,
    "mod": np.fmod,
    "floor_mod": np.mod,
    "left_shift": np.left_shift,
    "right_shift": np.right_shift,
    "bitwise_and": np.bitwise_and,
    "bitwise_or": np.bitwise_or,
    "bitwise_xor": np.bitwise_xor,
}
UNARY: dict[str, Callable[..., Any]] = {
    "exp": np.exp,
    "tanh": np.tanh,
    "sigmoid": special.expit,
    "erf": special.erf,
    "sin": np.sin,
    "cos": np.cos,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "abs": np.abs,
    "negative": np.negative,
    "sign": np.sign,
    "identity": lambda x: x,
    "squeeze": np.squeeze,
    "transpose": np.transpose,
    "sum": lambda x: x.sum().reshape(1),
    "max": lambda x: x.max().reshape(1),
    "min": lambda x: x.min().reshape(1),
    "prod": lambda x: x.prod().reshape(1),
}
ARGUED: dict[str, tuple[Callable[..., Any], Callable[[np.ndarray], Any]]] = {
    "log": (lambda f, x: f(topi.FUNCTIONS["abs"](x)), lambda x: np.log(np.abs(x))),
    "sqrt": (lambda f, x: f(topi.FUNCTIONS["abs"](x)), lambda x: np.sqrt(np.abs(x))),
    "rsqrt": (lambda f, x: f(topi.FUNCTIONS["abs"](x)), lambda x: 1 / np.sqrt(np.abs(x))),
    "power": (lambda f, x: f(x, 2.0), lambda x: x**2),
    "clip": (lambda f, x: f(x, -0.5, 0.25), lambda x: np.clip(x, -0.5, 0.25)),
    "cast": (lambda f, x: f(x, "int32"), lambda x: x.astype(np.int32)),
    "reshape": (lambda f, x: f(x, (5, 4)), lambda x: x.reshape(5, 4)),
    "expand_dims": (lambda f, x: f(x, -1, 2), lambda x: x[..., None, None]),
    "stack": (lambda f, x: f([x, x], 1), lambda x: np.stack([x, x], 1)),
    "concatenate": (lambda f, x: f((x, x), -1), lambda x: np.concatenate([x, x], -1)),
    "broadcast_to": (lambda f, x: f(x, (4, 3, 5)), lambda x: np.broadcast_to(x, (4, 3, 5))),
    "tile": (lambda f, x: f(x, (1, 2, 1)), lambda x: np.tile(x, (1, 2, 1))),
    "full": (lambda f, x: topi.FUNCTIONS["add"](x, f((5,), "float32", 2)), lambda x: x + 2),
    "full_like": (lambda f, x: topi.FUNCTIONS["add"](x, f(x, 2)), lambda x: x + 2),
    "elemwise_sum": (lambda f, x: f([x, x, x]), lambda x: 3 * x),
    "where": (
        lambda f, x: f(topi.FUNCTIONS["greater"](x, 0), x, 1.0),
        lambda x: np.where(x > 0, x, 1),
    ),
    "logical_and": (
        lambda f, x: f(topi.FUNCTIONS["greater"](x, 0), topi.FUNCTIONS["less"](x, 1)),
        lambda x: (x > 0) & (x < 1),
    ),
    "logical_or": (
        lambda f, x: f(topi.FUNCTIONS["greater"](x, 1), topi.FUNCTIONS["less"](x, 0)),
        lambda x: (x > 1) | (x < 0),
    ),
    "all": (lambda f, x: f(topi.FUNCTIONS["greater"](x, -1), axis=2), lambda x: (x > -1).all(2)),
    "any": (
        lambda f, x: f(topi.FUNCTIONS["greater"](x, 1), axis=2, keepdims=True),
        lambda x: (x > 1).any(2, keepdims=True),
    ),
}
CASES = [
    *((name, lambda f, x, y: f(x, y), formula, (X, Y)) for name, formula in BINARY.items()),
    *((name, lambda f, x, y: f(x, y), formula, (N, M)) for name, formula in WHOLE.items()),
    *((name, lambda f, x: f(x), formula, (X,)) for name, formula in UNARY.items()),
    *((name, build, formula, (X,)) for name, (build, formula) in ARGUED.items()),
]


@cases("name, build, formula, arrays", CASES, ids=lambda row: row[0])
def test_topi_functions_agree_with_numpy(
    name: str,
    build: Callable[..., Any],
    formula: Callable[..., Any],
    arrays: tuple[np.ndarray, ...],
) -> None:
    tensors = [placeholder(array.shape, str(array.dtype)) for array in arrays]
    made = build(topi.FUNCTIONS[name], *tensors)
    (found,) = evaluate.run(
        [made], {id(t): array for t, array in zip(tensors, arrays, strict=True)}
    )
    wide = [array.astype(np.float64) if array.dtype.kind == "f" else array for array in arrays]
    wanted = np.asarray(formula(*wide))
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=2e-6, atol=1e-6)


def test_every_function_has_a_case() -> None:
    assert {name for name, *_ in CASES} == set(topi.FUNCTIONS)


def test_expressions_stay_expressions() -> None:
    with compat.installed():
        import topi as installed
        from te import tvm

        assert installed.add(tvm.const(1, "int32"), tvm.const(2, "int32")).value == 3
