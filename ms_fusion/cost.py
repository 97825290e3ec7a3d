"""What operators and graphs cost: bytes, FLOPs, launches, peak memory; one rule for each operator family.

Everything counted here is exact and comes from shapes and dtypes alone. Assumptions, all in one place:

- every operator reads its tensors once from main memory and writes its results once (caches are not modelled);
- scalars, and arguments such as axes and shapes, cost nothing;
- changing only the shape (Reshape, ExpandDims …) moves no byte and launches no kernel: measured on MindSpore 2.10 on CPU;
- a fused kernel reads each distinct input once, writes its outputs once, and is one launch; what it writes in place
  counts with the size of the tensor it overwrites;
- sizes not known before run time count as 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import prod
from types import MappingProxyType

from ms_fusion.devices import DEVICES, Device, device, measure_cpu
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Stages, Summary, Work
from ms_fusion.operators import BOOKKEEPING

__all__ = [
    "DEVICES", "Device", "bound", "device", "has_rule", "is_matrix_product", "measure_cpu", "predicted_saving_us",
    "stages", "summarise", "work_of",
]  # fmt: skip

DIVISION = 4
TRANSCENDENTAL = 10
FLOPS_PER_ELEMENT: Mapping[str, int] = MappingProxyType(
    dict.fromkeys(
        """Add Sub Mul Neg Abs Maximum Minimum Equal NotEqual Less LessEqual Greater GreaterEqual LogicalAnd LogicalOr
        LogicalNot LogicalXor Select Square Sign Floor Ceil Trunc Round Rint IsNan IsInf IsFinite ReLU ReLU6 ReluGrad
        ReLUGrad BiasAdd AssignAdd AssignSub""".split(),
        1,
    )
    | dict.fromkeys("Div RealDiv Mod FloorDiv FloorMod Reciprocal Inv Sqrt Rsqrt DivNoNan TruncateDiv".split(), DIVISION)
    | dict.fromkeys(
        "Exp Log Tanh Sin Cos Tan ACos Asin Atan Atan2 Asinh Acosh Atanh Sinh Cosh Erf Erfc Expm1 Log1p".split(),
        TRANSCENDENTAL,
    )
    | {
        "Cast": 0, "Assign": 0, "BroadcastTo": 0, "Tile": 0, "OnesLike": 0, "ZerosLike": 0, "OneHot": 0, "Fill": 0,
        "Stack": 0, "ResizeNearestNeighbor": 0, "ReLU6Grad": 2, "HSigmoidGrad": 3, "HSwishGrad": 5,
        "Elu": TRANSCENDENTAL + 2, "EluGrad": 3,
        "SquaredDifference": 2, "LeakyReLU": 2, "HSigmoid": 4, "HSwish": 5, "Dropout": 2, "DropoutGrad": 2,
        "MaximumGrad": 2, "MinimumGrad": 2, "Pow": 2 * TRANSCENDENTAL + 1,
        "Sigmoid": TRANSCENDENTAL + DIVISION + 2, "SiLU": TRANSCENDENTAL + DIVISION + 3, "Swish": TRANSCENDENTAL + DIVISION + 3,
        "Softplus": 2 * TRANSCENDENTAL + 1, "Mish": 3 * TRANSCENDENTAL + 2,
        "GeLU": TRANSCENDENTAL + 8, "FastGeLU": TRANSCENDENTAL + DIVISION + 5,
        "SigmoidGrad": 3, "TanhGrad": 3, "SqrtGrad": DIVISION + 1, "SiLUGrad": TRANSCENDENTAL + DIVISION + 6,
        "GeLUGrad": TRANSCENDENTAL + 20, "SoftplusGrad": TRANSCENDENTAL + DIVISION + 2,
    }
)  # fmt: skip
"""FLOPs for each output element: 1 for what one instruction does, 4 for a division or root, 10 for exp and its kin."""

VIEWS = frozenset("Reshape ExpandDims Squeeze Flatten FlattenGrad".split())
CONTROL = frozenset("call Call Partial Switch SwitchLayer SwitchCase".split())
REDUCED = MappingProxyType(
    dict.fromkeys(
        "ReduceSum ReduceMax ReduceMin ReduceProd ReduceAll ReduceAny BiasAddGrad ArgMax ArgMin CumSum".split(),
        0,
    )
    | {"ReduceMean": DIVISION, "ArgMaxWithValue": 0, "ArgMinWithValue": 0, "SquareSumAll": 1}
)
"""Reductions: one FLOP for each input element, plus this for each output element."""

PER_INPUT_ELEMENT: Mapping[str, int] = MappingProxyType(
    {
        "Softmax": 3 + TRANSCENDENTAL + DIVISION, "LogSoftmax": 4 + TRANSCENDENTAL, "SoftmaxGrad": 4, "LogSoftmaxGrad": 4 + TRANSCENDENTAL,
        "LayerNorm": 7, "LayerNormV3": 7, "RmsNorm": 4, "LayerNormGrad": 14, "LayerNormGradV3": 14, "BatchNorm": 4, "BatchNormGrad": 11, "GroupNorm": 7,
        "SoftmaxCrossEntropyWithLogits": 8 + 2 * TRANSCENDENTAL, "SparseSoftmaxCrossEntropyWithLogits": 8 + TRANSCENDENTAL,
    }
)  # fmt: skip
"""Normalisations and their gradients: FLOPs for each element of the first input (sums, differences and squares counted)."""

OPTIMISERS: Mapping[str, tuple[tuple[int, ...], int]] = MappingProxyType(
    {
        "Adam": ((0, 1, 2), 10 + 2 * DIVISION),
        "FusedAdam": ((0, 1, 2), 10 + 2 * DIVISION),
        "AdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION),
        "FusedAdamWeightDecay": ((0, 1, 2), 12 + 2 * DIVISION),
        "ApplyMomentum": ((0, 1), 4),
        "Momentum": ((0, 1), 4),
        "SGD": ((0,), 3),
        "ApplyRMSProp": ((0, 1, 2), 8 + 2 * DIVISION),
    }
)
"""Optimisers: positions of the inputs that they overwrite, FLOPs for each element of the weight."""


def has_rule(op: str) -> bool:
    """Whether `work_of` knows the operator; if not, its figures are a guess and a report should say so."""
    return op in _RULES


def is_matrix_product(op: str) -> bool:
    """Whether the device's matrix unit does it."""
    return op in _MATRIX


