"""How far each fused kernel is from float64: run what was compiled, replay it in NumPy, count units in the last place."""
