"""Reductions along axes, cumulative sums, segment sums, and sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ms_fusion.ops.arithmetic import bias_axis
from ms_fusion.ops.call import (
    Array,
    Call,
    Formula,
)
from ms_fusion.ops.late_imports import arrays, dsl, np
from ms_fusion.ops.op_info import (
    CLUSTERED_BY_FLAG_FOR_OTHERS,
    SINGLE_AND_HALF,
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

if TYPE_CHECKING:
    from ms_fusion.graph import Node


def _reduction_axes(call: Call) -> tuple[int, ...]:
    """Returns the axes of a reduction.

    If the operator has no axes, returns all axes, or no axes if `skip_mode` is set.
    """
    ndim = call.inputs[0].ndim
    named = call.integers("axis", 1) if len(call.inputs) > 1 else call.integers("axis")
    if not named and call.flag("skip_mode"):
        return ()
    return tuple(sorted({axis % max(ndim, 1) for axis in named or range(ndim)}))


def _reduction_formula(function: Callable[..., Array]) -> Formula:
    def formula(call: Call) -> Array:
        source = call.inputs[0]
        result = np.asarray(
            function(
                source,
                axis=_reduction_axes(call) if source.ndim else None,
                keepdims=call.flag("keep_dims", 2),
            )
        )
        return result.astype(source.dtype, copy=False) if source.dtype.kind in "iu" else result

    return formula


def _composed_reduction(
    function: Callable[..., Any],
    before: Callable[[Any], Any] = lambda x: x,
    after: Callable[[Any], Any] = lambda x: x,
) -> Formula:
    """Returns the formula after(function(before(x))); `function` reduces the operator's axes."""

    def formula(call: Call) -> Any:
        x, axes = before(call.inputs[0]), _reduction_axes(call)
        return after(function(x, axis=axes, keepdims=call.flag("keep_dims")) if axes else x)

    return formula


def _log_sum_exp(x: Array, axis: tuple[int, ...], *, keepdims: bool) -> Any:
    top = np.max(x, axis=axis, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - safe), axis=axis, keepdims=keepdims))
    return total + (safe if keepdims else np.max(safe, axis=axis, keepdims=False))


def _reduction_from_onnx(call: Call) -> Call:
    return call.in_form(
        inputs=call.inputs[:1],
        axis=call.integers("axes", 1) or (),
        keep_dims=call.attribute("keepdims"),
        skip_mode=call.node.attr("noop_with_empty_axes", False),
    )


def _global_pooling_from_onnx(call: Call) -> Call:
    return call.in_form(axis=tuple(range(2, call.inputs[0].ndim)), keep_dims=True)


def _cumulative_sum(call: Call) -> Array:
    axis = int(call.number("axis", 1))
    source = call.inputs[0]
    if call.flag("reverse", 3):
        source = np.flip(source, axis)
    total = np.cumsum(source, axis=axis)
    if call.flag("exclusive", 2):
        total = total - source
    total = np.flip(total, axis) if call.flag("reverse", 3) else total
    return total.astype(source.dtype, copy=False)


def _bias_add_grad(call: Call) -> Array:
    """Computes the gradient of the bias: the sum over all axes except the channel axis."""
    gradient = call.inputs[0]
    return np.sum(gradient, axis=bias_gradient_axes(call.node, gradient.ndim))


def bias_gradient_axes(node: Node, ndim: int) -> tuple[int, ...]:
    """Returns the axes that BiasAddGrad reduces: all except the channel axis.

    The channel axis is axis 1, or the last axis for NHWC.

    Args:
        node: the operator BiasAddGrad.
        ndim: rank of the operator's input, the gradient of y.
    """
    kept = bias_axis(node, ndim)
    return tuple(axis for axis in range(ndim) if axis != kept)


def _reduction_rule(word: Any) -> LoweringRule:
    """Returns a lowering rule that reduces over the operator's axes, by default over all axes.

    Sums of float16, bfloat16 and bool accumulate in a wider dtype.
    """

    def meaning(call: Call) -> Any:
        x = arrays.tensor_of(call.inputs[0])
        axes = _reduction_axes(call)
        if not axes:
            return call.inputs[0]
        # `keep_dims` may be an input of unknown value. The rank of the output shows its value.
        return arrays.TracedArray(word(x, list(axes), keepdims=len(call.output.shape) == x.ndim))

    return meaning


