"""A formula written in NumPy as a graph of the language: the function runs once, on tensors instead of arrays.

>>> import numpy as np
>>> import tbe_impl.dsl as dsl
>>> x, y = dsl.placeholder((4, 8)), dsl.placeholder((8,))
>>> (z,) = dsl.trace(lambda x, y: np.maximum(x + y, 0), x, y)
>>> z.dtype, z.op.word.name
('float32', 'vmaxs')

Shapes are broadcast as NumPy does. dtypes are those of NumPy 2 but for one thing: numbers without axes, NumPy's too, take
the dtype of the tensor beside them, so that ``x * np.sqrt(2)`` stays float32. Whole numbers that are looked up may lie
outside: that gives 0, where NumPy raises.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.operation import check_tensor
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.tracing.arrays import Size, Traced, tensor_of
from tbe_impl.tracing.dtypes import refused


def trace(function: Callable[..., Any], *tensors: Tensor, **attributes: Any) -> tuple[Tensor, ...]:
    """The graph of a formula.

    Args:
        function: takes arrays, and `attributes` by name; gives one array or several, and uses functions of NumPy, operators,
            methods of arrays and elementwise functions of scipy.special on the way.
        tensors: what it gets in the place of arrays.
        attributes: numbers and whatever else it takes.

    Returns:
        Its outputs.

    Raises:
        InputError: the formula does something of which no graph can be made, named with its file and line.
    """
    given = [Traced(check_tensor("trace", tensor)) for tensor in tensors]
    found = function(*given, **attributes)
    outputs = found if isinstance(found, (tuple, list)) else [found]
    if not outputs or not all(_is_array(item) for item in outputs):
        raise refused(
            "the formula gives no array",
            expected="an array or several",
            got=type(found).__name__,
        )
    return tuple(tensor_of(item) for item in outputs)


def _is_array(value: Any) -> bool:
    return isinstance(value, (Traced, Size, np.ndarray, np.generic, int, float))
