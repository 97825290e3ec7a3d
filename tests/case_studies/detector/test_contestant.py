"""Detector processes: detections, memory, and the reported times."""

import numpy as np
import pytest

from case_studies.detector import memory
from case_studies.detector.bounds import bounds
from case_studies.detector.contestant import OURS, REPAIRED, Contestant, Task
from case_studies.detector.design import Design
from case_studies.detector.matching import count_matches
from tests.cases import FULL
from tests.peak_memory import needs_linux

TINY = Design(size=64, width=4, blocks=(1, 1, 1, 1, 1), classes=3)
SAID = """onednn_verbose,v1,primitive,exec,cpu,reorder,jit:uni,undef,src:f32 dst:f32,,,64x32x3x3,0.5
onednn_verbose,v1,primitive,exec,cpu,convolution,brg:avx512,forward,src:f32,attr,alg:direct,\
mb2_ic3oc8_ih9oh5kh3sh2dh0ph1_iw9ow4kw3sw2dw0pw1,1.5
a line of somebody else, 7
"""


@FULL
@pytest.mark.mindspore
def test_ours_finds_what_the_repaired_finds_and_both_answer():
    task = Task(TINY, batch=2, score_threshold=0.0095)
    with Contestant(REPAIRED, task) as repaired, Contestant(OURS, task) as ours:
        before, after = repaired.beginning, ours.beginning
        assert min(repaired.seconds(), ours.seconds()) > 0
    assert len(before.found) == len(after.found) == 2
    for one, other in zip(before.found, after.found, strict=True):
        assert len(one.scores) > 3
        assert count_matches(one, other, overlap=0.98, score=0.002) >= len(one.scores) - 1
    assert before.first_s > 0 < after.compile_s


@needs_linux
def test_the_highest_point_is_seen_and_forgotten():
    memory.begin_again()
    held = memory.held_bytes()
    taken = np.ones(64 * 2**20, np.uint8)
    del taken
    assert 56 * 2**20 < memory.highest_bytes() - held < 96 * 2**20
    memory.begin_again()
    assert memory.highest_bytes() - held < 32 * 2**20


def test_time_is_split_by_what_onednn_says():
    found = bounds(0.005, SAID.splitlines())
    assert found.flops == 2 * 2 * 3 * 8 * 5 * 4 * 3 * 3
    np.testing.assert_allclose(
        (found.convolutions_s, found.layouts_s, found.rest_s), (1.5e-3, 0.5e-3, 3e-3)
    )
    np.testing.assert_allclose(found.gflop_per_s, found.flops / 1.5e-3 / 1e9)
