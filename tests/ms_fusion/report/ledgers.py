"""Synthetic ledgers: a transformer of any size, with all optional fields or none."""

from __future__ import annotations

from dataclasses import replace

from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.ledger import (
    Accuracy,
    Build,
    BuildStep,
    CarriedKernel,
    FusedKernel,
    HotSpot,
    Ledger,
    Stages,
    Suggestion,
    Summary,
    UnfusedEdge,
    Work,
)

BANDWIDTH = 20e3
"""Bytes per µs of the pretended machine."""
PEAK = 150e3
"""Floating-point operations per µs of the same machine."""
LAUNCH_US = 6.0

FILE = "model/transformer.py"
ELEMENTWISE = ("Mul", "Add", "Sub", "Sigmoid", "RealDiv", "Exp", "Rsqrt", "Cast")


class Builder:
    """Adds operators one by one and records their fusion groups."""

    def __init__(self, shape: tuple[int, ...], dtype: str):
        self.shape, self.dtype = shape, dtype
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {}
        self.groups: list[list[str]] = []
        self.inputs: list[str] = []

    def outside(self, name: str, shape: tuple[int, ...], kind: str = "parameter") -> str:
        self.values[name] = Value(name, shape, self.dtype, kind)
        self.inputs.append(name)
        return name

    def add(
        self,
        op: str,
        scope: str,
        *inputs: str,
        line: int,
        code: str,
        shape: tuple[int, ...] | None = None,
    ) -> str:
        name = f"Default/{scope}/{op}-op{len(self.nodes)}"
        value = f"%{len(self.nodes)}"
        self.values[value] = Value(value, shape or self.shape, self.dtype)
        sources = (Source("train.py", 40, "loss = net(x)"), Source(FILE, line, code))
        self.nodes.append(
            Node(
                name, op, inputs, (value,), (("axis", (-1,)), ("keep", True)), sources, None, "main"
            )
        )
        return value

    def fuse(self, *values: str) -> None:
        """Fuses the operators of these values into one kernel."""
        made_by = {node.outputs[0]: node.name for node in self.nodes}
        self.groups.append([made_by[value] for value in values])

    def layer(self, index: int, x: str) -> str:
        """One transformer layer, 26 operators of which 16 are fused into 6 kernels."""
        at = f"network-Transformer/blocks-CellList/{index}-Block"
        line = 20

        def add(op: str, scope: str, *inputs: str, code: str = "") -> str:
            nonlocal line
            line += 1
            return self.add(
                op,
                f"{at}/{scope}".rstrip("/"),
                *inputs,
                line=line,
                code=code or f"y = {op.lower()}(y)",
            )

        def weight(name: str) -> str:
            return self.outside(f"blocks.{index}.{name}", (self.shape[-1], self.shape[-1]))

        mean = add("ReduceMean", "ln1-LayerNorm", x, code="y = self.ln1(x)")
        centred = add("Sub", "ln1-LayerNorm", x, mean, code="y = self.ln1(x)")
        normal = add("Mul", "ln1-LayerNorm", centred, weight("ln1.gamma"), code="y = self.ln1(x)")
        normal = add("Add", "ln1-LayerNorm", normal, weight("ln1.beta"), code="y = self.ln1(x)")
        self.fuse(self.nodes[-3].outputs[0], self.nodes[-2].outputs[0], normal)
        heads = []
        for head in "qkv":
            product = add(
                "MatMul",
                f"{head}-Dense",
                normal,
                weight(f"{head}.weight"),
                code=f"{head} = self.{head}(y).reshape(b, s, self.h, -1).transpose(0, 2, 1, 3)",
            )
            biased = add("Add", f"{head}-Dense", product, weight(f"{head}.bias"))
            heads.append(add("Transpose", f"{head}-Dense", biased))
        scores = add(
            "BatchMatMul", "", heads[0], heads[1], code="a = ops.matmul(q, k) / self.scale"
        )
        scaled = add("RealDiv", "", scores, code="a = ops.matmul(q, k) / self.scale")
        top = add("ReduceMax", "", scaled, code="a = ops.softmax(a, -1)")
        shifted = add("Sub", "", scaled, top, code="a = ops.softmax(a, -1)")
        raised = add("Exp", "", shifted, code="a = ops.softmax(a, -1)")
        total = add("ReduceSum", "", raised, code="a = ops.softmax(a, -1)")
        soft = add("RealDiv", "", raised, total, code="a = ops.softmax(a, -1)")
        self.fuse(scaled, top)
        self.fuse(shifted, raised, total)
        mixed = add("BatchMatMul", "", soft, heads[2], code="y = ops.matmul(a, v)")
        out = add("MatMul", "o-Dense", mixed, weight("o.weight"), code="x = x + self.o(y)")
        out = add("Add", "o-Dense", out, weight("o.bias"), code="x = x + self.o(y)")
        x = add("Add", "", out, x, code="x = x + self.o(y)")
        self.fuse(out, x)
        wide = add("MatMul", "f1-Dense", x, weight("f1.weight"), code="y = self.f1(self.ln2(x))")
        biased = add("Add", "f1-Dense", wide, weight("f1.bias"), code="y = self.f1(self.ln2(x))")
        gate = add("Sigmoid", "", biased, code="y = y * ops.sigmoid(y)")
        swish = add("Mul", "", biased, gate, code="y = y * ops.sigmoid(y)")
        self.fuse(biased, gate, swish)
        down = add("MatMul", "f2-Dense", swish, weight("f2.weight"), code="return x + self.f2(y)")
        down = add("Add", "f2-Dense", down, weight("f2.bias"), code="return x + self.f2(y)")
        result = add("Add", "", down, x, code="return x + self.f2(y)")
        self.fuse(down, result)
        return result


