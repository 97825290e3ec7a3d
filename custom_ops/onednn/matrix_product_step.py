"""Adds a matrix product to a plan, which is a sequence of oneDNN primitives."""

from __future__ import annotations

from custom_ops.onednn import constants
from custom_ops.onednn.epilogues import EMPTY_EPILOGUE, Epilogue
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder


def multiply(
    builder: PlanBuilder,
    a: Place,
    b: Place,
    y: OutputPlace,
    after: Epilogue = EMPTY_EPILOGUE,
    *,
    bias: Place | None = None,
    row_bias: Place | None = None,
    residual: Place | None = None,
) -> None:
    """Adds the steps of a matrix product y = a · b with its epilogue to a plan.

    Args:
        builder: builder of the plan.
        a, b, y: memory of the matrices, or of batches of matrices, all of the same rank.
        after: description of the epilogue that follows the product.
        bias: memory of a row vector that is added to every row of y, or None.
        row_bias: memory of a column vector that is added to every column of y, or None.
        residual: memory of an array of the shape of y that is added to y, or None.
    """
    attributes = builder.attributes()
    added = [item for item in (row_bias, residual) if item is not None]
    after.join(builder.dnnl, attributes, [item.description for item in added])
    primitive = builder.primitive(
        "matmul",
        builder.dnnl.engine,
        a.description,
        b.description,
        bias.description if bias else None,
        y.dense.description,
        attributes,
    )
    given = {constants.SOURCE: a, constants.WEIGHTS: b, constants.RESULT: y.dense}
    given |= {constants.BIAS: bias} if bias else {}
    given |= {constants.post_operation(number): item for number, item in enumerate(added)}
    builder.execute(primitive, given)
    builder.deliver(y.dense, y, relu=after.has_own_relu)
