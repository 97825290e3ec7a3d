"""Back ends: what runs a graph of stages."""