def _lower_bias_gradient(call: Call) -> Any:
    x = arrays.tensor_of(call.inputs[0])
    axes = bias_gradient_axes(call.node, x.ndim)
    return arrays.TracedArray(dsl.reduce_sum(x, list(axes))) if axes else call.inputs[0]


def _lower_mean(call: Call) -> Any:
    if call.inputs[0].dtype.kind in "iub":
        call = call.in_form(inputs=(call.inputs[0].astype(np.float64), *call.inputs[1:]))
    return _reduction_rule(dsl.reduce_mean)(call)


OPERATORS = (
    OpInfo(
        "ReduceSum",
        onnx=(OnnxOperator("ReduceSum", _reduction_from_onnx),),
        formula=_reduction_formula(np.sum),
        lowering=_reduction_rule(dsl.reduce_sum),
        traits=Trait.REDUCTION | Trait.ROW_REDUCTION | Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_DEFAULT,
            cluster_level=1,
            ascend_level=0,
            split=Split.ENDS_IN_REDUCTION,
            constants=(1,),
        ),
        mindspore_generator=MindSporeGenerator(
            wrong="of bool gives parity", wrong_for=lambda source, _: source == "bool"
        ),
    ),
    OpInfo(
        "ReduceMax",
        onnx=(
            OnnxOperator("ReduceMax", _reduction_from_onnx),
            OnnxOperator("GlobalMaxPool", _global_pooling_from_onnx),
        ),
        formula=_reduction_formula(np.max),
        lowering=_reduction_rule(dsl.reduce_max),
        traits=Trait.REDUCTION | Trait.ROW_REDUCTION | Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_DEFAULT,
            cluster_level=1,
            split=Split.ENDS_IN_REDUCTION,
            constants=(1,),
        ),
    ),
    OpInfo(
        "ReduceMin",
        onnx=(OnnxOperator("ReduceMin", _reduction_from_onnx),),
        formula=_reduction_formula(np.min),
        lowering=_reduction_rule(dsl.reduce_min),
        traits=Trait.REDUCTION | Trait.ROW_REDUCTION | Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG, split=Split.ENDS_IN_REDUCTION, constants=(1,)
        ),
        mindspore_generator=MindSporeGenerator(auto_cluster="exact"),
        advice=Advice(cluster_flag=VerifiedFlag(SINGLE_HALF_AND_INT32, takes_consumer=False)),
    ),
    OpInfo(
        "ReduceMean",
        onnx=(
            OnnxOperator("ReduceMean", _reduction_from_onnx),
            OnnxOperator("GlobalAveragePool", _global_pooling_from_onnx),
        ),
        formula=_reduction_formula(np.mean),
        lowering=_lower_mean,
        traits=Trait.REDUCTION | Trait.ROW_REDUCTION | Trait.ANY_LAYOUT | Trait.KEEPS_NON_NEGATIVE,
        work=WorkRule.REDUCTION,
        flops=4,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS,
            expand=Expand.BY_FLAG,
            basics=2,
            split=Split.BEGINS_WITH_REDUCTION,
            constants=(1,),
        ),
        mindspore_generator=MindSporeGenerator(
            not_auto="a float16 result becomes float32 where the kernel has several results",
            for_speed=True,
        ),
        whole=True,
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF)),
    ),
    OpInfo(
        "ReduceProd",
        onnx=(OnnxOperator("ReduceProd", _reduction_from_onnx),),
        formula=_reduction_formula(np.prod),
        lowering=_reduction_rule(dsl.reduce_prod),
        traits=Trait.REDUCTION | Trait.ROW_REDUCTION | Trait.FLAG_INPUT,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS, split=Split.ENDS_IN_REDUCTION, constants=(1,)
        ),
        excluded="its axes are an input of the kernel, and not known before it runs",
    ),
    OpInfo(
        "ReduceAll",
        formula=_reduction_formula(np.all),
        lowering=_reduction_rule(dsl.reduce_all),
        traits=Trait.REDUCTION | Trait.FLAG_INPUT,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_DEFAULT_FOR_OTHERS, split=Split.ENDS_IN_REDUCTION, constants=(1,)
        ),
        excluded="MindSpore raises an error when it is clustered without axes",
    ),
    OpInfo(
        "ReduceAny",
        formula=_reduction_formula(np.any),
        lowering=_reduction_rule(dsl.reduce_any),
        traits=Trait.REDUCTION | Trait.FLAG_INPUT,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(
            cluster=Cluster.BY_FLAG_FOR_OTHERS, split=Split.ENDS_IN_REDUCTION, constants=(1,)
        ),
    ),
    OpInfo(
        "SumExt",
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(expansion=("ReduceSum",)),
    ),
    *(OpInfo(name, batch=BatchRule(Batch.ALONG_AXES)) for name in "MeanExt CumProd".split()),
    OpInfo(
        "BiasAddGrad",
        formula=_bias_add_grad,
        lowering=_lower_bias_gradient,
        traits=Trait.REDUCTION | Trait.ANY_LAYOUT,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        mindspore=MindSporeFusion(expand=Expand.BY_DEFAULT, split=Split.ENDS_IN_REDUCTION),
        mindspore_generator=MindSporeGenerator(
            inaccurate_expansion=(
                "a float16 result becomes float32 where the kernel has several results"
            )
        ),
        whole=True,
    ),
    OpInfo(
        "SquareSumAll",
        work=WorkRule.REDUCTION,
        flops=1,
        steps=2,
        mindspore=MindSporeFusion(expand=Expand.BY_FLAG, basics=2, split=Split.ENDS_IN_REDUCTION),
        advice=Advice(expand_flag=VerifiedFlag(SINGLE_AND_HALF, takes_consumer=False)),
    ),
    OpInfo(
        "CumSum",
        formula=_cumulative_sum,
        traits=Trait.REDUCTION,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
        mindspore=MindSporeFusion(cluster=Cluster.BY_FLAG, split=Split.OPAQUE, constants=(1,)),
        mindspore_generator=MindSporeGenerator(not_auto="nothing fuses with it"),
        excluded="a running sum is not a loop nest, and nothing fuses with it",
        advice=Advice(no_flag="becomes a kernel of its own"),
    ),
    *(
        OpInfo(name, traits=Trait.HAS_LIBRARY_KERNEL, work=WorkRule.REDUCTION, flops=0, steps=2)
        for name in "ArgMax ArgMin".split()
    ),
    *(
        OpInfo(name, batch=BatchRule(Batch.ALONG_AXES, axis=("axis", -1)))
        for name in "Argmax Argmin".split()
    ),
    OpInfo(
        "ArgMaxWithValue",
        traits=Trait.HAS_LIBRARY_KERNEL,
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
    ),
    OpInfo(
        "ArgMinWithValue",
        work=WorkRule.REDUCTION,
        flops=0,
        steps=2,
        batch=BatchRule(Batch.ALONG_AXES),
    ),
    *(
        OpInfo(
            name,
            onnx=(OnnxOperator(name, _reduction_from_onnx),),
            formula=formula,
            traits=Trait.ROW_REDUCTION | more,
            steps=steps,
        )
        for name, steps, more, formula in (
            ("ReduceL1", 1, Trait.NON_NEGATIVE, _composed_reduction(np.sum, np.abs)),
            ("ReduceL2", 3, Trait.NON_NEGATIVE, _composed_reduction(np.sum, np.square, np.sqrt)),
            ("ReduceSumSquare", 1, Trait.NON_NEGATIVE, _composed_reduction(np.sum, np.square)),
            ("ReduceLogSum", 3, Trait.NONE, _composed_reduction(np.sum, after=np.log)),
            ("ReduceLogSumExp", 14, Trait.NONE, _composed_reduction(_log_sum_exp)),
        )
    ),
    OpInfo(
        "UnsortedSegmentSum",
        mindspore=CLUSTERED_BY_FLAG_FOR_OTHERS,
        excluded=(
            "MindSpore raises an error for an invalid segment number; a kernel cannot raise one"
        ),
    ),
    OpInfo("TopK", traits=Trait.HAS_LIBRARY_KERNEL, batch=BatchRule(Batch.LAST_AXIS)),
    OpInfo("Sort", traits=Trait.HAS_LIBRARY_KERNEL),
)
