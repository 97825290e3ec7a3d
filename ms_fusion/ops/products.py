"""Matrix products and convolutions."""

from __future__ import annotations

from ms_fusion.ops.call import (
    Array,
    Call,
    static_result_shape,
)
from ms_fusion.ops.late_imports import (
    convolution_formulas,
    convolution_lowering,
    np,
    onnx_windows,
)
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    Batch,
    BatchRule,
    Cluster,
    MindSporeFusion,
    OnnxOperator,
    OpInfo,
    Trait,
    WorkRule,
)


def _matrix_product(call: Call) -> Array:
    left, right = call.inputs[:2]
    if call.flag("transpose_a", 2 if _is_flag(call, 2) else None):
        left = np.swapaxes(left, -1, -2)
    if call.flag("transpose_b", 3 if _is_flag(call, 3) else None):
        right = np.swapaxes(right, -1, -2)
    product = np.matmul(left, right)
    alpha = call.number("alpha", default=1.0)
    product = product if alpha == 1.0 else product * alpha
    return product + call.inputs[2] if len(call.inputs) > 2 and not _is_flag(call, 2) else product


def _product_from_gemm(call: Call) -> Call:
    """Rewrites Gemm, alpha · a · b + beta · c, as a product with a third operand beta · c."""
    addend, beta = call.optional_input(2), call.number("beta", default=1.0)
    rest = () if addend is None else (addend if beta == 1.0 else addend * beta,)
    return call.in_form(inputs=(*call.inputs[:2], *rest))


def _is_flag(call: Call, position: int) -> bool:
    return len(call.inputs) > position and call.inputs[position].dtype == np.bool_


OPERATORS = (
    OpInfo(
        "MatMul",
        onnx=("MatMul", OnnxOperator("Gemm", _product_from_gemm)),
        formula=_matrix_product,
        traits=Trait.MATRIX_UNIT | Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.MATRIX_PRODUCT,
        batch=BatchRule(Batch.MATRIX_PRODUCT),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, ascend_level=1),
    ),
    OpInfo(
        "BatchMatMul",
        formula=_matrix_product,
        traits=Trait.MATRIX_UNIT | Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.MATRIX_PRODUCT,
        batch=BatchRule(Batch.MATRIX_PRODUCT),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, ascend_level=1),
    ),
    *(
        OpInfo(
            name,
            traits=Trait.MATRIX_UNIT | Trait.HAS_LIBRARY_KERNEL,
            work=WorkRule.MATRIX_PRODUCT,
            batch=BatchRule(Batch.MATRIX_PRODUCT_WITHOUT_FLAGS),
        )
        for name in "MatMulExt BatchMatMulExt".split()
    ),
    OpInfo(
        "GroupedMatmul",
        traits=Trait.MATRIX_UNIT | Trait.HAS_LIBRARY_KERNEL,
        mindspore=MindSporeFusion(ascend_level=1),
    ),
    OpInfo(
        "Dense",
        traits=Trait.MATRIX_UNIT | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.MATRIX_PRODUCT,
        batch=BatchRule(Batch.DENSE),
    ),
    OpInfo(
        "Conv2D",
        onnx=(OnnxOperator("Conv", onnx_windows.convolution),),
        formula=lambda call: convolution_formulas.convolution(call.node, *call.inputs),
        lowering=convolution_lowering.convolution,
        traits=Trait.MATRIX_UNIT | Trait.CONVOLUTION | Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.CONVOLUTION,
        batch=BatchRule(Batch.IMAGE),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    *(OpInfo(name, batch=BatchRule(Batch.IMAGE)) for name in "Conv2DExt ConvTranspose2D".split()),
    OpInfo(
        "Conv2DTranspose",
        onnx=(OnnxOperator("ConvTranspose", onnx_windows.transposed_convolution),),
        formula=lambda call: convolution_formulas.transposed_convolution(
            call.node, *call.inputs[:2], static_result_shape(call), call.optional_input(3)
        ),
        lowering=convolution_lowering.transposed_convolution,
        traits=Trait.MATRIX_UNIT | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.CONVOLUTION_INPUT_GRADIENT,
        batch=BatchRule(Batch.IMAGE),
    ),
    OpInfo(
        "Conv3D", traits=Trait.MATRIX_UNIT | Trait.HAS_LIBRARY_KERNEL, batch=BatchRule(Batch.IMAGE)
    ),
    OpInfo("DepthwiseConv2dNative", traits=Trait.MATRIX_UNIT),
    OpInfo(
        "Conv2DBackpropInput",
        formula=lambda call: convolution_formulas.gradient_of_x(
            call.node, call.inputs[0], call.inputs[1], static_result_shape(call)
        ),
        traits=Trait.MATRIX_UNIT | Trait.CONVOLUTION | Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.CONVOLUTION_INPUT_GRADIENT,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "Conv2DBackpropFilter",
        formula=lambda call: convolution_formulas.gradient_of_weight(
            call.node, call.inputs[0], call.inputs[1], static_result_shape(call)
        ),
        traits=Trait.MATRIX_UNIT | Trait.CONVOLUTION | Trait.ONEDNN | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.CONVOLUTION_WEIGHT_GRADIENT,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
)
