"""Exact costs of every operator family; each comment derives the number."""

from __future__ import annotations

import pytest

from ms_fusion import cost
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Stages, Work
from tbe_impl.errors import InputError
from tests.cases import cases

DEVICE = cost.Device("test", 1e9, 2e9, 3.0, 1024, "made up")


def tensor(name, *shape, dtype="float32", kind="result", data=None):
    return Value(name, shape, dtype, kind, data)


def one(op, inputs, outputs, **attrs):
    """A graph with a single node; returns the node and the graph."""
    node = Node(
        "n",
        op,
        tuple(v.name for v in inputs),
        tuple(v.name for v in outputs),
        tuple(sorted(attrs.items())),
    )
    values = {value.name: value for value in (*inputs, *outputs)}
    return node, Graph(
        "g", (node,), values, tuple(v.name for v in inputs), tuple(v.name for v in outputs)
    )


def axis(*numbers):
    return tensor("axis", len(numbers), dtype="int64", kind="constant", data=numbers)


X = tensor("x", 4, 8)  # 32 elements, 128 bytes
Y = tensor("y", 4, 8)
ROW = tensor("row", 8)  # 32 bytes
OUT = tensor("out", 4, 8)
SCALAR = tensor("two", kind="constant", data=2.0)
HALF = tensor("half", 4, 8, dtype="float16")

CASES = {
    "two tensors: 2 x 128 read, 1 FLOP each": ("Add", (X, Y), (OUT,), {}, Work(32, 256, 128, 1)),
    "a scalar constant costs nothing": ("Mul", (X, SCALAR), (OUT,), {}, Work(32, 128, 128, 1)),
    "the same tensor twice is read once": ("Mul", (X, X), (OUT,), {}, Work(32, 128, 128, 1)),
    "broadcast: the row is read once": ("BiasAdd", (X, ROW), (OUT,), {}, Work(32, 160, 128, 1)),
    "a division counts 4": ("RealDiv", (X, Y), (OUT,), {}, Work(128, 256, 128, 1)),
    "an exp counts 10": ("Exp", (X,), (OUT,), {}, Work(320, 128, 128, 1)),
    "a cast moves bytes, half of them on one side": (
        "Cast",
        (X,),
        (HALF,),
        {},
        Work(0, 128, 64, 1),
    ),
    "a comparison writes one byte each": (
        "Less",
        (X, Y),
        (tensor("b", 4, 8, dtype="bool"),),
        {},
        Work(32, 256, 32, 1),
    ),
    "three addends are two additions": (
        "AddN",
        (X, Y, tensor("z", 4, 8)),
        (OUT,),
        {},
        Work(64, 384, 128, 1),
    ),
    "a view is free": ("Reshape", (X, axis(32)), (tensor("out", 32),), {}, Work()),
    "bookkeeping is free": ("Depend", (X, Y), (OUT,), {}, Work()),
    "a transpose reads and writes all, no axes": (
        "Transpose",
        (X, axis(1, 0)),
        (tensor("out", 8, 4),),
        {},
        Work(0, 128, 128, 1),
    ),
    "a broadcast writes more than it reads": (
        "BroadcastTo",
        (ROW,),
        (OUT,),
        {},
        Work(0, 32, 128, 1),
    ),
    "a sum: one addition for each element read": (
        "ReduceSum",
        (X, axis(1)),
        (tensor("out", 4),),
        {},
        Work(32, 128, 16, 1),
    ),
    "a mean divides each of its 4 results": (
        "ReduceMean",
        (X, axis(1)),
        (tensor("out", 4),),
        {},
        Work(48, 128, 16, 1),
    ),
    "softmax: 17 for each element": ("Softmax", (X, axis(-1)), (OUT,), {}, Work(544, 128, 128, 1)),
    "LayerNorm: 7 each, with gamma, beta, mean and variance": (
        "LayerNorm",
        (X, ROW, tensor("beta", 8)),
        (OUT, tensor("mean", 4, 1), tensor("variance", 4, 1)),
        {},
        Work(224, 192, 160, 1),
    ),
    "a fill reads nothing": ("OnesLike", (X,), (OUT,), {}, Work(0, 0, 128, 1)),
    "a slice reads what it keeps": (
        "StridedSlice",
        (X, axis(0, 0)),
        (tensor("out", 2, 8),),
        {},
        Work(0, 64, 64, 1),
    ),
    "a gather reads 3 rows of 32 bytes and 3 indices of 8": (
        "Gather",
        (
            tensor("table", 1000, 8),
            tensor("ids", 3, dtype="int64"),
            tensor("axis", dtype="int64", kind="constant", data=0),
        ),
        (tensor("out", 3, 8),),
        {},
        Work(0, 96 + 24, 96, 1),
    ),
    "Assign writes its target and reads the value": (
        "Assign",
        (X, Y),
        (tensor("done", 1),),
        {},
        Work(0, 128, 128, 1),
    ),
    "AssignAdd reads its target too": (
        "AssignAdd",
        (X, Y),
        (tensor("done", 1),),
        {},
        Work(32, 256, 128, 1),
    ),
    "Adam: 18 each; reads weight, moments, gradient; writes weight, moments": (
        "Adam",
        (
            X,
            tensor("m", 4, 8),
            tensor("v", 4, 8),
            *(tensor(f"s{i}") for i in range(6)),
            tensor("g", 4, 8),
        ),
        (tensor("a", 4, 8), tensor("b", 4, 8), tensor("c", 4, 8)),
        {},
        Work(576, 512, 384, 1),
    ),
    "an operator nobody knows: 1 FLOP per result": (
        "Frobnicate",
        (X, Y),
        (OUT,),
        {},
        Work(32, 256, 128, 1),
    ),
}


