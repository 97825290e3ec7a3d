"""Functions that operators of this directory share, made of CANN's operations, in float32."""

import math

import numpy as np
from tbe import dsl, tvm
from tbe.common.utils import shape_util

LOWEST = -3.4e38
TWICE = 2.0 * math.sqrt(2.0 / math.pi)
CUBIC = 0.044715


def sizes(tensor):
    """The shape as a list of integers."""
    return shape_util.shape_to_list(tensor.shape)


def wide(tensor):
    """The tensor in float32."""
    return dsl.cast_to(tensor, "float32")


def spread(tensor, other):
    """The tensor repeated to the shape of another."""
    return dsl.broadcast(tensor, sizes(other))


def together(*tensors):
    """All in float32, repeated to one shape; they have the same number of axes."""
    shape = [max(each) if 0 not in each else 0 for each in zip(*map(sizes, tensors), strict=True)]
    return [dsl.broadcast(wide(tensor), shape) for tensor in tensors]


def summed(made, tensor):
    """A gradient in the shape of a tensor that was repeated, in its dtype."""
    axes = [
        axis
        for axis, (own, whole) in enumerate(zip(sizes(tensor), sizes(made), strict=True))
        if own != whole
    ]
    return dsl.cast_to(total(made, axes), tensor.dtype)


def total(tensor, axes, keepdims=True):
    """The sum over axes; over none it is the tensor."""
    return dsl.reduce_sum(tensor, axis=list(axes), keepdims=keepdims) if axes else tensor


def mean(tensor, axes):
    """The mean over axes, which stay with size 1."""
    share = 1.0
    for axis in axes:
        share = share / max(sizes(tensor)[axis], 1)
    return dsl.vmuls(total(tensor, axes), share)


def less_from_one(x):
    """1 − x."""
    return dsl.vadds(dsl.vmuls(x, -1.0), 1.0)


def limited(x, bound):
    """x between −bound and bound."""
    return dsl.vmaxs(dsl.vmins(x, bound), -bound)


def sigmoid(x):
    """1 / (1 + e^(−x))."""
    return dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0))


def swish(x, beta=1.0):
    """x·σ(beta·x)."""
    return dsl.vmul(x, sigmoid(dsl.vmuls(x, beta)))


def swish_slope(x, beta=1.0):
    """σ(z)·(1 + z·(1 − σ(z))), z = beta·x."""
    z = limited(dsl.vmuls(x, beta), 80.0)
    gate = sigmoid(z)
    return dsl.vmul(gate, dsl.vadds(dsl.vmul(z, less_from_one(gate)), 1.0))


def probability(x):
    """Φ(x), by a polynomial (Abramowitz and Stegun 7.1.26) within 1e-7."""
    size = dsl.vmuls(dsl.vabs(x), math.sqrt(0.5))
    t = dsl.vrec(dsl.vadds(dsl.vmuls(size, 0.3275911), 1.0))
    found = dsl.vadds(dsl.vmuls(t, 1.061405429), -1.453152027)
    for coefficient in (1.421413741, -0.284496736, 0.254829592):
        found = dsl.vadds(dsl.vmul(found, t), coefficient)
    power = dsl.vexp(dsl.vmuls(dsl.vmul(size, size), -1.0))
    tail = dsl.vmuls(dsl.vmul(dsl.vmul(found, t), power), 0.5)
    return dsl.vcmpsel(x, 0.0, "lt", tail, less_from_one(tail))


def gelu(x, approximate):
    """x·Φ(x), or x·σ(2√(2/π)·(x + 0.044715·x³)), which is the formula with tanh."""
    if approximate:
        return dsl.vmul(x, sigmoid(_argument(x, dsl.vmul(x, x))))
    return dsl.vmul(x, probability(x))


def gelu_slope(x, approximate):
    """The derivative of `gelu`; 1 and 0 at its ends."""
    x = limited(x, 10.0)
    square = dsl.vmul(x, x)
    if approximate:
        gate = sigmoid(_argument(x, square))
        inner = dsl.vmul(x, dsl.vadds(dsl.vmuls(square, 3.0 * CUBIC * TWICE), TWICE))
        return dsl.vmul(gate, dsl.vadds(dsl.vmul(inner, less_from_one(gate)), 1.0))
    density = dsl.vmuls(dsl.vexp(dsl.vmuls(square, -0.5)), 1.0 / math.sqrt(2.0 * math.pi))
    return dsl.vadd(probability(x), dsl.vmul(x, density))