def _stages(flops: int, bytes_read: int, bytes_written: int) -> Stages:
    return Stages(LAUNCH_US, bytes_read / BANDWIDTH, flops / PEAK, bytes_written / BANDWIDTH)


def _work(nodes: list[Node], graph: Graph) -> Work:
    total = Work()
    for node in nodes:
        outputs = graph.outputs_of(node)
        factor = 128 if "MatMul" in node.op else 8 if node.op in ("Exp", "Sigmoid") else 1
        total += Work(
            sum(value.elements for value in outputs) * factor,
            sum(value.bytes for value in graph.inputs_of(node)),
            sum(value.bytes for value in outputs),
            1,
        )
    return total


def _kernel(number: int, group: list[str], graph: Graph, *, full: bool) -> FusedKernel:
    nodes = [graph.node(name) for name in group]
    made = {value for node in nodes for value in node.outputs}
    read = tuple(
        dict.fromkeys(value for node in nodes for value in node.inputs if value not in made)
    )
    written = tuple(
        value
        for node in nodes
        for value in node.outputs
        if any(reader.name not in group for reader in graph.consumers.get(value, ()))
        or value in graph.outputs
    )
    operators = tuple(node.op for node in nodes)
    used = {name for node in nodes for name in (*node.inputs, *node.outputs)}
    body = Graph(
        f"body{number}",
        tuple(replace(node, name=f"op{place}", sources=()) for place, node in enumerate(nodes)),
        {name: graph.values[name] for name in graph.values if name in used},
        read,
        written,
    )
    apart = _work(nodes, graph)
    inputs, outputs = (
        tuple(graph.values[name] for name in read),
        tuple(graph.values[name] for name in written),
    )
    work = Work(
        apart.flops, sum(value.bytes for value in inputs), sum(value.bytes for value in outputs), 1
    )
    stages = _stages(work.flops, work.bytes_read, work.bytes_written)
    one_by_one = [_work([node], graph) for node in nodes]
    stages_unfused = tuple(
        _stages(each.flops, each.bytes_read, each.bytes_written) for each in one_by_one
    )
    name = f"Fused_{'_'.join(operators)}_fusion_{1000 + number * 7919 % 8999}"
    kernel = FusedKernel(
        name,
        f"Default/GraphKernel_{name}-op{number}",
        operators,
        tuple(group),
        (*operators, "Cast") if "Exp" in operators else operators,
        body,
        inputs,
        outputs,
        subgraph="main",
    )
    if not full:
        return kernel
    before_us = sum(each.total_us for each in stages_unfused)
    return replace(
        kernel,
        sources=tuple(dict.fromkeys(node.sources[-1] for node in nodes)),
        work=work,
        work_unfused=apart,
        stages=stages,
        stages_unfused=stages_unfused,
        bound="compute" if stages.compute_us > stages.read_us + stages.write_us else "memory",
        launches=12,
        time_us=stages.total_us * (1.05 + number % 5 / 20),
        unfused_time_us=before_us * (1.1 + number % 3 / 10),
        predicted_saving_us=before_us - stages.total_us,
        accuracy=(
            Accuracy("captured", 0.5 + number % 4, 1.2e-7, 1.5, 2.4e-7),
            Accuracy("seeded", 1.0, 1.5e-7, None, None, "unfused not replayed"),
            Accuracy(
                "edges", float("inf"), float("nan"), 2.0, 3e-7, "NaN differs in 1 of 4096 elements"
            ),
        ),
        generator="ms_fusion",
        build=BUILDS[number % len(BUILDS)],
    )


