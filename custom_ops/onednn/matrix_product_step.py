"""One matrix product in a plan."""

from __future__ import annotations

from custom_ops.onednn import constants
from custom_ops.onednn.epilogues import NOTHING, Epilogue
from custom_ops.onednn.programs import Builder, Place, Written


def multiply(
    builder: Builder,
    a: Place,
    b: Place,
    y: Written,
    after: Epilogue = NOTHING,
    *,
    bias: Place | None = None,
    row_bias: Place | None = None,
    residual: Place | None = None,
) -> None:
    """The steps of a product with what follows it.

    Args:
        builder: collects them.
        a, b, y: matrices, or batches of them with as many dimensions.
        after: what follows.
        bias: added to every row of y, when there is one.
        row_bias: added to every column instead.
        residual: added to y.
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