def work_of(node: Node, graph: Graph) -> Work:
    """What running the node once costs.

    A fused kernel reads each distinct input once and writes its outputs once, with the FLOPs of all its operators.
    An operator without a rule reads its inputs, writes its outputs and does one FLOP per output element (`has_rule`).
    """
    if node.body is not None:
        return _fused(node, node.body, graph)
    rule = _RULES.get(node.op, _unknown)
    return rule(node, graph)


def summarise(graph: Graph) -> Summary:
    """The whole graph in numbers, fused kernels counted as one node each."""
    total = Work()
    for node in graph.nodes:
        total += work_of(node, graph)
    return Summary(
        graph=graph,
        nodes=len(graph.nodes),
        edges=len(graph.edges),
        launches=total.launches,
        bytes_moved=total.bytes,
        peak_memory_bytes=peak_memory_bytes(graph),
        flops=total.flops,
    )


def peak_memory_bytes(graph: Graph) -> int:
    """Largest sum of the bytes alive at once when the nodes run in the given order.

    Inputs, parameters and constants live throughout and count once; a result lives from its node to its last reader, a
    result of the graph to the end; views and results written in place need nothing of their own.
    """
    storage: dict[str, str] = {}
    for node in graph.nodes:
        for position, name in enumerate(node.outputs):
            target = _aliased_input(node, position)
            storage[name] = storage.get(target, target) if target is not None else name
    last_use: dict[str, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in (*node.outputs, *node.inputs):
            last_use[storage.get(name, name)] = step
    for name in graph.outputs:
        last_use[storage.get(name, name)] = len(graph.nodes)

    own = {name for name, root in storage.items() if name == root}
    alive = peak = sum(value.bytes for name, value in graph.values.items() if name not in storage)
    ending: dict[int, int] = {}
    for step, node in enumerate(graph.nodes):
        for name in node.outputs:
            if name in own:
                alive += graph.values[name].bytes
                end = last_use[name]
                ending[end] = ending.get(end, 0) + graph.values[name].bytes
        peak = max(peak, alive)
        alive -= ending.get(step, 0)
    return peak


def stages(work: Work, device: Device, *, matrix: bool = False) -> Stages:
    """The four stages of one kernel, in µs: launches x launch cost, bytes / bandwidth, FLOPs / rate, bytes / bandwidth."""
    return Stages(
        launch_us=work.launches * device.launch_us,
        read_us=work.bytes_read / device.bandwidth_bytes_per_s * 1e6,
        compute_us=work.flops / device.rate(matrix=matrix) * 1e6,
        write_us=work.bytes_written / device.bandwidth_bytes_per_s * 1e6,
    )


def bound(parts: Stages) -> str:
    """The roof above a kernel: ``compute`` if its FLOPs take longer than its bytes, else ``memory``."""
    return "compute" if parts.compute_us > parts.read_us + parts.write_us else "memory"


def predicted_saving_us(before: Iterable[Stages], after: Stages) -> float:
    """µs that one kernel saves against the kernels `before`, each launched by itself."""
    return sum(parts.total_us for parts in before) - after.total_us


Rule = Callable[[Node, Graph], Work]


def _bytes(values: Iterable[Value]) -> int:
    """Bytes of the tensors among the values; a single element costs nothing."""
    return sum(value.bytes for value in values if value.elements > 1)


def _distinct(node: Node, graph: Graph) -> tuple[Value, ...]:
    return tuple(graph.values[name] for name in dict.fromkeys(node.inputs))


def _out_elements(node: Node, graph: Graph) -> int:
    return sum(value.elements for value in graph.outputs_of(node))


def _written(node: Node, graph: Graph) -> int:
    return sum(value.bytes for value in graph.outputs_of(node))


def _nothing(node: Node, graph: Graph) -> Work:
    return Work()


def _plain(node: Node, graph: Graph, flops: int) -> Work:
    return Work(flops, _bytes(_distinct(node, graph)), _written(node, graph), 1)


def _unknown(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, _out_elements(node, graph))


def _elementwise(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, FLOPS_PER_ELEMENT[node.op] * _out_elements(node, graph))


def _add_n(node: Node, graph: Graph) -> Work:
    return _plain(node, graph, (len(node.inputs) - 1) * _out_elements(node, graph))


def _assign(node: Node, graph: Graph) -> Work:
    """Assign, AssignAdd, AssignSub: they overwrite their first input; Assign does not read it."""
    target, *rest = graph.inputs_of(node)
    read = rest if node.op == "Assign" else (target, *rest)
    return Work(FLOPS_PER_ELEMENT[node.op] * target.elements, _bytes(read), target.bytes, 1)


def _first_only(node: Node, graph: Graph) -> Work:
    """Transpose, BroadcastTo, Tile: the tensor, not the shape or axes beside it."""
    return Work(0, _bytes(graph.inputs_of(node)[:1]), _written(node, graph), 1)


def _reduce(node: Node, graph: Graph) -> Work:
    source = graph.inputs_of(node)[0]
    flops = source.elements + REDUCED[node.op] * _out_elements(node, graph)
    return Work(flops, _bytes((source,)), _written(node, graph), 1)


def _norm(node: Node, graph: Graph) -> Work:
    per_element = PER_INPUT_ELEMENT[node.op]
    return _plain(node, graph, per_element * graph.inputs_of(node)[0].elements)


def _matmul(node: Node, graph: Graph) -> Work:
    """2 m n k FLOPs: k is what is left of one matrix of the left operand after the output's rows, transposed or not."""
    left, right = graph.inputs_of(node)[:2]
    out = graph.outputs_of(node)[0]
    if len(left.shape) >= 2 and len(out.shape) >= 2 and len(right.shape) >= 2:
        transposed = _flag(node, graph, "transpose_a" if node.op != "Dense" else "", 2)
        inner = _size(left.shape[-2] if transposed else left.shape[-1])
    else:
        inner = _size(left.shape[-1]) if left.shape else 1
    bias = [value for value in graph.inputs_of(node)[2:] if value.elements > 1]
    flops = (2 * inner + bool(bias)) * out.elements
    return Work(flops, _bytes(_distinct(node, graph)), _written(node, graph), 1)


def _flag(node: Node, graph: Graph, name: str, position: int) -> bool:
    """A boolean that newer files hold as an input at `position`, older ones as the attribute `name`."""
    if not name:
        return False
    found = node.attr(name)
    if found is None and position < len(node.inputs):
        found = graph.values[node.inputs[position]].data
    return found is True


def _conv2d(node: Node, graph: Graph) -> Work:
    """2 FLOPs for each output element and each weight that reaches it; the filter's first size is the output channels."""
    weight = graph.inputs_of(node)[1]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * graph.outputs_of(node)[0].elements * per_output)


