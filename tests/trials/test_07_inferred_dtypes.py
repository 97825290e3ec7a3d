"""``infer_dtype`` and ``infer_shape`` of an operator class set dtype, shape, and errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from custom_ops import formula, register_operator, tbe
from custom_ops.core.framework import HAS_MINDSPORE, nn
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.custom_ops.modes import MODES, set_mode
from tests.tbe_impl.tolerances import assert_close


def product(x: Any, y: Any) -> Any:
    """x·y + x, where a narrow dtype would round twice."""
    return x * y + x


def made_of(name: str, **members: Any) -> Any:
    """The Cell of a class with these members."""
    return register_operator(name)(type(name, (), {"forward": formula(product), **members}))


RNG = np.random.default_rng(7)
X, Y = RNG.standard_normal((2, 8, 12))


@cases(
    "given, said, result",
    [
        ("float32", "float16", "float16"),
        ("float16", "float32", "float32"),
        ("float16", ("float32",), "float32"),
        ("float32", np.float64, "float64"),
        ("float16", np.dtype("float16"), "float16"),
        ("float32", "int32", "int32"),
        ("float32", "bool", "bool"),
        ("int32", "float32", "float32"),
    ],
)
def test_the_inferred_dtype_is_that_of_the_result(given: str, said: Any, result: str) -> None:
    """A computation in a wider dtype has that dtype's accuracy, not that of the inputs."""
    x, y = (X * 8).astype(given), (Y * 8).astype(given)
    cell = made_of("InferredDtype" + given + str(said), infer_dtype=lambda *_: said)
    found = cell().forward(x, y)
    exact = product(x.astype("float64"), y.astype("float64"))
    assert found.dtype == result
    if result in ("int32", "bool"):
        assert np.array_equal(found, exact.astype(result))
    else:
        assert_close(found, exact, result)


def test_dtypes_are_inferred_from_dtypes_and_attributes() -> None:
    seen = []

    def infer(x: str, y: str, *, kind: str) -> str:
        seen.append((x, y))
        return kind

    def forward(x: Any, y: Any, *, kind: str = "float32") -> Any:
        return x + y

    made = made_of("InferredByAttribute", forward=formula(forward), infer_dtype=infer)
    x, y = X.astype("float32"), Y.astype("float32")
    assert made(kind="float16").forward(x, y).dtype == np.float16
    assert made(kind="float64").forward(x, y).dtype == np.float64
    assert set(seen) == {("float32", "float32")}


def test_several_results_have_dtypes_of_their_own() -> None:
    @register_operator("InferredTwo", outputs=("total", "is_positive"))
    class InferredTwo:
        """The sum, and where it is positive."""

        @tbe
        def forward(x: Any, y: Any) -> Any:
            import te.lang.cce as cce

            total = cce.vadd(x, y)
            return total, cce.vcmpsel(total, 0.0, "gt", 1.0, 0.0)

        @staticmethod
        def infer_dtype(x: str, y: str) -> tuple[str, str]:
            return "float32", "int8"

        def infer_shape(self, x: Any, y: Any) -> Any:
            return [x, y]

    x, y = X.astype("float16"), Y.astype("float16")
    total, is_positive = InferredTwo().forward(x, y)
    assert (total.dtype, is_positive.dtype) == (np.float32, np.int8)
    assert_close(total, x.astype("float64") + y, "float32")
    assert np.array_equal(is_positive, total > 0)


@cases("has_backward", [False, True])
@cases("given, result", [("float32", "float16"), ("float16", "float32")])
def test_gradients_have_the_dtypes_of_the_inputs(
    given: str, result: str, has_backward: bool
) -> None:
    def backward(ctx: Any, grad: Any) -> Any:
        return grad * (ctx.y + 1), grad * ctx.x

    more = {"backward": formula(backward)} if has_backward else {}
    cell = made_of(f"InferredGradient{given}{has_backward}", infer_dtype=lambda *_: result, **more)
    x, y = X.astype(given), Y.astype(given)
    op = cell()
    grad = np.ones(op.forward(x, y).shape, result)
    slopes = op.backward(grad)
    for slope, exact in zip(slopes, (y.astype("float64") + 1, x), strict=True):
        assert slope.dtype == given
        assert_close(slope, exact, "float16")


