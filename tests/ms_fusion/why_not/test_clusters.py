"""Predicted clusters equal MindSpore's, on recorded dumps."""

from collections import defaultdict

from ms_fusion.capture.operator_join import join
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.readers.dumps import read_dumps
from ms_fusion.why_not.clusters import form_clusters
from tests.cases import cases


def groups(clusters):
    found = defaultdict(set)
    for name, cluster in clusters.items():
        found[cluster].add(name)
    return sorted(map(sorted, found.values()))


@cases("name", ["Block_f", "Control_f", "ConvNet_f", "MyNet_f", "Odd_f", "OpNet_f"])
def test_clusters_are_mindspores(name, repository):
    joined = join(read_dumps(repository / "tests" / "data" / "ms_2_10" / name))
    free = joined.cluster.keys()
    assert free
    assert groups(form_clusters(joined.before, free)) == groups(joined.cluster)


def test_what_an_operator_outside_waits_for_stays_out():
    """b reads a through the product m: a kernel of both would depend on itself."""
    nodes = [
        Node(made, op, inputs, (f"{made}.out",))
        for made, op, inputs in (
            ("x", "Neg", ("in",)),
            ("a", "Abs", ("x.out",)),
            ("m", "MatMul", ("a.out", "in")),
            ("b", "Add", ("a.out", "m.out")),
            ("c", "Neg", ("b.out",)),
        )
    ]
    values = {"in": Value("in", (4, 4), "float32", "input")}
    values |= {name: Value(name, (4, 4), "float32") for node in nodes for name in node.outputs}
    graph = Graph("g", tuple(nodes), values, ("in",), ("c.out",))
    assert groups(form_clusters(graph, {"x", "a", "b", "c"})) == [["a", "x"], ["b", "c"]]