@cases("op, inputs, outputs, attrs, expected", CASES.values(), ids=CASES.keys())
def test_each_operator_has_its_exact_cost(op, inputs, outputs, attrs, expected):
    assert cost.work_of(*one(op, inputs, outputs, **attrs)) == expected


A, B = tensor("a", 3, 5), tensor("b", 5, 7)  # 60 and 140 bytes, result 3 x 7: 84 bytes
FALSE, TRUE = (
    tensor(str(flag), dtype="bool", kind="constant", data=flag) for flag in (False, True)
)

PRODUCTS = {
    # 2 x 3 x 7 x 5 = 210 for any transposition
    "plain": ("MatMul", (A, B), (3, 7), {}, 210, 200),
    "flags as inputs": ("MatMul", (A, B, FALSE, FALSE), (3, 7), {}, 210, 200),
    "left transposed, as input": (
        "MatMul",
        (tensor("a", 5, 3), B, TRUE, FALSE),
        (3, 7),
        {},
        210,
        200,
    ),
    "left transposed, as attribute": (
        "MatMul",
        (tensor("a", 5, 3), B),
        (3, 7),
        {"transpose_a": True},
        210,
        200,
    ),
    "right transposed": ("MatMul", (A, tensor("b", 7, 5)), (3, 7), {"transpose_b": True}, 210, 200),
    # 6 matrices; the right one is shared
    "batch, broadcast": ("BatchMatMul", (tensor("a", 2, 3, 3, 5), B), (2, 3, 3, 7), {}, 1260, 500),
    # one more addition for each of 21 results, 28 bytes of bias
    "with bias": ("Dense", (A, tensor("w", 7, 5), tensor("bias", 7)), (3, 7), {}, 231, 228),
}


@cases("op, inputs, shape, attrs, flops, read", PRODUCTS.values(), ids=PRODUCTS.keys())
def test_matrix_product(op, inputs, shape, attrs, flops, read):
    out = tensor("out", *shape)
    assert cost.work_of(*one(op, inputs, (out,), **attrs)) == Work(flops, read, out.bytes, 1)


IMAGE = tensor("image", 2, 4, 6, 6)  # 288 elements
FILTER = tensor("filter", 8, 4, 3, 3)  # 288 elements, 36 for each output channel
MAP = tensor("map", 2, 8, 6, 6)  # 576 elements
SIZES = tensor("sizes", 4, dtype="int64", kind="constant", data=(2, 4, 6, 6))

