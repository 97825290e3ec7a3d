"""Primitives with TBE functions: several tensors, attributes, formats, and refusals."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import custom_ops  # noqa: F401  (with it `import te` finds our modules)
from tests.cases import cases

ms = pytest.importorskip("mindspore")
import te.lang.cce as cce  # noqa: E402
from mindspore import nn, ops  # noqa: E402
from mindspore.ops import (  # noqa: E402
    DataType,
    PrimitiveWithInfer,
    TBERegOp,
    op_info_register,
    prim_attr_register,
)
from tbe import dsl  # noqa: E402
from te import tvm  # noqa: E402
from topi import generic  # noqa: E402

X = np.linspace(-3, 3, 8).reshape(2, 4).astype("float32")
x, one_more = ms.Tensor(X), ms.Tensor(X + 1)


def registered(
    name: str,
    kernel: str,
    inputs: tuple[str, ...] = ("x",),
    outputs: tuple[str, ...] = ("y",),
    attributes: tuple[str, ...] = (),
    kind: Any = DataType.F32_Default,
) -> Callable[..., Any]:
    info = TBERegOp(name).fusion_type("OPAQUE").kernel_name(kernel)
    for one in attributes:
        info = info.attr(one, "required", "float", "all")
    for place, one in enumerate(inputs):
        info = info.input(place, one, False, "required", "all")
    for place, one in enumerate(outputs):
        info = info.output(place, one, False, "required", "all")
    info = info.dtype_format(*[kind] * (len(inputs) + len(outputs)))
    decorator: Callable[..., Any] = op_info_register(info.get_op_info())
    return decorator


def build(name: str, inputs: list[Any], outputs: list[Any]) -> None:
    with tvm.target.cce():
        schedule = generic.auto_schedule(outputs)
    cce.cce_build_code(schedule, {"name": name, "tensor_list": [*inputs, *outputs]})


def placed(described: dict[str, Any], name: str) -> Any:
    return tvm.placeholder(described["shape"], name=name, dtype=described["dtype"])


@registered("SumAndGap", "sum_and_gap", ("a", "b"), ("s", "d"), ("factor",))
def sum_and_gap(a, b, s, d, scale, kernel_name="sum_and_gap"):  # type: ignore[no-untyped-def]
    """Its attribute differs from the registered name, so the position decides."""
    p, q = placed(a, "p"), placed(b, "q")
    build(kernel_name, [p, q], [cce.vmuls(cce.vadd(p, q), scale), cce.vsub(p, q)])


class SumAndGap(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self, factor):  # type: ignore[no-untyped-def]
        self.init_prim_io_names(inputs=["a", "b"], outputs=["s", "d"])

    def infer_shape(self, a, b):  # type: ignore[no-untyped-def]
        return a, b

    def infer_dtype(self, a, b):  # type: ignore[no-untyped-def]
        return a, b


class Product(nn.Cell):
    def __init__(self, call: Any):
        super().__init__()
        self.call = call

    def construct(self, a, b):  # type: ignore[no-untyped-def]
        s, d = self.call(a, b)
        return s * d


class Single(nn.Cell):
    def __init__(self, call: Any):
        super().__init__()
        self.call = call

    def construct(self, x):  # type: ignore[no-untyped-def]
        return self.call(x)


class Unary(PrimitiveWithInfer):
    @prim_attr_register
    def __init__(self):  # type: ignore[no-untyped-def]
        self.init_prim_io_names(inputs=["x"], outputs=["y"])


def unary(name: str, **members: Any) -> Any:
    return type(name, (Unary,), members)()


@registered("Sorted", "sorted_impl")
def sorted_impl(x, y, kernel_name="sorted_impl"):  # type: ignore[no-untyped-def]
    p = placed(x, "p")
    build(kernel_name, [p], [dsl.sort(p)])


@registered("Blocked", "blocked_impl", kind=DataType.F32_5HD)
def blocked_impl(x, y, kernel_name="blocked_impl"):  # type: ignore[no-untyped-def]
    raise AssertionError


@registered("OtherShape", "exponential")
def exponential(x, y, kernel_name="exponential"):  # type: ignore[no-untyped-def]
    p = placed(x, "p")
    build(kernel_name, [p], [cce.vexp(p)])


@registered("Lacking", "needs_gamma")
def needs_gamma(x, y, gamma, kernel_name="needs_gamma"):  # type: ignore[no-untyped-def]
    raise AssertionError


@registered("Nameless", "nobody")
def somebody(x, y, kernel_name="nobody"):  # type: ignore[no-untyped-def]
    raise AssertionError


@cases("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_several_inputs_and_outputs(mode: int) -> None:
    ms.set_context(mode=mode)
    net, y = Product(SumAndGap(3.0)), X + 1
    assert np.allclose(net(x, one_more).asnumpy(), 3 * (X + y) * (X - y), rtol=1e-5)
    slopes = ms.grad(net, (0, 1))(x, one_more)
    assert np.allclose(slopes[0].asnumpy(), 6 * X, atol=1e-5)
    assert np.allclose(slopes[1].asnumpy(), -6 * y, atol=1e-5)


def test_shape_and_dtype_follow_from_the_function() -> None:
    """A primitive that infers neither."""
    ms.set_context(mode=ms.PYNATIVE_MODE)
    assert np.array_equal(unary("Sorted")(x).asnumpy(), np.sort(X))


def test_an_attribute_may_change_and_copies_are_equal() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    call = SumAndGap(1.0)
    assert np.allclose(call(x, x)[0].asnumpy(), 2 * X)
    call.add_prim_attr("factor", 2.0)
    assert np.allclose(call(x, x)[0].asnumpy(), 4 * X)
    assert np.allclose(
        copy.deepcopy(Product(SumAndGap(3.0)))(x, one_more).asnumpy(), -3 * (2 * X + 1), atol=1e-5
    )


def test_primitives_of_mindspore_are_left_alone() -> None:
    assert not hasattr(ops.ReLU(), "__setattr_flag__") and not hasattr(
        ops.Cast(), "__setattr_flag__"
    )
    assert ops.ReLU().check_elim(x) == (False, None)


@cases("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
@cases(
    "name, members, words",
    [
        (
            "Nameless",
            {},
            ("the TBE function of Nameless is not there", "expected a function nobody"),
        ),
        (
            "OtherShape",
            {"infer_shape": lambda self, x: (3,)},
            ("infer_shape and the TBE function disagree on y", "got (2, 4)"),
        ),
        ("Lacking", {}, ("the TBE function needs gamma", "self.add_prim_attr('gamma', …)")),
        ("Blocked", {}, ("registered for blocked formats alone", "NC1HWC0")),
    ],
)
def test_what_does_not_fit_is_named(
    name: str, members: dict[str, Any], words: tuple[str, ...], mode: int
) -> None:
    ms.set_context(mode=mode)
    with pytest.raises(Exception, match=r"test_primitive\.py") as caught:
        Single(unary(name, **members))(x)
    assert all(one in str(caught.value) for one in words), caught.value


@cases("mode", [ms.GRAPH_MODE, ms.PYNATIVE_MODE])
def test_no_gradient_is_one_error(mode: int) -> None:
    ms.set_context(mode=mode)
    call = unary("Sorted")

    def net(x: Any) -> Any:
        return call(x)

    with pytest.raises(Exception, match=r"sort cannot be differentiated\. Write `get_bprop"):
        ms.grad(net)(x)


def test_what_is_no_tensor_says_where_attributes_go() -> None:
    ms.set_context(mode=ms.PYNATIVE_MODE)
    call = ops.Custom(exponential, lambda x: x, lambda x: x, func_type="tbe")
    with pytest.raises(Exception, match="defaults of the TBE function"):
        call(2.0)
