"""Computes the variants of a dynamic operator (``tbe.dsl.classify``).

A variant is a list of inputs. An operator file defines the computation of the operator once for
each variant. The CANN toolkit returns many variants, each for certain shapes, and merges axes in
each variant. Here one kernel handles all sizes, so there is only one variant. In this variant,
shapes that broadcast are padded to the same rank. Axes are merged for ``gather`` and ``gather_nd``
only, because the operator files of these two operators depend on merged axes.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from tbe_impl.compat.gather_variants import gather_nd_variant, gather_variant
from tbe_impl.compat.operator_errors import fault, refusal
from tbe_impl.compat.shape_util import wrap_axes_to_positive

REQUIRED_PARAMETERS = {"concat": "axis", "split": "num_split", "transpose": "axes"}
"""Maps a pattern to the key that it requires in ``extra_params``."""
INPUT_COUNTS = {"concat": (1, 1), "transpose": (1, 1), "split": (2, 3), "slice": (3, 3)}
"""Maps a pattern to its least and greatest number of inputs.

``concat`` has one input, a list of tensors.
"""
MAX_CONCAT_TENSORS = 63
"""Greatest number of tensors that ``concat`` joins."""


def check_call(pattern: str, inputs: Sequence[Any], extra: Mapping[str, Any]) -> None:
    """Raises `CheckError` if the pattern does not permit these inputs or extra parameters.

    The function checks the number of inputs and, for ``concat``, the number of tensors. The
    function also checks that `extra` contains the required parameter and no forbidden parameter.
    """
    needed = REQUIRED_PARAMETERS.get(pattern)
    if needed and needed not in extra:
        raise classify_error(f"{pattern} needs {needed} in extra_params")
    if pattern == "elewise" and "disable_optimization" in extra:
        raise classify_error("elewise does not know disable_optimization")
    low, high = INPUT_COUNTS.get(pattern, (0, len(inputs)))
    if not low <= len(inputs) <= high:
        raise classify_error(f"{pattern} takes {low} to {high} inputs, but got {len(inputs)}")
    if pattern == "concat" and not 1 <= len(inputs[0]) <= MAX_CONCAT_TENSORS:
        raise classify_error(
            f"concat joins 1 to {MAX_CONCAT_TENSORS} tensors, but got {len(inputs[0])}"
        )


def check_elementwise(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises `CheckError` if the ranks differ, or if known sizes on an axis differ."""
    shapes = _shapes(tensors)
    if len({len(shape) for shape in shapes}) > 1 or any(
        map(_has_different_sizes, zip(*shapes, strict=False))
    ):
        raise classify_error(f"elewise takes inputs of one shape, but got {_shapes_text(shapes)}")


def check_broadcast(tensors: Sequence[Mapping[str, Any]]) -> None:
    """Raises `CheckError` if the tensors cannot broadcast.

    On each axis, the size ranges without the size 1 must have at least one size in common.
    """
    for bounds in zip(*map(_size_bounds, tensors), strict=True):
        wide = [one for one in bounds if one[0] > 1]
        if wide and max(low for low, _ in wide) > min(high for _, high in wide):
            raise classify_error(f"the inputs do not broadcast: {_shapes_text(_shapes(tensors))}")


def check_concat(tensors: Sequence[Mapping[str, Any]], axis: int) -> None:
    """Raises `CheckError` if known sizes of the tensors differ on an axis other than `axis`."""
    shapes = _shapes(tensors)
    others = [shape[:axis] + shape[axis + 1 :] for shape in shapes]
    if len({len(shape) for shape in shapes}) > 1 or any(
        map(_has_different_sizes, zip(*others, strict=False))
    ):
        raise classify_error(
            f"concat along axis {axis} takes inputs that are equal on the other axes, "
            f"but got {_shapes_text(shapes)}"
        )


def classify_error(cause: str) -> Exception:
    """Returns the error that `classify` raises for invalid arguments; `cause` is the message."""
    return refusal("E90001", cause, detailed_cause=cause)


def _shapes(tensors: Sequence[Mapping[str, Any]]) -> list[tuple[Any, ...]]:
    return [tuple(item["shape"]) for item in tensors]


def _shapes_text(shapes: Sequence[tuple[Any, ...]]) -> str:
    return " and ".join(map(str, shapes))


