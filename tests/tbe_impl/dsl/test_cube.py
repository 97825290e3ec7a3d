"""Matrix products, convolutions and windows against explicit loops, plain and in blocks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.dsl import layouts
from tbe_impl.dsl.tensor import library_stage
from tbe_impl.errors import InputError
from tbe_impl.interpreter.evaluate import run
from tests.cases import cases
from tests.tbe_impl.dsl.graphs import compute

WHOLE = np.random.default_rng(3)


def whole(*shape: int) -> np.ndarray:
    """Small integers, whose sums are exact."""
    return WHOLE.integers(-4, 5, shape).astype(np.float32)


def convolution(
    x: np.ndarray,
    w: np.ndarray,
    strides: Sequence[int],
    pads: Sequence[Any],
    dilations: Sequence[int],
    groups: int = 1,
) -> np.ndarray:
    """Output (N, O, spatial…), window by window."""
    inner, kernel = w.shape[1], w.shape[2:]
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    sizes = [(n - r) // s + 1 for n, r, s in zip(padded.shape[2:], reach, strides, strict=True)]
    out = np.zeros((len(x), len(w), *sizes))
    for o, at in itertools.product(range(len(w)), itertools.product(*map(range, sizes))):
        first = o // (len(w) // groups) * inner
        window = tuple(
            slice(i * s, i * s + r, d)
            for i, s, r, d in zip(at, strides, reach, dilations, strict=True)
        )
        patch = padded[(slice(None), slice(first, first + inner), *window)]
        out[(slice(None), o, *at)] = (patch * w[o]).sum(axis=tuple(range(1, x.ndim)))
    return out


CONVOLUTIONS = [
    ((1, 1), ((0, 0), (0, 0)), (1, 1), 1),
    ((2, 3), ((1, 0), (2, 1)), (1, 2), 1),
    ((2, 1), ((1, 1), (1, 1)), (2, 1), 2),
    ((3, 2), ((3, 3), (0, 2)), (1, 1), 4),
]


@cases("strides, pads, dilations, groups", CONVOLUTIONS)
def test_convolution_and_its_gradients(
    strides: Any, pads: Any, dilations: Any, groups: int
) -> None:
    x, w = whole(2, 4, 9, 10), whole(8, 4 // groups, 3, 2)
    flat = [*pads[0], *pads[1]]
    para = {
        "strides": strides,
        "pads": flat,
        "padding": flat,
        "dilations": dilations,
        "group": groups,
        "groups": groups,
        "res_dtype": "float32",
    }
    wanted = convolution(x, w, strides, pads, dilations, groups)
    (y,) = compute(lambda a, b: dsl.conv(a, b, para), x, w)
    np.testing.assert_array_equal(y, wanted)
    # ⟨conv(x, w), dy⟩ = ⟨x, dx⟩ = ⟨w, dw⟩ for every x and every w
    dy = whole(*y.shape)
    (dx,) = compute(lambda a, b: dsl.conv2d_backprop_input(a, b, w.shape, x.shape, para), w, dy)
    (dw,) = compute(lambda a, b: dsl.conv2d_backprop_filter(a, b, w.shape, para), x, dy)
    for _ in range(3):
        other_x, other_w = whole(*x.shape), whole(*w.shape)
        assert (convolution(other_x, w, strides, pads, dilations, groups) * dy).sum() == (
            other_x * dx
        ).sum()
        assert (convolution(x, other_w, strides, pads, dilations, groups) * dy).sum() == (
            other_w * dw
        ).sum()
    bx, bw, bdy = (
        layouts.to_blocked_channels(x),
        layouts.to_fractal_z(w, groups=groups),
        layouts.to_blocked_channels(dy),
    )
    (by,) = compute(lambda a, b: dsl.conv(a, b, {**para, "weight_ori_shape_nchw": w.shape}), bx, bw)
    np.testing.assert_array_equal(layouts.from_blocked_channels(by, 8), y)
    (bdx,) = compute(
        lambda a, b: dsl.conv2d_backprop_input_compute(
            a, b, w.shape, x.shape, strides, flat, dilations, res_dtype="float32", groups=groups
        ),
        bw,
        bdy,
    )
    np.testing.assert_array_equal(layouts.from_blocked_channels(bdx, 4), dx)
    (bdw,) = compute(lambda a, b: dsl.conv2d_backprop_filter(a, b, w.shape, para), bx, bdy)
    assert bdw.shape == bw.shape
    np.testing.assert_array_equal(layouts.from_fractal_z(bdw, w.shape, groups), dw)


@cases("outer, inner, groups", [(1, 1, 20), (16, 16, 2), (2, 3, 5), (20, 5, 1)])
def test_groups_in_fractal_z(outer: int, inner: int, groups: int) -> None:
    w = whole(outer * groups, inner, 2, 3) + 10
    found = layouts.to_fractal_z(w, groups=groups)
    together, packs = layouts.group_packing(outer, inner, groups)
    blocks = -(-inner * together // 16)
    assert (
        found.shape
        == layouts.fractal_z_shape(w.shape, groups)
        == (packs * blocks * 6, -(-outer * together // 16), 16, 16)
    )
    left = found.copy()
    for o, i, y, x in itertools.product(*map(range, w.shape)):
        pack, e = divmod(o // outer, together)
        n, c = e * outer + o % outer, e * inner + i
        place = ((pack * blocks + c // 16) * 2 + y) * 3 + x, n // 16, n % 16, c % 16
        assert found[place] == w[o, i, y, x]
        left[place] = 0
    assert not left.any()
    np.testing.assert_array_equal(layouts.from_fractal_z(found, w.shape, groups), w)


def test_bias_of_a_convolution() -> None:
    x, w, bias = whole(1, 3, 5, 5), whole(4, 3, 2, 2), whole(4)
    (y,) = compute(
        lambda a, b, c: dsl.conv(
            a, b, {"bias_tensor": c, "stride_h": 2, "stride_w": 1, "pad_h": [1, 0]}
        ),
        x,
        w,
        bias,
    )
    wanted = convolution(x, w, (2, 1), ((1, 0), (0, 0)), (1, 1)) + bias.reshape(1, -1, 1, 1)
    np.testing.assert_array_equal(y, wanted)


def test_convolution_of_volumes() -> None:
    x, w = whole(1, 3, 5, 6, 7), whole(4, 3, 2, 3, 2)
    para = {
        "strides": [1, 2, 1],
        "pads": [1, 0, 0, 1, 0, 0],
        "dilations": [1] * 5,
        "res_dtype": "float32",
    }
    wanted = convolution(x, w, (1, 2, 1), ((1, 0), (0, 1), (0, 0)), (1, 1, 1))
    (y,) = compute(lambda a, b: dsl.conv3d(a, b, w.shape, para), x, w)
    np.testing.assert_array_equal(y, wanted)
    bx, bw = np.ascontiguousarray(layouts.to_blocked_channels(x, 16, 2)), layouts.to_fractal_z(w)
    (by,) = compute(lambda a, b: dsl.conv3d(a, b, w.shape, para), bx, bw)
    np.testing.assert_array_equal(layouts.from_blocked_channels(by, 4, 2), wanted)
    dy = whole(*y.shape)
    (dx,) = compute(lambda a, b: dsl.conv3d_backprop_input(a, b, w.shape, x.shape, para), w, dy)
    (dw,) = compute(lambda a, b: dsl.conv3d_backprop_filter(a, b, w.shape, para), x, dy)
    assert (wanted * dy).sum() == (x * dx).sum() == (w * dw).sum()


def group_dict(x: np.ndarray, w: np.ndarray, groups: int) -> dict[str, int]:
    """Arguments of a grouped volume convolution."""
    outer, inner = len(w) // groups, w.shape[1]
    together, packs = layouts.group_packing(outer, inner, groups)
    return {
        "real_g": packs,
        "mag_factor": together,
        "cin1_g": -(-inner * together // 16),
        "cout_g": -(-outer * together // 16) * 16,
        "cin_ori": x.shape[1],
        "cout_ori": len(w),
    }


@cases("groups", [1, 2, 4])
def test_volumes_as_operators_declare_them(groups: int) -> None:
    """Strides and dilations of all axes, sizes N D H W C, a filter N D C H W, groups as packed."""
    x, w = whole(2, 4, 3, 7, 6), whole(8, 4 // groups, 2, 3, 2)
    strides, pads, dilations = (1, 2, 1), ((1, 0), (0, 1), (0, 0)), (1, 1, 2)
    flat = [one for pair in pads for one in pair]
    wanted = convolution(x, w, strides, pads, dilations, groups)
    dy = whole(*wanted.shape)
    plain = {
        "strides": strides,
        "pads": flat,
        "dilations": dilations,
        "groups": groups,
        "res_dtype": "float32",
    }
    (dx,) = compute(lambda a, b: dsl.conv3d_backprop_input(a, b, w.shape, x.shape, plain), w, dy)
    (dw,) = compute(lambda a, b: dsl.conv3d_backprop_filter(a, b, w.shape, plain), x, dy)
    for _ in range(3):
        other_x, other_w = whole(*x.shape), whole(*w.shape)
        assert (convolution(other_x, w, strides, pads, dilations, groups) * dy).sum() == (
            other_x * dx
        ).sum()
        assert (convolution(x, other_w, strides, pads, dilations, groups) * dy).sum() == (
            other_w * dw
        ).sum()
    bx, bdy = (np.ascontiguousarray(layouts.to_blocked_channels(one, 16, 2)) for one in (x, dy))
    bw = layouts.to_fractal_z(w, groups=groups)
    told = {"pads": flat, "res_dtype": "float32", "group_dict": group_dict(x, w, groups)}
    aligned = [16, 16, *w.shape[2:]]
    forward = {**told, "strides": strides, "dilation_dhw": dilations}
    (y,) = compute(lambda a, b: dsl.conv3d(a, b, aligned, forward), bx, bw)
    np.testing.assert_array_equal(layouts.from_blocked_channels(y, 8, 2), wanted)
    n, c, *sizes = x.shape
    back = {**told, "strides": [1, *strides, 1], "dilations": [1, *dilations, 1]}
    (found,) = compute(
        lambda a, b: dsl.conv3d_backprop_input(a, b, w.shape, [n, *sizes, c], back), bw, bdy
    )
    np.testing.assert_array_equal(layouts.from_blocked_channels(found, 4, 2), dx)
    d, h, v = dilations
    back = {**told, "strides": strides, "dilations": [1, d, 1, h, v]}
    size = [w.shape[0], w.shape[2], w.shape[1], *w.shape[3:]]
    (found,) = compute(lambda a, b: dsl.conv3d_backprop_filter(a, b, size, back), bx, bdy)
    np.testing.assert_array_equal(layouts.from_fractal_z(found, w.shape, groups), dw)


def test_depthwise_convolution() -> None:
    x, w = whole(2, 20, 7, 8), whole(20, 1, 3, 3)
    wanted = convolution(x, w, (1, 2), ((1, 1), (0, 1)), (1, 1), 20)
    build: Callable[..., Any] = lambda a, b: dsl.depthwise_conv2d(  # noqa: E731
        a, b, "float32", [1, 2], [1, 1, 0, 1], 1
    )
    np.testing.assert_array_equal(compute(build, x, w)[0], wanted)
    filters = np.zeros((2, 3, 3, 1, 16), np.float32)
    for c in range(20):
        filters[c // 16, :, :, 0, c % 16] = w[c, 0]
    (found,) = compute(build, layouts.to_blocked_channels(x), filters)
    np.testing.assert_array_equal(layouts.from_blocked_channels(found, 20), wanted)


def slopes(
    x: np.ndarray, w: np.ndarray, dy: np.ndarray, strides: Any, pads: Any
) -> list[np.ndarray]:
    """The gradients of a convolution in float64, window by window."""
    x, w, dy = (one.astype(np.float64) for one in (x, w, dy))
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    dx, dw = np.zeros_like(padded), np.zeros_like(w)
    for o, at in itertools.product(range(len(w)), np.ndindex(*dy.shape[2:])):
        steps = zip(at, strides, w.shape[2:], strict=True)
        window = (slice(None), slice(None), *(slice(i * s, i * s + k) for i, s, k in steps))
        share = dy[(slice(None), o, *at)].reshape(-1, *[1] * (x.ndim - 1))
        dx[window] += share * w[o]
        dw[o] += (share * padded[window]).sum(0)
    inner = (slice(b, b + n) for (b, _), n in zip(pads, x.shape[2:], strict=True))
    return [dx[(slice(None), slice(None), *inner)], dw]


@cases(
    "rank, para, strides, pads, dilations",
    [
        (2, {"strides": [1, 2, 3, 1]}, (2, 3), 0, (1, 1)),
        (2, {"strides": [1, 1, 2, 3], "dilations": np.array([1, 2, 1, 1])}, (2, 3), 0, (2, 1)),
        (2, {"strides": [2], "pads": ((1, 0), (2, 1))}, (2, 2), ((1, 0), (2, 1)), (1, 1)),
        (2, {"stride_h": 2, "pad_w": 1, "dilate_w": 2}, (2, 1), ((0, 0), (1, 1)), (1, 2)),
        (2, {"pads": [1, 2]}, (1, 1), ((1, 1), (2, 2)), (1, 1)),
        (3, {"strides": [1, 2, 3, 2, 1]}, (2, 3, 2), 0, (1, 1, 1)),
        (3, {"dilations": [1, 1, 1, 2, 2], "pads": [1]}, (1, 1, 1), ((1, 1),) * 3, (1, 2, 2)),
    ],
)
def test_strides_dilations_and_pads(
    rank: int, para: Any, strides: Any, pads: Any, dilations: Any
) -> None:
    x, w = whole(2, 3, *(7, 8, 6)[:rank]), whole(4, 3, *(2, 3, 2)[:rank])
    wanted = convolution(x, w, strides, pads or ((0, 0),) * rank, dilations)
    build: Any = dsl.conv if rank == 2 else lambda a, b, para: dsl.conv3d(a, b, w.shape, para)
    np.testing.assert_array_equal(compute(lambda a, b: build(a, b, para), x, w)[0], wanted)
    if rank == 2 and "strides" in para:
        depthwise = convolution(x, w[:3, :1], strides, pads or ((0, 0),) * 2, dilations, 3)
        given = ("float32", strides, para.get("pads", 0), dilations)
        build = lambda a, b: dsl.depthwise_conv2d(a, b, *given)  # noqa: E731
        np.testing.assert_array_equal(compute(build, x, w[:3, :1])[0], depthwise)


def test_products_of_int8_are_summed_in_int32() -> None:
    x, w = (
        WHOLE.integers(100, 127, shape).astype(np.int8) for shape in ((1, 4, 5, 5), (4, 4, 3, 3))
    )
    dy = WHOLE.integers(100, 127, (1, 4, 3, 3)).astype(np.int8)
    none, ones = ((0, 0), (0, 0)), (1, 1)
    wide = {"res_dtype": "int32"}
    own, turned = w[:, :1], w.swapaxes(0, 1)
    dx, dw = slopes(x, w, dy, ones, none)
    blocks = layouts.to_blocked_channels(dy, 32), layouts.to_fractal_z(turned, 32)
    exact = x.astype(np.float64)
    for build, arrays, wanted in (
        (lambda a, b: dsl.conv(a, b, wide), (x, w), convolution(exact, w, ones, none, ones)),
        (lambda a, b: dsl.conv2d_backprop_input(a, b, w.shape, x.shape, wide), (w, dy), dx),
        (lambda a, b: dsl.conv2d_backprop_filter(a, b, w.shape, wide), (x, dy), dw),
        (
            lambda a, b: dsl.depthwise_conv2d(a, b, "int32"),
            (x, own),
            convolution(exact, own, ones, none, ones, 4),
        ),
        (lambda a, b: dsl.conv2d_backprop_input(b, a, w.shape, x.shape, wide), blocks, dx),
    ):
        found = compute(build, *arrays)[0]
        found = layouts.from_blocked_channels(found, 4) if found.ndim == 5 else found
        np.testing.assert_array_equal(found, wanted)


@cases(
    "size, kernel, stride, pad",
    [
        ((1, 1), (1, 1), (6, 6), ((5, 0), (5, 0))),
        ((1, 2), (1, 2), (3, 5), ((0, 5), (4, 6))),
        ((3, 1), (2, 1), (4, 7), ((9, 1), (8, 8))),
    ],
)
def test_input_gradient_where_padding_exceeds_the_filter(
    size: Any, kernel: Any, stride: Any, pad: Any
) -> None:
    x, w = whole(2, 3, *size), whole(4, 3, *kernel)
    dy = whole(*convolution(x, w, stride, pad, (1, 1)).shape)
    para = {"strides": stride, "pads": pad, "res_dtype": "float32"}
    (dx,) = compute(lambda a, b: dsl.conv2d_backprop_input(a, b, w.shape, x.shape, para), w, dy)
    np.testing.assert_array_equal(dx, slopes(x, w, dy, stride, pad)[0])


@cases("stated", [True, False])
def test_groups_that_are_packed_alike(stated: bool) -> None:
    """90 channels in 9 and in 15 groups have one packing; the number, or the filter, decides."""
    x, w = whole(1, 90, 1, 4, 4), whole(90, 10, 1, 3, 3)
    packing = {"real_g": 2, "mag_factor": 8, "cin_ori": 90, "cout_ori": 90}
    para = {"group_dict": packing, **({"groups": 9} if stated else {})}
    size = [96, 16, 1, 3, 3] if stated else w.shape
    blocks = layouts.to_blocked_channels(x, axis=2), layouts.to_fractal_z(w, groups=9)
    (found,) = compute(lambda a, b: dsl.conv3d(a, b, size, para), *blocks)
    wanted = convolution(x, w, (1, 1, 1), ((0, 0),) * 3, (1, 1, 1), 9)
    np.testing.assert_array_equal(layouts.from_blocked_channels(found, 90, 2), wanted)


def test_filter_of_four_channels_together() -> None:
    """FRACTAL_Z_C04: rows of height, width and four channels, padded to whole blocks."""
    x, w = whole(1, 3, 6, 6), whole(20, 3, 3, 3)
    rows = np.zeros((48, 32), np.float32)
    for o, c, i, j in np.ndindex(*w.shape):
        rows[(i * 3 + j) * 4 + c, o] = w[o, c, i, j]
    packed = rows.reshape(3, 16, 2, 16).transpose(0, 2, 3, 1).copy()
    build = lambda a, b: dsl.conv(a, b, {"weight_ori_shape_nchw": w.shape})  # noqa: E731
    (found,) = compute(build, layouts.to_blocked_channels(x), packed)
    wanted = convolution(x, w, (1, 1), ((0, 0), (0, 0)), (1, 1))
    np.testing.assert_array_equal(layouts.from_blocked_channels(found, 20), wanted)


def test_bias_of_a_transposed_convolution() -> None:
    x, w, dy, bias = whole(1, 3, 5, 5), whole(4, 3, 2, 2), whole(1, 4, 4, 4), whole(3)
    (found,) = compute(
        lambda a, b, c: dsl.conv2d_backprop_input(
            a, b, w.shape, x.shape, {"tensor_bias": c, "res_dtype": "float32"}
        ),
        w,
        dy,
        bias,
    )
    wanted = slopes(x, w, dy, (1, 1), ((0, 0), (0, 0)))[0] + bias.reshape(1, -1, 1, 1)
    np.testing.assert_array_equal(found, wanted)


def test_a_result_of_another_shape_is_refused() -> None:
    """An operation whose formula gives another shape than its stage declares; no read is out of
    bounds.
    """
    x, w = dsl.placeholder((1, 3, 5, 5)), dsl.placeholder((4, 3, 2, 2))
    use = dsl.conv(x, w, {}).op.dsl_call
    assert use is not None
    (wrong,) = library_stage("wrong", [(1, 4, 9, 9)], ["float32"], use)
    given = {id(x): whole(1, 3, 5, 5), id(w): whole(4, 3, 2, 2)}
    with pytest.raises(InputError, match=r"expected \(1, 4, 9, 9\), got \(1, 4, 4, 4\)"):
        run([wrong], given)
    with pytest.raises(TypeError, match="unexpected keyword argument 'strides'"):
        dsl.conv(x, w, {}, strides=[2, 2])


@cases("turn_a", [False, True])
@cases("turn_b", [False, True])
def test_matrix_products_of_turned_matrices(turn_a: bool, turn_b: bool) -> None:
    a, b = whole(20, 33), whole(33, 17)
    x, y = np.ascontiguousarray(a.T if turn_a else a), np.ascontiguousarray(b.T if turn_b else b)
    (found,) = compute(lambda p, q: dsl.matmul(p, q, turn_a, turn_b, dst_dtype="float32"), x, y)
    np.testing.assert_array_equal(found, a @ b)
    # the flag of a matrix in FRACTAL_NZ is inverted
    (found,) = compute(
        lambda p, q: dsl.matmul(
            p, q, not turn_a, not turn_b, "FRACTAL_NZ", "FRACTAL_NZ", dst_dtype="float32"
        ),
        layouts.to_nz(x),
        layouts.to_nz(y),
    )
    assert found.shape == (2, 2, 16, 16)
    np.testing.assert_array_equal(layouts.from_nz(found)[:20, :17], a @ b)


def test_matrix_products_with_a_bias_and_scalars() -> None:
    a, b = whole(20, 33), whole(33, 17)
    kwargs = {"dst_dtype": "float32"}
    row, c = whole(17), whole(20, 17)
    (found,) = compute(lambda p, q, r: dsl.matmul(p, q, tensor_bias=r, **kwargs), a, b, row)
    np.testing.assert_array_equal(found, a @ b + row)
    # rows are padded to whole blocks
    (found,) = compute(
        lambda p, q, r: dsl.matmul(p, q, tensor_bias=r, **kwargs), a, b, np.pad(row, (0, 15))
    )
    np.testing.assert_array_equal(found, a @ b + row)
    two, three = np.array([2], np.float32), np.array([3], np.float32)
    wanted = 2 * (a @ b) + 3 * c
    (found,) = compute(
        lambda p, q, m, s, t: dsl.gemm(p, q, s, t, dst_dtype="float32", tensor_bias=m),
        a,
        b,
        c,
        two,
        three,
    )
    np.testing.assert_array_equal(found, wanted)
    (found,) = compute(
        lambda p, q, m: dsl.gemm(p, q, {"alpha": 2, "beta": 3, "tensor_c": m, **kwargs}), a, b, c
    )
    np.testing.assert_array_equal(found, wanted)
    (found,) = compute(lambda p, q: dsl.gemm(p, q, para_dict=kwargs), a, b)
    np.testing.assert_array_equal(found, a @ b)


def test_batches_of_matrix_products() -> None:
    a, b = whole(3, 1, 4, 5), whole(2, 5, 6)
    (found,) = compute(lambda p, q: dsl.batch_matmul(p, q, dst_dtype="float32"), a, b)
    np.testing.assert_array_equal(found, a @ b)
    (found,) = compute(
        lambda p, q: dsl.batch_matmul(
            p, q, True, True, "FRACTAL_NZ", "FRACTAL_NZ", dst_dtype="float32"
        ),
        layouts.to_nz(a),
        layouts.to_nz(b),
    )
    np.testing.assert_array_equal(layouts.from_nz(found)[..., :4, :6], a @ b)
    eights = (whole(4, 5).astype(np.int8) * 30, whole(5, 6).astype(np.int8) * 30)
    (found,) = compute(lambda p, q: dsl.matmul(p, q, dst_dtype="int32"), *eights)
    np.testing.assert_array_equal(found, eights[0].astype(int) @ eights[1].astype(int))


def test_layouts_come_back() -> None:
    matrix, image, filters = whole(3, 20, 33), whole(2, 20, 3, 4), whole(20, 18, 2, 3)
    np.testing.assert_array_equal(layouts.from_nz(layouts.to_nz(matrix))[:, :20, :33], matrix)
    np.testing.assert_array_equal(
        layouts.from_blocked_channels(layouts.to_blocked_channels(image), 20), image
    )
    np.testing.assert_array_equal(
        layouts.from_fractal_z(layouts.to_fractal_z(filters), filters.shape), filters
    )
    assert layouts.to_nz(matrix)[1, 2, 1, 3, 0] == matrix[1, 19, 32]
    assert layouts.to_fractal_z(filters)[1 * 6 + 5, 1, 3, 1] == filters[19, 17, 1, 2]


def pooled(
    x: np.ndarray,
    kind: str,
    window: Any,
    stride: Any,
    pads: Any,
    dilation: Any,
    sizes: Any,
    *,
    with_padding: bool,
) -> np.ndarray:
    """Each window separately; positions outside the image are ignored, or 0 within the padding."""
    out = np.zeros((*x.shape[:2], *sizes))
    for i, j in itertools.product(*map(range, sizes)):
        taken, count = [], 0
        for a, b in itertools.product(range(window[0]), range(window[1])):
            row = i * stride[0] - pads[0][0] + a * dilation[0]
            column = j * stride[1] - pads[1][0] + b * dilation[1]
            if 0 <= row < x.shape[2] and 0 <= column < x.shape[3]:
                taken.append(x[:, :, row, column])
                count += 1
            elif row < x.shape[2] + pads[0][1] and column < x.shape[3] + pads[1][1]:
                count += with_padding
        out[:, :, i, j] = np.max(taken, 0) if kind == "MAX" else np.sum(taken, 0) / count
    return out


@cases("kind", ["MAX", "AVG"])
@cases("dilation", [(1, 1), (2, 2)], ids=str)
def test_pooling_of_whole_windows(kind: str, dilation: tuple[int, int]) -> None:
    x = whole(2, 3, 9, 11)
    none = ((0, 0), (0, 0))
    reach = [2 * dilation[0] + 1, dilation[1] + 1]
    sizes = [(9 - reach[0]) // 2 + 1, (11 - reach[1]) // 3 + 1]
    (found,) = compute(
        lambda t: dsl.pooling2d(t, [3, 2], [2, 3], kind, "VALID", dilation=dilation), x
    )
    np.testing.assert_allclose(
        found, pooled(x, kind, (3, 2), (2, 3), none, dilation, sizes, with_padding=False), rtol=1e-6
    )


@cases("kind", ["MAX", "AVG"])
def test_pooling_with_padding(kind: str, subtests: pytest.Subtests) -> None:
    x = whole(2, 3, 9, 11)
    (found,) = compute(lambda t: dsl.pooling2d(t, [3, 3], [2, 2], kind), x)
    same = ((1, 1), (1, 1))
    np.testing.assert_allclose(
        found, pooled(x, kind, (3, 3), (2, 2), same, (1, 1), (5, 6), with_padding=False), rtol=1e-6
    )
    wide = ((1, 2), (2, 1))
    for ceil_mode in (0, 1):
        with subtests.test(kind, ceil_mode=ceil_mode):
            (found,) = compute(
                lambda t, c=ceil_mode: dsl.pooling2d(
                    t, [3, 3], [3, 3], kind, pad=(1, 2, 2, 1), data_mode=0, ceil_mode=c
                ),
                x,
            )
            sizes = tuple(
                -(-(n + sum(p) - 3) // 3) + 1 if ceil_mode == 0 else (n + sum(p) - 3) // 3 + 1
                for n, p in zip((9, 11), wide, strict=True)
            )
            np.testing.assert_allclose(
                found,
                pooled(x, kind, (3, 3), (3, 3), wide, (1, 1), sizes, with_padding=True),
                rtol=1e-6,
            )


def test_pooling_of_everything() -> None:
    x = whole(2, 3, 9, 11)
    (found,) = compute(lambda t: dsl.pooling2d(t, [1, 1], [1, 1], "GAP"), x)
    np.testing.assert_allclose(found, x.mean((2, 3), keepdims=True), rtol=1e-6, atol=1e-6)
    blocked = layouts.to_blocked_channels(x)
    (found,) = compute(lambda t: dsl.pooling2d(t, [2, 2], [2, 2], "GMP"), blocked)
    np.testing.assert_array_equal(
        layouts.from_blocked_channels(found, 3), x.max((2, 3), keepdims=True)
    )


def test_reduce_window_on_other_axes() -> None:
    x = whole(2, 9, 11, 3)
    (found,) = compute(
        lambda t: dsl.reduce_window(
            t, "MAX", [1, 2], [3, 3], [2, 2], [1, 1], "CALCULATED", [[1, 1], [1, 1]], "FLOOR"
        ),
        x,
    )
    wanted = pooled(
        x.transpose(0, 3, 1, 2),
        "MAX",
        (3, 3),
        (2, 2),
        ((1, 1), (1, 1)),
        (1, 1),
        (5, 6),
        with_padding=False,
    )
    np.testing.assert_array_equal(found, wanted.transpose(0, 2, 3, 1))
    (found,) = compute(lambda t: dsl.reduce_window(t, "SUM", [0], [2], [1]), x)
    np.testing.assert_array_equal(found, x[:1] + x[1:])


def test_pooling_of_volumes() -> None:
    x = whole(2, 3, 4, 6, 5)
    (found,) = compute(lambda t: dsl.pooling3d(t, [2, 3, 1], [2, 3, 2], "VALID"), x)
    wanted = x.reshape(2, 3, 2, 2, 2, 3, 5)[..., ::2].max((3, 5))
    np.testing.assert_array_equal(found, wanted)
    blocked = np.ascontiguousarray(layouts.to_blocked_channels(x, 16, 2))
    (found,) = compute(lambda t: dsl.pooling3d(t, [2, 3, 1], [2, 3, 2], "VALID"), blocked)
    np.testing.assert_array_equal(layouts.from_blocked_channels(found, 3, 2), wanted)


def test_dilation() -> None:
    x = whole(2, 3)
    wanted = np.full((1 + 3 + 1, 5 + 2), 7.0)
    wanted[1:4:2, 0:5:2] = x
    (found,) = compute(lambda t: dsl.dilation(t, [2, 2], [[1, 1], [0, 2]], 7.0), x)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(compute(lambda t: dsl.dilation(t, (1, 3)), x)[0][:, ::3], x)
    wanted = np.full((1 + 2 + 1, 3 + 1), 7.0)
    wanted[1:3, 1:] = x
    (found,) = compute(lambda t: dsl.dilation(t, [1, 1], [[1, 1], [1, 0]], 7.0), x)
    np.testing.assert_array_equal(found, wanted)


@cases("kind", ["MAX", "MIN"])
def test_where_the_chosen_element_of_a_window_lay(kind: str) -> None:
    x = WHOLE.integers(-2, 3, (2, 6, 7, 3)).astype(np.float32)
    x[0, 2, 3, 1] = np.nan
    (values, places) = compute(
        lambda t: dsl.reduce_window(
            t, kind, [1, 2], [3, 2], [2, 3], [1, 2], "CALCULATED", [[1, 0], [1, 1]], "CEIL", True
        ),
        x,
    )
    assert places.dtype == np.int32 and values.shape == places.shape == (2, 3, 3, 3)
    for n, i, j, c in np.ndindex(*values.shape):
        inside = [
            (y, z)
            for y, z in itertools.product(range(2 * i - 1, 2 * i + 2), (3 * j - 1, 3 * j + 1))
            if 0 <= y < 6 and 0 <= z < 7
        ]
        window = np.array([x[n, y, z, c] for y, z in inside])
        first = int((np.argmax if kind == "MAX" else np.argmin)(window))  # the first NaN, too
        y, z = inside[first]
        assert places[n, i, j, c] == 7 * y + z
        np.testing.assert_equal(values[n, i, j, c], window[first])


def test_sums_of_windows_have_no_place() -> None:
    with pytest.raises(InputError, match="MAX or MIN"):
        dsl.reduce_window(dsl.placeholder((4, 4)), "SUM", [0], [2], [1], return_argmax=True)