def _argument(x, square):
    return dsl.vmul(x, dsl.vadds(dsl.vmuls(square, CUBIC * TWICE), TWICE))


def activated(x, activation, alpha=0.2):
    """Applies ``relu``, ``leaky_relu``, ``silu``, ``gelu``, ``gelu_tanh``, or no activation."""
    if not activation:
        return x
    if activation == "relu":
        return dsl.vmaxs(x, 0.0)
    if activation == "leaky_relu":
        return dsl.vcmpsel(x, 0.0, "gt", x, dsl.vmuls(x, alpha))
    if activation == "silu":
        return swish(x)
    if activation in ("gelu", "gelu_tanh"):
        return gelu(x, activation == "gelu_tanh")
    raise RuntimeError(f"activation {activation!r} is not known")


def activated_slope(x, activation, alpha=0.2):
    """Returns the derivative of an activation after a normalisation."""
    if activation == "relu":
        return dsl.vcmpsel(x, 0.0, "gt", 1.0, 0.0)
    if activation == "leaky_relu":
        return dsl.vcmpsel(x, 0.0, "gt", 1.0, alpha)
    if activation == "silu":
        return swish_slope(x)
    raise RuntimeError(f"activation {activation!r} is not known")


def softmax(x):
    """e^(x − max x) / Σ e^(x − max x) over the last axis; 0 where all of it is −inf."""
    largest = dsl.vmaxs(
        dsl.reduce_max(x, axis=-1, keepdims=True, impl_mode="high_precision"), LOWEST
    )
    power = dsl.vexp(dsl.vsub(x, spread(largest, x)))
    # the largest one adds 1, so that a smaller sum is that of a row without anything
    share = dsl.vrec(dsl.vmaxs(dsl.reduce_sum(power, axis=-1, keepdims=True), 0.5))
    return dsl.vmul(power, spread(share, x))


def softmax_slope(y, grad):
    """y·(grad − Σ y·grad): the gradient of the input of softmax."""
    share = dsl.reduce_sum(dsl.vmul(y, grad), axis=-1, keepdims=True)
    return dsl.vmul(y, dsl.vsub(grad, spread(share, y)))


def normalised(x, axes, epsilon):
    """(x − mean)·rstd, mean and rstd over axes."""
    middle = mean(x, axes)
    distance = dsl.vsub(x, spread(middle, x))
    rstd = dsl.vrsqrt(dsl.vadds(mean(dsl.vmul(distance, distance), axes), epsilon))
    return dsl.vmul(distance, spread(rstd, x)), middle, rstd


def normalised_slope(normal, rstd, scaled, axes):
    """The gradient of x from that of the normalised one: (g − mean g − n·mean(g·n))·rstd."""
    first = spread(mean(scaled, axes), normal)
    second = spread(mean(dsl.vmul(scaled, normal), axes), normal)
    rest = dsl.vsub(dsl.vsub(scaled, first), dsl.vmul(normal, second))
    return dsl.vmul(rest, spread(rstd, normal))


def axes_from(x, first):
    """The axes from one on."""
    return list(range(shape_util.axis_check(len(x.shape), first), len(x.shape)))


def axes_to(x, first):
    """The axes before one."""
    return list(range(shape_util.axis_check(len(x.shape), first)))


def axes_beside(x, gamma):
    """The axes of x that gamma has, the last ones, and those before."""
    lead = len(x.shape) - len(gamma.shape)
    return list(range(lead, len(x.shape))), list(range(lead))


def axes_of_batch(x, data_format):
    """All axes but that of the channels."""
    channels = 1 if data_format == "NCHW" else len(x.shape) - 1
    return [axis for axis in range(len(x.shape)) if axis != channels]


def count(tensor, axes):
    """How many elements there are over axes, at least 1."""
    return max(math.prod(sizes(tensor)[axis] for axis in axes), 1)


def narrow(tensors, dtype):
    """All in another dtype."""
    return [dsl.cast_to(tensor, dtype) for tensor in tensors]


