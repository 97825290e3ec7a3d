"""A dynamic matrix product with sizes in blocks of sixteen."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.dsl.base import operation


@register_operator("ProductDynamic")
def product_dynamic(a, b, bias, y, kernel_name="product_dynamic"):
    """a · b, with an optional bias."""
    rows, columns = operation.var("rows") * 16, operation.var("columns") * 16
    inner = operation.var("inner")
    left = tvm.placeholder((rows, inner), a["dtype"], "left")
    right = tvm.placeholder((inner, columns), b["dtype"], "right")
    row = None if bias is None else tvm.placeholder((columns,), bias["dtype"], "row")
    res = dsl.gemm(
        left, right, {"tensor_c": row, "dst_dtype": y["dtype"], "format_a": "ND", "format_b": "ND"}
    )
    with tvm.target.cce():
        schedule = dsl.auto_schedule(res)
    tensors = [left, right, res] if bias is None else [left, right, row, res]
    dsl.build(schedule, {"name": kernel_name, "tensor_list": tensors})
