"""Operators that move, repeat, select or create elements without arithmetic."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops import onnx_layout
from ms_fusion.ops.call import (
    Array,
    Call,
    static_result_shape,
    unary,
)
from ms_fusion.ops.late_imports import arrays, dsl, np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    ELEMENTWISE,
    SINGLE_HALF_AND_INT32,
    Advice,
    Batch,
    BatchRule,
    Cluster,
    Expand,
    LoweringRule,
    MindSporeFusion,
    MindSporeGenerator,
    OnnxOperator,
    OpInfo,
    Split,
    Trait,
    VerifiedFlag,
    WorkRule,
)


def _reshape(call: Call) -> Array:
    return call.inputs[0].reshape(static_result_shape(call))


def _transpose(call: Call) -> Array:
    return np.transpose(
        call.inputs[0], call.integers("perm", 1) if len(call.inputs) > 1 else call.integers("perm")
    )


def _tile(call: Call) -> Array:
    return np.tile(call.inputs[0], call.integers("multiples", 1) or call.integers("dims") or (1,))


def _one_hot(call: Call) -> Array:
    """Computes OneHot of (indices, depth, on, off) along an axis; the default is the last axis."""
    indices, axis = call.inputs[0], int(call.number("axis", 4, default=-1.0))
    depth = int(call.number("depth", 1))
    on, off = call.inputs[2], call.inputs[3]
    hits = np.expand_dims(indices, axis) == np.arange(depth).reshape(
        [-1 if dim == axis % (indices.ndim + 1) else 1 for dim in range(indices.ndim + 1)]
    )
    return np.where(hits, on, off)


def _strided_slice(call: Call) -> Array:
    """Computes StridedSlice of (x, begin, end, strides) with bit masks, as in TensorFlow."""
    source = call.inputs[0]
    begin, end, strides = (
        call.integers(name, position) or ()
        for name, position in (("begin", 1), ("end", 2), ("strides", 3))
    )
    masks = [
        int(call.number(name, 4 + offset))
        for offset, name in enumerate(
            ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
        )
    ]
    at: list[Any] = []
    for axis, (first, last) in enumerate(zip(begin, end, strict=True)):
        bit = 1 << axis
        step = strides[axis] if axis < len(strides) else 1
        if masks[2] & bit:
            at.append(Ellipsis)
        elif masks[3] & bit:
            at.append(np.newaxis)
        elif masks[4] & bit:
            at.append(first)
        else:
            at.append(
                slice(None if masks[0] & bit else first, None if masks[1] & bit else last, step)
            )
    return source[tuple(at)]


def _slice(call: Call) -> Array:
    begin, size = call.integers("begin", 1) or (), call.integers("size", 2) or ()
    return call.inputs[0][
        tuple(slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))
    ]


def _gather(call: Call) -> Array:
    """Computes Gather of the inputs (table, indices, axis).

    A negative index is counted from the end. For an index out of range, the result is 0, whereas
    MindSpore raises an error.
    """
    table, given = call.inputs[:2]
    axis = int(call.number("axis", 2))
    indices = np.where(given < 0, given + table.shape[axis], given)
    inside = (indices >= 0) & (indices < table.shape[axis])
    taken = np.take(table, np.where(inside, indices, 0), axis=axis)
    shape = [1] * axis + list(indices.shape) + [1] * (taken.ndim - axis - indices.ndim)
    return np.where(inside.reshape(shape), taken, 0)


def _concat(call: Call) -> Array:
    arrays = list(call.inputs)
    axis = call.node.attr("axis")
    if axis is None:
        axis = int(arrays.pop())
    return np.concatenate(arrays, axis=int(axis))


def _diagonal(call: Call) -> int:
    return int(call.number("diagonal", 1))


def _stack(call: Call) -> Array:
    axis = int(call.number("axis")) % len(call.output.shape)
    wide = (*call.inputs[0].shape[:axis], 1, *call.inputs[0].shape[axis:])
    return np.concatenate([item.reshape(wide) for item in call.inputs], axis)


def _split(call: Call) -> Any:
    """Computes all results of Split along an axis.

    The attribute `size_splits` lists the sizes of the results.
    """
    ends = np.cumsum(call.attribute("size_splits"))[:-1]
    return np.split(call.inputs[0], [int(end) for end in ends], int(call.attribute("axis")))


def _pad(call: Call) -> Array:
    """Pads the input with the attribute `value`.

    The attribute `paddings` has a pair (before, after) for each axis.
    """
    return np.pad(
        call.inputs[0], call.attribute("paddings"), constant_values=call.node.attr("value", 0)
    )


def _triangle_rule(*, lower: bool) -> LoweringRule:
    def meaning(call: Call) -> Any:
        x, diagonal = arrays.tensor_of(call.inputs[0]), int(call.number("diagonal", 1))

        def element(*at: Any) -> Any:
            above = at[-1] - at[-2] - diagonal
            return dsl.select(above <= 0 if lower else above >= 0, x(*at), dsl.const(0, x.dtype))

        return arrays.TracedArray(dsl.compute(x.shape, element, "triangle"))

    return meaning


def _lower_reverse(call: Call) -> Any:
    x = arrays.tensor_of(call.inputs[0])
    # MindSpore passes axis 0 for a scalar, but a DSL scalar has no axes.
    axes = {axis % max(x.ndim, 1) for axis in call.integers("axis", 1) or ()}

    def element(*at: Any) -> Any:
        return x(*(x.shape[axis] - 1 - i if axis in axes else i for axis, i in enumerate(at)))

    return arrays.TracedArray(dsl.compute(x.shape, element, "reversed"))


OPERATORS = (
    OpInfo(
        "Reshape",
        onnx=(
            OnnxOperator("Reshape", onnx_layout.view(onnx_layout.reshaped_sizes)),
            OnnxOperator("Identity", onnx_layout.identity),
        ),
        formula=_reshape,
        traits=Trait.VIEW | Trait.CORRECTLY_ROUNDED | Trait.FORWARDING | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.NONE,
        batch=BatchRule(Batch.RESHAPE, sizes=frozenset({1})),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_DEFAULT_FOR_MINDSPORE,
            cluster_level=1,
            ascend_level=1,
            constants=(1,),
        ),
    ),
    OpInfo(
        "ExpandDims",
        onnx=(OnnxOperator("Unsqueeze", onnx_layout.view(onnx_layout.unsqueezed_sizes)),),
        formula=_reshape,
        traits=Trait.VIEW | Trait.FORWARDING | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.NONE,
        batch=BatchRule(Batch.RESHAPE),
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, constants=(1,)),
    ),
    OpInfo(
        "Squeeze",
        onnx=(OnnxOperator("Squeeze", onnx_layout.view(onnx_layout.squeezed_sizes)),),
        formula=_reshape,
        traits=Trait.VIEW | Trait.FORWARDING | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.NONE,
        batch=BatchRule(Batch.RESHAPE),
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS, ignores_expand_flag=True),
        mindspore_generator=MindSporeGenerator(auto_expand="exact"),
        advice=Advice(no_flag="is not expanded on CPU"),
    ),
    OpInfo(
        "Flatten",
        onnx=(OnnxOperator("Flatten", onnx_layout.view(onnx_layout.flat_sizes)),),
        formula=_reshape,
        traits=Trait.VIEW | Trait.FORWARDING | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.NONE,
        batch=BatchRule(Batch.RESHAPE),
    ),
    *(OpInfo(name, batch=BatchRule(Batch.RESHAPE)) for name in "FlattenExt View".split()),
    OpInfo("FlattenGrad", traits=Trait.VIEW, work=WorkRule.NONE),
    OpInfo(
        "Transpose",
        onnx=("Transpose",),
        formula=_transpose,
        traits=Trait.DATA_MOVEMENT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.FIRST_INPUT,
        steps=17,
        batch=BatchRule(Batch.TRANSPOSE),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_DEFAULT,
            cluster_level=1,
            ascend_level=0,
            split=Split.OPAQUE,
            constants=(1,),
        ),
        mindspore_generator=MindSporeGenerator(
            wrong=(
                "leaves its result unwritten when its Reshape is a result of the same kernel "
                "(seen in attention's gradient)"
            ),
            unsafe=(
                "if the kernel returns both its result and a Reshape of this result, its result is "
                "not written. This makes gradients of attention wrong. For dtypes that are not 4 "
                "bytes wide, the results are garbage. It is never fused with the operators before "
                "it"
            ),
        ),
    ),
    OpInfo("TransposeView", work=WorkRule.FIRST_INPUT),
    OpInfo(
        "BroadcastTo",
        onnx=(OnnxOperator("Expand", onnx_layout.view(onnx_layout.expanded_sizes)),),
        formula=lambda call: np.broadcast_to(call.inputs[0], static_result_shape(call)),
        traits=Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.FIRST_INPUT,
        batch=BatchRule(Batch.ELEMENTWISE, sizes=frozenset({1})),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG, ascend_level=0, constants=(1,)),
        mindspore_generator=MindSporeGenerator(auto_cluster="exact"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    OpInfo(
        "Tile",
        onnx=("Tile",),
        formula=_tile,
        traits=Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.FIRST_INPUT,
        batch=BatchRule(Batch.TILE, sizes=frozenset({1})),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG,
            expand=Expand.BY_DEFAULT,
            constants=(1,),
            ignores_expand_flag=True,
        ),
        mindspore_generator=MindSporeGenerator(auto_cluster="exact"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32)),
    ),
    OpInfo(
        "OneHot",
        formula=_one_hot,
        work=WorkRule.ELEMENTWISE,
        flops=0,
        batch=BatchRule(Batch.ONE_HOT),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG, split=Split.OPAQUE, constants=(1,)),
        mindspore_generator=MindSporeGenerator(not_auto="not measured"),
        advice=Advice(no_flag="becomes a kernel of its own"),
    ),
    OpInfo(
        "StridedSlice",
        formula=_strided_slice,
        traits=Trait.DATA_MOVEMENT,
        work=WorkRule.SLICE,
        batch=BatchRule(Batch.STRIDED_SLICE, sizes=frozenset({2})),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG, split=Split.OPAQUE, constants=(1, 2, 3)),
        mindspore_generator=MindSporeGenerator(auto_cluster="exact"),
        advice=Advice(no_flag="becomes a kernel of its own"),
    ),
    *(
        OpInfo(name, work=WorkRule.DATA_MOVEMENT)
        for name in "StridedSliceGrad Unstack Pack Unpack".split()
    ),
    OpInfo(
        "Slice",
        onnx=(OnnxOperator("Slice", onnx_layout.strided_slice),),
        formula=_slice,
        traits=Trait.DATA_MOVEMENT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.SLICE,
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            expand=Expand.BY_FLAG,
            split=Split.OPAQUE,
            constants=(1, 2),
        ),
        advice=Advice(no_flag="becomes a StridedSlice in a kernel of its own"),
    ),
    OpInfo(
        "Gather",
        formula=_gather,
        traits=Trait.DATA_MOVEMENT | Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.GATHER,
        batch=BatchRule(Batch.GATHER),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS, split=Split.OPAQUE, constants=(2,)
        ),
        excluded=(
            "MindSpore raises an error for an index beyond the table; a kernel cannot raise one"
        ),
    ),
    *(OpInfo(name, work=WorkRule.GATHER) for name in "GatherV2 GatherD GatherNd".split()),
    OpInfo("EmbeddingLookup", traits=Trait.HAS_LIBRARY_KERNEL, work=WorkRule.GATHER),
    OpInfo("Embedding", batch=BatchRule(Batch.EMBEDDING)),
    OpInfo(
        "Concat",
        onnx=("Concat",),
        formula=_concat,
        traits=Trait.DATA_MOVEMENT | Trait.HAS_LIBRARY_KERNEL | Trait.KEEPS_ALL_NON_NEGATIVE,
        work=WorkRule.DATA_MOVEMENT,
        batch=BatchRule(Batch.CONCAT),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG_FOR_OTHERS, split=Split.OPAQUE),
        excluded="MindSpore raises an error when it is clustered",
    ),
    OpInfo(
        "Stack",
        formula=_stack,
        traits=Trait.DATA_MOVEMENT,
        work=WorkRule.DATA_MOVEMENT,
        batch=BatchRule(Batch.STACK),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "Split",
        onnx=(OnnxOperator("Split", onnx_layout.split),),
        formula=_split,
        traits=Trait.DATA_MOVEMENT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.DATA_MOVEMENT,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded="it has several results, and MindSpore raises an error when it is clustered",
    ),
    OpInfo(
        "Pad",
        onnx=(OnnxOperator("Pad", onnx_layout.pad),),
        formula=_pad,
        traits=Trait.DATA_MOVEMENT,
        work=WorkRule.DATA_MOVEMENT,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded="its padding is missing from the kernel's description",
    ),
    OpInfo(
        "PadV3",
        work=WorkRule.DATA_MOVEMENT,
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded="the padding is an input of the kernel, not a constant",
    ),
    OpInfo(
        "Tril",
        formula=lambda call: np.tril(call.inputs[0], _diagonal(call)),
        lowering=_triangle_rule(lower=True),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "Triu",
        formula=lambda call: np.triu(call.inputs[0], _diagonal(call)),
        lowering=_triangle_rule(lower=False),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "ReverseV2",
        formula=lambda call: np.flip(call.inputs[0], call.integers("axis", 1)),
        lowering=_lower_reverse,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
    OpInfo(
        "OnesLike",
        formula=unary(np.ones_like),
        work=WorkRule.FILL,
        batch=ELEMENTWISE,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT),
    ),
    *(OpInfo(name, batch=ELEMENTWISE) for name in "OnesLikeExt ZerosLikeExt".split()),
    OpInfo(
        "ZerosLike",
        formula=unary(np.zeros_like),
        work=WorkRule.FILL,
        batch=ELEMENTWISE,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG_FOR_OURS, expansion=("BroadcastTo",)),
        advice=Advice(no_flag="was measured with our generator only, which has it by itself"),
    ),
    *(
        OpInfo(name, batch=BatchRule(Batch.ELEMENTWISE, sizes=frozenset({0})))
        for name in "Ones Zeros Fills".split()
    ),
    *(
        OpInfo(name, batch=BatchRule(Batch.FILL, sizes=frozenset({1})))
        for name in "NewOnes NewZeros".split()
    ),
    OpInfo("Fill", work=WorkRule.FILL),
    OpInfo(
        "FillV2",
        formula=lambda call: np.broadcast_to(np.asarray(call.inputs[1]), static_result_shape(call)),
        work=WorkRule.FILL,
        batch=BatchRule(Batch.ELEMENTWISE, sizes=frozenset({0})),
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
    ),
)
