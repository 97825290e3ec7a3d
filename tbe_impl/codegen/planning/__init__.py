"""Plans loop nests: decides which tensors are stored, which stages share a nest, and loop orders.

In: a DSL graph and options.
Out: the partition into loop nests, with the access analysis that justifies it.
Must not: emit C.
"""
