"""Characters as integers, and batches that are identical in every process."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

TEXT = Path(__file__).with_name("text.txt")


@cache
def characters() -> str:
    """The alphabet of the text; the index of a character is its code."""
    return "".join(sorted(set(TEXT.read_text("utf-8"))))


@cache
def numbers() -> np.ndarray:
    """The text as int32."""
    place = {character: number for number, character in enumerate(characters())}
    return np.array([place[character] for character in TEXT.read_text("utf-8")], np.int32)


def batch(rows: int, context: int, *, step: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Passages of the text from positions that depend on seed and step.

    Args:
        rows: number of passages.
        context: characters of each passage.

    Returns:
        The input, and the next character at each place; both int32 of shape (rows, context).
    """
    text = numbers()
    first = np.random.default_rng([seed, step]).integers(0, len(text) - context, rows)
    places = first[:, None] + np.arange(context)
    return text[places], text[places + 1]


def text_of(found: np.ndarray) -> str:
    """The characters of those codes.

    >>> text_of(numbers()[:13])
    'First Citizen'
    """
    return "".join(characters()[number] for number in found)
