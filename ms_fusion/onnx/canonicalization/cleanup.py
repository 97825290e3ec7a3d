"""Cleans up a model before fusion: removes dead code, folds constants and drops no-ops."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import onnx_ir as ir
from onnx_ir.passes import common as passes
from onnxscript.optimizer import fold_constants
from onnxscript.rewriter import RewriteRuleSet, rewrite
from onnxscript.rewriter.rules import common as rules

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.onnx.canonicalization import PASSES
from ms_fusion.onnx.canonicalization.inlining import inline_model_functions
from ms_fusion.onnx.canonicalization.model_edits import (
    KNOWN_ELEMENTS,
    is_constant,
    is_op,
    shape_of,
    small_constant,
)
from ms_fusion.onnx.canonicalization.shared_products import merge_shared_products
from ms_fusion.onnx.canonicalization.simpler_operators import lower
from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.readers.onnx_graph import INLINE_ELEMENTS_MAX

FOLDED_INPUT_ELEMENTS_MAX = 8192
"""Constant folding skips an operator if one of its inputs has more elements than this."""
FOLDED_OUTPUT_ELEMENTS_MAX = 262_144
"""Constant folding skips an operator if its result has more elements than this.

The limit bounds how much folding enlarges the model.
"""
FOLDED_WEIGHT_BYTES_MAX = 1 << 28
"""Layout operators on weights with more bytes than this are not folded, to save memory.

Folding needs memory for a second copy of the weights.
"""
WEIGHT_LAYOUTS = (
    "Concat",
    "Flatten",
    "Reshape",
    "Slice",
    "Split",
    "Squeeze",
    "Transpose",
    "Unsqueeze",
)
"""Layout operators: operators that only move elements, which are folded if they read weights."""
ROUNDS = 4
SHAPE_OPERATORS = frozenset({"Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten"})

_RULES: Mapping[str, tuple[object, ...]] = {
    "BatchNormalization": (
        rules.fuse_batchnorm_into_conv_rule,
        rules.fuse_batchnorm_into_conv_transpose_rule,
        rules.fuse_batchnorm_into_gemm_rule,
    ),
    "Cast": (rules.cast_cast_rule, rules.no_op_cast_rule),
    "Clip": (
        rules.successive_clip_rule,
        rules.successive_relu_clip_rule,
        rules.successive_clip_relu_rule,
    ),
    "Expand": (rules.no_op_expand_rule,),
    "Pad": (rules.fuse_pad_into_conv_rule,),
    "Reshape": (rules.reshape_reshape_rule,),
    "ScatterND": (rules.no_op_dynamic_scatter_nd_rule, rules.no_op_static_scatter_nd_rule),
    "Slice": (rules.collapse_slice_rule, rules.collapse_slice2_rule),
    "Transpose": (rules.transpose_transpose_rule, rules.no_op_transpose_rule),
    "Unsqueeze": (rules.unsqueeze_unsqueeze_rule,),
}
"""Maps an operator type to the onnxscript rewrite rules that are tried if a model contains it.

