"""A YOLOv3-like detector, profiled, fused and timed: ``python -m case_studies.detector``."""
