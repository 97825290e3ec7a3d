"""Traces formulas written in NumPy and SciPy into DSL graphs.

In: a Python function.
Out: the graph of the DSL operations that the function performs on tensors.
Must not: evaluate the function on values, or write files.
"""

from tbe_impl.tracing import functions as _functions
from tbe_impl.tracing.arrays import TracedArray as _TracedArray

_TracedArray.functions = _functions
