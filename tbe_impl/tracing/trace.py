"""Traces a NumPy formula into a DSL graph: runs the function once, on tensors instead of arrays.

>>> import numpy as np
>>> import tbe_impl.dsl as dsl
>>> x, y = dsl.placeholder((4, 8)), dsl.placeholder((8,))
>>> (z,) = dsl.trace(lambda x, y: np.maximum(x + y, 0), x, y)
>>> z.dtype, z.op.dsl_call.name
('float32', 'vmaxs')

Shapes broadcast as in NumPy. dtypes follow NumPy 2 with one exception: a 0-d NumPy value adopts
the dtype of the tensor operand, as a Python scalar does. So ``x * np.sqrt(2)`` stays float32.
If an element of an index array is out of range, the traced formula reads 0, where NumPy raises an
error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tbe_impl.dsl.operation import check_tensor
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.tracing.arrays import Size, TracedArray, tensor_of
from tbe_impl.tracing.dtypes import trace_error


def trace(function: Callable[..., Any], *tensors: Tensor, **attributes: Any) -> tuple[Tensor, ...]:
    """Traces a formula into a DSL graph.

    Args:
        function: the formula. Its positional parameters are arrays, its keyword parameters are
            `attributes`, and its result is one array or several. The formula may use NumPy
            functions, operators, array methods and elementwise functions of scipy.special.
        tensors: the tensors that are passed in place of arrays.
        attributes: further arguments of the formula, such as numbers.

    Returns:
        The output tensors of the formula.

    Raises:
        InputError: the formula contains code that cannot be traced; the message has the file and
            line of the code.
    """
    given = [TracedArray(check_tensor("trace", tensor)) for tensor in tensors]
    found = function(*given, **attributes)
    outputs = found if isinstance(found, (tuple, list)) else [found]
    if not outputs or not all(_is_array(item) for item in outputs):
        raise trace_error(
            "the formula gives no array",
            expected="an array or several",
            got=type(found).__name__,
        )
    return tuple(tensor_of(item) for item in outputs)


def _is_array(value: Any) -> bool:
    return isinstance(value, (TracedArray, Size, np.ndarray, np.generic, int, float))
