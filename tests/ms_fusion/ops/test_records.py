"""The records of operators: whole, consistent, and the only place with names of operators."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import onnx.defs

from ms_fusion.ops import (
    FAMILIES,
    ONNX_OPERATORS,
    OPERATORS,
    UNKNOWN,
    operator_info,
    operators_with,
    record_name,
)
from ms_fusion.ops.op_info import Batch, Cluster, Expand, OpInfo, Trait, WorkRule
from tests.source_files import read_tree
from tests.test_rooms import MODULES, name_of

NAMES = OPERATORS.keys() | ONNX_OPERATORS.keys()
NAMES_MAX = 2
"""A constant with more names of operators is a table beside the records."""

DISPATCH = {
    "ms_fusion.accuracy.kernel_worker._apply": "the call of each primitive of MindSpore",
    "ms_fusion.lowering.onednn.channels_last.CONVOLUTIONS": "argument names of oneDNN",
    "ms_fusion.lowering.onednn.channels_last.RESIZE_OPERATORS": "how each is rewritten",
    "ms_fusion.lowering.onednn.onednn_steps.LIBRARY": "the function that makes each call",
    "ms_fusion.mindspore.flags.preset_table.PRESETS": "sentences",
    "ms_fusion.onnx.canonicalization.cleanup.SHAPE_OPERATORS": "what one pass removes",
    "ms_fusion.onnx.canonicalization.cleanup.WEIGHT_LAYOUTS": "what one pass folds",
    "ms_fusion.onnx.canonicalization.cleanup._RULES": "the rules of onnxscript for each",
    "ms_fusion.onnx.cell.operators.OPERATORS": "the line of Python that computes each",
    "ms_fusion.onnx.cell.recurrent.DEFAULT_ACTIVATIONS": "arguments of recurrent operators",
    "ms_fusion.onnx.cell.sizes.SIZE_OPERATORS": "whose results may be sizes in Python",
    "ms_fusion.onnx.cell.sizes._ARITHMETIC": "the expression in Python of each",
    "ms_fusion.onnx.cell.sizes._LAYOUT_OPERATORS": "how each rearranges a tuple of sizes",
    "ms_fusion.onnx.fuse.arguments.RUNTIME_RULES": "names of rules",
    "ms_fusion.onnx.fuse.ort.depthwise_norms.RULE": "the pattern of one kernel",
    "ms_fusion.onnx.fuse.ort.kernel_proposals.SINGLE_OPERATORS": "what ONNX Runtime is slow at",
    "ms_fusion.onnx.fuse.ort.mapping.ADAPTER_OPERATORS": "what replacements write beside a call",
    "ms_fusion.onnx.fuse.ort.norms.EQUIVALENTS": "replacements of rules",
    "ms_fusion.onnx.fuse.ort.rotary.HALF_PRESERVING_OPERATORS": "what makes tables of angles",
    "ms_fusion.readers.ir_projection._resolve_bookkeeping": "what bookkeeping stands for",
}
"""Constants, and functions with literals, that say how a room treats each operator."""


def words_of(tree: ast.AST) -> set[str]:
    return {
        word
        for one in ast.walk(tree)
        if isinstance(one, ast.Constant) and isinstance(one.value, str)
        for word in one.value.split()
    }


def constants_of(tree: ast.Module) -> Iterator[tuple[str, set[str]]]:
    """Yields (name, words of the strings) for each constant of a module or class.

    A tuple, list, set or dict in a function has the name of the function.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef):
            for item in node.body:
                if isinstance(item, ast.Assign | ast.AnnAssign) and item.value is not None:
                    target = item.targets[0] if isinstance(item, ast.Assign) else item.target
                    yield ast.unparse(target), words_of(item.value)
        if isinstance(node, ast.FunctionDef):
            for item in ast.walk(node):
                if isinstance(item, ast.Tuple | ast.List | ast.Set | ast.Dict):
                    yield node.name, words_of(item)


def test_no_other_module_has_a_table_of_operator_names() -> None:
    found = {
        f"{name_of(path)}.{name}"
        for path in MODULES
        if name_of(path).startswith("ms_fusion.") and not name_of(path).startswith("ms_fusion.ops")
        for name, words in read_tree(path, lambda tree: list(constants_of(tree)))
        if len(words & NAMES) > NAMES_MAX
    }
    assert found == DISPATCH.keys()


def test_a_table_of_names_is_seen() -> None:
    tree = ast.parse(
        'NAMES = frozenset("Add Sub Mul".split())\nOTHER: dict = {"Add": 1}\n'
        'def is_known(op):\n    return op in ("Exp", "Log")'
    )
    assert {name: words & OPERATORS.keys() for name, words in constants_of(tree)} == {
        "NAMES": {"Add", "Sub", "Mul"},
        "OTHER": {"Add"},
        "is_known": {"Exp", "Log"},
    }


def test_each_operator_has_one_record() -> None:
    names = [operator.name for family in FAMILIES for operator in family.OPERATORS]
    assert len(names) == len(set(names)) == len(OPERATORS)
    assert list(OPERATORS) == sorted(names)
    spelled = [name for operator in OPERATORS.values() for name in operator.onnx]
    assert len(spelled) == len(ONNX_OPERATORS)


def test_each_onnx_operator_has_a_lowering_rule() -> None:
    for name, (operator, form) in ONNX_OPERATORS.items():
        assert operator is operator_info(record_name(name)) and form.name == name
        assert operator.lowering_rule is not None, name
        assert onnx.defs.has(name), name


def test_fields_of_a_record_agree() -> None:
    def faults(operator: OpInfo) -> Iterator[str]:
        fusion, generator = operator.mindspore, operator.mindspore_generator
        needs_flops = {
            WorkRule.ELEMENTWISE,
            WorkRule.ASSIGN,
            WorkRule.REDUCTION,
            WorkRule.PER_INPUT_ELEMENT,
            WorkRule.OPTIMIZER,
        }
        if (operator.work in needs_flops) != (operator.flops is not None):
            yield "work and flops"
        if (operator.work is WorkRule.OPTIMIZER) != bool(operator.overwrites):
            yield "work and overwrites"
        if operator.lowering and not operator.formula:
            yield "a lowering without a formula to compare with"
        if generator.wrong_for and not (generator.refusal or generator.wrong):
            yield "a refusal without a reason"
        if generator.crash_dtypes and not generator.crashes:
            yield "dtypes of a crash that is none"
        if operator.whole and fusion.expand is Expand.NEVER:
            yield "kept whole although MindSpore never expands it"
        if operator.excluded and fusion.cluster is Cluster.NEVER:
            yield "excluded although MindSpore never clusters it"
        if bool(operator.advice.rewriting) != bool(operator.advice.rewriting_operators):
            yield "a rewriting without its operators"
        batch = operator.batch
        if batch and batch.axis != ("axis", None) and batch.kind is not Batch.ALONG_AXES:
            yield "axes that no rule reads"

    found = {name: some for name, one in OPERATORS.items() if (some := list(faults(one)))}
    assert found == {}


def test_an_unknown_operator_has_the_defaults() -> None:
    assert operator_info("Nothing") is UNKNOWN
    assert UNKNOWN.work is WorkRule.UNKNOWN and UNKNOWN.lowering_rule is None
    assert "Add" in operators_with(Trait.COMMUTATIVE)