def _is_known(size: Any) -> bool:
    return isinstance(size, int) and size >= 0


def _has_different_sizes(sizes: Sequence[Any]) -> bool:
    return len({size for size in sizes if _is_known(size)}) > 1


def _size_bounds(item: Mapping[str, Any]) -> list[tuple[float, float]]:
    """Returns the least and greatest size of each axis of a tensor description."""
    shape = item["shape"]
    ranges = item.get("range") or [(1, None)] * len(shape)
    return [
        (size, size) if _is_known(size) else (low or 0, math.inf if high is None else high)
        for size, (low, high) in zip(shape, ranges, strict=True)
    ]


BROADCAST_MODES = frozenset({"broadcast", "norm", "elewise_with_broadcast"})
OTHER_NAMES = {"elemwise": "elewise", "commreduce": "reduce"}
"""Maps a lower-case alias of a pattern in the toolkit to the pattern."""
WINDOW_PARAMETERS = (
    "window_dimensions",
    "window_strides",
    "window_dilations",
    "padding_dimensions",
)
"""Parameters of ``pooling``; each has one value, or one pair, per axis."""


def classify(
    ins: Sequence[Any],
    mode: str,
    extra_params: Mapping[str, Any] | None = None,
    **_: Any,
) -> list[list[Any]]:
    """Returns the variants of an operator: a list that contains exactly one variant.

    Args:
        ins: tensor descriptions. For ``norm`` and ``tuple_reduce``, the last item is the list of
            reduced axes. For ``reduce``, one description has this list under the key ``value``.
        mode: ``elewise``, ``broadcast``, ``reduce``, ``norm`` or another pattern of the CANN
            toolkit.
        extra_params: parameters of the pattern. As in the CANN toolkit, a list of axes under
            ``disable_fuse_axes`` is replaced in place by a list of lists: one list of axes for
            each variant.

    Raises:
        OperatorError: the rank or the reduced axes are unknown, or the CANN toolkit would reject
            the inputs.
    """
    if extra_params and isinstance(extra_params.get("disable_fuse_axes"), (list, tuple)):
        # operators index this list by variant; the CANN toolkit also replaces it before they do
        cast(dict[str, Any], extra_params)["disable_fuse_axes"] = [
            list(extra_params["disable_fuse_axes"])
        ]
    pattern, extra = str(mode).lower(), extra_params or {}
    pattern = OTHER_NAMES.get(pattern, pattern)
    inputs = [_copy_description(item) for item in ins]
    check_call(pattern, inputs, extra)
    if pattern == "gather":
        return [_classify_gather(ins, inputs)]
    if pattern == "scatter_nd" and extra.get("op_name") == "scatter_nd":
        return [_classify_scatter_nd(inputs)]
    if pattern == "gather_nd":
        return [gather_nd_variant(*_declared_inputs(ins, inputs), ins[2] if len(ins) > 2 else 0)]
    tensors = [item for item in _flatten_descriptions(inputs) if _role(item) != "axis"]
    rank = max((len(item["shape"]) for item in tensors), default=0)
    if pattern in BROADCAST_MODES:
        for item in tensors:
            missing = rank - len(item["shape"])
            item["shape"] = [1] * missing + list(item["shape"])
            if item.get("range"):
                item["range"] = [(1, 1)] * missing + list(item["range"])
    for index, item in enumerate(inputs):
        if isinstance(item, dict) and _role(item) == "axis":
            item["value"] = _reduction_axes(item, rank)
            item["shape"] = [len(item["value"])]
        elif pattern in ("norm", "tuple_reduce") and index == len(inputs) - 1:
            inputs[index] = _reduction_axes(item, rank)
    if pattern == "elewise":
        check_elementwise(tensors)
    if pattern == "broadcast":
        check_broadcast(tensors)
    if pattern in ("sort", "topk"):
        by_tensor = extra.get("op_mode") == "topkv2"
        return [[inputs[0], inputs[2]]] if by_tensor else [inputs[:1]]
    if pattern == "pooling":
        return [_classify_pooling(inputs, extra)]
    if pattern == "pooling_with_arg":
        return [[inputs[0], *_window_parameters(extra)]]
    if pattern == "concat":
        (axis,) = wrap_axes_to_positive(extra["axis"], max(rank, 1))
        check_concat(tensors, axis)
        return [[inputs[0], axis]]
    if pattern == "transpose":
        return [[inputs[0], wrap_axes_to_positive(extra["axes"], max(rank, 1))]]
    if pattern == "split":
        return [[inputs[0], *_split_parameters(inputs, extra)]]
    return [inputs]


