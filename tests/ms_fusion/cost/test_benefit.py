"""The benefit of a fusion, each term computed by hand; refusals with their figures."""

from __future__ import annotations

import itertools

import pytest

from ms_fusion.cost import Device, benefit
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels.subgraphs import fused_node
from tests.cases import cases

DEVICE = Device("test", 1e9, 1e12, 3.0, 1 << 16, "made up")


def chain(*steps: tuple[str, tuple[str, ...], str], **shapes: tuple[int, ...]) -> Graph:
    """A graph of float32 operators; the last result is the output."""
    nodes = tuple(Node(made, op, inputs, (made,)) for op, inputs, made in steps)
    made = {node.outputs[0] for node in nodes}
    values = {
        name: Value(name, shape, "float32", "result" if name in made else "input")
        for name, shape in shapes.items()
    }
    return Graph("g", nodes, values, tuple(set(shapes) - made), (nodes[-1].name,))


def found(graph: Graph, device: Device = DEVICE):
    return benefit(fused_node(graph, [node.name for node in graph.nodes], "Fused"), graph, device)


def test_what_stays_inside_is_neither_written_nor_read() -> None:
    graph = chain(("Exp", ("x",), "y"), ("Neg", ("y",), "z"), x=(100, 10), y=(100, 10), z=(100, 10))
    result = found(graph)
    assert result.saved_bytes == 2 * 4000  # y written, y read
    assert result.saved_launches == 1
    assert result.loss_bytes == 0
    assert result.us == pytest.approx(8000 / 1e9 * 1e6 + 3.0)
    assert result.is_worth_it


