"""What each Ascend chip has, and what a schedule means there.

In: a graph, its schedule, a chip. Out: on-chip memory plan, tile sizes, findings and their report. It generates no code.
"""
