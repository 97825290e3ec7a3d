"""Computes a scaled embedding lookup and its scatter-add gradient."""

from __future__ import annotations

from typing import Any

import numpy as np

from custom_ops.core.framework import HAS_MINDSPORE, ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import sizes, widen
from custom_ops.core.weighted_cells import WeightedCell, make_parameter
from tbe_impl import dsl
from tbe_impl.errors import InputError


def compute(ids: Any, table: Any, *, scale: float = 1.0) -> Any:
    """Computes table[ids]·scale. For an id out of range, the row is 0."""
    if len(table.shape) != 2:
        raise InputError(
            "TokenEmbedding: the table has a wrong rank",
            place="TokenEmbedding",
            expected="(tokens, size)",
            got=str(tuple(sizes(table))),
        )
    rows = dsl.gather(table, ids, 0)
    if scale == 1.0:
        return rows
    return dsl.cast_to(dsl.vmuls(widen(rows), scale), table.dtype)


def gradient(ids: Any, table: Any, grad: Any, *, scale: float = 1.0) -> Any:
    """Returns the gradient of the table: a scatter-add of grad·scale, in the order of ids."""
    slope = widen(grad) if scale == 1.0 else dsl.vmuls(widen(grad), scale)
    made = dsl.unsorted_segment_sum(slope, ids, sizes(table)[0])
    return dsl.cast_to(made, table.dtype)


def composite(ids: Any, table: Any, scale: float = 1.0) -> Any:
    """Computes this operator with MindSpore's basic operators."""
    return ops.mul(ops.gather(table, ids, 0), scale)


TOKEN_EMBEDDING = OpSpec(
    name="TokenEmbedding",
    inputs=("ids", "table"),
    undifferentiable=frozenset({"ids"}),
    forward=compute,
    backward=gradient,
    saves=("ids", "table"),
    attributes={"scale": 1.0},
    composite=composite,
    formula=lambda ids, table, *, scale=1.0: table[ids] * scale,
    samples=(((4, 9), (12, 33)), ((5,), (10, 64)), ((0,), (10, 4))),
    integers={"ids": ("int32", 10)},
    doc="y = table[ids]·scale",
)


class TokenEmbedding(WeightedCell):
    r"""Token embedding with a scale; replaces `mindspore.nn.Embedding`.

    .. math::
        y = \mathrm{table}[\mathrm{ids}] \cdot s

    The gradient of the table is deterministic, because it is summed in the order of ids.

    Args:
        vocab_size (int): number of tokens.
        embedding_size (int): number of elements of a token's row.
        use_one_hot (bool): accepted for compatibility with `nn.Embedding`, but does not change the
            result. Default: ``False``.
        embedding_table: initial values of the table. Default: ``'normal'``.
        dtype: dtype of the table. Default: ``mindspore.float32``.
        padding_idx (int, optional): index of a row of the table that is initialised to 0. Default:
            ``None``.
        scale (float): factor of the rows. Default: ``1.0``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **ids** (Tensor) - int32 or int64, any shape. An id out of range gives a row of zeros.

    Outputs:
        Tensor of the table's dtype. Its shape is the shape of ids with embedding_size appended.

    Raises:
        InputError: ids are not int32 or int64, the table is not a matrix, or padding_idx is out of
            range.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import TokenEmbedding
        >>> net = TokenEmbedding(2, 2, embedding_table=np.float32([[1, 2], [3, 4]]), scale=2.0)
        >>> net.forward(np.int32([1]))
        array([[6., 8.]], dtype=float32)
    """

    def __init__(
        self,
        vocab_size: int,
        embedding_size: int,
        use_one_hot: bool = False,
        embedding_table: Any = "normal",
        dtype: Any = None,
        padding_idx: int | None = None,
        scale: float = 1.0,
        route: str = "",
    ):
        if padding_idx is not None and not 0 <= padding_idx < vocab_size:
            raise InputError(
                "TokenEmbedding: padding_idx is out of range",
                place="TokenEmbedding",
                expected=f"0 to {vocab_size - 1}",
                got=str(padding_idx),
            )
        shape = (vocab_size, embedding_size)
        table = make_parameter(embedding_table, shape, dtype, "embedding_table")
        if padding_idx is not None:
            table = _zero_row(table, padding_idx)
        super().__init__(
            TOKEN_EMBEDDING, {"scale": float(scale)}, {"embedding_table": table}, route
        )

    @classmethod
    def from_cells(cls, embedding: Any, scale: float = 1.0, route: str = "") -> Any:
        """Builds the Cell from an `nn.Embedding`; both Cells use the same Parameter."""
        table = embedding.embedding_table
        vocab_size, size = table.shape
        return cls(vocab_size, size, embedding_table=table, scale=scale, route=route)

    def construct(self, ids: Any) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        return self.run(ids, self.embedding_table)


def _zero_row(table: Any, row: int) -> Any:
    if not HAS_MINDSPORE:
        table[row] = 0
        return table
    table.init_data()
    values = np.array(table.asnumpy())
    values[row] = 0
    return make_parameter(values, values.shape, table.dtype, table.name)


FUNCTION_SPECS = (
    function_of_spec(
        "token_embedding",
        TOKEN_EMBEDDING,
        """Returns table[ids]·scale; see `custom_ops.TokenEmbedding`.

        Args:
            ids: int32 or int64, any shape; an id out of range gives 0.
            table: (tokens, D).
            scale, route: as in `custom_ops.TokenEmbedding`.

        Returns:
            Tensor of the shape of ids with the axis D appended, and of the table's dtype.

        Raises:
            InputError: ids are not int32 or int64, or the table is not a matrix.
        """,
    ),
)
