"""The ledger of each kind of net against a manually verified one (tests/golden/ledgers)."""

import pytest

pytest.importorskip("mindspore", reason="needs MindSpore")
from ms_fusion.capture.explain_net import explain
from tests import nets
from tests.cases import FULL, cases

pytestmark = pytest.mark.mindspore

FLAGS = (
    "--opt_level=2 --enable_expand_ops=Sigmoid,Softmax,LayerNorm,ReduceMean,SigmoidGrad "
    "--enable_cluster_ops=Div,Greater,GreaterEqual,NotEqual"
)
"""Explicit, so that a better preset does not affect this test of the join and the reasons."""


def outline(ledger):
    """Verified fields: kernels with operators, reasons, and exact counts; no times, no random
    names.
    """
    lines = [
        f"before: {ledger.before.nodes} nodes, {ledger.before.edges} edges, "
        f"{ledger.before.launches} launches, {ledger.before.bytes_moved} bytes",
        f"after: {ledger.after.nodes} nodes, {ledger.after.edges} edges, {ledger.after.launches} "
        f"launches, {ledger.after.bytes_moved} bytes",
    ]
    for title, kernels in (("fused", ledger.kernels), ("single", ledger.single_operator_kernels)):
        for kernel in kernels:
            source = kernel.sources[-1].code if kernel.sources else "-"
            lines.append(
                f"{title}: {' + '.join(kernel.operators)} | {' '.join(kernel.body)} | {source}"
            )
    lines += [
        f"apart: {edge.producer_op} -> {edge.consumer_op or '(leaves)'} | {edge.reason} | "
        f"{edge.bytes_at_stake} | "
        f"{edge.suggestion.flags or edge.suggestion.kind if edge.suggestion else '-'}"
        for edge in ledger.unfused
    ]
    return "\n".join(lines) + "\n"


QUICK = {"Branch"}


@cases("name", [name if name in QUICK else pytest.param(name, marks=FULL) for name in nets.CASES])
def test_ledger_is_the_golden_one(name, golden):
    net, inputs = nets.make_case(name)
    golden(
        f"ledgers/{name}.txt",
        outline(
            explain(net, *inputs, only_flags=FLAGS, measure=False, accuracy=False, isolate=False)
        ),
    )
