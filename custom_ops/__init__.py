"""Fused operators as MindSpore users call them: Cells and primitives, forward and backward."""
