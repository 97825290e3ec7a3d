"""Defines the reason codes of unfused edges and their sentences.

The codes are ordered: the reason that is hardest to remove comes first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion.graph import Value

REASONS: Mapping[str, str] = MappingProxyType(
    {
        "fusion-off": "fusion is off (opt_level={opt_level}), so {producer} and {consumer} "
        "run as kernels of their own",
        "control-flow": "{value} ({dtype} {shape}) leaves sub-graph {subgraph} here; control "
        "flow or no_inline cuts the "
        "program there, and no kernel reaches across",
        "other-subgraph": "{producer} is in sub-graph {subgraph} and {consumer} in "
        "{other_subgraph}; no kernel reaches across",
        "other-device": "{name} runs on {target}, the kernels are built for {device}",
        "not-clusterable": "{op} ({name}) is a kernel of a library; the generator builds "
        "nothing around it",
        "carried": "{op} ({name}) is a kernel that the net brings along ({by}); it stays as it is",
        "kept-out": "{op} ({name}) is kept out of the groups that ms_fusion builds: {why}",
        "unknown-operator": "{op} ({name}) is neither clusterable nor expandable on "
        "{device}, with any flag",
        "dynamic-shape": "{name} handles {value} of shape {shape}, which is not known before "
        "run time",
        "dtype": "{name} ({op}) handles {dtype}, which {limit}",
        "zero-size": "{name} handles {value} of shape {shape}, which has no elements",
        "format": "{name} handles {value} in format {format}; only plain formats are clustered",
        "fence": "{name} carries the attribute {attribute}, which keeps it out of every cluster",
        "value-dependent": "{name} ({op}) takes input {index} ({value}) at run time; it is "
        "clustered only when that is a constant",
        "not-expanded": "{op} ({name}) is in the list of operators to expand, but {device} "
        "leaves it whole",
        "disabled-by-flag": "{op} ({name}) is kept out by --{flag}",
        "not-in-expand-list": "{op} ({name}) can be expanded into basic operators, but is "
        "not in the list in force",
        "not-in-cluster-list": "{op} ({name}) can be clustered, but is not in the list in force",
        "in-place": "{name} ({op}) writes in place; such an operator gets a kernel of its own",
        "not-built": "MindSpore's own generator must not build the kernel of {producer} and "
        "{consumer}: {why}; "
        "so each of its operators runs as it is",
        "generator-failed": "the generator failed on the kernel of {producer} and "
        "{consumer}, so each of its operators runs as "
        "it is",
        "cycle": "a kernel with both {producer} and {consumer} would have to wait for "
        "{through}, which itself waits for "
        "{producer}",
        "splitter-after-reduction": "{reduction} reduces, and on {device} MindSpore's "
        "splitter fuses nothing behind a reduction",
        "splitter-transpose": "{name} transposes, and the splitter gives every transpose a "
        "kernel of its own",
        "splitter-opaque": "{name} ({op}) moves elements to other places, and the splitter "
        "gives it a kernel of its own",
        "splitter-broadcast": "{broadcast}, in the kernel of {producer}, broadcasts, and no "
        "broadcast is fused into a "
        "reduction such as {consumer}",
        "depth-limit": "the kernel of {producer} holds {size} operators, and no more than "
        "{limit} are fused before a "
        "reduction or broadcast",
        "size-limit": "the kernels of {producer} and {consumer} hold {size} operators "
        "together, the limit is {limit}",
        "splitter-sizes": "{producer} computes {elements} elements, {consumer} "
        "{other_elements}; a kernel whose "
        "values others need too is fused into equal sizes only",
        "splitter-shared": "{value} is also needed by {through}, which cannot join the "
        "kernel, so the splitter cut here",
        "moved": "MindSpore's own simplification computes {producer} behind {consumer}, so "
        "nothing goes from the one to the other",
        "unexplained": "no known rule explains why {producer} ({producer_op}) and {consumer} "
        "({consumer_op}) were left apart",
    }
)
"""A dict from a reason code to a sentence template, which has fields for the facts of an edge."""

RANK: Mapping[str, int] = MappingProxyType({code: rank for rank, code in enumerate(REASONS)})


def sentence(code: str, **facts: object) -> str:
    """Returns the sentence of the reason code `code`, with values for its template fields."""
    return REASONS[code].format(**facts) + "."


def shape_text(value: Value) -> str:
    """Returns the shape of a value as text for a sentence, with the names of symbolic sizes."""
    return "(" + ", ".join(map(str, value.shape)) + ")"
