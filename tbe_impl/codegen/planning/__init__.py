"""Plans loop nests: which tensors are stored, which stages share a nest, how loops are ordered.

In: a DSL graph and options.
Out: the partition into loop nests, and the access analysis that justifies this partition.
Must not: emit C.
"""
