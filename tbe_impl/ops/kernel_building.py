"""Helpers of the operators in this folder: checks, placeholders and schedules.

As in CANN, an operator file imports this helper module by the bare name ``kernel_building``. For an
invalid dtype, shape or axis, `para_check` or `shape_util` raises an OperatorError.
"""

from tbe import dsl, tvm
from tbe.common.utils import para_check, shape_util


def check_inputs(inputs, dtypes, equal=("dtype",), **ranks):
    """Checks the descriptions of the inputs and returns the dtype of the first input.

    Args:
        inputs: dict from the name of each input to the tensor description. Only the dtype of the
            first input is checked against `dtypes`.
        dtypes: the supported dtypes.
        equal: keys under which all descriptions must have the same value.
        ranks: `min_rank` and `max_rank`, the permitted ranks of every input.
    """
    for name, described in inputs.items():
        para_check.check_shape(described.get("shape"), param_name=name, **ranks)
    (name, first), *others = inputs.items()
    dtype = first.get("dtype").lower()
    para_check.check_dtype(dtype, dtypes, param_name=name)
    for _, described in others:
        for key in equal:
            shape_util.compare_tensor_dict_key(first, described, key)
    return dtype


def broadcast_together(*tensors):
    """Broadcasts the tensors to their common shape and returns the results."""
    shape = shape_util.unify_broadcast_shapes([tensor.shape for tensor in tensors])[-1]
    return [dsl.broadcast(tensor, shape) for tensor in tensors]


def compare(x1, x2, operator):
    """Broadcasts two tensors and compares them; the int8 result is 1 for true and 0 for false.

    `operator` is one of ``eq``, ``ne``, ``lt``, ``le``, ``gt``, ``ge``.
    """
    x1, x2 = broadcast_together(x1, x2)
    one, zero = (dsl.broadcast(tvm.const(value, "float16"), x1.shape) for value in (1, 0))
    return dsl.cast_to(dsl.vsel(dsl.vcmp(x1, x2, operator), one, zero), "int8")


def build_kernel(kernel_name, inputs, results):
    """Schedules `results` (a tensor or a list of tensors), and builds the kernel."""
    with tvm.target.cce():
        schedule = dsl.auto_schedule(results)
    listed = results if isinstance(results, (list, tuple)) else [results]
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [*inputs, *listed]})


def build_static(kernel_name, inputs, dtypes, compute, equal=("dtype",), flatten=False, **ranks):
    """Builds a kernel for known shapes; the shapes of the inputs are padded to the same rank.

    Args:
        kernel_name: name of the kernel.
        inputs, dtypes, equal, ranks: see `check_inputs`.
        compute: function that takes the input tensors, and returns the result or a list of results.
        flatten: whether each input is flattened to one axis; the inputs then have equal shapes.
    """
    dtype = check_inputs(inputs, dtypes, equal, **ranks)
    shapes = [item.get("shape") for item in inputs.values()]
    padded = shape_util.unify_broadcast_shapes(shapes)
    if flatten:
        padded = [(shape_util.get_shape_size(shape),) for shape in shapes]
    data = make_placeholders(inputs, padded, dtype)
    build_kernel(kernel_name, data, compute(*data))


def make_placeholders(names, shapes, dtype):
    """Returns a placeholder ``data_NAME`` for each of `names`; surplus shapes are ignored."""
    return [
        tvm.placeholder(shape, name=f"data_{name}", dtype=dtype)
        for name, shape in zip(names, shapes, strict=False)
    ]


def make_flat_placeholders(inputs, dtypes, scalars=()):
    """Returns a placeholder with one axis for each input.

    Args:
        inputs: dict from the name of each input to the tensor description. All placeholders have
            the dtype of the first input.
        dtypes: the supported dtypes.
        scalars: names of the inputs with one element. All other inputs have as many elements as the
            first input.
    """
    (name, first), *_ = inputs.items()
    dtype = first.get("dtype").lower()
    para_check.check_dtype(dtype, dtypes, param_name=name)
    size = shape_util.get_shape_size(first.get("shape"))
    return [
        tvm.placeholder((1 if key in scalars else size,), name=key, dtype=dtype) for key in inputs
    ]


def build_dynamic(kernel_name, inputs, dtypes, compute, equal=("dtype",), mode="elewise"):
    """Builds an element-wise kernel; sizes may be known, or unknown until run time (−1).

    Args:
        kernel_name: name of the kernel.
        inputs, dtypes, equal: see `check_inputs`.
        compute: function that takes the input tensors, and returns the result.
        mode: ``elewise`` for inputs of one shape, or ``broadcast``.
    """
    dtype = check_inputs(inputs, dtypes, equal)
    build_variants(
        kernel_name,
        dsl.classify([*inputs.values()], mode),
        lambda variant: make_placeholders(inputs, shape_util.variable_shape(variant), dtype),
        lambda data, variant: compute(*data),
    )


def build_along_axes(kernel_name, inputs, dtypes, axes, compute):
    """Builds the kernel of a normalisation; sizes may be known, or unknown until run time (−1).

    Args:
        kernel_name: name of the kernel.
        inputs, dtypes: see `check_inputs`.
        axes: one axis, or a list of axes.
        compute: function that takes the input tensors and the list of axes, and returns the result.
    """
    (name, first), *_ = inputs.items()
    dtype = first.get("dtype").lower()
    para_check.check_dtype(dtype, dtypes, param_name=name)
    listed = shape_util.wrap_axes_to_positive(
        [axes] if isinstance(axes, int) else axes, len(first.get("shape"))
    )
    build_variants(
        kernel_name,
        dsl.classify([*inputs.values(), listed], "norm"),
        lambda variant: make_placeholders(
            inputs, shape_util.variable_shape(variant[:-1], op_mode="norm"), dtype
        ),
        lambda data, variant: compute(*data, variant[-1]),
    )


def build_reduction(kernel_name, x, dtypes, axes, keep_dims, compute):
    """Builds the kernel of a reduction; sizes may be known, or unknown until run time (−1).

    Args:
        kernel_name: name of the kernel.
        x, dtypes: description of the input, and the supported dtypes.
        axes: one axis, or a list of axes; an empty list stands for all axes.
        keep_dims: whether the result keeps the reduced axes.
        compute: function that takes the input tensor and the list of axes, and returns the result.
    """
    dtype = x.get("dtype").lower()
    para_check.check_dtype(dtype, dtypes, param_name="x")
    rank = len(x.get("shape"))
    listed = shape_util.wrap_axes_to_positive([axes] if isinstance(axes, int) else axes, rank)
    described = {**x, "rel_pos_to_reduce": "before"}
    reduced = {"value": listed or list(range(rank)), "rel_pos_to_reduce": "axis"}
    build_variants(
        kernel_name,
        dsl.classify([described, reduced], "reduce", {"keepdims": keep_dims is True}),
        lambda variant: make_placeholders(
            ["x"], shape_util.variable_shape(variant, op_mode="reduce"), dtype
        ),
        lambda data, variant: compute(*data, variant[1].get("value")),
    )


def build_variants(kernel_name, variants, placeholders, compute):
    """Builds one kernel from the variants of `dsl.classify`.

    Args:
        kernel_name: name of the kernel.
        variants: the result of `dsl.classify`.
        placeholders: function that takes a variant, and returns the input tensors.
        compute: function that takes the input tensors and the variant, and returns the result.
    """
    schedules, tensors = [], []
    for variant in variants:
        with dsl.compute():
            data = placeholders(variant)
            res = compute(data, variant)
        tensors.append([*data, res])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
