"""Each rule matches its pattern in each spelling, and nothing else."""

from __future__ import annotations

from pathlib import Path

from ms_fusion.graph import Graph
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels.subgraphs import order_of
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import Op, Rule, find_matches
from ms_fusion.rules import DEFAULT_RULES
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

BY_NAME = {rule.name: rule for rule in DEFAULT_RULES}


def gelu_by_erf(b: Builder, x: str, root: float = 2**0.5) -> str:
    inner = b.add("Erf", b.add("Div", x, b.constant(root, "float32")))
    return b.add(
        "Mul",
        b.add("Mul", x, b.add("Add", inner, b.constant(1.0, "float32"))),
        b.constant(0.5, "float32"),
    )


def gelu_by_tanh(b: Builder, x: str) -> str:
    number = lambda value: b.constant(value, "float32")  # noqa: E731
    cubic = b.add("Mul", number(0.044715), b.add("Pow", x, number(3.0)))
    inner = b.add("Tanh", b.add("Mul", number(0.7978845608), b.add("Add", x, cubic)))
    return b.add("Mul", b.add("Mul", number(0.5), x), b.add("Add", number(1.0), inner))


def layer_norm(b: Builder, x: str, axis: int = -1) -> str:
    centred = b.add("Sub", x, b.add("ReduceMean", x, b.constant([-1], "int64")))
    variance = b.add(
        "ReduceMean", b.add("Pow", centred, b.constant(2.0, "float32")), b.constant([axis], "int64")
    )
    root = b.add("Sqrt", b.add("Add", variance, b.constant(1e-5, "float32")))
    return b.add("Add", b.add("Mul", b.add("Div", centred, root), b.weight(8)), b.weight(8))


def rms_norm(b: Builder, x: str) -> str:
    power = b.add("ReduceMean", b.add("Mul", x, x), b.constant([-1], "int64"))
    root = b.add("Sqrt", b.add("Add", power, b.constant(1e-6, "float32")))
    return b.add("Mul", b.add("Mul", x, b.add("Reciprocal", root)), b.weight(8))


def rotary(b: Builder, x: str) -> str:
    one, two = b.add("Split", x, outputs=2, axis=-1, num_outputs=2)
    turned = b.add("Concat", b.add("Neg", two), one, axis=-1)
    return b.add("Add", b.add("Mul", x, b.weight(8)), b.add("Mul", turned, b.weight(8)))


def linear(b: Builder, x: str) -> str:
    return b.add("Add", b.add("MatMul", x, b.weight(8, 8)), b.weight(8))


def attention(b: Builder, x: str, axis: int = -1) -> str:
    scores = b.add("MatMul", x, b.add("Transpose", x, perm=[1, 0]))
    scores = b.add("Add", b.add("Mul", scores, b.constant(0.25, "float32")), b.weight(4, 4))
    return b.add("MatMul", b.add("Softmax", scores, axis=axis), x)


def conv(b: Builder, x: str) -> str:
    image = b.add("Reshape", x, b.constant([1, 2, 4, 4], "int64"))
    made = b.add("Conv", image, b.weight(4, 2, 3, 3))
    normed = b.add("BatchNormalization", made, b.weight(4), b.weight(4), b.weight(4), b.weight(4))
    return b.add("LeakyRelu", normed)


def residual_block(b: Builder, x: str) -> str:
    image = b.add("Reshape", x, b.constant([1, 2, 4, 4], "int64"))
    made = b.add("Conv", image, b.weight(2, 2, 3, 3), b.weight(2), pads=[1, 1, 1, 1])
    return b.add("Relu", b.add("Add", made, image))


def swiglu(b: Builder, x: str) -> str:
    gate = b.add("MatMul", x, b.weight(8, 8))
    return b.add(
        "Mul", b.add("Mul", gate, b.add("Sigmoid", gate)), b.add("MatMul", x, b.weight(8, 8))
    )


