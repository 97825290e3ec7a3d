"""Which variants of a dynamic operator there are.

The toolkit splits a dynamic shape into many variants and merges axes in each. Here one kernel serves all sizes and axes
are merged for ``gather`` and ``gather_nd`` only, whose files count on it, so one variant is enough: the inputs as they are,
filled up to one rank where they broadcast.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tbe_impl.compat.classify_checks import (
    check_broadcast,
    check_call,
    check_concat,
    check_elementwise,
)
from tbe_impl.compat.faults import fault
from tbe_impl.compat.merged_axes import gather_nd_variant, gather_variant
from tbe_impl.compat.shape_util import wrap_axes_to_positive

BROADCAST_MODES = frozenset({"broadcast", "norm", "elewise_with_broadcast"})
REDUCE_MODES = frozenset({"reduce", "tuple_reduce"})
WINDOWS = ("window_dimensions", "window_strides", "window_dilations", "padding_dimensions")
"""What ``pooling`` is told of its windows, one number or pair for each axis; files read it from the variant's description."""


def classify(
    ins: Sequence[Any],
    mode: str,
    extra_params: Mapping[str, Any] | None = None,
    **_: Any,
) -> list[list[Any]]:
    """The variants of an operator as lists of inputs; here always one.

    Args:
        ins: descriptions of tensors; for ``norm`` and ``tuple_reduce`` last the reduced axes, for ``reduce`` a description
            whose ``value`` has them.
        mode: ``elewise``, ``broadcast``, ``reduce``, ``norm`` or another pattern of the toolkit.
        extra_params: what the toolkit's own schedules want to know; ``disable_fuse_axes`` becomes a list with those of
            each variant, as the toolkit has it.

    Raises:
        OperatorError: rank or reduced axes are not known, or the toolkit refuses the inputs.
    """
    if extra_params and isinstance(extra_params.get("disable_fuse_axes"), (list, tuple)):
        # operators look for theirs in each variant, where the toolkit has merged axes before them
        cast(dict[str, Any], extra_params)["disable_fuse_axes"] = [
            list(extra_params["disable_fuse_axes"])
        ]
    pattern, extra = str(mode).lower(), extra_params or {}
    inputs = [_described(item) for item in ins]
    check_call(pattern, inputs, extra)
    if pattern == "gather":
        return [_gather(ins, inputs)]
    if pattern == "scatter_nd" and extra.get("op_name") == "scatter_nd":
        return [_scatter_nd(inputs)]
    if pattern == "gather_nd":
        return [gather_nd_variant(*_as_declared(ins, inputs), ins[2] if len(ins) > 2 else 0)]
    tensors = [item for item in _flat(inputs) if _role(item) != "axis"]
    rank = max((len(item["shape"]) for item in tensors), default=0)
    if pattern in BROADCAST_MODES:
        for item in tensors:
            missing = rank - len(item["shape"])
            item["shape"] = [1] * missing + list(item["shape"])
            if item.get("range"):
                item["range"] = [(1, 1)] * missing + list(item["range"])
    for index, item in enumerate(inputs):
        if isinstance(item, dict) and _role(item) == "axis":
            item["value"] = _axes(item, rank)
            item["shape"] = [len(item["value"])]
        elif pattern in ("norm", "tuple_reduce") and index == len(inputs) - 1:
            inputs[index] = _axes(item, rank)
    if pattern == "elewise":
        check_elementwise(tensors)
    if pattern == "broadcast":
        check_broadcast(tensors)
    if pattern in ("sort", "topk"):
        by_tensor = extra.get("op_mode") == "topkv2"
        return [[inputs[0], inputs[2]]] if by_tensor else [inputs[:1]]
    if pattern == "pooling":
        return [_pooling(inputs, extra)]
    if pattern == "pooling_with_arg":
        return [[inputs[0], *_windows(extra)]]
    if pattern == "concat":
        (axis,) = wrap_axes_to_positive(extra["axis"], max(rank, 1))
        check_concat(tensors, axis)
        return [[inputs[0], axis]]
    if pattern == "transpose":
        return [[inputs[0], wrap_axes_to_positive(extra["axes"], max(rank, 1))]]
    if pattern == "split":
        return [[inputs[0], *_split(inputs, extra)]]
    return [inputs]


def _scatter_nd(inputs: Sequence[Any]) -> list[Any]:
    """The variant of indices, updates and a shape: what is changed, described; indices; updates.

    Raises:
        OperatorError: the shape is not known.
    """
    indices, updates, shape = inputs
    sizes = shape.get("const_value") if isinstance(shape, dict) else shape
    if sizes is None:
        raise fault(
            "E90001",
            "the shape of a scatter_nd has to be known when its operator is built",
            detailed_cause="shape is unknown",
        )
    known = [int(size) for size in sizes]
    target = {**updates, "shape": known, "range": [(size, size) for size in known]}
    return [target, indices, updates]


