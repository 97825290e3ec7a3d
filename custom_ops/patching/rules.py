"""Lists the rules that map sequences of MindSpore Cells to fused Cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import custom_ops
from custom_ops.core.framework import Cell, nn
from custom_ops.operators.activations import key_of
from custom_ops.operators.conv_bn import ConvBN
from custom_ops.operators.layer_norm_linear import is_over_last_axis

HOOKS = (
    "_lazy_forward_pre_hook",
    "_lazy_forward_hook",
    "_lazy_backward_pre_hook",
    "_lazy_backward_hook",
    "_lazy_forward_pre_hook_with_kwargs",
    "_lazy_forward_hook_with_kwargs",
    "_cell_backward_pre_hook",
    "_cell_backward_hook",
    "_lazy_state_dict_hooks",
    "_lazy_load_state_dict_pre_hooks",
)
"""Names of the attributes in which a Cell stores its hooks."""


@dataclass(frozen=True)
class Rule:
    """A rule that replaces a sequence of Cells; the Cells have certain `mindspore.nn` classes.

    Attributes:
        classes: the class names; subclasses of these classes do not match.
        make: function that takes the Cells, and returns the fused Cell with the same Parameters.
        applies: function that takes the Cells, and returns the reason against the replacement. The
            reason is an empty string if the rule applies.
        concerns: function that takes the Cells, and returns whether the rule is considered. For a
            rule that is not considered, no refusal is reported.
    """

    classes: tuple[str, ...]
    make: Callable[..., Any]
    applies: Callable[..., str] = lambda *_: ""
    concerns: Callable[..., bool] = lambda *_: True

    def fits(self, cells: tuple[Any, ...]) -> bool:
        """Whether the Cells have the classes of the rule and fulfil `is_plain` and `concerns`."""
        return (
            len(cells) == len(self.classes)
            and all(
                type(cell) is getattr(nn, name, None) and is_plain(cell)
                for cell, name in zip(cells, self.classes, strict=True)
            )
            and self.concerns(*cells)
        )


def is_plain(cell: Any) -> bool:
    """Whether a Cell has no hooks, no precision set by `to_float`, and no backward of its own."""
    hooked = any(getattr(cell, name, None) for name in HOOKS) or "construct" in vars(cell)
    flags = cell.get_flags() if hasattr(cell, "get_flags") else {}
    return not (
        hooked or cell.has_bprop or flags.get("fp16") or flags.get("fp32") or flags.get("bf16")
    )


def _conv_refusal(conv: Any, *_: Any) -> str:
    return "" if conv.data_format == "NCHW" else f"data_format {conv.data_format} is not computed"


def _conv_bn_refusal(conv: Any, bn: Any, *_: Any) -> str:
    if getattr(bn, "format", "NCHW") != "NCHW" or conv.out_channels != bn.num_features:
        return "the normalisation is of other channels"
    return _conv_refusal(conv)


def _conv_bn_leaky_refusal(conv: Any, bn: Any, leaky: Any) -> str:
    return f"alpha is {leaky.alpha}" if leaky.alpha < 0 else _conv_bn_refusal(conv, bn)


def _dense_refusal(dense: Any, *_: Any) -> str:
    return "its own activation follows" if dense.activation_flag else ""


def _ends_with_activation(dense: Any) -> bool:
    """Whether the dense layer has an activation that can be fused into its matrix product.

    A dense layer without an activation is not replaced.
    """
    own = dense.activation
    return bool(key_of(own)) and (not isinstance(own, Cell) or is_plain(own))


def _norm_dense_refusal(norm: Any, dense: Any) -> str:
    if not is_over_last_axis(norm, dense.in_channels):
        return "the normalisation is of other axes"
    return _dense_refusal(dense)


def _make_dense_gelu(dense: Any, gelu: Any) -> Any:
    return custom_ops.MatMulBiasGELU.from_cells(dense, gelu.approximate == "tanh")


RULES = (
    Rule(
        ("Conv2d", "BatchNorm2d", "ReLU"),
        lambda c, b, _: custom_ops.ConvBNReLU.from_cells(c, b),
        _conv_bn_refusal,
    ),
    Rule(
        ("Conv2d", "BatchNorm2d", "SiLU"),
        lambda c, b, _: custom_ops.ConvBNSiLU.from_cells(c, b),
        _conv_bn_refusal,
    ),
    Rule(
        ("Conv2d", "BatchNorm2d", "LeakyReLU"),
        lambda c, b, r: custom_ops.ConvBNLeakyReLU.from_cells(c, b, alpha=r.alpha),
        _conv_bn_leaky_refusal,
    ),
    Rule(("Conv2d", "BatchNorm2d"), lambda c, b: ConvBN.from_cells(c, b), _conv_bn_refusal),
    Rule(
        ("LayerNorm", "Dense"),
        lambda n, d: custom_ops.LayerNormLinear.from_cells(n, d),
        _norm_dense_refusal,
    ),
    Rule(("Dense", "ReLU"), lambda d, _: custom_ops.MatMulBiasReLU.from_cells(d), _dense_refusal),
    Rule(("Dense", "GELU"), _make_dense_gelu, _dense_refusal),
    Rule(("Dense", "SiLU"), lambda d, _: custom_ops.MatMulBiasSiLU.from_cells(d), _dense_refusal),
    Rule(("Dense",), lambda d: custom_ops.Dense.from_cells(d), concerns=_ends_with_activation),
    Rule(("Conv2d",), lambda c: custom_ops.Conv2d.from_cells(c), _conv_refusal),
    Rule(
        ("BatchNorm2d",),
        lambda b: custom_ops.BatchNorm.from_cells(b),
        lambda b: "" if b.format == "NCHW" else "another format",
    ),
    Rule(("BatchNorm1d",), lambda b: custom_ops.BatchNorm.from_cells(b)),
    Rule(("LayerNorm",), lambda n: custom_ops.LayerNorm.from_cells(n)),
    Rule(("GELU",), lambda g: custom_ops.GELU(g.approximate == "tanh")),
    Rule(("SiLU",), lambda _: custom_ops.Swish()),
    Rule(
        ("Embedding",),
        lambda e: custom_ops.TokenEmbedding.from_cells(e),
        lambda e: "it multiplies" if e.use_one_hot else "",
    ),
    Rule(("Softmax",), lambda s: custom_ops.Softmax.from_cells(s)),
)
"""All rules. A rule for a sequence of classes precedes the rules for a prefix of this sequence."""


def rule_for(cells: tuple[Any, ...], least: int = 1) -> Rule | None:
    """Returns the rule that replaces the most Cells from the start of a sequence of Cells.

    Returns None if no rule matches.

    Args:
        cells: the Cells of the sequence, in order.
        least: minimum number of Cells that the rule replaces.
    """
    for rule in RULES:
        count = len(rule.classes)
        if count < least or not rule.fits(cells[:count]):
            continue
        # if a rule for several Cells does not apply, shorter rules are tried
        if count == 1 or not rule.applies(*cells[:count]):
            return rule
    return None