@cases(
    "rule, net, operators",
    [
        ("GELU", gelu_by_erf, 5),
        ("GELU", gelu_by_tanh, 8),
        ("LayerNorm", layer_norm, 9),
        ("RMSNorm", rms_norm, 7),
        ("RotaryEmbedding", rotary, 6),
        ("SwiGLU", swiglu, 3),
        ("LinearBias", linear, 2),
        ("MatMulBiasReLU", lambda b, x: b.add("Relu", linear(b, x)), 3),
        ("LinearActivation", lambda b, x: gelu_by_erf(b, linear(b, x)), 7),
        ("LinearResidual", lambda b, x: b.add("Add", linear(b, x), x), 3),
        ("LayerNormLinear", lambda b, x: linear(b, layer_norm(b, x)), 11),
        ("LayerNormLinearActivation", lambda b, x: b.add("Relu", linear(b, layer_norm(b, x))), 12),
        ("AddLayerNorm", lambda b, x: rms_norm(b, b.add("Add", x, x)), 8),
        ("ScaleMaskSoftmax", attention, 3),
        ("Attention", attention, 5),
        ("ConvBNActivation", conv, 3),
        ("ConvResidual", residual_block, 3),
    ],
)
def test_a_rule_finds_what_it_names(rule: str, net, operators: int, tmp_path: Path) -> None:
    b = Builder({"x": (4, 8)})
    net(b, "x")
    graph = project(open_model(b.save(tmp_path / "net.onnx", b.nodes[-1].output[0]))).graph
    assert operators in [
        len(match.nodes) for match in find_matches(BY_NAME[rule], graph, order_of(graph))
    ]


@cases(
    "rule, net, reason",
    [
        ("GELU", lambda b, x: gelu_by_erf(b, x, 1.5), "a constant is 1.5, not 1.41421"),
        (
            "LayerNorm",
            lambda b, x: layer_norm(b, x, 0),
            "the variance is over axis 0, not over the last axis",
        ),
        (
            "LayerNormLinear",
            lambda b, x: linear(b, layer_norm(b, x, 0)),
            "the variance is over axis 0, not over the last axis",
        ),
        (
            "Attention",
            lambda b, x: attention(b, x, 0),
            "softmax is over axis 0, not over the last axis",
        ),
    ],
)
def test_a_near_miss_reaches_the_ledger_with_its_reason(
    rule: str, net, reason: str, tmp_path: Path
) -> None:
    b = Builder({"x": (4, 8)})
    net(b, "x")
    model = b.save(tmp_path / "net.onnx", b.nodes[-1].output[0])
    ledger = auto_fuse(model, dry_run=True, fusion_rules=[rule])
    assert {(one.rule, one.reason) for one in ledger.rejected} == {(rule, reason)}
    assert reason in str(ledger) and "Near misses of rules" in str(ledger)


def test_every_rule_is_tried_here() -> None:
    rows = test_a_rule_finds_what_it_names.table.rows(full=False)
    assert {row.arguments["rule"] for row in rows} == set(BY_NAME)


def graph(b: Builder, tmp_path: Path) -> Graph:
    return project(open_model(b.save(tmp_path / "net.onnx", b.nodes[-1].output[0]))).graph


def test_a_name_stands_for_one_value_only(tmp_path: Path) -> None:
    b = Builder({"x": (4,), "y": (4,)})
    b.add("Mul", "x", b.add("Sigmoid", "y"))
    rule = Rule("Gate", "intra-operator", Op("Mul", "a", Op("Sigmoid", "a")))
    assert not list(find_matches(rule, graph(b, tmp_path), {"Sigmoid_0": 0, "Mul_1": 1}))


def test_a_number_is_a_number(tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    b.add("Pow", "x", b.constant(3.0, "float32"))
    found, order = graph(b, tmp_path), {"Pow_0": 0}
    assert not list(
        find_matches(Rule("Square", "intra-operator", Op("Pow", "x", "2.0")), found, order)
    )
    assert list(find_matches(Rule("Cube", "intra-operator", Op("Pow", "x", "3.0")), found, order))
