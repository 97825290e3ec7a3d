"""A small character-level GPT: ``python -m case_studies.language_model``."""