def _conv2d_backprop_input(node: Node, graph: Graph) -> Work:
    """(gradient, filter, shape): as many FLOPs as the convolution that it is the gradient of."""
    gradient, weight = graph.inputs_of(node)[:2]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * gradient.elements * per_output)


def _conv2d_backprop_filter(node: Node, graph: Graph) -> Work:
    """(gradient, input, shape) → gradient of the filter."""
    gradient, weight = graph.inputs_of(node)[0], graph.outputs_of(node)[0]
    per_output = weight.elements // max(_size(weight.shape[0]), 1) if weight.shape else 1
    return _conv(node, graph, 2 * gradient.elements * per_output)


def _conv(node: Node, graph: Graph, flops: int) -> Work:
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    bias = operands[2:] if node.op == "Conv2D" else []
    extra = graph.outputs_of(node)[0].elements if _bytes(bias) else 0
    return Work(flops + extra, _bytes(operands), _written(node, graph), 1)


def _is_argument(value: Value) -> bool:
    """Shapes, axes and paddings: small constants of integers."""
    return value.kind == "constant" and (len(value.shape) <= 1 and "float" not in value.dtype)


def _pool(node: Node, graph: Graph) -> Work:
    """One FLOP for each element under the window of each output; for a gradient, of each output of the pooling."""
    window = node.attr("kernel_size") or 1
    size = prod(window) if isinstance(window, tuple | list) else int(window) ** 2
    pooled = (
        graph.outputs_of(node)[0] if not node.op.endswith("Grad") else graph.inputs_of(node)[-1]
    )
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    return Work(size * pooled.elements, _bytes(operands), _written(node, graph), 1)


