"""Groups that a rule nearly matches: each with its reason, once, and no group that is a match."""

from __future__ import annotations

from dataclasses import replace
from math import sqrt

from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.why_not import find_rejected_groups
from tests.cases import cases

SHAPE = (4, 8, 16)


def graph_of(*lines: str, sizes: dict[str, tuple[int, ...]] | None = None, repeats: int = 1):
    """A graph of lines such as ``b = ReduceMean a [1]``: numbers and lists are constants.

    Line n of the net is the source of the n-th operator. With `repeats`, the net stands several
    times in the graph.
    """
    nodes, values = [], {"x": Value("x", SHAPE, "float32", kind="input")}
    for number in range(repeats):
        for place, line in enumerate(lines, 1):
            result, _, rest = line.partition(" = ")
            op, *names = rest.split()
            inputs = []
            for name in names:
                if name[0] in "[-0123456789":
                    data = (int(name[1:-1]),) if name[0] == "[" else float(name)
                    name = f"{name}#{number}.{place}"
                    values[name] = Value(name, (), "float32", kind="constant", data=data)
                elif name != "x":
                    name = f"{name}#{number}"
                    values.setdefault(name, Value(name, SHAPE, "float32", kind="parameter"))
                inputs.append(name)
            out = f"{result}#{number}"
            values[out] = Value(out, (sizes or {}).get(result, SHAPE), "float32")
            user = Source("net.py", place)
            library = Source("/site-packages/mindspore/ops/function/math_func.py", 7)
            nodes.append(Node(out, op, tuple(inputs), (out,), sources=(user, library)))
    return Graph("g", tuple(nodes), values, ("x",), (nodes[-1].outputs[0],))


def layer_norm(mean: int = -1, variance: int = -1) -> tuple[str, ...]:
    return (
        f"mean = ReduceMean x [{mean}]",
        "centred = Sub x mean",
        "square = Mul centred centred",
        f"variance = ReduceMean square [{variance}]",
        "shifted = Add variance 1e-5",
        "deviation = Sqrt shifted",
        "unit = Div centred deviation",
        "scaled = Mul unit scale",
        "result = Add scaled shift",
    )


def layer_norm_of_sum(divisor: int) -> tuple[str, ...]:
    """As `Tensor.var` is compiled."""
    lines = list(layer_norm())
    lines[3:4] = ["total = ReduceSum square [-1]", f"variance = Div total {divisor}"]
    return tuple(lines)


def gelu(exponent: float = 3, cubic: float = 0.044715, root: float = 0.797885) -> tuple[str, ...]:
    return (
        "half = Mul x 0.5",
        f"power = Pow x {exponent}",
        f"part = Mul power {cubic}",
        "sum = Add x part",
        f"inner = Mul sum {root}",
        "tanh = Tanh inner",
        "gate = Add 1.0 tanh",
        "result = Mul half gate",
    )


def gelu_by_erf(divisor: float) -> tuple[str, ...]:
    return (
        "half = Mul x 0.5",
        f"inner = Div x {divisor}",
        "erf = Erf inner",
        "gate = Add 1.0 erf",
        "result = Mul half gate",
    )


def rms_norm(axis: int) -> tuple[str, ...]:
    return (
        "square = Mul x x",
        f"mean = ReduceMean square [{axis}]",
        "shifted = Add mean 1e-6",
        "root = Rsqrt shifted",
        "unit = Mul x root",
        "result = Mul unit scale",
    )


@cases(
    "lines, rule, reason",
    [
        (layer_norm(), "", ""),
        (layer_norm(2, 2), "", ""),
        (
            layer_norm(variance=1),
            "LayerNorm",
            "the variance is over axis 1, not over the last axis",
        ),
        (layer_norm(mean=-3), "LayerNorm", "the mean is over axis 0, not over the last axis"),
        (
            layer_norm(0, 1),
            "LayerNorm",
            "the mean is over axis 0, not over the last axis; "
            "the variance is over axis 1, not over the last axis",
        ),
        (layer_norm_of_sum(16), "", ""),
        (
            layer_norm_of_sum(15),
            "LayerNorm",
            "the variance is the sum of 16 squares divided by 15",
        ),
        (gelu(), "", ""),
        (gelu(cubic=0.05), "GELU", "a constant is 0.05, not 0.044715"),
        (gelu(exponent=2), "GELU", "a constant is 2, not 3"),
        (
            gelu(cubic=0.44715, root=0.8),
            "GELU",
            "a constant is 0.44715, not 0.044715; a constant is 0.8, not 0.797885",
        ),
        (gelu_by_erf(sqrt(2)), "", ""),
        (gelu_by_erf(1.5), "GELU", "a constant is 1.5, not 1.41421"),
        (rms_norm(-1), "", ""),
        (
            rms_norm(0),
            "RMSNorm",
            "the mean of the squares is over axis 0, not over the last axis",
        ),
        (("y = MatMul x w", "z = Add y residual", "r = ReLU z"), "", ""),
        (("y = Exp x", "z = Mul y 0.05"), "", ""),
    ],
)
def test_a_near_miss_is_one_line_with_its_reason(
    lines: tuple[str, ...], rule: str, reason: str
) -> None:
    sizes = {"mean": (4, 8, 1), "total": (4, 8, 1)}
    found = find_rejected_groups(graph_of(*lines, sizes=sizes))
    assert [(one.rule, one.reason) for one in found] == ([(rule, reason)] if rule else [])
    for one in found:
        assert len(one.nodes) == len(one.operators) == len(lines)
        assert one.saving_us is None
        assert one.source == Source("net.py", len(lines))


@cases("axis, reason", [(0, "softmax is over axis 0, not over the last axis"), (-1, ""), (2, "")])
def test_the_axis_may_be_an_attribute(axis: int, reason: str) -> None:
    graph = graph_of("y = Mul x 0.125", "z = Softmax y")
    scaled, softmax = graph.nodes
    graph = replace(graph, nodes=(scaled, replace(softmax, attrs=(("axis", (axis,)),))))
    assert [one.reason for one in find_rejected_groups(graph)] == ([reason] if reason else [])


def test_equal_near_misses_are_one_row_of_the_report() -> None:
    found = find_rejected_groups(graph_of(*layer_norm(variance=1), repeats=3))
    assert len(found) == 3 and len({one.operators for one in found}) == 1


def test_an_unknown_axis_is_accepted() -> None:
    lines = [line.replace("[1]", "axes") for line in layer_norm(variance=1)]
    assert find_rejected_groups(graph_of(*lines)) == ()
