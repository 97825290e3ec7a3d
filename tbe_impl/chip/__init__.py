"""Models Ascend chips: memory use, traffic and rule violations of a schedule.

In: a graph, a schedule of the graph, and a chip.
Out: the on-chip memory plan, the tile sizes, errors and warnings, and a report on all of these.
Must not: generate code.
"""