BUILDS = (
    Build((BuildStep("c", ("Add", "Sigmoid", "Mul"), 2),), 0.412),
    Build((BuildStep("onednn", ("MatMul", "Add")), BuildStep("c", ("Mul",), 1)), 0.003, True),
    Build((BuildStep("numpy", ("Tan",)),), 0.02, why="Tan of complex64"),
)


REASONS = (
    ("not-clusterable", "MatMul is not in the list of operators that are clustered on CPU"),
    ("after-reduction", "the splitter fuses nothing forward out of the reduction ReduceMax"),
    ("splitter", "the splitter cut the transpose off"),
)


def _unfused(graph: Graph, groups: list[list[str]], *, full: bool) -> tuple[UnfusedEdge, ...]:
    kernel_of = {name: number for number, group in enumerate(groups) for name in group}
    edges = []
    for edge in graph.edges:
        ends = kernel_of.get(edge.producer, -1), kernel_of.get(edge.consumer, -2)
        if ends[0] == ends[1]:
            continue
        producer, consumer = graph.node(edge.producer), graph.node(edge.consumer)
        value = graph.values[edge.value]
        code, detail = REASONS[
            0 if "MatMul" in producer.op + consumer.op else 1 if "Reduce" in producer.op else 2
        ]
        suggestion = None
        if full and code != "not-clusterable":
            suggestion = Suggestion(
                "flag",
                "hand whole clusters to the kernel generator of ms_fusion",
                "--disable_pass=split.graph_kernel_splitter",
            )
        elif full and consumer.op == "Sigmoid":
            suggestion = Suggestion("code", "write the activation as x * sigmoid(x)")
        edges.append(
            UnfusedEdge(
                edge.producer,
                edge.consumer,
                producer.op,
                consumer.op,
                value,
                code,
                detail,
                2 * value.bytes,
                suggestion,
                producer.sources[-1] if full else None,
                consumer.sources[-1] if full else None,
            )
        )
    if full and graph.nodes:
        last = graph.nodes[-1]
        edges.append(
            UnfusedEdge(
                last.name,
                "",
                last.op,
                "",
                graph.values[last.outputs[0]],
                "control-flow",
                "the value leaves the sub-graph",
                1024,
            )
        )
    return tuple(edges)


def _after(graph: Graph, kernels: tuple[FusedKernel, ...]) -> Graph:
    kernel_of = {name: kernel for kernel in kernels for name in kernel.nodes}
    last_of = {kernel.name: kernel.nodes[-1] for kernel in kernels}
    nodes = []
    for node in graph.nodes:
        kernel = kernel_of.get(node.name)
        if kernel is None:
            nodes.append(node)
        elif last_of[kernel.name] == node.name:
            nodes.append(
                Node(
                    kernel.full_name,
                    kernel.name,
                    tuple(value.name for value in kernel.inputs),
                    tuple(value.name for value in kernel.outputs),
                    body=kernel.body_graph,
                )
            )
    return Graph("after", tuple(nodes), graph.values, graph.inputs, graph.outputs)


def _summary(graph: Graph, work: Work, time_us: float | None) -> Summary:
    return Summary(
        graph,
        len(graph),
        len(graph.edges),
        work.launches,
        work.bytes,
        work.bytes // 7,
        work.flops,
        time_us,
    )


