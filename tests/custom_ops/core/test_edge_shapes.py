"""Every operator at extreme shapes.

The results are right forward and backward, or an error states the reason.
"""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.core.test_operator_specs import run
from tests.custom_ops.edge_cases import (
    OTHER_DTYPES,
    SIZES,
    Edge,
    check,
    check_error,
    check_other_dtype,
    edges_of,
)
from tests.custom_ops.modes import MODES, set_mode
from tests.custom_ops.spec_cases import SPECS, arrays_of

CASES = [pytest.param(spec, id=name) for name, spec in SPECS.items() if spec.has_kernel]


@pytest.mark.usefixtures("compiled_in_full")
@cases(
    "spec",
    [
        pytest.param(*one.values, id=one.id, marks=[] if one.id in ("RMSNorm", "SwiGLU") else FULL)
        for one in CASES
    ],
    per_item=20,
)
def test_operators_are_right_at_extreme_shapes(spec):
    """A fixed sample; `make stress` covers more."""
    edges = edges_of(spec)
    rng = np.random.default_rng(zlib.crc32(spec.name.encode()))
    taken = 0
    for number in rng.permutation(len(edges))[:12]:
        taken += check(edges[number])
        if taken == 2:
            return
    assert taken, "every shape was refused"


@pytest.mark.usefixtures("compiled_in_full")
@cases(
    "name, shapes",
    [
        pytest.param("MulSigmoid", ((4, 8), ()), marks=FULL),
        ("SwiGLU", ((), (4, 8))),
        pytest.param("GeGLU", ((6,), ()), marks=FULL),
        ("BiasDropoutAdd", ((4, 8), (8,), (), (1,))),
    ],
)
def test_a_number_beside_others_has_the_gradient_of_a_number(name, shapes):
    assert check(Edge(SPECS[name], shapes, "float32"))


def test_shapes_are_those_that_are_said():
    edges = edges_of(SPECS["LayerNorm"])
    assert {edge.dtype for edge in edges} == set(SPECS["LayerNorm"].dtypes)
    assert {(6, size) for size in SIZES} <= {edge.shapes[0] for edge in edges}
    assert max(len(edge.shapes[0]) for edge in edges) == 8


@pytest.mark.usefixtures("compiled_in_full")
@cases("spec", CASES, quick=7)
def test_other_dtypes(spec):
    """One input has another floating dtype, a fixed sample; `make stress` tries each of them."""
    number = zlib.crc32(spec.name.encode())
    for place, name in enumerate(spec.inputs):
        for i, dtype in enumerate(OTHER_DTYPES):
            if dtype not in spec.dtypes or number % (2 * len(spec.inputs)) == 2 * place + i % 2:
                taken = check_other_dtype(spec, place, dtype)
                assert not taken or dtype in spec.dtypes_of(name)


@cases("spec", CASES)
def test_what_is_no_array_of_numbers(spec, subtests):
    arrays = arrays_of(spec, spec.samples[0], "float32")
    for wrong in (None, "text", arrays[0].astype(">f8"), arrays[0].astype(np.longdouble)):
        with subtests.test(wrong=wrong):
            with pytest.raises(InputError) as caught:
                run(spec, spec.with_defaults({}), wrong, *arrays[1:])
            check_error(caught.value, spec)


@cases("spec", CASES)
def test_another_number_of_arrays(spec, subtests):
    arrays = arrays_of(spec, spec.samples[0], "float32")
    for given in (arrays[:-1], [*arrays, arrays[0]]):
        with subtests.test(count=len(given)):
            with pytest.raises(InputError) as caught:
                run(spec, spec.with_defaults({}), *given)
            check_error(caught.value, spec)


@pytest.mark.mindspore
@cases(
    "spec, mode",
    [
        pytest.param(
            *one.values,
            mode,
            id=f"{one.id}-{mode}",
            marks=FULL if mode == "graph" and number != 2 else [],
        )
        for number, one in enumerate(CASES)
        for mode in MODES
    ],
)
def test_errors_come_when_the_graph_is_built(spec, mode):
    ms = pytest.importorskip("mindspore")
    from custom_ops.core.cell import FusedCell

    set_mode(mode)
    place = next(i for i, name in enumerate(spec.inputs) if name not in spec.integers)
    arrays = arrays_of(spec, spec.samples[0], "float32")
    arrays[place] = arrays[place].astype(np.int32)
    cell = FusedCell(spec, {})
    with pytest.raises(InputError) as caught:
        if mode == "graph":
            cell.compile(*map(ms.Tensor, arrays))
        else:
            cell(*map(ms.Tensor, arrays))
    check_error(caught.value, spec)
    if mode == "graph":
        # after an error MindSpore may also refuse the next graph with weights; a graph without
        # weights clears the error
        arrays[place] = arrays[place].astype(np.float32)
        cell.compile(*map(ms.Tensor, arrays))
