"""Workloads by name: operators on 16M elements, networks, case studies; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.measuring import is_quick
from benchmarks.network_inputs import input_of
from benchmarks.operators import OPERATORS
from case_studies.detector.design import SMALL as SMALL_DETECTOR
from case_studies.detector.design import YOLO_V3, Design
from case_studies.language_model.sizes import SIZES, Size
from case_studies.language_model.stages import LAYER, MODEL, arrays

LARGE = (16384, 1024)
"""Shape of an operator's largest input."""
DETECTOR = "YOLOv3"
LANGUAGE: Mapping[str, str] = {"transformer layer": LAYER, "language model": MODEL}
"""Language model workloads: name here → name in the case study."""
COMPARED = 4096
"""Elements of a result that are compared."""


@dataclass(frozen=True)
class Operator:
    """An operator of `benchmarks.operators` and its dtype."""

    name: str
    dtype: str

    @classmethod
    def parse(cls, workload: str) -> Operator:
        """Parses ``swish`` or ``swish float16``."""
        name, _, dtype = workload.partition(" ")
        return cls(name, dtype or "float32")

    @property
    def shape(self) -> tuple[int, int]:
        """Shape of the largest input."""
        return LARGE

    @property
    def inputs(self) -> list[np.ndarray]:
        """Input arrays."""
        return OPERATORS[self.name].inputs(self.shape, self.dtype)

    @property
    def large_inputs(self) -> int:
        """Number of inputs as large as the result."""
        return sum(shape == self.shape for shape in OPERATORS[self.name].shapes(self.shape))


def is_operator(workload: str) -> bool:
    """Whether the workload is an operator, not a network."""
    return workload.partition(" ")[0] in OPERATORS


def is_smaller(workload: str) -> bool:
    """Whether the workload is smaller than that of a full run."""
    return is_quick() and (workload == DETECTOR or LANGUAGE.get(workload) == MODEL)


def design() -> Design:
    """Design of the detector."""
    return SMALL_DETECTOR if is_quick() else YOLO_V3


def size_of(workload: str) -> Size:
    """Size of the language model, or of one layer."""
    return SIZES["layer" if LANGUAGE[workload] == LAYER else "quick" if is_quick() else "full"]


def inputs_of(workload: str) -> list[np.ndarray]:
    """Inputs, identical for all contestants."""
    if workload in LANGUAGE:
        return list(arrays(LANGUAGE[workload], size_of(workload), step=0))
    if workload == DETECTOR:
        return [
            np.random.default_rng(2).standard_normal(
                (1, 3, design().size, design().size), np.float32
            )
        ]
    return Operator.parse(workload).inputs if is_operator(workload) else [input_of(workload)]


def expected_of(workload: str) -> np.ndarray | None:
    """The first elements of an operator's result by its formula in float64; None for a network."""
    if not is_operator(workload):
        return None
    operator = Operator.parse(workload)
    rows = COMPARED // operator.shape[1]
    wide = [
        one[:rows].astype(np.float64) if one.shape == operator.shape else one.astype(np.float64)
        for one in operator.inputs
    ]
    return np.asarray(OPERATORS[operator.name].formula(*wide)[0]).reshape(-1)


def compared_part(made: np.ndarray) -> Sequence[float]:
    """The part of a result that is compared."""
    return made.reshape(-1)[:COMPARED].astype(np.float64).tolist()
