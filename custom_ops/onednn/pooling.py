"""Prepares the gradient of 2-D max pooling, for float32, float16 and bfloat16."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

from custom_ops.onednn import constants, layouts
from custom_ops.onednn.convolution_plans import PLAN_CACHE_SIZE
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.plan_building import build_plan
from custom_ops.onednn.plans import PlanBuilder, dims
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.routes import resolve_threads
from custom_ops.onednn.verified_library import library
from tbe_impl.errors import InputError

Numbers = tuple[int, ...]


def prepare_max_pool_gradient(
    x_shape: Sequence[int],
    y_shape: Sequence[int],
    *,
    window: Numbers,
    stride: Numbers,
    before: Numbers,
    dtype: str = "float32",
    channels_last: bool = False,
    threads: int | None = None,
    operator: str = "MaxPoolGrad",
) -> Prepared:
    """Prepares the gradient of max pooling.

    The inputs of the operator are ``x`` and ``grad`` (the gradient of y), and the output is
    ``grad_x``. The gradient of a window goes to the first of the largest elements in the window.
    The operator recomputes the index of this element, because MindSpore saves only x and y of the
    forward pass.

    Args:
        x_shape, y_shape: (batch, channels, height, width).
        window, stride: (height, width).
        before: padding (above, left).
        dtype: dtype of all arrays: ``float32``, ``float16`` or ``bfloat16``.
        channels_last: whether all arrays have the memory order batch, height, width, channels.
        threads: number of threads. By default, the number from `tbe_impl.environment.threads`, or 1
            if there is little work.
        operator: name of the operator in error messages.

    Raises:
        InputError: oneDNN does not support the dtype.
        MissingError: oneDNN is not available.
    """
    if dtype not in constants.DATA_TYPES:
        raise InputError(
            f"{operator}: dtype is not computed",
            expected=" or ".join(constants.DATA_TYPES),
            got=repr(dtype),
        )
    windows, images = math.prod(y_shape), math.prod(x_shape)
    # 16 = 2 · 8: the forward pass is recomputed, and one operation of pooling takes the time of
    # eight operations of a matrix product
    shared = resolve_threads(
        operator,
        threads,
        operations=16 * windows * math.prod(window),
        elements=2 * windows + 2 * images,
    )
    return _prepare(
        operator,
        tuple(x_shape),
        tuple(y_shape),
        window,
        stride,
        before,
        dtype,
        channels_last,
        shared,
        library(),
    )


@lru_cache(maxsize=PLAN_CACHE_SIZE)
def _prepare(
    operator: str,
    x_shape: tuple[int, ...],
    y_shape: tuple[int, ...],
    window: Numbers,
    stride: Numbers,
    before: Numbers,
    dtype: str,
    last: bool,
    threads: int,
    dnnl: Library,
) -> Prepared:
    x, grad, grad_x = (
        TensorType(name, layouts.memory_shape(shape, last), dtype)
        for name, shape in (("x", x_shape), ("grad", y_shape), ("grad_x", x_shape))
    )
    behind = [
        max((count - 1) * step + span - size - first, 0)
        for count, step, span, size, first in zip(
            y_shape[2:], stride, window, x_shape[2:], before, strict=True
        )
    ]
    where = dims(stride), dims(window), dims((0, 0)), dims(before), dims(behind)

    def add_steps(builder: PlanBuilder, dtype: str) -> None:
        given, slope = (
            layouts.input_image(builder, x, dtype, x_shape, last),
            layouts.input_image(builder, grad, dtype, y_shape, last),
        )
        made = layouts.output_image(builder, grad_x, dtype, x_shape, last)
        forward = builder.primitive(
            "pooling_forward",
            dnnl.engine,
            constants.FORWARD_TRAINING,
            constants.POOLING_MAX,
            given.description,
            slope.description,
            *where,
            builder.attributes(),
        )
        backward = builder.primitive(
            "pooling_backward",
            dnnl.engine,
            constants.POOLING_MAX,
            made.dense.description,
            slope.description,
            *where,
            forward,
            builder.attributes(),
        )
        chosen, largest = (
            builder.scratch(builder.argument_layout(forward, constants.WORKSPACE)),
            builder.scratch(slope.description),
        )
        builder.execute(
            forward,
            {constants.SOURCE: given, constants.RESULT: largest, constants.WORKSPACE: chosen},
        )
        builder.execute(
            backward,
            {
                constants.RESULT_GRADIENT: slope,
                constants.WORKSPACE: chosen,
                constants.SOURCE_GRADIENT: made.dense,
            },
        )
        builder.deliver(made.dense, made)

    return build_plan(dnnl, threads, operator, (x, grad), (grad_x,), add_steps)
