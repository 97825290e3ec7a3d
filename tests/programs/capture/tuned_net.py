"""Tunes a net; later compilations use the result, and its ledger records it."""

import json

import mindspore as ms

import ms_fusion as mf
from ms_fusion.kernel_server.sequence_assembly import own_kernels
from ms_fusion.lowering import plan_choice
from ms_fusion.mindspore.presets import net_choices
from ms_fusion.readers.composite import parse_kernel
from tests.ms_fusion.capture.tuned_nets import Net
from tests.programs.presets.child import RESULT, answer, bodies, ones

ms.set_context(mode=ms.GRAPH_MODE)
net, x = Net(), ones(64, 32)
before = [one.asnumpy().copy() for one in net.trainable_params()]
found = mf.tune(net, x, seconds=0.1)
RESULT["least"] = [[one.name for one in found.variants], len(found.kernels)]
found = mf.tune(net, x, seconds=max(6 * found.seconds, 12.0))
RESULT["kernels"] = len(found.kernels)
RESULT["unchanged"] = all(
    (a == b.asnumpy()).all() for a, b in zip(before, net.trainable_params(), strict=True)
)
RESULT["table"] = str(found)
RESULT["variants"] = [one.name for one in found.variants]
RESULT["known"] = net_choices.recall(net, (x,)) == found.choice
net_choices.remember(
    net,
    (x,),
    net_choices.NetChoice(
        kept_out=("MatMul",), why="products are quicker alone.", losses=("everything is a loss.",)
    ),
)
mf.enable()
Net()(x)
RESULT["kept out"] = [step["name"] for body in bodies() for step in body["op_desc"]]
ledger = mf.explain(net, x, measure=False, accuracy=False)
RESULT["notes"] = list(ledger.notes)
run = mf.specialize(net)
run(x)
RESULT["specialized"] = list(mf.explain(run, x, measure=False, accuracy=False).notes)
Net()(ones(48, 32))
RESULT["not tuned"] = [step["name"] for body in bodies() for step in body["op_desc"]]
RESULT["measured"] = [
    plan_choice.choose_options(*one).tuning is not None
    for body in bodies()
    for one in own_kernels(parse_kernel(json.dumps(body), file="body"))
]

answer()
