"""Models Ascend chips: memory use, traffic and rule violations of a schedule.

In: a graph, its schedule, a chip.
Out: on-chip memory plan, tile sizes, findings and their report.
Must not: generate code.
"""
