"""Scaled rows of an embedding table.

y = table[ids]·scale.

Shapes: ids any; table (tokens, size); y has the axes of ids and the axis of the size.
dtypes: float16, float32; computed in float32. ids are int32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsTokenEmbedding", op_mode="static", support_fusion=True)
def token_embedding_compute(ids, table, y, scale=1.0, kernel_name="token_embedding"):
    """Returns the graph of `token_embedding`."""
    rows = dsl.gather(table, ids, 0)
    return dsl.cast_to(dsl.vmuls(words.wide(rows), scale), table.dtype)


@para_check.check_op_params(*params(2, 1, ("float",)))
def token_embedding(ids, table, y, scale=1.0, kernel_name="token_embedding"):
    """Builds the kernel."""
    build(
        token_embedding_compute,
        {"ids": ids, "table": table},
        [y],
        [scale],
        kernel_name,
        dtypes={"ids": ("int32",)},
    )