CONVOLUTIONS = {
    # 2 x 576 results x 36 weights, in each direction
    "forward": ("Conv2D", (IMAGE, FILTER), (MAP,), 41472, (288 + 288) * 4),
    "with bias": (
        "Conv2D",
        (IMAGE, FILTER, tensor("bias", 8)),
        (MAP,),
        41472 + 576,
        (288 + 288 + 8) * 4,
    ),
    "gradient of the input": (
        "Conv2DBackpropInput",
        (MAP, FILTER, SIZES),
        (IMAGE,),
        41472,
        (576 + 288) * 4,
    ),
    "gradient of the filter": (
        "Conv2DBackpropFilter",
        (MAP, IMAGE, SIZES),
        (FILTER,),
        41472,
        (576 + 288) * 4,
    ),
    # two groups: a filter of 8 x 2 x 3 x 3, 18 for each output channel
    "grouped": (
        "Conv2D",
        (IMAGE, tensor("filter", 8, 2, 3, 3)),
        (MAP,),
        2 * 576 * 18,
        (288 + 144) * 4,
    ),
}


@cases("op, inputs, outputs, flops, read", CONVOLUTIONS.values(), ids=CONVOLUTIONS.keys())
def test_convolution(op, inputs, outputs, flops, read):
    assert cost.work_of(*one(op, inputs, outputs)) == Work(flops, read, outputs[0].bytes, 1)


def test_pooling_counts_its_window():
    small = tensor("small", 2, 8, 3, 3)  # 144 elements, 4 under each window
    assert (
        cost.work_of(*one("MaxPool", (MAP,), (small,), kernel_shape=(2, 2))).flops
        == 4 * small.elements
    )
    assert cost.work_of(*one("MaxPool", (MAP,), (small,), kernel_size=(1, 1, 2, 2))) == Work(
        576, 2304, 576, 1
    )
    grad = one(
        "MaxPoolGrad",
        (MAP, small, tensor("dy", 2, 8, 3, 3)),
        (tensor("dx", 2, 8, 6, 6),),
        kernel_size=(1, 1, 2, 2),
    )
    assert cost.work_of(*grad) == Work(576, 2304 + 2 * 576, 2304, 1)


def test_unknown_operator_is_flagged():
    assert not cost.has_rule("Frobnicate")
    assert all(cost.has_rule(op) for op in ("Add", "MatMul", "Reshape", "Adam", "Load"))


def fused():
    """(x * 2 + y, stored) in one kernel, and the same as two operators."""
    body = Graph(
        "body",
        (
            Node("m", "Mul", ("p0", "two"), ("t",)),
            Node("a", "Add", ("t", "p1"), ("o",)),
        ),
        {
            v.name: v
            for v in (
                tensor("p0", 4, 8),
                tensor("p1", 4, 8),
                tensor("two", kind="constant", data=2.0),
                tensor("t", 4, 8),
                tensor("o", 4, 8),
            )
        },
        ("p0", "p1"),
        ("o",),
    )
    node = Node("k", "Fused_Mul_Add", ("x", "y"), ("out",), body=body)
    return node, Graph("g", (node,), {v.name: v for v in (X, Y, OUT)}, ("x", "y"), ("out",))


def test_fused_kernel_keeps_the_product_to_itself():
    assert cost.work_of(*fused()) == Work(
        64, 256, 128, 1
    )  # 2 x 32 FLOPs; the product of 128 bytes never leaves


def test_fused_kernel_given_the_same_tensor_twice_reads_it_once():
    node, graph = fused()
    twice = Node("k", node.op, ("x", "x"), node.outputs, body=node.body)
    assert cost.work_of(twice, graph).bytes_read == 128


def test_fused_kernel_in_place_counts_the_target():
    values = (tensor("w", 4, 8), tensor("g", 4, 8), tensor("t", 4, 8), tensor("done", 1))
    body = Graph(
        "body",
        (Node("s", "Sub", ("w", "g"), ("t",)), Node("a", "Assign", ("w", "t"), ("done",))),
        {v.name: v for v in values},
        ("w", "g"),
        ("done",),
    )
    node = Node("k", "Fused_Sub_Assign", ("x", "y"), ("o",), body=body)
    graph = Graph("g", (node,), {"x": X, "y": Y, "o": tensor("o", 1)}, ("x", "y"), ("o",))
    assert cost.work_of(node, graph) == Work(32, 256, 128, 1)  # not the 4 bytes of `done`
    assert cost.peak_memory_bytes(graph) == 256  # in place: no memory besides weight and gradient


