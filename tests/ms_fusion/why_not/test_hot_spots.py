"""Hot spots: shares of time, speeds from shapes, and the convolution at reference speed."""

from __future__ import annotations

from ms_fusion.devices import Device
from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.why_not.hot_spots import hot_spots
from tests.cases import cases


def conv_graph(kernel: int = 3) -> Graph:
    """64 → 64 channels at 56×56, batch 8, three convolutions and a ReLU.

    Each convolution has 2·8·64·56·56·64·k·k FLOPs.
    """
    image, weight = (8, 64, 56, 56), (64, 64, kernel, kernel)
    values = {
        "x": Value("x", image, "float32", "input"),
        "w": Value("w", weight, "float32", "parameter"),
        "y": Value("y", image, "float32"),
        "z": Value("z", image, "float32"),
        "dx": Value("dx", image, "float32"),
        "dw": Value("dw", weight, "float32"),
    }
    nodes = (
        Node("conv", "Conv2D", ("x", "w"), ("y",), sources=(Source("net.py", 3),)),
        Node("relu", "ReLU", ("y",), ("z",)),
        Node("to_input", "Conv2DBackpropInput", ("z", "w"), ("dx",)),
        Node("to_filter", "Conv2DBackpropFilter", ("z", "x"), ("dw",)),
    )
    return Graph("g", nodes, values, ("x", "w"), ("dx", "dw"))


GFLOP = 2 * 8 * 64 * 56 * 56 * 64 * 9 / 1e9


def test_the_largest_share_comes_first():
    times = {"conv": 10.0, "relu": 30.0, "to_input": 40.0, "elsewhere": 20.0}
    spots = hot_spots(conv_graph(), times)
    assert [(spot.node, spot.share) for spot in spots] == [
        ("to_input", 0.4),
        ("relu", 0.3),
        ("conv", 0.1),
    ]
    assert [spot.node for spot in hot_spots(conv_graph(), times, count=1)] == ["to_input"]
    assert str(spots[2].source) == "net.py:3"


@cases("node", ["conv", "to_input", "to_filter"])
@cases(
    "speed, kernel, device, named",
    [
        (1.2, 3, "CPU", True),
        (9.9, 3, "CPU", True),
        (10.1, 3, "CPU", False),
        (1.2, 1, "CPU", False),
        (1.2, 3, "Ascend", False),
    ],
)
def test_a_convolution_at_reference_speed_is_named(node, speed, kernel, device, named):
    gflop = GFLOP if kernel == 3 else GFLOP / 9
    (spot,) = hot_spots(conv_graph(kernel), {node: gflop / speed * 1e6}, device=device)
    assert spot.detail.startswith(f"{speed:.3g} GFLOP/s")
    assert ("reference convolution" in spot.detail) == named
    assert ("ONEDNN_MAX_CPU_ISA=AVX2" in spot.remedy) == named
    assert ("MatMul" in spot.remedy) == named  # the cost is beside the remedy


def test_the_window_of_a_filters_gradient_is_the_filters():
    (spot,) = hot_spots(conv_graph(1), {"to_filter": 1e9})
    assert spot.remedy == ""


@cases("time", [0.0, -1.0, float("nan"), float("inf")])
def test_times_that_are_none_are_left_out(time):
    assert hot_spots(conv_graph(), {"conv": time}) == ()


def test_without_a_rule_the_speed_is_called_a_guess():
    value = Value("x", (4,), "float32", "input")
    graph = Graph(
        "g",
        (Node("n", "Frobnicate", ("x",), ("y",)),),
        {"x": value, "y": Value("y", (4,), "float32")},
    )
    (spot,) = hot_spots(graph, {"n": 1.0})
    assert "assumed" in spot.detail


@cases(
    "op, time_us, says",
    [
        ("Neg", 100.0, "memory, 66% of the roof: "),  # 2 x 256 KiB at 8 GB/s take 65.5 µs
        ("Neg", 10.0, "memory, at the roof (served from cache): "),
        (
            "MatMul",
            1000.0,
            "compute, 34% of the roof: ",
        ),  # 2 x 256^3 FLOP at 100 GFLOP/s take 336 µs
    ],
)
def test_the_roof_that_bounds_it_is_named(op: str, time_us: float, says: str) -> None:
    names = ("x", "w") if op == "MatMul" else ("x",)
    values = {name: Value(name, (256, 256), "float32", "input") for name in ("x", "w")}
    values["y"] = Value("y", (256, 256), "float32")
    graph = Graph("g", (Node("n", op, names, ("y",)),), values, ("x", "w"), ("y",))
    roofs = Device("made up", 8e9, 1e11, 1.0, 1 << 20, "this test")
    (spot,) = hot_spots(graph, {"n": time_us}, roofs=roofs)
    assert spot.detail.startswith(says)
