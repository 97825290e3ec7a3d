"""GELU's constants are defined once."""

from __future__ import annotations

import ast
import math
from pathlib import Path

from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, SQRT_HALF, TANH_SCALE
from tests.source_files import read_tree

ROOT = Path(__file__).resolve().parents[2]
HOME = "tbe_impl/gelu_constants.py"
VALUES = (CUBIC, 3 * CUBIC, TANH_SCALE, SIGMOID_SCALE, CUBIC * SIGMOID_SCALE)


def test_values():
    assert CUBIC == 0.044715
    assert math.isclose(TANH_SCALE, 0.7978845608028654)
    assert math.isclose(SIGMOID_SCALE, 1.5957691216057308)
    assert math.isclose(SQRT_HALF, 0.7071067811865476)


def names_a_constant(node: ast.AST) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
        return ast.unparse(node) in ("2.0 / math.pi", "2 / math.pi", "2.0 / np.pi", "2 / np.pi")
    if not isinstance(node, ast.Constant) or not isinstance(node.value, (float, str)):
        return False
    try:
        value = float(node.value)
    except ValueError:
        return False
    return any(math.isclose(value, one, rel_tol=1e-6) for one in VALUES)


def test_no_other_file_names_them():
    found = {
        path.relative_to(ROOT).as_posix()
        for package in ("ms_fusion", "custom_ops", "tbe_impl")
        for path in (ROOT / package).rglob("*.py")
        if read_tree(path, lambda tree: any(map(names_a_constant, ast.walk(tree))))
    }
    assert found == {HOME}
