"""A small GPT that learns to write a play, character by character: ``python -m case_studies.language_model``."""
