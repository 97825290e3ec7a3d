"""Random networks, Cells, table operators: RANDOM_NETWORKS SEEDS CELLS, JSON number lists."""

import json
import sys
from itertools import islice
from pathlib import Path

import mindspore as ms

from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator
from tests.ms_fusion.kernel_server.cell_runs import run as run_cell
from tests.ms_fusion.kernel_server.network_runs import run as run_one
from tests.ms_fusion.kernel_server.random_cells import draw_cell
from tests.ms_fusion.kernel_server.random_networks import draw
from tests.ms_fusion.kernel_server.table_runs import handed_over, seen
from tests.ms_fusion.kernel_server.tables import of_anything, of_functions
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
flags = flags_for_own_generator(2).render()
sample = [next(islice(of_functions("float32"), 1, None))]
for dtype, at in (("uint16", 1), ("bool", 1), ("int8", 2), ("int32", 5), ("int32", 6)):
    sample.append(next(islice(of_anything(dtype), at, None)))
found = seen(sample)
RESULT["table"] = [found.right, found.wrong, [[*one] for one in handed_over()]]
RESULT["seen"] = [
    [one.network.seed, one.wrong, one.skipped]
    for one in (run_one(draw(seed), Path.cwd(), flags) for seed in json.loads(sys.argv[2]))
]
RESULT["cells"] = [
    [one.network.seed, one.wrong, one.skipped]
    for one in (run_cell(draw_cell(seed), Path.cwd(), flags) for seed in json.loads(sys.argv[3]))
]

answer()
