"""Implements the prebuilt operators ``topi.scatter`` and ``topi.tensor_scatter`` of 2020."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from tbe_impl.compat.building import build, casting_auto_schedule
from tbe_impl.dsl.expr import Expr
from tbe_impl.dsl.operations.indexing import scatter
from tbe_impl.dsl.tensor import compute, placeholder


class Scatter:
    """Updates rows of a tensor or, with `nd_flag`, elements at multi-dimensional indices.

    Args:
        var, indices, updates, var_out: tensor descriptions. With `nd_flag`, each vector along the
            last axis of `indices` is one index. Each index has one component for each of the
            leading axes of `var`.
        nd_flag: whether an index has several components.
        kernel_name: name of the kernel.
        compute_type: ``update``, ``vadd``, ``vsub``, ``vmul``, ``vdiv``, ``vmax`` or ``vmin``.
    """

    def __init__(
        self,
        var: Mapping[str, Any],
        indices: Mapping[str, Any],
        updates: Mapping[str, Any],
        var_out: Mapping[str, Any],
        nd_flag: bool,
        kernel_name: str,
        compute_type: str,
        *_: Any,
    ):
        self.var, self.indices, self.updates = var, indices, updates
        self.nd_flag, self.kernel_name = nd_flag, kernel_name
        self.reduction = compute_type.removeprefix("v")

    def scatter_operator(self) -> None:
        """Computes, schedules and builds the operator."""
        shape, places = list(self.var["shape"]), list(self.indices["shape"])
        parts = places.pop() if self.nd_flag else 1
        sizes, inner = shape[:parts], shape[parts:]
        count = prod(places)
        target = placeholder((prod(sizes), *inner), self.var["dtype"], "var")
        given = placeholder((count, parts), self.indices["dtype"], "indices")
        new = placeholder((count, *inner), self.updates["dtype"], "updates")

        def row(i: Expr) -> Any:
            found: Any = 0
            for part, size in enumerate(sizes):
                found = found * size + given[i, part]
            return found

        rows = compute((count,), row, "rows")
        changed = scatter(target, rows, new, self.reduction)
        schedule = casting_auto_schedule(changed)
        build(schedule, {"name": self.kernel_name, "tensor_list": [target, given, new, changed]})


class TensorScatter(Scatter):
    """`Scatter` with `nd_flag` set."""

    def __init__(
        self,
        var: Mapping[str, Any],
        indices: Mapping[str, Any],
        updates: Mapping[str, Any],
        var_out: Mapping[str, Any],
        kernel_name: str,
        compute_type: str,
        *_: Any,
    ):
        super().__init__(var, indices, updates, var_out, True, kernel_name, compute_type)

    def tensor_scatter_operator(self) -> None:
        """Computes, schedules and builds the operator."""
        self.scatter_operator()