def test_tiles_of_whole_rows_read_the_weight_again() -> None:
    """On chip 65,536 bytes: square tiles are 73 × 73; rows of 4,096 bytes leave tiles of 6 rows."""
    graph = chain(
        ("MatMul", ("x", "w"), "y"),
        ("LayerNorm", ("y", "scale", "shift"), "z"),
        x=(1024, 64),
        w=(64, 1024),
        y=(1024, 1024),
        scale=(1024,),
        shift=(1024,),
        z=(1024, 1024),
    )
    result = found(graph)
    again = -(-1024 // 6) - -(-1024 // 73)
    assert result.loss_bytes == again * 64 * 1024 * 4
    assert result.saved_bytes == 2 * 1024 * 1024 * 4
    assert result.us == pytest.approx((result.saved_bytes - result.loss_bytes) / 1e3 + 3.0)
    assert not result.is_worth_it


def test_a_norm_before_a_product_reads_its_source_once_more() -> None:
    graph = chain(
        ("LayerNorm", ("x", "scale", "shift"), "n"),
        ("MatMul", ("n", "w"), "z"),
        x=(1024, 1024),
        scale=(1024,),
        shift=(1024,),
        n=(1024, 1024),
        w=(1024, 64),
        z=(1024, 64),
    )
    assert found(graph).loss_bytes == 1024 * 1024 * 4
    assert found(graph).is_worth_it


def test_attention_streams_its_rows() -> None:
    """Tiles hold rows of q and of the result: 26,214 bytes ÷ 512 are 51 rows (square tiles: 73)."""
    graph = chain(
        ("BatchMatMul", ("q", "k"), "s"),
        ("Softmax", ("s",), "p"),
        ("BatchMatMul", ("p", "v"), "o"),
        q=(2, 512, 64),
        k=(2, 64, 512),
        s=(2, 512, 512),
        p=(2, 512, 512),
        v=(2, 512, 64),
        o=(2, 512, 64),
    )
    again = -(-512 // 51) - -(-512 // 73)
    assert found(graph).loss_bytes == again * 2 * (2 * 64 * 512 * 4)
    assert found(graph).saved_bytes == 4 * 2 * 512 * 512 * 4
    assert found(graph).is_worth_it


def test_more_than_80_per_cent_of_the_chip_is_refused() -> None:
    graph = chain(
        ("Softmax", ("x",), "y"), ("Exp", ("y",), "z"), x=(4, 8192), y=(4, 8192), z=(4, 8192)
    )
    result = found(graph)
    assert not result.is_worth_it
    assert result.on_chip_bytes == 2 * 8192 * 4
    assert (
        result.refusal_reason
        == "a tile needs 65536 bytes on chip, and 52428 (80% of 65536) may be used"
    )


def test_two_products_need_something_that_they_share() -> None:
    graph = chain(
        ("MatMul", ("x", "w"), "y"),
        ("MatMul", ("u", "v"), "z"),
        x=(8, 8),
        w=(8, 8),
        u=(8, 8),
        v=(8, 8),
        y=(8, 8),
        z=(8, 8),
    )
    assert (
        found(graph).refusal_reason
        == "2 matrix products in one kernel, and nothing that they share"
    )
    graph = chain(
        ("MatMul", ("x", "w"), "y"),
        ("MatMul", ("x", "v"), "z"),
        x=(8, 8),
        w=(8, 8),
        v=(8, 8),
        y=(8, 8),
        z=(8, 8),
    )
    assert found(graph).saved_bytes == 2 * 8 * 8 * 4  # one read of x less; y has no reader
    assert found(graph).is_worth_it


def test_a_product_behind_a_product_waits_for_whole_rows() -> None:
    graph = chain(
        ("MatMul", ("x", "w"), "y"),
        ("MatMul", ("y", "v"), "z"),
        x=(8, 8),
        w=(8, 4096),
        v=(4096, 8),
        y=(8, 4096),
        z=(8, 8),
    )
    assert found(graph).on_chip_bytes == 3 * 4096 * 4


def test_work_before_overlapping_windows_is_computed_again() -> None:
    graph = chain(
        ("Exp", ("x",), "y"),
        ("MaxPool", ("y",), "z"),
        x=(1, 1, 8, 8),
        y=(1, 1, 8, 8),
        z=(1, 1, 6, 6),
    )
    pool = Node("z", "MaxPool", ("y",), ("z",), (("kernel_shape", (3, 3)), ("strides", (1, 1))))
    graph = Graph("g", (graph.nodes[0], pool), graph.values, graph.inputs, graph.outputs)
    assert found(graph).recomputed_flops == 8 * 8 * 8 * 10  # eight windows more, an exp is 10


def test_products_that_are_calls_keep_what_lies_between() -> None:
    graph = chain(
        ("MatMul", ("x", "w"), "y"), ("Exp", ("y",), "z"), x=(8, 8), w=(8, 8), y=(8, 8), z=(8, 8)
    )
    node = fused_node(graph, ["y", "z"], "Fused")
    each = lambda body: [  # noqa: E731
        fused_node(body, (one.name,), "Part").body for one in body.nodes
    ]
    result = benefit(node, graph, DEVICE, each)
    assert (result.saved_bytes, result.saved_launches, result.us) == (0, 1, 3.0)


def as_calls(graph: Graph, device: Device, *parts: tuple[str, ...]):
    """The benefit of all operators if each of the parts is a kernel; one part by default."""
    names = [node.name for node in graph.nodes]
    split = lambda body: [  # noqa: E731
        fused_node(body, part, "Part").body for part in parts or (names,)
    ]
    return benefit(fused_node(graph, names, "Fused"), graph, device, split)


def product_and(op: str, *others: str) -> Graph:
    """A product of 8 × 8 and its epilogue: z = op(y, others)."""
    return chain(
        ("MatMul", ("x", "w"), "y"),
        (op, ("y", *others), "z"),
        x=(8, 8),
        w=(8, 8),
        y=(8, 8),
        z=(8, 8),
        **({"r": (8, 8)} if "r" in others else {"b": (8,)} if "b" in others else {}),
    )


SLOW = Device("slow", 1e9, 2 * 8**3 / 1.1e-6, 3.0, 1 << 16, "made up")
"""The product computes for 1.1 µs; its 768 bytes take 0.768."""


def test_bytes_that_move_while_a_call_computes_cost_nothing() -> None:
    result = as_calls(product_and("Add", "b"), SLOW)
    assert result.saved_bytes == 2 * 256
    # traffic of the sum alone; with it the call has moved all after 0.8 µs
    assert result.us == pytest.approx((256 + 32 + 256) / 1e9 * 1e6 + 3.0)
    quick = as_calls(product_and("Add", "b"), DEVICE)
    assert quick.us == pytest.approx(2 * 256 / 1e9 * 1e6 + 3.0)


@cases("device", [SLOW, DEVICE], ids=lambda one: one.name)
@cases("others", [("ReLU",), ("Add", "r")])
def test_passes_behind_a_call_save_their_launch_alone(
    others: tuple[str, ...], device: Device
) -> None:
    result = as_calls(product_and(*others), device)
    assert (result.saved_bytes, result.loss_bytes) == (2 * 256, 2 * 256)
    assert result.us == pytest.approx(3.0)


def test_time_is_the_slower_of_bytes_and_arithmetic() -> None:
    """1,000 elements: 8,000 bytes move in 8 µs; an exp takes 10 steps in 10 µs, a sign 1."""
    graph = chain(("Exp", ("x",), "y"), ("Neg", ("y",), "z"), x=(1000,), y=(1000,), z=(1000,))
    device = Device("steps", 1e9, 1e15, 3.0, 1 << 16, "made up", vector_flops_per_s=1e9)
    assert as_calls(graph, device).us == pytest.approx(10 + 8 - 11 + 3.0)
    assert as_calls(graph, device, ("y",), ("z",)).us == pytest.approx(3.0)


def test_a_sum_behind_a_product_finds_tiles_in_the_nearest_cache() -> None:
    """256 bytes of the residual at 1 GB/s.

    Its pass reads and writes 512 at 4 GB/s; the sum alone moves 768 at 1.
    """
    graph = product_and("Add", "r")
    device = Device("near", 1e9, 1e15, 0.0, 1 << 16, "made up", rates=((255, 4e9),))
    assert as_calls(graph, device).us == pytest.approx(768 / 1e3 - 256 / 1e3 - 512 / 4e3)


def test_scratch_memory_is_used_again() -> None:
    """Each operator has two of five tensors of 40 bytes."""
    names = "xabcd"
    steps = [("Neg", (read,), made) for read, made in itertools.pairwise(names)]
    graph = chain(*steps, **dict.fromkeys(names, (10,)))
    near = Device("near", 1e9, 1e12, 0.0, 1 << 16, "made up", rates=((80, 1e10),))
    assert found(graph, near).us == pytest.approx(6 * 40 / 1e10 * 1e6)


def test_what_fits_into_the_cache_moves_at_its_speed() -> None:
    graph = chain(("Exp", ("x",), "y"), ("Neg", ("y",), "z"), x=(10,), y=(10,), z=(10,))
    near = Device("near", 1e9, 1e12, 3.0, 1 << 16, "made up", rates=((60, 5e10), (80, 1e10)))
    assert found(graph, near).us == pytest.approx(80 / 1e10 * 1e6 + 3.0)
    less = Device("less", 1e9, 1e12, 3.0, 1 << 16, "made up", rates=((79, 1e10),))
    assert found(graph, less).us == pytest.approx(80 / 1e9 * 1e6 + 3.0)


@cases("rows, shared_by", [(64, 1), (1 << 14, 4)])
def test_what_is_computed_at_two_places_is_paid_twice(rows: int, shared_by: int) -> None:
    """Rotated halves: the tanh is computed and swapped; four cores share a large kernel."""
    whole, half = (rows, 64), (rows, 32)
    steps = (
        ("Tanh", ("x",), "z"),
        ("Slice", ("z",), "l"),
        ("Slice", ("z",), "h"),
        ("Concat", ("h", "l"), "s"),
    )
    shapes = {"x": whole, "z": whole, "l": half, "h": half, "s": whole, "y": whole}
    device = Device("test", 1e12, 1e12, 3.0, 1 << 20, "made up", vector_flops_per_s=1e9, cores=4)

    def us(other: str) -> float:
        graph = chain(*steps, ("Mul", (other, "s"), "y"), **shapes)
        fused = fused_node(graph, [node.name for node in graph.nodes], "Fused")
        return benefit(fused, graph, device, lambda body: (body,)).us

    assert us("x") - us("z") == pytest.approx(26 * rows * 64 / shared_by / 1e9 * 1e6, rel=0.02)
