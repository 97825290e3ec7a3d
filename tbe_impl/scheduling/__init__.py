"""Schedules: an operator's decisions about loops, memories and instructions.

In: the calls that an operator makes on its schedule. Out: frozen records beside the graph. What they mean on a chip is computed in
`chip`, what they mean on this processor in `codegen`.
"""
