"""Builds kernels from descriptions of tensors for all operators of this directory."""

import math

from tbe import dsl, tvm
from tbe.common.utils import para_check
from te.platform.cce_build import build_config

FLOATS = ("float16", "float32")


def params(inputs, outputs, attributes=()):
    """Returns the arguments of `para_check.check_op_params`.

    Args:
        inputs: number of inputs.
        outputs: number of outputs.
        attributes: type name of each attribute, such as ``float``, or a tuple of type names.
    """
    kinds = [
        tuple(getattr(para_check, f"OPTION_ATTR_{one.upper()}") for one in kind)
        if isinstance(kind, tuple)
        else getattr(para_check, f"OPTION_ATTR_{kind.upper()}")
        for kind in attributes
    ]
    return (
        *[para_check.REQUIRED_INPUT] * inputs,
        *[para_check.REQUIRED_OUTPUT] * outputs,
        *kinds,
        para_check.KERNEL_NAME,
    )


def build(
    compute,
    inputs,
    outputs,
    attributes,
    kernel_name,
    *,
    views=None,
    dtypes=None,
    by_expression=False,
):
    """Builds the kernel of a graph.

    Args:
        compute: function of placeholders, descriptions of the outputs, attributes and the kernel's
            name; makes the graph.
        inputs: name → description, in order.
        outputs: descriptions of the outputs.
        attributes: values of the attributes.
        kernel_name: name of the kernel.
        views: input name → shape of its placeholder, with the same number of elements.
        dtypes: input name → supported dtypes; all other inputs are float16 or float32.
        by_expression: whether a stage has an explicit expression; the default schedule is then
            unmodified.
    """
    data = []
    for name, item in inputs.items():
        dtype = item.get("dtype").lower()
        para_check.check_dtype(dtype, (dtypes or {}).get(name, FLOATS), param_name=name)
        shape = (views or {}).get(name, item.get("shape"))
        data.append(tvm.placeholder(shape, name=f"data_{name}", dtype=dtype))
    made = compute(*data, *outputs, *attributes, kernel_name)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    # an output is no input, even where they are the same
    made = [dsl.vmuls(one, 1.0) if any(one is item for item in data) else one for one in made]
    if by_expression:
        with tvm.target.cce():
            schedule = tvm.create_schedule([tensor.op for tensor in made])
        with build_config:
            tvm.build(schedule, [*data, *made], "cce", name=kernel_name)
        return
    with tvm.target.cce():
        schedule = dsl.auto_schedule(made)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [*data, *made]})


def of_one_rank(**inputs):
    """Returns the shapes of the inputs, left-padded with 1 to the largest rank."""
    rank = max(len(item.get("shape")) for item in inputs.values())
    return {
        name: [1] * (rank - len(item.get("shape"))) + list(item.get("shape"))
        for name, item in inputs.items()
    }


def of_channels(x, data_format):
    """Returns the shape in which a vector of channels broadcasts to x."""
    shape = x.get("shape")
    if len(shape) < 2 or data_format not in ("NCHW", "NHWC"):
        raise RuntimeError(f"x of shape {shape} has no channels in {data_format}")
    channels = 1 if data_format == "NCHW" else len(shape) - 1
    return [size if axis == channels else 1 for axis, size in enumerate(shape)]


def in_pairs(axis, **inputs):
    """Returns shapes of the inputs with the last axis split; the axis of pairs is -1 or -2."""
    views = {}
    for name, shape in of_one_rank(**inputs).items():
        half = shape[-1] // 2
        if shape[-1] % 2:
            raise RuntimeError(
                f"{name} has {shape[-1]} elements in its last axis, which make no pairs"
            )
        views[name] = [*shape[:-1], half, 2] if axis == -1 else [*shape[:-1], 2, half]
    return views


def check_predictions(x, anchors, version):
    """Checks version and number of anchors of a YOLO head.

    Raises:
        RuntimeError: the version is unknown, or the number of anchors is wrong.
    """
    if version not in ("v3", "v5"):
        raise RuntimeError(f"version has to be v3 or v5, but is {version!r}")
    kinds = x.get("shape")[3]
    if 2 * kinds != len(anchors):
        raise RuntimeError(f"{kinds} anchors have 2 sides each, but {len(anchors)} came")


def in_matrices(like, /, **inputs):
    """Returns shapes of the inputs as matrices, as many as `like` has.

    The rows of neighbouring matrices that share a matrix of `like` become consecutive rows.
    """
    count = math.prod(like.get("shape")[:-2])
    lead = [count] if count > 1 else []
    return {
        name: [*lead, math.prod(item.get("shape")[:-1]) // max(count, 1), item.get("shape")[-1]]
        for name, item in inputs.items()
    }