def _optimiser(node: Node, graph: Graph) -> Work:
    """Reads its tensors once; overwrites the weight and the moments."""
    positions, per_element = OPTIMISERS[node.op]
    inputs = graph.inputs_of(node)
    written = sum(inputs[position].bytes for position in positions if position < len(inputs))
    return Work(per_element * inputs[0].elements, _bytes(_distinct(node, graph)), written, 1)


def _gather(node: Node, graph: Graph) -> Work:
    """Reads the indices and only the rows that it takes."""
    indices = [value for value in graph.inputs_of(node)[1:] if value.elements > 1]
    written = _written(node, graph)
    return Work(0, written + _bytes(indices), written, 1)


def _fill(node: Node, graph: Graph) -> Work:
    """OnesLike, ZerosLike, Fill: they need a shape, not the values."""
    return Work(0, 0, _written(node, graph), 1)


def _slice(node: Node, graph: Graph) -> Work:
    """Slice, StridedSlice: reads only what it keeps."""
    written = _written(node, graph)
    return Work(0, written, written, 1)


def _move(node: Node, graph: Graph) -> Work:
    """Concat, Split, Stack, Pad …: bytes without arithmetic."""
    operands = [value for value in _distinct(node, graph) if not _is_argument(value)]
    return Work(0, _bytes(operands), _written(node, graph), 1)