def _gather(ins: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """The variant of params, indices, an axis or None, and a number of batch axes."""
    axis = ins[2] if len(ins) > 2 else None
    along = None if axis is None else _number(axis)
    return gather_variant(*_as_declared(ins, inputs), along, ins[3] if len(ins) > 3 else 0)


def _as_declared(
    ins: Sequence[Any], inputs: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The first two inputs; one without axes stays so."""
    params, indices = (
        {**checked, "shape": list(item["shape"])}
        for item, checked in zip(ins[:2], inputs, strict=False)
    )
    return params, indices


def _pooling(inputs: Sequence[Any], extra: Mapping[str, Any]) -> list[Any]:
    """The tensor, described with its windows, and the axes on which they slide.

    Raises:
        OperatorError: a size of the windows is not known, or there are not as many as axes.
    """
    image, *axes = inputs
    image.update(
        {name: value for name, value in extra.items() if name in (*WINDOWS, "global_pooling")}
    )
    for name in WINDOWS:
        value = extra.get(name)
        if name in extra and value is None and not extra.get("global_pooling"):
            raise fault(
                "E90001",
                f"{name} of a pooling has to be known when its operator is built, but is None",
                detailed_cause=f"{name} is unknown",
            )
        if value is not None and axes and len(value) != len(axes[0]):
            raise fault(
                "E90001",
                f"{name} of a pooling has to have one entry for each of the axes {list(axes[0])}, but is {value!r}",
                detailed_cause=name,
            )
    return [image, *axes]


def _windows(extra: Mapping[str, Any]) -> list[Any]:
    """Axes, sizes, strides, padding, dilations of windows, and how their number is rounded."""
    chosen = [
        [extra[name][axis] for axis in extra["ATTR_AXES"]]
        for name in ("WINDOW_DIMENSIONS", "WINDOW_STRIDES", "WINDOW_PADDINGS", "WINDOW_DILATIONS")
    ]
    return [list(extra["WINDOW_AXES"]), *chosen, extra["CEIL_MODE"]]


def _split(inputs: Sequence[Any], extra: Mapping[str, Any]) -> tuple[int, Any]:
    """Axis and sizes of a split; the sizes are None where they are equal parts of an unknown size."""
    shape = inputs[0]["shape"]
    (axis,) = wrap_axes_to_positive(_number(inputs[1]), len(shape))
    if extra.get("avg_split"):
        parts, size = int(extra["num_split"]), shape[axis]
        return axis, None if size < 0 else [size // parts] * parts
    sizes = inputs[2].get("const_value") if isinstance(inputs[2], dict) else inputs[2]
    if sizes is None:
        raise fault(
            "E90001",
            "the sizes of a split have to be known when its operator is built",
            detailed_cause="size_splits is unknown",
        )
    listed = [int(size) for size in sizes]
    if listed.count(-1) == 1 and shape[axis] >= 0:
        listed[listed.index(-1)] = shape[axis] - sum(size for size in listed if size >= 0)
    return axis, listed


def _number(item: Any) -> int:
    given = item.get("const_value", item.get("value")) if isinstance(item, dict) else item
    if given is None:
        raise fault(
            "E90001",
            "an axis has to be known when its operator is built",
            detailed_cause="axis is unknown",
        )
    return int(given[0] if isinstance(given, (list, tuple)) or hasattr(given, "tolist") else given)


def _described(item: Any) -> Any:
    """A copy whose shape can be changed and whose mode is set."""
    if isinstance(item, (list, tuple)):
        return [_described(part) for part in item]
    if not isinstance(item, dict) or "shape" not in item:
        return item
    found = copy.copy(item)
    shape = list(found["shape"]) or [1]
    if any(isinstance(size, int) and size == -2 for size in shape):
        raise fault(
            "E90001",
            "an input of unknown rank cannot be built here",
            detailed_cause="shape (-2,)",
            op_name="classify",
            param_name=str(found.get("param_name", "")),
        )
    unknown = any(isinstance(size, int) and size < 0 for size in shape)
    found["shape"] = shape
    found["mode"] = "original" if unknown else "const"
    found.setdefault("const_shape", list(shape))
    return found


def _flat(inputs: Sequence[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in inputs:
        if isinstance(item, list):
            found += _flat(item)
        elif isinstance(item, dict) and "shape" in item:
            found.append(item)
    return found


def _role(item: Any) -> str:
    return str(item.get("rel_pos_to_reduce", "before")) if isinstance(item, dict) else ""


def _axes(item: Any, rank: int) -> list[int]:
    given = item.get("value", item.get("const_value")) if isinstance(item, dict) else item
    if given is None or isinstance(given, str):
        raise fault(
            "E90001",
            "the axes of a reduction have to be known when its operator is built",
            detailed_cause="axes are unknown",
            op_name="classify",
            param_name="axes",
        )
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    if hasattr(given, "tolist"):
        listed = list(given.tolist())
    if not listed and isinstance(item, dict):
        listed = list(range(rank))
    return sorted(set(wrap_axes_to_positive(listed, max(rank, 1))))
