"""Images to detections: network, decoding and suppression as one net."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from mindspore import nn

from case_studies.detector.decode import Decoding
from case_studies.detector.design import Design
from case_studies.detector.matching import Found
from case_studies.detector.suppression import suppression


class Detection(nn.Cell):
    """Images to detections.

    Args:
        net: the detector.
        design: its design.
        fused: decoding and suppression by our operators; `mf.enable` fuses the network's operators
            in either case.
        thresholds: arguments of `suppression`.
    """

    def __init__(self, net: nn.Cell, design: Design, *, fused: bool, **thresholds: Any):
        super().__init__(auto_prefix=False)
        self.net, self.decoding = net, Decoding(design, fused=fused)
        self.suppression = suppression(size=design.size, fused=fused, **thresholds)
        self.set_train(False)

    def construct(self, x: Any) -> Any:
        """(images, 3, size, size) to boxes, scores, classes, places and counts, as in `NMS`."""
        fine, middle, coarse = self.net(x)
        boxes, scores = self.decoding(fine, middle, coarse)
        return self.suppression(boxes, scores)


def collect_detections(results: Sequence[Any]) -> list[Found]:
    """The detections of each image from the outputs of `Detection`."""
    boxes, scores, classes, _, counts = (one.asnumpy() for one in results)
    return [
        Found(boxes[image, :count], scores[image, :count], classes[image, :count].astype(np.int32))
        for image, count in enumerate(counts.astype(int))
    ]
