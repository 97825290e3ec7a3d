"""Every operator of `tbe_impl.ops` with its tested shapes, dtypes and attributes."""

from __future__ import annotations

from tests.tbe_impl.ops.calls import FLOATS, Case

ALL = (*FLOATS, "int32")
ONE = (((5, 7),), ((2, 3, 19),))
"""One input, twice."""
SAME2 = (((5, 7), (5, 7)), ((3, 41), (3, 41)))
PAIRS = (((5, 7), (5, 7)), ((4, 1, 9), (3, 1)), ((2, 3), (1,)))
"""Two inputs that broadcast."""
TRIPLES = (((5, 7), (5, 7), (5, 7)), ((3, 4), (3, 1), (4,)))
ROWS = (((5, 37),), ((2, 3, 16),))
STATES = (5, 7)


def _states(count: int, scalars: int, order: str = "") -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Shapes of an optimiser: `count` states, then `scalars` numbers."""
    return tuple((*[shape] * count, *[(1,)] * scalars) for shape in ((5, 7), (131,)))


CASES = (
    Case("abs", ONE),
    Case("exp", ONE),
    Case("exp", ONE, {"base": 2.0, "scale": 0.5, "shift": 0.25}),
    Case("log", ONE, low=0.3),
    Case("log", ONE, {"base": 10.0, "scale": 2.0, "shift": 1.0}, low=0.3),
    Case("sqrt", ONE, low=0.0),
    Case("rsqrt", ONE, low=0.1),
    Case("reciprocal", ONE, low=0.1),
    Case("square", ONE, dtypes=ALL),
    Case("neg", ONE, dtypes=ALL),
    Case("sign", ONE),
    Case("floor", ONE, low=-90, high=90),
    Case("ceil", ONE, low=-90, high=90),
    Case("round", ONE, low=-90, high=90),
    Case("logical_not", ONE, dtypes=("int8",), low=0, high=1),
    Case("relu", ONE, dtypes=ALL),
    Case("relu6", ONE, dtypes=ALL, low=-3, high=9),
    Case("leaky_relu", ONE, {"negative_slope": 0.1}),
    Case("elu", ONE, {"alpha": 1.5}),
    Case("selu", ONE),
    Case("sigmoid", ONE, low=-8, high=8),
    Case("log_sigmoid", ONE, low=-8, high=8),
    Case("tanh", ONE, times=2),
    Case("softplus", ONE, low=-8, high=8),
    Case("softsign", ONE),
    Case("swish", ONE, {"beta": 1.5}),
    Case("hard_sigmoid", ONE, low=-5, high=5),
    Case("hard_swish", ONE, low=-5, high=5),
    Case("gelu", ONE),
    Case("mish", ONE),
    Case("relu_grad", SAME2),
    Case("sigmoid_grad", SAME2, low=0, high=1),
    Case("tanh_grad", SAME2, low=-1, high=1),
    Case("sqrt_grad", SAME2, low=0.2),
    Case("silu_grad", SAME2),
    Case("gelu_grad", SAME2),
    *(
        Case(name, PAIRS, dtypes=ALL)
        for name in ("add", "sub", "mul", "maximum", "minimum", "squared_difference")
    ),
    Case("div", PAIRS, low=0.3),
    Case("pow", PAIRS, low=0.2, high=2.5),
    Case("floor_div", PAIRS, low=1, high=40),
    Case("floor_mod", PAIRS, low=1, high=9, times=4),
    Case("xlogy", PAIRS, low=0.3),
    *(
        Case(name, PAIRS, result="int8", low=-1, high=1)
        for name in ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")
    ),
    Case("logical_and", PAIRS, dtypes=("int8",), low=0, high=1),
    Case("logical_or", PAIRS, dtypes=("int8",), low=0, high=1),
    Case("bias_add", (((5, 7), (7,)), ((2, 3, 16), (16,))), dtypes=ALL),
    Case("add_n", (((5, 7),) * 2, ((131,),) * 4), dtypes=ALL),
    Case("addcmul", TRIPLES, {"value": 0.5}),
    Case("addcdiv", TRIPLES, {"value": 0.5}, low=0.3),
    Case("axpy", (((5, 7),) * 2, ((9001,),) * 2), {"alpha": -1.5}),
    Case("axpby", SAME2, {"alpha": 2.0, "beta": -0.5}),
    Case("lerp", TRIPLES),
    Case(
        "clip_by_value",
        (((5, 7), (1,), (1,)), ((3, 4), (4,), (4,))),
        limits={1: (-1, 0), 2: (0, 1)},
        dtypes=ALL,
    ),
    Case("select", (((5, 7),) * 3,), own={0: "int8"}, limits={0: (0, 1)}, dtypes=ALL),
    Case("masked_fill", (((5, 7), (5, 7), (1,)),), own={1: "int8"}, limits={1: (0, 1)}),
    Case("cast", ONE, {"dst_type": 0}, result="float32", dtypes=("float16", "int32", "int8")),
    Case(
        "cast", ONE, {"dst_type": 1}, result="float16", dtypes=("float32", "int8"), low=-90, high=90
    ),
    Case("cast", ONE, {"dst_type": 3}, result="int32", low=-90, high=90),
    *(
        Case(f"reduce_{name}", ROWS, {"axes": axes, "keep_dims": keep}, dtypes=dtypes, times=2)
        for name, dtypes in (("sum", ALL), ("mean", FLOATS), ("max", ALL), ("min", ALL))
        for axes, keep in (([-1], False), ([0], True), ([], False))
    ),
    *(
        Case("reduce_prod", ROWS, {"axes": axes, "keep_dims": True}, low=0.7, high=1.3, times=4)
        for axes in ([0], [1])
    ),
    *(
        Case(name, ROWS, {"axes": [-1]}, dtypes=("int8",), low=0, high=1)
        for name in ("reduce_all", "reduce_any")
    ),
    Case("softmax", ROWS),
    Case("softmax", ROWS, {"axis": [0, 1]}),
    Case("log_softmax", ROWS),
    Case("logsumexp", ROWS, {"axis": 0}),
    Case("softmax_grad", (((5, 37),) * 2, ((2, 3, 16),) * 2), low=0, high=1),
    Case("l2_normalize", ROWS, {"axis": 1, "eps": 1e-6}),
    Case(
        "layer_norm",
        (((5, 37), (37,), (37,)), ((2, 3, 16), (3, 16), (3, 16))),
        {"begin_norm_axis": 1, "epsilon": 1e-5},
        outputs=3,
        times=2,
    ),
    Case(
        "layer_norm_grad",
        (
            ((5, 37), (5, 37), (5, 1), (5, 1), (37,)),
            ((2, 3, 16), (2, 3, 16), (2, 3, 1), (2, 3, 1), (16,)),
        ),
        {"epsilon": 1e-5},
        outputs=3,
        limits={2: (0.5, 2.0)},
        times=4,
    ),
    Case(
        "batch_norm_infer",
        (((2, 3, 7), (3,), (3,), (3,), (3,)), ((5, 4), (4,), (4,), (4,), (4,))),
        limits={4: (0.5, 2.0)},
        times=2,
    ),
    Case("instance_norm", (((2, 3, 19), (3,), (3,)), ((2, 3, 4, 5), (3,), (3,))), times=4),
    Case("l2_loss", ROWS),
    *(Case("mse_loss", SAME2, {"reduction": kind}) for kind in ("mean", "sum", "none")),
    *(
        Case("kl_div", SAME2, {"reduction": kind}, limits={1: (0, 1)})
        for kind in ("batchmean", "sum")
    ),
    Case(
        "binary_cross_entropy",
        (((5, 7), (5, 7), (5, 7)),),
        {"reduction": "mean"},
        low=0.02,
        high=0.98,
        times=2,
    ),
    Case(
        "binary_cross_entropy",
        (((5, 7), (5, 7), None),),
        {"reduction": "none"},
        low=0.02,
        high=0.98,
        times=2,
    ),
    Case(
        "softmax_cross_entropy_with_logits",
        (((5, 37), (5, 37)),),
        outputs=2,
        limits={1: (0, 1)},
        times=2,
    ),
    Case("huber_loss", SAME2, {"delta": 0.75}),
    Case("smooth_l1_loss", SAME2, {"sigma": 0.75}),
    Case(
        "apply_sgd",
        _states(3, 2),
        {"weight_decay": 0.1, "dampening": 0.2, "nesterov": True},
        outputs=2,
    ),
    Case("apply_sgd", _states(3, 2), outputs=2),
    *(
        Case(
            "apply_momentum",
            ((STATES, STATES, (1,), STATES, (1,)), ((131,), (131,), (1,), (131,), (1,))),
            {"use_nesterov": nesterov},
            outputs=2,
        )
        for nesterov in (False, True)
    ),
    Case(
        "apply_adam",
        ((*[STATES] * 3, *[(1,)] * 6, STATES),),
        outputs=3,
        low=0.05,
        high=0.9,
        times=2,
    ),
    Case(
        "apply_adam_weight_decay",
        ((*[STATES] * 3, *[(1,)] * 5, STATES),),
        outputs=3,
        low=0.05,
        high=0.9,
        times=2,
    ),
    Case(
        "apply_adagrad", ((STATES, STATES, (1,), STATES),), outputs=2, low=0.1, dtypes=("float32",)
    ),
    Case(
        "apply_rms_prop",
        ((STATES, STATES, STATES, (1,), STATES),),
        {"rho": 0.9, "momentum": 0.5, "epsilon": 1e-3},
        outputs=3,
        low=0.1,
        dtypes=("float32",),
    ),
    Case("lamb_update", (((5, 7),) * 4, ((131,),) * 4), outputs=3, low=0.1, dtypes=("float32",)),
    Case("tile", (((5, 7),),), {"multiples": [2, 3]}, dtypes=ALL),
    Case("concat", (((5, 7), (2, 7), (1, 7)), ((3, 41), (9, 41))), {"concat_dim": 0}, dtypes=ALL),
    Case("concat", (((5, 7), (5, 2)),), {"concat_dim": -1}, dtypes=ALL),
    Case("split", (((5, 6),), ((3, 9),)), {"split_dim": 1, "num_split": 3}, outputs=3, dtypes=ALL),
    Case("transpose", (((5, 7, 3),), ((33, 2, 18),)), {"perm": [2, 0, 1]}, dtypes=ALL),
    Case(
        "gather",
        (((9, 7), (13,)), ((9, 2, 3), (2, 2))),
        own={1: "int32"},
        limits={1: (0, 8)},
        dtypes=ALL,
    ),
    Case(
        "unsorted_segment_sum",
        (((9, 7), (9,)), ((13, 2, 3), (13,))),
        {"num_segments": 5},
        own={1: "int32"},
        limits={1: (0, 4)},
        dtypes=ALL,
    ),
    Case("one_hot", (((13,), (1,), (1,)),), {"depth": 6}, own={0: "int32"}, limits={0: (0, 7)}),
)
