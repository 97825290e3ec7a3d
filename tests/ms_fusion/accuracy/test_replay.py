"""Each replay formula against plain NumPy or hand-computed values, and the replay machinery."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from ms_fusion.accuracy.replay import replay, unknown_operators
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS
from ms_fusion.ops import operators_where, selections
from tbe_impl.errors import InputError
from tests.cases import cases

F, INT, B = "float32", "int32", "bool"


def single(op, inputs, output, **attrs):
    """Replays one operator; `inputs`: arrays, or ("constant", dtype, data); `output`: (dtype,
    shape).
    """
    values, names, given = {}, [], {}
    for index, one in enumerate(inputs):
        name = f"i{index}"
        names.append(name)
        if isinstance(one, tuple):
            _, dtype, data = one
            values[name] = Value(name, np.shape(data), dtype, "constant", data)
        else:
            array = np.asarray(one)
            values[name] = Value(name, array.shape, array.dtype.name, "input")
            given[name] = array
    values["o"] = Value("o", tuple(output[1]), output[0])
    node = Node("n", op, tuple(names), ("o",), tuple(sorted(attrs.items())))
    return replay(Graph("g", (node,), values, tuple(given), ("o",)), given)["o"]


def c(data, dtype="int64"):
    return ("constant", dtype, data)


x = np.array([[-2.5, -1.0, 0.5], [1.5, 2.5, 3.0]], np.float32)
y = np.array([[3.0, 2.0, 1.0], [-1.0, 0.5, 2.0]], np.float32)
p = np.array([0.1, 0.5, 0.9], np.float32)
i = np.array([-7, 7, 6, 0], np.int32)
j = np.array([2, -2, 3, 5], np.int32)
X, Y, P = x.astype(np.float64), y.astype(np.float64), p.astype(np.float64)

CASES = [
    ("Abs", [x], (F, x.shape), np.abs(X)),
    ("Neg", [x], (F, x.shape), -X),
    ("Sign", [x], (F, x.shape), [[-1, -1, 1], [1, 1, 1]]),
    ("Square", [x], (F, x.shape), X * X),
    ("Sqrt", [p], (F, p.shape), P**0.5),
    ("Rsqrt", [p], (F, p.shape), P**-0.5),
    ("Reciprocal", [x], (F, x.shape), 1 / X),
    ("Inv", [x], (F, x.shape), 1 / X),
    ("Exp", [x], (F, x.shape), [[math.exp(v) for v in row] for row in X]),
    ("Expm1", [p], (F, p.shape), [math.expm1(v) for v in P]),
    ("Log", [p], (F, p.shape), [math.log(v) for v in P]),
    ("Log1p", [p], (F, p.shape), [math.log1p(v) for v in P]),
    ("Sin", [p], (F, p.shape), [math.sin(v) for v in P]),
    ("Cos", [p], (F, p.shape), [math.cos(v) for v in P]),
    ("Tan", [p], (F, p.shape), [math.tan(v) for v in P]),
    ("Asin", [p], (F, p.shape), [math.asin(v) for v in P]),
    ("ACos", [p], (F, p.shape), [math.acos(v) for v in P]),
    ("Atan", [p], (F, p.shape), [math.atan(v) for v in P]),
    ("Sinh", [p], (F, p.shape), [math.sinh(v) for v in P]),
    ("Cosh", [p], (F, p.shape), [math.cosh(v) for v in P]),
    ("Tanh", [p], (F, p.shape), [math.tanh(v) for v in P]),
    ("Asinh", [p], (F, p.shape), [math.asinh(v) for v in P]),
    ("Acosh", [1 + p], (F, p.shape), [math.acosh(float(v)) for v in 1 + p]),
    ("Atanh", [p], (F, p.shape), [math.atanh(v) for v in P]),
    ("Erf", [p], (F, p.shape), [math.erf(v) for v in P]),
    ("Erfc", [p], (F, p.shape), [math.erfc(v) for v in P]),
    ("Floor", [x], (F, x.shape), [[-3, -1, 0], [1, 2, 3]]),
    ("Ceil", [x], (F, x.shape), [[-2, -1, 1], [2, 3, 3]]),
    ("Trunc", [x], (F, x.shape), [[-2, -1, 0], [1, 2, 3]]),
    ("Round", [x], (F, x.shape), [[-2, -1, 0], [2, 2, 3]]),  # ties to even
    ("Rint", [x], (F, x.shape), [[-2, -1, 0], [2, 2, 3]]),
    ("IsNan", [np.float32([np.nan, np.inf, 1])], (B, (3,)), [True, False, False]),
    ("IsInf", [np.float32([np.nan, -np.inf, 1])], (B, (3,)), [False, True, False]),
    ("IsFinite", [np.float32([np.nan, np.inf, 1])], (B, (3,)), [False, False, True]),
    ("LogicalNot", [np.array([True, False])], (B, (2,)), [False, True]),
    ("Add", [x, y], (F, x.shape), X + Y),
    ("Sub", [x, y], (F, x.shape), X - Y),
    ("Mul", [x, c(2.0, F)], (F, x.shape), X * 2),
    ("Div", [x, y], (F, x.shape), X / Y),
    ("RealDiv", [x, y], (F, x.shape), X / Y),
    ("Div", [i, j], (INT, (4,)), [-3, -3, 2, 0]),  # toward zero
    ("FloorDiv", [x, y], (F, x.shape), np.floor(X / Y)),
    ("FloorDiv", [i, j], (INT, (4,)), [-4, -4, 2, 0]),
    ("FloorMod", [i, j], (INT, (4,)), [1, -1, 0, 0]),
    ("Mod", [x, y], (F, x.shape), X - np.trunc(X / Y) * Y),
    ("Mod", [i, j], (INT, (4,)), [-1, 1, 0, 0]),  # the sign of the dividend
    ("Pow", [p, c(3.0, F)], (F, p.shape), P * P * P),
    (
        "Atan2",
        [x, y],
        (F, x.shape),
        [[math.atan2(a, b) for a, b in zip(*r, strict=True)] for r in zip(X, Y, strict=True)],
    ),
    ("Maximum", [np.float32([1, np.nan]), np.float32([2, 0])], (F, (2,)), [2, np.nan]),  # NaN wins
    ("Minimum", [x, y], (F, x.shape), np.where(X < Y, X, Y)),
    ("SquaredDifference", [x, y], (F, x.shape), (X - Y) ** 2),
    ("Equal", [i, i[::-1].copy()], (B, (4,)), [False, False, False, False]),
    ("NotEqual", [i, i], (B, (4,)), [False] * 4),
    ("Less", [x, y], (B, x.shape), X < Y),
    ("LessEqual", [x, x], (B, x.shape), np.ones((2, 3), bool)),
    ("Greater", [x, c(0.0, F)], (B, x.shape), X > 0),
    ("GreaterEqual", [x, y], (B, x.shape), ~(X < Y)),
    ("LogicalAnd", [np.array([True, True]), np.array([True, False])], (B, (2,)), [True, False]),
    ("LogicalOr", [np.array([False, True]), np.array([False, False])], (B, (2,)), [False, True]),
    ("Select", [np.array([True, False, True]), p, -p], (F, (3,)), [P[0], -P[1], P[2]]),
    ("Cast", [np.float32([1e6, 1 / 3])], ("float16", (2,)), [np.inf, float(np.float16(1 / 3))]),
    ("Cast", [np.float32([-1.9, 1.9])], (INT, (2,)), [-1, 1]),
    ("Cast", [np.float32([0, -0.5, np.nan])], (B, (3,)), [False, True, True]),
    ("Cast", [np.int32([300, -1])], ("uint8", (2,)), [44, 255]),
    ("ReduceSum", [x, c((1,))], (F, (2,)), X.sum(1)),
    ("ReduceMax", [x, c((-1,))], (F, (2, 1)), X.max(1, keepdims=True)),
    ("ReduceMin", [x, c(())], (F, ()), -2.5),
    ("ReduceMean", [x, c((0,))], (F, (3,)), X.mean(0)),
    ("ReduceProd", [x, c((0,))], (F, (3,)), X[0] * X[1]),
    ("ReduceSum", [np.array([True, True, False]), c((0,))], (B, ()), True),
    ("ReduceAll", [np.array([[True, False], [True, True]]), c((1,))], (B, (2,)), [False, True]),
    ("ReduceAny", [np.array([[False, False], [True, True]]), c((1,))], (B, (2,)), [False, True]),
    ("CumSum", [x, c(1)], (F, x.shape), [[-2.5, -3.5, -3.0], [1.5, 4.0, 7.0]]),
    (
        "CumSum",
        [p, c(0), c(True, B), c(True, B)],
        (F, (3,)),
        [P[1] + P[2], P[2], 0],
    ),  # exclusive, from the end
    ("Reshape", [x, c((3, -1))], (F, (3, 2)), X.reshape(3, 2)),
    ("ExpandDims", [p, c(0)], (F, (1, 3)), P[None]),
    ("Squeeze", [p[None]], (F, (3,)), P),
    ("Flatten", [x], (F, (6,)), X.reshape(-1)),
    ("Transpose", [x, c((1, 0))], (F, (3, 2)), X.T),
    ("BroadcastTo", [p, c((2, 3))], (F, (2, 3)), [P, P]),
    ("Tile", [p, c((2, 2))], (F, (2, 6)), [[*P, *P], [*P, *P]]),
    ("OneHot", [np.int32([0, 2]), c(3), c(1.0, F), c(0.0, F)], (F, (2, 3)), [[1, 0, 0], [0, 0, 1]]),
    (
        "OneHot",
        [np.int32([0, 2]), c(3), c(1.0, F), c(0.0, F), c(0)],
        (F, (3, 2)),
        [[1, 0], [0, 0], [0, 1]],
    ),
    ("StridedSlice", [x, c((0, 2)), c((2, 0)), c((1, -1))], (F, (2, 2)), X[:, 2:0:-1]),
    (
        "StridedSlice",
        [x, c((1, 0)), c((2, 0)), c((1, 1)), c(0), c(2), c(0), c(0), c(1)],
        (F, (3,)),
        X[1],
    ),
    ("Slice", [x, c((0, 1)), c((-1, 2))], (F, (2, 2)), X[:, 1:]),
    ("Gather", [x, np.int32([1, 0, 5]), c(0)], (F, (3, 3)), [X[1], X[0], [0, 0, 0]]),  # outside: 0
    ("Gather", [x, np.int32([2]), c(1)], (F, (2, 1)), X[:, 2:]),
    ("Concat", [x, y, c(0)], (F, (4, 3)), [*X, *Y]),
    ("OnesLike", [x], (F, x.shape), np.ones((2, 3))),
    ("ZerosLike", [x], (F, x.shape), np.zeros((2, 3))),
    ("Assign", [x, y], (F, (1,)), Y),
    ("AssignAdd", [x, y], (F, (1,)), X + Y),
    ("MatMul", [x, y, c(False, B), c(True, B)], (F, (2, 2)), X @ Y.T),
    ("BatchMatMul", [x, y, c(True, B), c(False, B)], (F, (3, 3)), X.T @ Y),
    ("AddN", [x, y, x], (F, x.shape), X + Y + X),
    ("BiasAdd", [x, p], (F, x.shape), X + P),
    ("BiasAddGrad", [x], (F, (3,)), X.sum(0)),
    (
        "BiasAddGrad",
        [np.stack([x, y])[..., None]],
        (F, (2,)),
        [X[0].sum() + Y[0].sum(), X[1].sum() + Y[1].sum()],
    ),
    ("ReLU", [np.float32([-1, 2, np.nan])], (F, (3,)), [0, 2, np.nan]),
    ("Sigmoid", [p], (F, p.shape), [1 / (1 + math.exp(-v)) for v in P]),
    ("SiLU", [p], (F, p.shape), [v / (1 + math.exp(-v)) for v in P]),
    ("Softplus", [p], (F, p.shape), [math.log(1 + math.exp(v)) for v in P]),
    ("GeLU", [np.float32([0.0, 10.0])], (F, (2,)), [0.0, 10.0]),
    (
        "Softmax",
        [np.float32([[0, 0], [0, np.inf]]), c((-1,))],
        (F, (2, 2)),
        [[0.5, 0.5], [np.nan, np.nan]],
    ),
    (
        "LogSoftmax",
        [np.float32([[0, 0], [0, -np.inf]]), c((-1,))],
        (F, (2, 2)),
        [[-np.log(2), -np.log(2)], [0, -np.inf]],
    ),
    ("Load", [x], (F, x.shape), X),
    ("Depend", [x, y], (F, x.shape), X),
    ("TensorMove", [x], (F, x.shape), X),
    ("StopGradient", [x], (F, x.shape), X),
]


# -- operators of several steps: gradients as finite differences

H = 1e-6


def slope(function, at):
    """The derivative of a function of single elements."""
    return (function(at + H) - function(at - H)) / (2 * H)


def gelu(v):
    return 0.5 * v * (1 + np.tanh(math.sqrt(2 / math.pi) * (v + 0.044715 * v**3)))


GRADIENTS = [
    ("SqrtGrad", np.sqrt, "y"),
    ("RsqrtGrad", lambda v: v**-0.5, "y"),
    ("AcoshGrad", np.arccosh, "y"),
    ("AsinhGrad", np.arcsinh, "y"),
    ("ACosGrad", np.arccos, "x"),
    ("AsinGrad", np.arcsin, "x"),
    ("AtanGrad", np.arctan, "x"),
    ("FastGeLUGrad", lambda v: v * special.expit(1.702 * v), "dy"),
    ("GeLUGrad", gelu, "dy"),
    ("SoftplusGrad", lambda v: np.logaddexp(v, 0), "dy"),
]
"""Operator, the operator that it differentiates, and its leading arguments."""


@cases("op, function, first", GRADIENTS, ids=[row[0] for row in GRADIENTS])
def test_gradients(op, function, first):
    at = np.float64([1.3, 1.5, 2.5]) if op == "AcoshGrad" else np.float64([0.1, 0.5, 0.9])
    dy = np.float64([1.5, -2.0, 0.5])
    given = {"y": [function(at), dy], "x": [at, dy], "dy": [dy, at, function(at)]}[first]
    found = single(op, given[: 3 if op == "GeLUGrad" else 2], ("float64", at.shape))
    np.testing.assert_allclose(found, dy * slope(function, at), rtol=1e-7)


def normed(v):
    return (v - v.mean(-1, keepdims=True)) / np.sqrt(v.var(-1, keepdims=True) + 0.1)


L, Q = special.log_softmax(X, -1), special.softmax(Y, -1)
COMPOSED_CASES = [
    ("LogSoftmaxGrad", [L, Y], {"axis": -1}, Y - np.exp(L) * Y.sum(-1, keepdims=True)),
    ("DropoutGrad", [X, (Y > 0) * 1.0], {"keep_prob": 0.25}, np.where(Y > 0, 4 * X, 0)),
    ("Addcmul", [X, Y, X, c(0.5, F)], {}, X + 0.5 * Y * X),
    ("Addcdiv", [X, Y, X, c(0.5, F)], {}, X + 0.5 * Y / X),
    ("AddExt", [X, Y, c(2)], {}, X + 2 * Y),
    ("SubExt", [X, Y, c(2)], {}, X - 2 * Y),
    ("SubExt", [X > 0, Y > 0, c(2)], {}, (X > 0) ^ (Y > 0)),
    ("SubExt", [X > 0, Y > 0, c(0)], {}, X > 0),
    ("Lerp", [X, Y, c(0.25, F)], {}, 0.75 * X + 0.25 * Y),
    ("MaskedFill", [X, Y > 0, c(7.0, F)], {}, np.where(Y > 0, 7.0, X)),
    ("LogicalXor", [X > 0, Y > 0], {}, (X > 0) ^ (Y > 0)),
    ("Xlogy", [np.float64([0, 2]), np.float64([0, 3])], {}, [0, 2 * math.log(3)]),
    ("Xdivy", [np.float64([0, 2]), np.float64([0, 4])], {}, [0, 0.5]),
    ("Fmax", [np.float64([np.nan, 2]), np.float64([1, 4])], {}, [1, 4]),
    ("Fmin", [np.float64([np.nan, 2]), np.float64([1, 4])], {}, [1, 2]),
    (
        "Hypot",
        [np.float64([3, 0, 3e200, np.inf]), np.float64([4, 0, 4e200, 1])],
        {},
        [5, 0, 5e200, np.inf],
    ),
    ("L2Loss", [X], {}, np.square(X).sum() / 2),
    ("KLDivLoss", [L, Q], {"reduction": "none"}, special.rel_entr(Q, np.exp(L))),
    ("KLDivLoss", [L, Q], {"reduction": "batchmean"}, special.rel_entr(Q, np.exp(L)).sum() / 2),
    ("KLDivLossGrad", [np.float64(3), L, Q], {"reduction": "mean"}, -3 * Q / Q.size),
    ("FillV2", [c((2, 3)), c(7.0, F)], {}, np.full((2, 3), 7.0)),
    ("Tril", [X], {"diagonal": 1}, np.tril(X, 1)),
    ("Triu", [X, c(-1)], {}, np.triu(X, -1)),
    ("ReverseV2", [X, c((1,))], {}, X[:, ::-1]),
    ("SeLU", [X], {}, 1.05070098 * np.where(X > 0, X, 1.67326324 * np.expm1(X))),
    ("Softsign", [X], {}, X / (1 + np.abs(X))),
    ("LogSigmoid", [X], {}, -np.logaddexp(0, -X)),
    ("LogSigmoidGrad", [Y, X, X], {}, Y * special.expit(-X)),
    ("LogAddExp", [X, Y], {}, np.log(np.exp(X) + np.exp(Y))),
    ("CeLU", [X, c(0.75, F)], {}, np.where(X < 0, 0.75 * np.expm1(X / 0.75), X)),
    ("HShrink", [X, c(0.75, F)], {}, X * (np.abs(X) > 0.75)),
    ("HShrinkGrad", [Y, X, c(0.75, F)], {}, Y * (np.abs(X) > 0.75)),
    ("SoftShrink", [X, c(0.75, F)], {}, X - np.clip(X, -0.75, 0.75)),
    ("SoftShrinkGrad", [Y, X, c(0.75, F)], {}, Y * (np.abs(X) > 0.75)),
    ("FastGeLU", [X], {}, X * special.expit(1.702 * X)),
    ("Elu", [X], {"alpha": 2.0}, np.where(X > 0, X, 2 * np.expm1(X))),
    ("SeLU", [X], {"alpha": 2.0, "gamma": 3.0}, 3 * np.where(X > 0, X, 2 * np.expm1(X))),
    ("PRelu", [X, Y], {}, np.where(X < 0, X * Y, X)),
    ("LeakyReLU", [X], {"alpha": 0.1}, np.where(X < 0, 0.1 * X, X)),
    ("ThresholdedRelu", [X], {"alpha": 1.0}, np.where(X > 1, X, 0)),
    ("HSigmoid", [X], {"alpha": 0.2, "beta": 0.4}, np.clip(0.2 * X + 0.4, 0, 1)),
    ("GeLU", [X], {"approximate": "none"}, X * special.ndtr(X)),
    ("SiLU", [X], {"alpha": 2.0}, X * special.expit(2 * X)),
    ("Clip", [X, c(-1.0, F), c(2.0, F)], {}, [[-1, -1, 0.5], [1.5, 2, 2]]),
    ("Clip", [X], {"max": 0.5}, [[-2.5, -1, 0.5], [0.5, 0.5, 0.5]]),
    ("Mean", [X, Y, X], {}, (2 * X + Y) / 3),
    ("ReduceSum", [X], {"axis": (), "skip_mode": True}, X),
    ("ReduceL1", [X], {"axis": (1,), "keep_dims": True}, [[4.0], [7.0]]),
    ("ReduceL2", [X], {"axis": (1,)}, [math.sqrt(7.5), math.sqrt(17.5)]),
    ("ReduceSumSquare", [X], {"axis": (1,)}, [7.5, 17.5]),
    ("ReduceLogSum", [X], {"axis": (0, 1)}, math.log(4)),
    ("ReduceLogSumExp", [1000 * X], {"axis": (1,)}, [500, 3000]),
    ("LayerNorm", [X, P, -P], {"begin_norm_axis": -1, "epsilon": 0.1}, normed(X) * P - P),
    (
        "RmsNorm",
        [X, P],
        {"begin_norm_axis": 1, "epsilon": 0.1},
        X / np.sqrt((X * X).mean(1, keepdims=True) + 0.1) * P,
    ),
    ("BatchNorm", [X, P, -P, P, P], {"epsilon": 0.1}, (X - P) / np.sqrt(P + 0.1) * P - P),
    (
        "InstanceNormalization",
        [X[None], np.float64([2, 3]), np.float64([4, 5])],
        {"epsilon": 0.1},
        [normed(X) * [[2], [3]] + [[4], [5]]],
    ),
    ("Split", [X], {"axis": 1, "size_splits": (2, 1)}, X[:, :2]),
    (
        "Pad",
        [X],
        {"paddings": ((0, 1), (1, 0)), "value": 7.0},
        [[7, *X[0]], [7, *X[1]], [7, 7, 7, 7]],
    ),
    ("MatMul", [X, Y.T], {"alpha": 0.5}, 0.5 * X @ Y.T),
]


@cases("op, inputs, told, wanted", COMPOSED_CASES, ids=[case[0] for case in COMPOSED_CASES])
def test_operators_of_several_steps(op, inputs, told, wanted):
    wanted = np.asarray(wanted)
    found = single(op, inputs, (wanted.dtype.name, wanted.shape), **told)
    np.testing.assert_allclose(
        np.asarray(found, np.float64), np.asarray(wanted, np.float64), rtol=1e-12, atol=1e-300
    )


@cases(
    "op, inputs, output, expected",
    CASES,
    ids=[f"{k}-{case[0]}" for k, case in enumerate(CASES)],
)
def test_each_formula_gives_its_value_and_dtype(op, inputs, output, expected):
    result = single(op, inputs, output)
    np.testing.assert_allclose(
        np.asarray(result, np.float64), np.asarray(expected, np.float64), rtol=1e-14, atol=0
    )
    assert result.dtype == (np.float64 if "float" in output[0] else np.dtype(output[0]))


HOW = {"stride": (1, 1, 2, 1), "pad_list": (1, 0, 2, 1), "dilation": (1, 1, 1, 2), "group": 2}
CONVOLUTIONS = {"Conv2D", "Conv2DTranspose", "Conv2DBackpropInput", "Conv2DBackpropFilter"}
IMAGES = {
    *(
        f"{way}Pool{axes}{grad}"
        for way in ("Max", "Avg")
        for axes in ("", "3D")
        for grad in ("", "Grad")
    ),
    *(
        f"{name}{grad}"
        for name in ("AdaptiveAvgPool2D", "ResizeNearestNeighbor")
        for grad in ("", "Grad")
    ),
    *(
        "Stack",
        "ReLU6",
        "ReLU6Grad",
        "HSigmoid",
        "HSigmoidGrad",
        "HSwish",
        "HSwishGrad",
        "Elu",
        "EluGrad",
        "Mish",
    ),
}
"""Tested beside their builders in tests/ms_fusion/lowering/test_pooling.py and
test_image_operators.py.
"""


def test_convolutions_by_their_definition():
    """Each product of a value, a weight and a gradient of the result, in its three places."""
    random = np.random.default_rng(0)
    image, weight = random.standard_normal((2, 4, 5, 6)), random.standard_normal((6, 2, 3, 2))
    above, below, left, right = HOW["pad_list"]
    rows = (5 + above + below - 3) // 2 + 1
    columns = (6 + left + right - 3) // 1 + 1
    grad = random.standard_normal((2, 6, rows, columns))
    result, of_image, of_weight = (np.zeros_like(item) for item in (grad, image, weight))
    for n, out, row, column in np.ndindex(grad.shape):
        for inner, y, x in np.ndindex(weight.shape[1:]):
            at = (n, out // 3 * 2 + inner, row * 2 + y - above, column + 2 * x - left)
            if not (0 <= at[2] < 5 and 0 <= at[3] < 6):
                continue
            result[n, out, row, column] += image[at] * weight[out, inner, y, x]
            of_image[at] += grad[n, out, row, column] * weight[out, inner, y, x]
            of_weight[out, inner, y, x] += grad[n, out, row, column] * image[at]
    for op, inputs, wanted in (
        ("Conv2D", [image, weight], result),
        ("Conv2DBackpropInput", [grad, weight, c(image.shape)], of_image),
        ("Conv2DTranspose", [grad, weight], of_image),
        ("Conv2DBackpropFilter", [grad, image, c(weight.shape)], of_weight),
    ):
        found = single(op, inputs, ("float64", wanted.shape), **HOW)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-12)


FORMULAS = operators_where(lambda operator: operator.formula is not None)


def test_every_formula_is_tested():
    told = {case[0] for case in (*CASES, *GRADIENTS, *COMPOSED_CASES)}
    assert told | CONVOLUTIONS | IMAGES == FORMULAS


def test_clustered_operators_have_formulas():
    wanted = (
        selections.CPU_CLUSTER_OPS | selections.CPU_CLUSTERABLE_OPS | selections.ASCEND_CLUSTER_OPS
    )
    assert wanted <= FORMULAS
    assert EXCLUDED_OPERATORS.keys() >= selections.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY - FORMULAS


def test_arguments_as_attributes():
    assert single("ReduceSum", [x], (F, (2, 1)), axis=(1,), keep_dims=True).shape == (2, 1)
    np.testing.assert_array_equal(single("Transpose", [x], (F, (3, 2)), perm=(1, 0)), X.T)
    np.testing.assert_allclose(single("MatMul", [x, y], (F, (2, 2)), transpose_b=True), X @ Y.T)
    np.testing.assert_array_equal(single("Tile", [p], (F, (6,)), multiples=(2,)), [*P, *P])
    np.testing.assert_array_equal(single("Concat", [p, p], (F, (6,)), axis=0), [*P, *P])


def chain(constant=0.1):
    values = {
        "x": Value("x", (2, 3), F, "input"),
        "k": Value("k", (1,), F, "constant", constant),
        "t": Value("t", (2, 3), F),
        "o": Value("o", (6,), F),
        "shape": Value("shape", (1,), "int64", "constant", (6,)),
    }
    nodes = (Node("m", "Mul", ("x", "k"), ("t",)), Node("r", "Reshape", ("t", "shape"), ("o",)))
    return Graph("g", nodes, values, ("x",), ("t", "o"))


def test_all_outputs_and_shapes():
    found = replay(chain(), {"x": x})
    assert list(found) == ["t", "o"]
    assert found["t"].shape == (2, 3)
    assert found["o"].shape == (6,)


def test_a_constant_is_rounded_to_its_dtype_and_can_be_replaced():
    assert replay(chain(), {"x": x})["t"][1, 2] == 3.0 * float(np.float32(0.1))
    assert replay(chain(), {"x": x}, constants={"k": 0.5})["t"][1, 2] == 1.5


def test_arithmetic_in_another_dtype():
    assert replay(chain(), {"x": x}, dtype=np.float32)["t"].dtype == np.float32


def test_integers_wrap_around():
    assert single("Add", [np.int32([2**31 - 1]), np.int32([1])], (INT, (1,)))[0] == -(2**31)


def test_nothing_is_rounded_between_operators():
    values = {name: Value(name, (1,), F, "input" if name == "x" else "result") for name in "xabo"}
    big = Value("big", (), F, "constant", 1e30)
    nodes = (
        Node("1", "Mul", ("x", "big"), ("a",)),
        Node("2", "Mul", ("a", "big"), ("b",)),
        Node("3", "Div", ("b", "big"), ("o",)),
    )
    graph = Graph("g", nodes, {**values, "big": big}, ("x",), ("o",))
    assert replay(graph, {"x": np.float32([1])})["o"][0] == pytest.approx(
        1e30, rel=1e-7
    )  # float32 gives inf


def test_unknown_operator_is_named():
    with pytest.raises(InputError, match="Frobnicate"):
        single("Frobnicate", [x], (F, x.shape))
    graph = Graph("g", (Node("n", "Frobnicate", ("x",), ("o",)),), {}, ("x",), ("o",))
    assert unknown_operators(graph) == ("Frobnicate",)


BAD = {
    "missing input": (lambda: replay(chain(), {}), "x"),
    "wrong shape": (lambda: replay(chain(), {"x": np.zeros((5,), np.float32)}), "x"),
    "constant not in the file": (lambda: replay(chain(constant=None), {"x": x}), "k"),
    "constant elided in the file": (lambda: replay(chain(constant="..."), {"x": x}), "k"),
    "operands do not fit": (
        lambda: single("Add", [x, np.zeros(7, np.float32)], (F, (2, 3))),
        "Add",
    ),
    "result does not fit": (lambda: single("Transpose", [x, c((1, 0))], (F, (7,))), "Transpose"),
}


@cases("action, named", BAD.values(), ids=BAD.keys())
def test_bad_graphs_are_refused(action, named):
    with pytest.raises(InputError, match=named):
        action()
