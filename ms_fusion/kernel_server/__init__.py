"""What MindSpore calls to build its fused kernels: a composite kernel in JSON becomes a graph of the language, then C."""