def _fused(node: Node, body: Graph, graph: Graph) -> Work:
    flops = sum(work_of(inner, body).flops for inner in body.nodes)
    outer = dict(zip(body.inputs, node.inputs, strict=False))
    read: dict[str, None] = {}
    overwritten: dict[str, str] = {}
    for inner in body.nodes:
        in_place = inner.op.startswith("Assign")
        for position, name in enumerate(inner.inputs):
            if name in outer and not (inner.op == "Assign" and position == 0):
                read[outer[name]] = None
        if in_place:
            overwritten.update(dict.fromkeys(inner.outputs, inner.inputs[0]))
    written = 0
    targets: set[str] = set()
    for inside, outside in zip(body.outputs, node.outputs, strict=False):
        if inside not in overwritten:
            written += graph.values[outside].bytes
    for target in overwritten.values():
        if target not in targets:
            targets.add(target)
            written += body.values[target].bytes
    return Work(flops, _bytes(graph.values[name] for name in read), written, 1)


def _aliased_input(node: Node, position: int) -> str | None:
    """The input whose memory output number `position` shares, if any."""
    if not node.inputs:
        return None
    if node.op in VIEWS or node.op in BOOKKEEPING or node.op.startswith("Assign"):
        return node.inputs[0]
    if node.op in OPTIMISERS:
        positions = OPTIMISERS[node.op][0]
        return node.inputs[positions[position]] if position < len(positions) else node.inputs[0]
    if node.body is not None and position < len(node.body.outputs):
        maker = node.body.producers.get(node.body.outputs[position])
        if (
            maker is not None
            and maker.op.startswith("Assign")
            and maker.inputs[0] in node.body.inputs
        ):
            return node.inputs[node.body.inputs.index(maker.inputs[0])]
    return None


def _size(size: int | str) -> int:
    return size if isinstance(size, int) and size >= 0 else 1


_MATRIX = frozenset(
    """MatMul BatchMatMul MatMulExt BatchMatMulExt GroupedMatmul Dense Conv2D Conv2DBackpropInput Conv2DBackpropFilter
    Conv2DTranspose Conv3D DepthwiseConv2dNative""".split()
)

_RULES: Mapping[str, Rule] = MappingProxyType(
    dict.fromkeys((*BOOKKEEPING, *VIEWS, *CONTROL), _nothing)
    | dict.fromkeys(FLOPS_PER_ELEMENT, _elementwise)
    | dict.fromkeys(("Assign", "AssignAdd", "AssignSub"), _assign)
    | dict.fromkeys(("Transpose", "BroadcastTo", "Tile", "TransposeView"), _first_only)
    | dict.fromkeys(REDUCED, _reduce)
    | dict.fromkeys(PER_INPUT_ELEMENT, _norm)
    | dict.fromkeys(("MatMul", "BatchMatMul", "MatMulExt", "BatchMatMulExt", "Dense"), _matmul)
    | dict.fromkeys(("MaxPool", "AvgPool", "MaxPoolGrad", "AvgPoolGrad"), _pool)
    | dict.fromkeys(OPTIMISERS, _optimiser)
    | dict.fromkeys(("Gather", "GatherV2", "EmbeddingLookup", "GatherNd", "GatherD"), _gather)
    | dict.fromkeys(("Slice", "StridedSlice"), _slice)
    | dict.fromkeys(("OnesLike", "ZerosLike", "Fill", "FillV2"), _fill)
    | dict.fromkeys(
        (
            "Concat",
            "Split",
            "Stack",
            "Unstack",
            "Pack",
            "Unpack",
            "Pad",
            "PadV3",
            "StridedSliceGrad",
        ),
        _move,
    )
    | {
        "AddN": _add_n,
        "Conv2D": _conv2d,
        "Conv2DBackpropInput": _conv2d_backprop_input,
        "Conv2DBackpropFilter": _conv2d_backprop_filter,
    }
)
"""Operator → rule; the later line wins where two families name an operator."""
