"""Gradient of scaled rows of an embedding table.

grad_table[k] = scale·Σ grad_y over the places where ids is k.

Shapes: ids any; table (tokens, size); y has the axes of ids and the axis of the size.
dtypes: float16, float32; computed in float32. ids are int32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsTokenEmbeddingGrad", op_mode="static", support_fusion=True)
def token_embedding_grad_compute(
    ids, table, grad_y, grad_table, scale=1.0, kernel_name="token_embedding_grad"
):
    """Returns the graph of `token_embedding_grad`."""
    grad = dsl.vmuls(words.wide(grad_y), scale)
    res = dsl.unsorted_segment_sum(grad, ids, words.sizes(table)[0])
    return dsl.cast_to(res, table.dtype)


@para_check.check_op_params(*params(3, 1, ("float",)))
def token_embedding_grad(
    ids, table, grad_y, grad_table, scale=1.0, kernel_name="token_embedding_grad"
):
    """Builds the kernel."""
    number = math.prod(ids.get("shape"))
    views = {"ids": [number], "grad_y": [number, table.get("shape")[1]]}
    build(
        token_embedding_grad_compute,
        {"ids": ids, "table": table, "grad_y": grad_y},
        [grad_table],
        [scale],
        kernel_name,
        views=views,
        dtypes={"ids": ("int32",)},
    )