def refuse(*given: Any) -> Any:
    """Conditions of a class on its inputs."""
    raise ValueError("only for even sizes")


@cases(
    "member, function, message",
    [
        (
            "infer_dtype",
            refuse,
            r"infer_dtype refuses these inputs: only for even sizes; got float32, float32",
        ),
        (
            "infer_shape",
            refuse,
            r"infer_shape refuses these inputs: only for even sizes; got \(8, 12\), \(8, 12\)",
        ),
        (
            "infer_dtype",
            lambda *_: "float33",
            "infer_dtype does not return a dtype; expected float16, .* got 'float33'",
        ),
        (
            "infer_dtype",
            lambda *_: ("float16",) * 2,
            r"infer_dtype returns a wrong number of results; expected 1 \(out\), got 2",
        ),
        (
            "infer_shape",
            lambda *_: "rows",
            "infer_shape does not return a shape; expected a tuple of whole numbers",
        ),
        (
            "infer_shape",
            lambda x, y: (x[1], x[0]),
            r"infer_shape and forward disagree on out; expected \(12, 8\).* got \(8, 12\)",
        ),
    ],
)
def test_what_is_inferred_wrongly_reaches_the_user(
    member: str, function: Callable[..., Any], message: str
) -> None:
    cell = made_of(f"Refusing{member}{message[:30]}", **{member: function})
    x, y = X.astype("float32"), Y.astype("float32")
    with pytest.raises(InputError, match=message) as error:
        cell().forward(x, y)
    if function is refuse:
        assert isinstance(error.value.__cause__, ValueError)


def test_sizes_are_refused_after_many_others_came() -> None:
    """A dynamic kernel serves every size by then."""

    def even(x: Any, y: Any) -> Any:
        if x[0] % 2:
            raise InputError("odd rows", got=str(x[0]))
        return x

    op = made_of("EvenRows", infer_shape=even)()
    for rows in (2, 4, 6, 8, 10):
        x = np.ones((rows, 16), "float32")
        assert np.array_equal(op.forward(x, x), x + x)
    with pytest.raises(InputError, match="odd rows; got 7"):
        op.forward(np.ones((7, 16), "float32"), np.ones((7, 16), "float32"))


@pytest.mark.skipif(not HAS_MINDSPORE, reason="MindSpore is not installed")
def test_mindspore_sees_the_inferred_dtype(request: pytest.FixtureRequest) -> None:
    import mindspore as ms

    request.addfinalizer(lambda: set_mode("pynative"))
    op = made_of(
        "InferredInMindSpore", infer_dtype=lambda *_: "float16", infer_shape=lambda x, y: x
    )()
    x, y = ms.Tensor(X.astype("float32")), ms.Tensor(Y.astype("float32"))
    refusing = made_of("RefusingInMindSpore", infer_dtype=refuse)()
    for mode in MODES:
        set_mode(mode)
        found = op(x, y)
        assert found.dtype == ms.float16
        assert_close(found.asnumpy(), product(X, Y), "float16")
        with pytest.raises(InputError, match="only for even sizes"):
            refusing(x, y)


@pytest.mark.skipif(not HAS_MINDSPORE, reason="MindSpore is not installed")
def test_a_cell_beside_inferred_dtypes_is_refused() -> None:
    class Doubled(nn.Cell):  # type: ignore[misc]
        """2·x"""

        def construct(self, x: Any) -> Any:
            return x + x

    with pytest.raises(InputError, match="infer_dtype would not be used"):
        register_operator("CellWithDtype")(
            type("CellWithDtype", (), {"forward": Doubled, "infer_dtype": lambda x: x})
        )