def transformer_ledger(
    nodes: int = 60,
    *,
    full: bool = True,
    shape: tuple[int, ...] = (8, 512, 768),
    dtype: str = "float32",
) -> Ledger:
    """A ledger of about `nodes` operators (whole layers of 26); without `full` all optional fields
    are empty.
    """
    builder = Builder(shape, dtype)
    x = builder.outside("x", shape, "input")
    for index in range(max(1, round(nodes / 26))):
        x = builder.layer(index, x)
    graph = Graph("before", tuple(builder.nodes), builder.values, tuple(builder.inputs), (x,))
    kernels = tuple(
        _kernel(number, group, graph, full=full) for number, group in enumerate(builder.groups)
    )
    saved = sum((kernel.work_unfused.bytes - kernel.work.bytes for kernel in kernels), 0)
    apart = _work(builder.nodes, graph)
    fused_nodes = sum(len(kernel.nodes) for kernel in kernels)
    together = Work(
        apart.flops,
        apart.bytes_read - saved,
        apart.bytes_written,
        apart.launches - fused_nodes + len(kernels),
    )
    after = _after(graph, kernels)
    ledger = Ledger(
        "Transformer",
        kernels,
        _unfused(graph, builder.groups, full=full),
        _summary(graph, apart, 148_230.0 if full else None),
        _summary(after, together, 91_410.5 if full else None),
    )
    if not full:
        return ledger
    single = _kernel(900, [builder.nodes[7].name], graph, full=True)
    slow = builder.nodes[7]
    return replace(
        ledger,
        single_operator_kernels=(single,),
        carried=(
            CarriedKernel(
                "AddReLU", "Default/Custom-op0", "custom_ops", (), (), slow.sources, 12, 3.14
            ),
            CarriedKernel("myadd", "Default/Custom-op1", "user", (), ()),
            CarriedKernel(
                "_gate", "Default/Custom-op2", "auto_fuse", (), (), operators=("Sigmoid", "Mul")
            ),
        ),
        hot_spots=(
            HotSpot(
                builder.nodes[4].name,
                builder.nodes[4].op,
                41_200.0,
                0.451,
                "178 GFLOP/s of 208 that this machine can do",
                "",
                builder.nodes[4].sources[-1],
            ),
            HotSpot(
                slow.name,
                slow.op,
                9_120.0,
                0.0998,
                "runs at the speed of a reference implementation",
                "set ONEDNN_MAX_CPU_ISA=AVX2 before MindSpore starts",
            ),
        ),
        environment={
            "device": "CPU",
            "mindspore": "2.10.0",
            "processor": "AMD EPYC 9B14, 2 cores",
            "threads": 2,
            "bandwidth_gb_per_s": 20.0,
            "patches": (),
            "versions": {"numpy": "1.26.4", "python": "3.11.2"},
        },
        flags="--opt_level=2 --enable_cluster_ops=Div,Greater "
        "--enable_expand_ops=Sigmoid,Softmax,LayerNorm",
        preset="auto",
        notes=(
            "Times are the median of 12 runs on two threads.",
            "3 operators were folded away before fusion.",
        ),
        output_max_ulp=3.0,
        output_max_abs=4.8e-7,
    )


def minimal_ledger() -> Ledger:
    """Nothing fused, nothing measured, no node."""
    empty = Graph("empty", (), {})
    summary = Summary(empty, 0, 0, 0, 0, 0, 0)
    return Ledger("", (), (), summary, summary)


def split_ledger() -> Ledger:
    """One original Softmax that MindSpore split over two kernels with its neighbours."""
    builder = Builder((4, 16), "float16")
    x = builder.outside("x", (4, 16), "input")
    scaled = builder.add("Mul", "net", x, line=3, code="y = x * 2")
    soft = builder.add("Softmax", "net", scaled, line=4, code="y = ops.softmax(y)")
    result = builder.add("Div", "net", soft, scaled, line=5, code="return y / x")
    graph = Graph("before", tuple(builder.nodes), builder.values, ("x",), (result,))
    names = [node.name for node in builder.nodes]
    kernels = (_kernel(0, names[:2], graph, full=True), _kernel(1, names[1:], graph, full=True))
    work = _work(builder.nodes, graph)
    return Ledger("Split", kernels, (), _summary(graph, work, None), _summary(graph, work, None))
