"""Models Ascend chips: memory use, traffic and rule violations of a schedule.

In: a graph, a schedule of the graph, and a chip.
Out: the on-chip memory plan, tile sizes, errors and warnings, and a report of them.
Must not: generate code.
"""
