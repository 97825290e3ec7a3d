"""Counts the cost of operators and graphs from shapes and dtypes: bytes, FLOPs, launches, memory.

The counts are exact under these assumptions:

- an operator reads its tensors once from main memory and writes its results once (no caches);
- reading scalars, and arguments such as axes and shapes, costs nothing;
- an operator that changes only the shape (Reshape, ExpandDims …) moves no byte and launches no
  kernel (measured on MindSpore 2.10 on CPU);
- a fused kernel reads each distinct input once, writes its outputs once, and is one launch;
- an in-place write writes as many bytes as the overwritten tensor has;
- some of our kernels process a result a second time. For example, they apply relu to the result of
  a oneDNN product or convolution. The bytes of these second passes are not counted here. The ledger
  (the record of the fused and unfused operators of a run) adds these bytes;
- a size that is not known before run time is assumed to be 1.

`benefit` computes the saving of a fusion in µs from a graph, and returns it with the terms of the
formula. `estimate_benefit` computes the saving from given costs.

In: graphs, devices. Out: work, times, benefits. This package must not build or run a kernel.
"""

from __future__ import annotations

from ms_fusion.cost.benefit import POOLINGS, Benefit, benefit
from ms_fusion.cost.estimate import FUSION_TYPES, Estimate, estimate_benefit
from ms_fusion.cost.graph_totals import constant_foldable_nodes, peak_memory_bytes, summarise
from ms_fusion.cost.roofline_times import predicted_saving_us, roofline_bound, stages
from ms_fusion.cost.tiling import CAPACITY_SHARE, ROW_REDUCTIONS
from ms_fusion.cost.work import has_rule, is_matrix_product, work_of
from ms_fusion.devices import DEVICES, Device, device, measure_cpu
from ms_fusion.ops.selections import VIEWS

__all__ = [
    "CAPACITY_SHARE",
    "DEVICES",
    "FUSION_TYPES",
    "POOLINGS",
    "ROW_REDUCTIONS",
    "VIEWS",
    "Benefit",
    "Device",
    "Estimate",
    "benefit",
    "roofline_bound",
    "device",
    "estimate_benefit",
    "has_rule",
    "is_matrix_product",
    "constant_foldable_nodes",
    "measure_cpu",
    "peak_memory_bytes",
    "predicted_saving_us",
    "stages",
    "summarise",
    "work_of",
]