def chain(*outputs):
    """x → exp → a → view → b → neg → c."""
    values = [X, tensor("a", 4, 8), tensor("b", 32), tensor("c", 32)]
    nodes = (
        Node("e", "Exp", ("x",), ("a",)),
        Node("r", "Reshape", ("a",), ("b",)),
        Node("n", "Neg", ("b",), ("c",)),
    )
    return Graph("g", nodes, {v.name: v for v in values}, ("x",), outputs)


def test_the_summary_adds_up_a_chain():
    summary = cost.summarise(chain("c"))
    assert (summary.nodes, summary.edges, summary.launches) == (3, 2, 2)  # the view is not launched
    assert (summary.bytes_moved, summary.flops) == (4 * 128, 320 + 32)
    assert summary.peak_memory_bytes == 3 * 128  # x, a (which b shares) and c


def test_peak_memory_frees_what_nobody_reads_any_more():
    values = {name: tensor(name, 4, 8) for name in "xabcd"}
    nodes = tuple(Node(o, "Exp", (i,), (o,)) for i, o in zip("xabc", "abcd", strict=True))
    assert (
        cost.peak_memory_bytes(Graph("g", nodes, values, ("x",), ("d",))) == 3 * 128
    )  # x and two neighbours
    assert (
        cost.peak_memory_bytes(Graph("g", nodes, values, ("x",), ("a", "d"))) == 4 * 128
    )  # a is a result


def test_parameters_count_once():
    values = {"x": X, "w": tensor("w", 1000, kind="parameter"), "out": OUT}
    nodes = (Node("n", "Foo", ("x", "w", "w"), ("out",)),)
    assert (
        cost.peak_memory_bytes(Graph("g", nodes, values, ("x", "w"), ("out",))) == 128 + 4000 + 128
    )


def test_stages_are_hand_arithmetic():
    work = Work(flops=4000, bytes_read=2000, bytes_written=1000, launches=2)
    # 2 x 3 µs; 2000 and 1000 bytes at 1 GB/s; 4000 FLOP at 2 GFLOP/s
    assert cost.stages(work, DEVICE) == Stages(6.0, 2.0, pytest.approx(2.0), 1.0)
    assert cost.stages(work, DEVICE).total_us == pytest.approx(6.0 + 3.0)


def test_the_slower_stage_decides_the_bound():
    for flops, roof in ((4000, "memory"), (8000, "compute")):
        work = Work(flops=flops, bytes_read=2000, bytes_written=1000)
        assert cost.roofline_bound(cost.stages(work, DEVICE)) == roof


def test_matrix_work_runs_on_the_matrix_unit():
    device = cost.Device("two units", 1e9, 100e9, 0.0, 0, "made up", vector_flops_per_s=1e9)
    work = Work(flops=1000)
    assert cost.stages(work, device).compute_us == pytest.approx(1.0)
    assert cost.stages(work, device, matrix=True).compute_us == pytest.approx(0.01)


def test_predicted_saving_is_launch_and_bytes():
    apart = [cost.stages(Work(32, read, 128, 1), DEVICE) for read in (128, 256)]
    together = cost.stages(Work(64, 256, 128, 1), DEVICE)
    # one launch of 3 µs, and 256 bytes at 1 GB/s
    assert cost.predicted_saving_us(apart, together) == pytest.approx(3.0 + 0.256)
    assert cost.predicted_saving_us([together], together) == 0.0


def test_dynamic_sizes_count_as_one():
    node, graph = one("Exp", (tensor("x", -1, 8),), (tensor("out", "s0", 8),))
    assert cost.work_of(node, graph) == Work(80, 32, 32, 1)


def test_device_table():
    assert {"ascend910a", "ascend910b", "ascend310p", "gpu"} <= set(cost.DEVICES)
    assert all(
        d.source and d.bandwidth_bytes_per_s > 1e9 and d.on_chip_bytes > 0
        for d in cost.DEVICES.values()
    )
    assert cost.device("Ascend910B") is cost.device("Ascend") is cost.DEVICES["ascend910b"]


def test_this_cpu_is_measured_once():
    assert cost.device("cpu") is cost.measure_cpu()
    assert cost.measure_cpu().bandwidth_bytes_per_s > 0


def test_unknown_device_is_refused():
    with pytest.raises(InputError, match="ascend910a"):
        cost.device("abacus")