def halves(x):
    """Both halves of the last axis."""
    size = sizes(x)[-1]
    if size % 2:
        raise RuntimeError(f"the last axis has {size} elements, which have no halves")
    _, found = dsl.split(x, len(x.shape) - 1, [size // 2, size // 2])
    return found


def by_root_mean_square(x, gamma, epsilon):
    """x·rstd·gamma, and rstd = 1 / √(mean x² + epsilon) over the axes of gamma."""
    axes, _ = axes_beside(x, gamma)
    rstd = dsl.vrsqrt(dsl.vadds(mean(dsl.vmul(x, x), axes), epsilon))
    return dsl.vmul(dsl.vmul(x, spread(rstd, x)), spread(wide(gamma), x)), rstd


def scaled(x, middle, rstd, gamma, beta):
    """(x − middle)·rstd·gamma + beta, as a factor and an offset of each channel."""
    factor = dsl.vmul(rstd, wide(gamma))
    offset = dsl.vsub(wide(beta), dsl.vmul(middle, factor))
    return dsl.vadd(dsl.vmul(wide(x), spread(factor, x)), spread(offset, x))


def before_activation(x, middle, rstd, gamma, beta, grad, activation, alpha):
    """Returns the normalised x and the gradient of the activation's input."""
    normal = dsl.vmul(dsl.vsub(wide(x), spread(middle, x)), spread(rstd, x))
    grad = wide(grad)
    if activation:
        given = dsl.vmul(normal, spread(wide(gamma), x))
        given = dsl.vadd(given, spread(wide(beta), x))
        grad = dsl.vmul(grad, activated_slope(given, activation, alpha))
    return normal, grad


def log_of_sum(x):
    """ln Σ e^x over axis 1, which stays with size 1."""
    largest = dsl.reduce_max(x, axis=1, keepdims=True, impl_mode="high_precision")
    power = dsl.vexp(dsl.vsub(x, spread(largest, x)))
    return dsl.vadd(largest, dsl.vlog(dsl.reduce_sum(power, axis=1, keepdims=True)))


def smoothed(target, label_smoothing):
    """(1 − label_smoothing)·target + label_smoothing / classes, which are axis 1."""
    if not label_smoothing:
        return target
    return dsl.vadds(dsl.vmuls(target, 1.0 - label_smoothing), label_smoothing / sizes(target)[1])


def one_hot(labels, shape):
    """1 where axis 1 of a shape is the label, else 0; labels have size 1 there."""
    return tvm.compute(
        shape,
        lambda *i: tvm.select(
            labels(i[0], 0, *i[2:]) == i[1],
            tvm.const(1.0, "float32"),
            tvm.const(0.0, "float32"),
        ),
        name="one_hot",
    )


def counted(labels, ignore_index):
    """1 for each label that counts, else 0."""
    return tvm.compute(
        labels.shape,
        lambda *i: tvm.select(
            labels(*i) == ignore_index, tvm.const(0.0, "float32"), tvm.const(1.0, "float32")
        ),
        name="counted",
    )


def partner(x, layout, sign):
    """Maps each pair (a, b) to (−sign·b, sign·a); the axis of pairs is -1 or -2."""
    axis = len(x.shape) - (1 if layout == "interleaved" else 2)
    _, (first, second) = dsl.split(x, axis, [1, 1])
    return dsl.concat([dsl.vmuls(second, -sign), dsl.vmuls(first, sign)], axis)


def area(left, top, right, bottom):
    """Returns the area of a box."""
    return dsl.vmul(span(left, right), span(top, bottom))


def common_spans(four, other):
    """Returns width and height of the common area of two boxes."""
    low = [dsl.vmax(four[k], other[k]) for k in (0, 1)]
    high = [dsl.vmin(four[k + 2], other[k + 2]) for k in (0, 1)]
    return [span(low[k], high[k]) for k in (0, 1)]


def overlap(four, other):
    """Returns the common area divided by the union; 0 where the union is empty."""
    common = dsl.vmul(*common_spans(four, other))
    union = dsl.vsub(dsl.vadd(area(*four), area(*other)), common)
    return dsl.vdiv(common, dsl.vcmpsel(union, 0.0, "eq", 1.0, union))


def below(bar):
    """Returns the largest float32 that is at most the number.

    A float32 above it is also above the number.
    """
    found = np.float32(bar)
    return float(found if found <= bar else np.nextafter(found, np.float32(-math.inf)))


def two(number):
    """Height and width of one number, or of two."""
    return [number, number] if isinstance(number, int) else list(number)


def pads(size, reach, stride, padding, side):
    """Returns the padding before and after an axis; `side` is 0 for height and 1 for width."""
    if padding == "same" or (not isinstance(padding, (int, str)) and padding[0] < 0):
        whole = max((-(-size // stride) - 1) * stride + reach - size, 0)
        return [whole // 2, whole - whole // 2]
    if padding == "valid":
        return [0, 0]
    return [padding] * 2 if isinstance(padding, int) else list(padding[2 * side :][:2])


def around_image(places, filter_shape, strides, padding, dilations):
    """Returns the padding above, below, left and right of an image of this height and width."""
    return [
        pads(size, (kernel - 1) * apart + 1, step, padding, side)
        for side, (size, kernel, apart, step) in enumerate(
            zip(places, filter_shape[2:], dilations, strides, strict=True)
        )
    ]


def backwards(places, filter_shape, stride, padding, dilation, groups):
    """Returns the arguments of the gradients of a convolution of an image of this size."""
    strides, dilations = two(stride), two(dilation)
    rows, columns = around_image(places, filter_shape, strides, padding, dilations)
    return {
        "strides": strides,
        "padding": [*rows, *columns],
        "dilations": [1, 1, *dilations],
        "groups": groups,
        "res_dtype": "float32",
    }


def convolution(x, weight, bias, filter_shape, stride, padding, dilation, groups):
    """conv(x, weight) + bias; `filter_shape` is the shape of weight before its cube layout."""
    strides, dilations = two(stride), two(dilation)
    around = around_image(sizes(x)[2:4], filter_shape, strides, padding, dilations)
    given = {
        "stride_h": strides[0],
        "stride_w": strides[1],
        "pad_h": around[0],
        "pad_w": around[1],
        "dilate_h": dilations[0],
        "dilate_w": dilations[1],
        "filter_h": filter_shape[2],
        "filter_w": filter_shape[3],
        "weight_ori_shape_nchw": list(filter_shape),
        "group": groups,
        "res_dtype": x.dtype,
    }
    if bias is not None:
        given["bias_tensor"] = bias
    return dsl.conv(x, weight, given)


def held(tensor, float16_inside):
    """Returns the tensor in float32, rounded to float16 if `float16_inside` is set."""
    return wide(dsl.cast_to(tensor, "float16")) if float16_inside else tensor


def sides(shape, anchors):
    """Returns width and height of each prediction's anchor.

    Anchors are axis 3. `anchors` lists width and height of each anchor in turn.
    """

    def side(*i):
        found = tvm.const(0.0, "float32")
        for kind in range(len(anchors) // 2):
            own = [tvm.const(float(one), "float32") for one in anchors[2 * kind : 2 * kind + 2]]
            found = tvm.select(i[3] == kind, tvm.select(i[4] == 0, *own), found)
        return found

    return tvm.compute(shape, side, name="sides")


def sigmoid_slope(share):
    """The derivative of a sigmoid from its result."""
    return dsl.vmul(share, less_from_one(share))


def where_above(x, y, kept):
    """Returns kept where x > y, else 0."""
    return dsl.vcmpsel(x, y, "gt", kept, 0.0)


def every_pair(boxes, others):
    """Returns the four sides of `boxes` and of `others`, broadcast to all pairs."""
    shape = [sizes(boxes)[0], sizes(others)[0]]
    _, own = dsl.split(wide(boxes), 1, [1] * 4)
    _, their = dsl.split(dsl.transpose(wide(others), [1, 0]), 0, [1] * 4)
    return [[dsl.broadcast(side, shape) for side in four] for four in (own, their)]


def span(low, high):
    """high − low, or 0 where that is negative."""
    return dsl.vmaxs(dsl.vsub(high, low), 0.0)


def left_by_dropout(x, kept, p):
    """x·kept / (1 − p); x where p is 0."""
    return dsl.vmuls(dsl.vmul(x, wide(kept)), 1.0 / (1.0 - p)) if p else x


MASKS = ("bool", "int8", "float16", "float32")
"""Dtypes of a mask. A bool or int8 mask excludes places with 1; another mask is added."""


def masked_scores(scores, mask, places):
    """Returns masked scores: −∞ where excluded, or the sum with an additive mask.

    Causality excludes places where the key comes after the query.
    """
    if mask is not None and mask.dtype in MASKS[:2]:
        marked = dsl.broadcast(dsl.cast_to(mask, "float16"), sizes(scores))
        scores = dsl.vcmpsel(wide(marked), 0.5, "gt", -math.inf, scores)
    elif mask is not None:
        scores = dsl.vadd(scores, spread(wide(mask), scores))
    if places is not None:
        key, query = (spread(one, scores) for one in places)
        scores = dsl.vcmpsel(key, query, "gt", -math.inf, scores)
    return scores
