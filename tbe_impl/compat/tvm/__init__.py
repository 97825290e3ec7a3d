"""`tvm` and `topi`: the tensor language below the DSL operations, as operators import it.

In: calls of ``tvm`` and ``topi``. Out: DSL stages. Names that nobody wrote here raise an error when they are used.
"""
