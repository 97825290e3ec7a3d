"""Pooling and resizing of images, and their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ms_fusion.ops.call import (
    Array,
    Call,
    Formula,
    static_result_shape,
)
from ms_fusion.ops.late_imports import (
    np,
    onnx_windows,
    pooling_formulas,
    pooling_lowering,
    pooling_windows,
    resizing_formulas,
    resizing_lowering,
)
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    Batch,
    BatchRule,
    OnnxOperator,
    OpInfo,
    Trait,
    WorkRule,
)

if TYPE_CHECKING:
    from ms_fusion.graph import Value


def _resize_formula(
    function: Callable[[resizing_formulas.ResizeSizes, Array], Array],
    *,
    nearest: bool = False,
    back: bool = False,
) -> Formula:
    """Returns the formula of an image resize, or of the resize's gradient if `back` is True."""

    def formula(call: Call) -> Array:
        given, made = call.inputs[0].shape, call.output.shape
        shapes = (made, given) if back else (given, made)
        how = (
            resizing_formulas.nearest_resize_sizes(call, *shapes)
            if nearest
            else resizing_formulas.resize_sizes(call.node, *shapes)
        )
        return function(how, call.inputs[0])

    return formula


def _max_pool_windows(call: Call, pooled: Array | Value) -> pooling_windows.PoolingWindows:
    """Returns the windows of max pooling; `pooled` has the shape of the pooling result."""
    return pooling_windows.windows(call.node, call.inputs[0].shape, pooled.shape)


def _average_gradient(call: Call) -> Array:
    where, gradient = pooling_windows.average_pool_gradient_windows(call)
    return pooling_formulas.average_pool_gradient(
        where, np.zeros(static_result_shape(call), gradient.dtype), gradient
    )


OPERATORS = (
    OpInfo(
        "MaxPool",
        onnx=(OnnxOperator("MaxPool", onnx_windows.pooling),),
        formula=lambda call: pooling_formulas.max_pool(
            _max_pool_windows(call, call.output), call.inputs[0]
        ),
        lowering=pooling_lowering.max_pool,
        traits=Trait.POOLING | Trait.HAS_LIBRARY_KERNEL | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.POOLING,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "MaxPoolGrad",
        formula=lambda call: pooling_formulas.max_pool_gradient(
            _max_pool_windows(call, call.inputs[1]), call.inputs[0], call.inputs[2]
        ),
        lowering=pooling_lowering.max_pool_gradient,
        traits=Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.POOLING,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AvgPool",
        onnx=(OnnxOperator("AveragePool", onnx_windows.average_pooling),),
        formula=lambda call: pooling_formulas.average_pool(
            pooling_windows.average_pool_windows(call), call.inputs[0]
        ),
        lowering=pooling_lowering.average_pool,
        traits=Trait.POOLING | Trait.HAS_LIBRARY_KERNEL | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.POOLING,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AvgPoolGrad",
        formula=_average_gradient,
        lowering=pooling_lowering.average_pool_gradient,
        traits=Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.POOLING,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "MaxPool3D",
        formula=lambda call: pooling_formulas.max_pool(
            _max_pool_windows(call, call.output), call.inputs[0]
        ),
        lowering=pooling_lowering.max_pool,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "MaxPool3DGrad",
        formula=lambda call: pooling_formulas.max_pool_gradient(
            _max_pool_windows(call, call.inputs[1]), call.inputs[0], call.inputs[2]
        ),
        lowering=pooling_lowering.max_pool_gradient,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AvgPool3D",
        formula=lambda call: pooling_formulas.average_pool(
            pooling_windows.average_pool_windows(call), call.inputs[0]
        ),
        lowering=pooling_lowering.average_pool,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AvgPool3DGrad",
        formula=_average_gradient,
        lowering=pooling_lowering.average_pool_gradient,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    *(
        OpInfo(name, batch=BatchRule(Batch.IMAGE))
        for name in """MaxPoolWithArgmax MaxPoolWithIndices MaxPoolWithMask AdaptiveAvgPool2DExt
        ResizeNearestNeighborV2 ResizeBicubic ResizeBilinearV2 UpsampleBilinear2D
        UpsampleNearest2D""".split()
    ),
    *(
        OpInfo(
            name,
            batch=BatchRule(Batch.IMAGE),
            mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
            excluded="it has several results, and MindSpore raises an error when it is clustered",
        )
        for name in "MaxPoolWithArgmaxV2 AdaptiveMaxPool2D".split()
    ),
    OpInfo(
        "MaxPool3DWithArgmax",
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded="it has several results, and MindSpore raises an error when it is clustered",
    ),
    OpInfo(
        "AdaptiveAvgPool2D",
        formula=_resize_formula(resizing_formulas.adaptive_average_pool),
        lowering=resizing_lowering.adaptive_average_pool,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "AdaptiveAvgPool2DGrad",
        formula=_resize_formula(resizing_formulas.adaptive_average_pool_gradient, back=True),
        lowering=resizing_lowering.adaptive_average_pool_gradient,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "ResizeNearestNeighbor",
        formula=_resize_formula(resizing_formulas.resize_nearest, nearest=True),
        lowering=resizing_lowering.resize_nearest,
        work=WorkRule.ELEMENTWISE,
        flops=0,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "ResizeNearestNeighborGrad",
        formula=_resize_formula(resizing_formulas.resize_nearest_gradient, nearest=True, back=True),
        lowering=resizing_lowering.resize_nearest_gradient,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
)
