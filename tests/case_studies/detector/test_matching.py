"""Matching of detections with their partners."""

import numpy as np

from case_studies.detector.matching import Found, count_matches


def test_partners_are_of_one_class_and_one_each():
    boxes = np.float32([[0, 0, 10, 10], [0, 0, 10, 9], [20, 20, 30, 30]])
    one = Found(boxes, np.float32([0.9, 0.8, 0.7]), np.int32([0, 0, 1]))
    assert count_matches(one, one, overlap=0.99, score=1e-6) == 3
    assert count_matches(one, one._replace(classes=np.int32([0, 0, 2])), overlap=0.99) == 2
    assert count_matches(one, Found(boxes[:1], one.scores[:1], one.classes[:1]), overlap=0.5) == 1
    further = one._replace(scores=one.scores + np.float32(0.1))
    assert count_matches(one, further, overlap=0.95, score=0.05) == 0
    assert count_matches(one, Found(boxes[:0], one.scores[:0], one.classes[:0]), overlap=0.5) == 0
