"""What runs a graph: NumPy as its definition, compiled code on this processor, and the real toolkit where there is one."""
