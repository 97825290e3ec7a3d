"""What operators and graphs cost: bytes, FLOPs, launches, peak memory; one rule for each operator family.

Everything counted here is exact and comes from shapes and dtypes alone. Assumptions, all in one place:

- every operator reads its tensors once from main memory and writes its results once (caches are not modelled);
- scalars, and arguments such as axes and shapes, cost nothing;
- changing only the shape (Reshape, ExpandDims …) moves no byte and launches no kernel: measured on MindSpore 2.10 on CPU;
- a fused kernel reads each distinct input once, writes its outputs once, and is one launch; what it writes in place
  counts with the size of the tensor it overwrites;
- the ledger adds what a kernel of ours moves again: relu behind a product or convolution of oneDNN is a second pass;
- sizes not known before run time count as 1.

What a fusion saves is `benefit`: one number in µs, with its terms. `estimate_benefit` takes numbers instead of a graph.
"""

from __future__ import annotations

from ms_fusion.cost.benefit import POOLINGS, Benefit, benefit
from ms_fusion.cost.estimate import FUSION_TYPES, Estimate, estimate_benefit
from ms_fusion.cost.graph_totals import known_beforehand, peak_memory_bytes, summarise
from ms_fusion.cost.roofline_times import bound, predicted_saving_us, stages
from ms_fusion.cost.tiling import CAPACITY_SHARE, REDUCING
from ms_fusion.cost.work import has_rule, is_matrix_product, work_of
from ms_fusion.devices import DEVICES, Device, device, measure_cpu
from ms_fusion.operators import VIEWS

__all__ = [
    "CAPACITY_SHARE",
    "DEVICES",
    "FUSION_TYPES",
    "POOLINGS",
    "REDUCING",
    "VIEWS",
    "Benefit",
    "Device",
    "Estimate",
    "benefit",
    "bound",
    "device",
    "estimate_benefit",
    "has_rule",
    "is_matrix_product",
    "known_beforehand",
    "measure_cpu",
    "peak_memory_bytes",
    "predicted_saving_us",
    "stages",
    "summarise",
    "work_of",
]
