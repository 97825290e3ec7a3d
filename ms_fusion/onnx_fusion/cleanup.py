"""Dead code elimination, constant folding and no-op removal before fusion, each kind counted."""

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

from ms_fusion.accuracy.worker import WorkerError
from ms_fusion.formats.onnx_graph import LISTED_ELEMENTS
from ms_fusion.onnx_fusion.canonicalization import PASSES
from ms_fusion.onnx_fusion.canonicalization.parts import is_op, small_constant
from ms_fusion.onnx_fusion.inlining import write_functions_in
from ms_fusion.onnx_fusion.lowering import lower
from ms_fusion.onnx_fusion.native import Native

FOLDED_ELEMENTS = 8192
"""Constants are folded from inputs of at most so many elements …"""
FOLDED_INTO_ELEMENTS = 262_144
"""… into one of at most so many: a folded model must not be larger than it was by much."""
ROUNDS = 4
SHAPING = frozenset({"Reshape", "Expand", "Squeeze", "Unsqueeze", "Flatten"})

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
"""Operator that has to be there → rules of onnxscript that are tried then; each looks at every node."""


@dataclass(frozen=True)
class Cleaned:
    """What clean-up did.

    Attributes:
        steps: how many nodes went by what; those that do nothing are left out.
        notes: what was lowered, and what could not be done.
    """

    steps: tuple[tuple[str, int], ...]
    notes: tuple[str, ...] = ()


def clean(
    model: ir.Model, native: Native, device: str = "cpu", lowered: Sequence[str] = ()
) -> Cleaned:
    """Cleans a model in place; its inputs and outputs keep their names, shapes and order.

    What the device lacks is lowered, and operators of the types `lowered`.
    """
    counted: dict[str, int] = {}
    notes: list[str] = []

    def step(what: str, action: Callable[[], object]) -> bool:
        before = len(model.graph)
        try:
            action()
        except Exception as error:  # noqa: BLE001 - whatever a library raises on an odd model; each of its changes was whole
            notes.append(
                f"clean-up of what is {what} stopped: {type(error).__name__}: {str(error)[:200]}"
            )
        gone = before - len(model.graph)
        if gone:
            counted[what] = counted.get(what, 0) + gone
        return gone != 0

    write_functions_in(model)
    step(
        "constants",
        lambda: passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(
            model
        ),
    )
    for _ in range(ROUNDS):
        _infer(model, native, notes)
        changed = [
            step("known beforehand", lambda: fold(model)),
            step("no operation", lambda: _rewritten(model)),
            step("no operation", lambda: _without_same_shapes(model)),
            step("identity", lambda: _without_identities(model)),
            *[step(what, functools.partial(tidied, model)) for what, tidied in PASSES.items()],
            step("computed twice", lambda: passes.CommonSubexpressionEliminationPass()(model)),
            step("not needed", lambda: passes.RemoveUnusedNodesPass()(model)),
        ]
        if not any(changed):
            break
    told = lower(model, device, lowered)
    if told:
        # what was written anew has parts that are known beforehand: filters turned, sizes
        step("known beforehand", lambda: fold(model))
        _infer(model, native, notes)
    passes.RemoveUnusedFunctionsPass()(model)
    return Cleaned(tuple(counted.items()), (*told, *dict.fromkeys(notes)))


def untouched(model: ir.Model, native: Native) -> Cleaned:
    """Prepares a model in place without changing what it computes, for one that clean-up would change."""
    notes = [
        "clean-up would change what the model computes, so its operators are taken as they are"
    ]
    write_functions_in(model)
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)
    _infer(model, native, notes)
    return Cleaned((), tuple(notes))


def _infer(model: ir.Model, native: Native, notes: list[str]) -> None:
    try:
        native.infer_shapes(model)
    except WorkerError as error:
        notes.append(f"shapes could not be inferred: {error}")


def fold(model: ir.Model) -> None:
    """Computes in place what is known beforehand, up to a size."""
    fold_constants(
        model,
        input_size_limit=FOLDED_ELEMENTS,
        output_size_limit=FOLDED_INTO_ELEMENTS,
        should_fold=_is_listed,
    )
    passes.LiftConstantsToInitializersPass(lift_all_constants=True, size_limit=0)(model)


def _is_listed(node: ir.Node) -> bool | None:
    """Yes for a few numbers that are the same, of which paddings and sizes are computed; None where the library decides."""
    if not is_op(node, "ConstantOfShape"):
        return None
    shape = small_constant(node.inputs[0])
    return True if shape is not None and 0 <= math.prod(shape.tolist()) <= LISTED_ELEMENTS else None


def _without_same_shapes(model: ir.Model) -> None:
    """Takes out what gives a value the shape that it has."""
    results = set(model.graph.outputs)
    for node in list(model.graph):
        if node.op_type not in SHAPING or node.domain not in ("", "ai.onnx"):
            continue
        given, made = node.inputs[0], node.outputs[0]
        if given is None or given.shape is None or made.shape is None or made in results:
            continue
        sizes = [size if isinstance(size, int) else size.value for size in given.shape]
        same = sizes == [size if isinstance(size, int) else size.value for size in made.shape]
        if same and None not in sizes:
            ir.convenience.replace_all_uses_with(made, given)
            model.graph.remove(node, safe=True)


def _without_identities(model: ir.Model) -> None:
    # inside a branch an Identity may be all that makes a value of the graph around it a result
    if sum(1 for _ in model.graphs()) == 1:
        passes.IdentityEliminationPass()(model)


def _rewritten(model: ir.Model) -> None:
    present = {node.op_type for node in model.graph if node.domain in ("", "ai.onnx")}
    wanted = [rule for op, found in _RULES.items() if op in present for rule in found]
    if wanted:
        rewrite(model, pattern_rewrite_rules=RewriteRuleSet(wanted))  # type: ignore[arg-type]
