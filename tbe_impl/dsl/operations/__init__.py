"""The operations of the DSL by family, each with its NumPy formula.

In: tensors and attributes.
Out: stages.
Must not: depend on a chip or a back end.
"""