Rules for absent operator types are skipped to save time, because each rule visits every node.
"""


@dataclass(frozen=True)
class CleanupResult:
    """The result of clean-up.

    Attributes:
        steps: one pair (name of a kind of clean-up, number of removed nodes) for each kind that
            removed nodes.
        notes: sentences for the report. The sentences name the lowered operators (operators that
            simpler operators replaced), the failed clean-up steps, and failures of shape inference.
    """

    steps: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()


def clean(
    model: ir.Model,
    native: NativeWorkers,
    device: str = "cpu",
    lowered: Sequence[str] = (),
    *,
    keeps_weights: bool = False,
) -> CleanupResult:
    """Cleans a model in place; its inputs and outputs keep their names, shapes and order.

    If `keeps_weights` is true, the large weights keep their names too, because they are neither
    merged nor folded.

    To lower an operator means to replace it by simpler operators. An operator is lowered if the
    device does not support this operator, or if the operator's type is in `lowered`.
    """
    counted: dict[str, int] = {}
    notes: list[str] = []

    def step(what: str, action: Callable[[], object]) -> bool:
        before = len(model.graph)
        try:
            action()
        except Exception as error:  # noqa: BLE001 - any error of the library; its edits are atomic
            notes.append(
                f"clean-up of what is {what} stopped: {type(error).__name__}: {str(error)[:200]}"
            )
        gone = before - len(model.graph)
        if gone:
            counted[what] = counted.get(what, 0) + gone
        return gone != 0

    inline_model_functions(model)
    step(
        "constants",
        lambda: passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(
            model
        ),
    )
    for _ in range(ROUNDS):
        _infer(model, native, notes)
        changed = [
            step("known beforehand", lambda: fold(model, keeps_weights=keeps_weights)),
            step("no operation", lambda: _apply_rewrite_rules(model)),
            step("no operation", lambda: _remove_same_shape_operators(model)),
            step("identity", lambda: _remove_identities(model)),
            *[
                step(what, functools.partial(tidied, model))
                for what, tidied in PASSES.items()
                if not (keeps_weights and tidied is merge_shared_products)
            ],
            step("computed twice", lambda: passes.CommonSubexpressionEliminationPass()(model)),
            step("not needed", lambda: passes.RemoveUnusedNodesPass()(model)),
        ]
        if not any(changed):
            break
    told = lower(model, device, lowered)
    if told:
        # Lowering creates constant subexpressions to fold, such as transposed filters and sizes.
        step("known beforehand", lambda: fold(model))
        _infer(model, native, notes)
    passes.RemoveUnusedFunctionsPass()(model)
    fewer = tuple((what, count) for what, count in counted.items() if count > 0)
    return CleanupResult(fewer, (*told, *dict.fromkeys(notes)))


def prepare_without_cleanup(model: ir.Model, native: NativeWorkers) -> CleanupResult:
    """Prepares a model in place for fusion without clean-up: inlines functions and infers shapes.

    This function is used instead of `clean` if the clean-up would change the results of the model.
    """
    notes = [
        "clean-up would change what the model computes, so its operators are taken as they are"
    ]
    inline_model_functions(model)
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    _infer(model, native, notes)
    return CleanupResult((), tuple(notes))


def _infer(model: ir.Model, native: NativeWorkers, notes: list[str]) -> None:
    try:
        native.infer_shapes(model)
    except WorkerError as error:
        notes.append(f"shapes could not be inferred: {error}")


def fold(model: ir.Model, *, keeps_weights: bool = False) -> None:
    """Folds constants in place; skips operators with a large input or a large result.

    Layout operators on large weights are folded if `keeps_weights` is false.
    """
    fold_constants(
        model,
        input_size_limit=FOLDED_INPUT_ELEMENTS_MAX,
        output_size_limit=FOLDED_OUTPUT_ELEMENTS_MAX,
        should_fold=functools.partial(_should_fold, keeps_weights=keeps_weights),
    )
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)


def _should_fold(node: ir.Node, *, keeps_weights: bool) -> bool | None:
    """Returns True if an operator is folded regardless of the size limits, otherwise None.

    A layout operator (`WEIGHT_LAYOUTS`) on weights is folded regardless of the limits, if
    `keeps_weights` is false and `_keeps_size` is true. A ConstantOfShape with a small result is
    also folded regardless of the limits, because this result may be used as a shape. If the
    function returns None, the folding library decides.
    """
    if is_op(node, *WEIGHT_LAYOUTS):
        return True if not keeps_weights and _keeps_size(node) else None
    if not is_op(node, "ConstantOfShape"):
        return None
    shape = small_constant(node.inputs[0])
    return (
        True
        if shape is not None and 0 <= math.prod(shape.tolist()) <= INLINE_ELEMENTS_MAX
        else None
    )


def _keeps_size(node: ir.Node) -> bool:
    """Returns whether a layout operator on weights can be folded without enlarging the model.

    A weight can be folded if only layout operators read it, because the original weight can then be
    removed from the model. The total size of the results of these operators must not exceed the
    size of the weight. A small constant can always be folded.
    """
    return all(
        value is None or (is_constant(value) and (_is_small(value) or _is_split_up(value)))
        for value in node.inputs
    )


def _is_small(value: ir.Value) -> bool:
    return value.const_value is not None and value.const_value.size <= KNOWN_ELEMENTS


def _is_split_up(weight: ir.Value) -> bool:
    """Returns whether only layout operators read a weight and do not increase its total size."""
    tensor = weight.const_value
    if tensor is None or tensor.nbytes > FOLDED_WEIGHT_BYTES_MAX or weight.is_graph_output():
        return False
    readers = {use.node for use in weight.uses()}
    if not all(is_op(reader, *WEIGHT_LAYOUTS) for reader in readers):
        return False
    if len(readers) == 1:
        return True
    shapes = [shape_of(made) for reader in readers for made in reader.outputs]
    sizes = [math.prod(shape) if shape and _is_static(shape) else math.inf for shape in shapes]
    return sum(sizes) <= tensor.size


def _is_static(shape: Sequence[object]) -> bool:
    return all(isinstance(size, int) for size in shape)


def _remove_same_shape_operators(model: ir.Model) -> None:
    """Removes reshaping operators whose result has the same shape as their input.

    If the result of such an operator is an output of the model, the operator's input gets the name
    of this output.
    """
    results = set(model.graph.outputs)
    for node in list(model.graph):
        if node.op_type not in SHAPE_OPERATORS or node.domain not in ("", "ai.onnx"):
            continue
        given, made = node.inputs[0], node.outputs[0]
        if given is None or given.shape is None or made.shape is None:
            continue
        sizes = [size if isinstance(size, int) else size.value for size in given.shape]
        same = sizes == [size if isinstance(size, int) else size.value for size in made.shape]
        if not same or None in sizes:
            continue
        if made in results:
            if given.producer() is None or given in results or given.graph is not model.graph:
                continue
            name = made.name
            ir.convenience.replace_all_uses_with(made, given, replace_graph_outputs=True)
            model.graph.remove(node, safe=True)
            given.name = name
            results = set(model.graph.outputs)
            continue
        ir.convenience.replace_all_uses_with(made, given)
        model.graph.remove(node, safe=True)


def _remove_identities(model: ir.Model) -> None:
    # In a model with subgraphs no Identity is removed: a branch may need one to return a value of
    # the outer graph.
    if sum(1 for _ in model.graphs()) == 1:
        passes.IdentityEliminationPass()(model)


def _apply_rewrite_rules(model: ir.Model) -> None:
    present = {node.op_type for node in model.graph if node.domain in ("", "ai.onnx")}
    wanted = [rule for op, found in _RULES.items() if op in present for rule in found]
    if wanted:
        rewrite(model, pattern_rewrite_rules=RewriteRuleSet(wanted))  # type: ignore[arg-type]