def _classify_scatter_nd(inputs: Sequence[Any]) -> list[Any]:
    """Returns the variant [target, indices, updates] for the inputs (indices, updates, shape).

    The target is a tensor description; the shape of the target is the value of the third input.

    Raises:
        OperatorError: the values of the third input are unknown at build time.
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


def _classify_gather(ins: Sequence[Any], inputs: Sequence[Any]) -> list[Any]:
    """Returns the variant of a ``gather``.

    `ins` contains the descriptions of the tensors ``params`` and ``indices``, the axis or None, and
    the number of batch axes. The last two items may be missing.
    """
    axis = ins[2] if len(ins) > 2 else None
    along = None if axis is None else _axis_number(axis)
    return gather_variant(*_declared_inputs(ins, inputs), along, ins[3] if len(ins) > 3 else 0)


def _declared_inputs(
    ins: Sequence[Any], inputs: Sequence[Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Returns copies of the first two items of `inputs`, with the original shapes from `ins`.

    The shapes differ for scalars: `classify` replaces the shape ``[]`` by ``[1]`` in `inputs`.
    """
    params, indices = (
        {**checked, "shape": list(item["shape"])}
        for item, checked in zip(ins[:2], inputs, strict=False)
    )
    return params, indices


def _classify_pooling(inputs: Sequence[Any], extra: Mapping[str, Any]) -> list[Any]:
    """Returns the variant of a pooling: the image, and the window axes.

    The window parameters are added to the description of the image.

    Raises:
        OperatorError: a window parameter is unknown, or does not have one value per axis.
    """
    image, *axes = inputs
    image.update(
        {
            name: value
            for name, value in extra.items()
            if name in (*WINDOW_PARAMETERS, "global_pooling")
        }
    )
    for name in WINDOW_PARAMETERS:
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
                f"{name} of a pooling has to have one entry for each of the axes {list(axes[0])}, "
                f"but is {value!r}",
                detailed_cause=name,
            )
    return [image, *axes]


def _window_parameters(extra: Mapping[str, Any]) -> list[Any]:
    """Returns the parameters of a window operation.

    The parameters are the axes, sizes, strides, padding, dilations and rounding mode.
    """
    chosen = [
        [extra[name][axis] for axis in extra["ATTR_AXES"]]
        for name in ("WINDOW_DIMENSIONS", "WINDOW_STRIDES", "WINDOW_PADDINGS", "WINDOW_DILATIONS")
    ]
    return [list(extra["WINDOW_AXES"]), *chosen, extra["CEIL_MODE"]]


def _split_parameters(inputs: Sequence[Any], extra: Mapping[str, Any]) -> tuple[int, Any]:
    """Returns the axis of a split, and the sizes of the parts along this axis.

    The sizes are None if the parts are equal and the size of the axis is known only at run time.
    """
    shape = inputs[0]["shape"]
    (axis,) = wrap_axes_to_positive(_axis_number(inputs[1]), len(shape))
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


def _axis_number(item: Any) -> int:
    given = item.get("const_value", item.get("value")) if isinstance(item, dict) else item
    if given is None:
        raise fault(
            "E90001",
            "an axis has to be known when its operator is built",
            detailed_cause="axis is unknown",
        )
    return int(given[0] if isinstance(given, (list, tuple)) or hasattr(given, "tolist") else given)


def _copy_description(item: Any) -> Any:
    """Copies a tensor description; sets its ``mode`` to ``const`` or ``original``.

    The mode is ``original`` if a size is unknown, and ``const`` otherwise. A list is copied item by
    item. Any other value is returned unchanged.
    """
    if isinstance(item, (list, tuple)):
        return [_copy_description(part) for part in item]
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


def _flatten_descriptions(inputs: Sequence[Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for item in inputs:
        if isinstance(item, list):
            found += _flatten_descriptions(item)
        elif isinstance(item, dict) and "shape" in item:
            found.append(item)
    return found


def _role(item: Any) -> str:
    return str(item.get("rel_pos_to_reduce", "before")) if isinstance(item, dict) else ""


def _reduction_axes(item: Any, rank: int) -> list[int]:
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
