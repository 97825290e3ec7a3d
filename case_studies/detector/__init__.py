"""A detector like YOLOv3: where its time goes, what is fused, and what that gives. ``python -m case_studies.detector``."""
