"""User-defined operators: from TBE computes, NumPy formulas and Cells.

Covers hand-written and derived gradients, and refusals.
"""

import numpy as np
import pytest

import custom_ops
from custom_ops import formula, get, register_operator, tbe
from tbe_impl import dsl
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.modes import set_mode


@register_operator("FusedAddReLUOfTest", inputs=("x", "y"), outputs=("z",))
class FusedAddReLU:
    """z = max(x + y, 0) · factor"""

    @tbe
    def forward(x, y, *, factor=1.0):
        return dsl.vmuls(dsl.vrelu(dsl.vadd(x, y)), factor)

    def backward(ctx, grad):
        both = dsl.vmuls(dsl.vcmpsel(ctx.z, 0.0, "gt", grad, 0.0), ctx.factor)
        return both, both


@register_operator("SoftClip")
class SoftClip:
    """A formula with an attribute; its gradient is derived."""

    @formula
    def forward(x, *, limit):
        return limit * np.tanh(x / limit)


@register_operator("RowScore", outputs=("score", "scaled"))
class RowScore:
    """A formula with several outputs and a reduction."""

    @formula
    def forward(self, x, w):
        score = np.sum(x * w, axis=-1, keepdims=True)
        return score, x * score


@register_operator("OldStyle")
class OldStyle:
    """Written like the toolkit's own operators."""

    @tbe
    def forward(self, x, y):
        import te.lang.cce as cce

        return cce.vadd(cce.vexp(x), y)


def arrays(*shapes, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.standard_normal(shape).astype(dtype) for shape in shapes]


def slopes(function, given, grads, step=1e-6):
    """Gradients by finite differences."""
    found = []
    for place in range(len(given)):
        slope = np.zeros_like(given[place])
        for at in np.ndindex(slope.shape):
            for sign in (1, -1):
                changed = [array.copy() for array in given]
                changed[place][at] += sign * step
                made = function(*changed)
                made = made if isinstance(made, tuple) else (made,)
                slope[at] += sign * sum(
                    np.sum(one * grad) for one, grad in zip(made, grads, strict=True)
                )
        found.append(slope / (2 * step))
    return found


CASES = {
    "FusedAddReLUOfTest": ({"factor": 0.5}, [(3, 4), (3, 4)]),
    "SoftClip": ({"limit": 1.5}, [(3, 4)]),
    "RowScore": ({}, [(3, 4), (3, 4)]),
    "OldStyle": ({}, [(3, 4), (3, 4)]),
}


@pytest.mark.usefixtures("compiled_in_full")
@cases("name", CASES)
def test_gradients_written_or_derived(name):
    attributes, shapes = CASES[name]
    op = get(name)(**attributes)
    given = arrays(*shapes)
    made = op.forward(*given)
    made = made if isinstance(made, tuple) else (made,)
    grads = arrays(*(one.shape for one in made), seed=1)
    found = op.backward(grads[0] if len(grads) == 1 else tuple(grads), *given)
    found = found if isinstance(found, tuple) else (found,)
    for got, want in zip(found, slopes(op.forward, given, grads), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_registered_operators_compute_their_formulas():
    x, y = arrays((3, 4), (3, 4), dtype=np.float32)
    assert np.allclose(get("SoftClip")(limit=2.0).forward(x), 2 * np.tanh(x / 2), atol=1e-6)
    assert np.allclose(get("OldStyle")().forward(x, y), np.exp(x) + y, atol=1e-6)
    assert FusedAddReLU is get("FusedAddReLUOfTest")
    assert FusedAddReLU.__doc__ == "z = max(x + y, 0) · factor"


@pytest.mark.mindspore
@cases("mode", [pytest.param("graph", marks=FULL), "pynative"])
def test_inside_mindspore(mode):
    ms = pytest.importorskip("mindspore")
    set_mode(mode)
    x, w = arrays((3, 4), (3, 4), dtype=np.float32)
    clip, score = SoftClip(limit=1.5), RowScore()
    got = ms.grad(clip)(ms.Tensor(x)).asnumpy()
    assert np.allclose(got, 1 - np.tanh(x / 1.5) ** 2, atol=1e-5)
    one, other = score(ms.Tensor(x), ms.Tensor(w))
    total = np.sum(x * w, -1, keepdims=True)
    assert np.allclose(one.asnumpy(), total, atol=1e-5)
    assert np.allclose(other.asnumpy(), x * total, atol=1e-5)


@pytest.mark.mindspore
def test_a_cell_is_a_composite():
    ms = pytest.importorskip("mindspore")

    @register_operator("TanhTimes")
    class TanhTimes:
        class forward(ms.nn.Cell):
            def construct(self, x, y):
                return ms.ops.tanh(x) * y

    op = TanhTimes()
    x, y = arrays((3, 4), (3, 4), dtype=np.float32)
    assert op.route == "composite"
    assert np.allclose(op(ms.Tensor(x), ms.Tensor(y)).asnumpy(), np.tanh(x) * y, atol=1e-6)
    with pytest.raises(InputError, match="TanhTimes has no kernel of its own"):
        op.forward(x, y)


def test_invalid_registrations_and_calls_are_refused():
    with pytest.raises(InputError, match=r"it is not said what Unmarked\.forward is written in"):

        @register_operator("Unmarked")
        class Unmarked:
            def forward(x):
                return x

    with pytest.raises(InputError, match="Empty has no forward"):
        register_operator("Empty")(type("Empty", (), {}))
    with pytest.raises(InputError, match=r"names of inputs do not fit forward; expected 1 \(x\)"):

        @register_operator("TooMany", inputs=("a", "b"))
        class TooMany:
            @formula
            def forward(x):
                return x

    with pytest.raises(InputError, match="the name SoftClip is taken"):

        @register_operator("SoftClip")
        class Another:
            @formula
            def forward(x):
                return x

    with pytest.raises(InputError, match="SoftClip needs limit"):
        SoftClip()
    with pytest.raises(InputError, match="backward of RowScore was called before forward"):
        RowScore().backward((np.zeros((3, 1)), np.zeros((3, 4))))
    with pytest.raises(InputError, match="no operator of that name"):
        get("Nowhere")
    with pytest.raises(InputError, match=r"RowScore got a wrong number of arrays"):
        RowScore().forward(np.zeros((3, 4)))


def test_a_gradient_that_cannot_be_derived_says_so():
    @register_operator("Ordered")
    class Ordered:
        @tbe
        def forward(x):
            return dsl.ext.cumprod(x, 1)

    op = Ordered()
    given = np.ones((2, 4))
    with pytest.raises(InputError, match="differentiated"):
        op.backward(given, given)


def test_every_public_name_can_be_fetched():
    for name in custom_ops.__all__:
        assert getattr(custom_ops, name) is not None
