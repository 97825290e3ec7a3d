"""The presets: which graph kernel flags each stands for, on which device and version, and why.

What is said here of MindSpore's own generator on CPU was measured on 2.10 (x86-64, AVX2 kernels) against float64, one
operator at a time on 262,144 random values and on edge values; numbers are the largest error in ULP, unfused → fused.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ms_fusion.flags import NOTHING, GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets.order_preserving_passes import order_kept
from ms_fusion.presets.own_generator_flags import served
from tbe_impl.errors import InputError

DEVICES = ("CPU", "GPU", "Ascend")
VERSIONS = ("2.7", "2.8", "2.9", "2.10")
"""Versions the table was written for; 2.10 is the one that was measured."""


@dataclass(frozen=True)
class Preset:
    """One row of the table: its name, what it is for, and what to know about it."""

    name: str
    summary: str
    note: str = ""


SAME_ON_CPU = (
    "On CPU our generator builds the same kernels as for `auto`: the passes in which MindSpore's levels differ "
    "change none of its groups. With MindSpore's own generator they are others."
)
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        item.name: item
        for item in (
            Preset(
                "auto",
                "the best that is known to be safe on this device and version (default)",
                "On CPU nothing is less accurate than MindSpore's own operators by more than a rounding; sums are added in "
                "another order, and MindSpore's own generator contracts (`x*y+z` rounds once).",
            ),
            Preset("off", "no fusion (opt_level 0)"),
            Preset(
                "basic",
                "basic fusion only (opt_level 1; on CPU the kernels of auto)",
                SAME_ON_CPU,
            ),
            Preset(
                "aggressive",
                "everything stable, also where it costs accuracy (opt_level 2; on CPU the kernels of auto)",
                "On CPU the same as `auto`; with MindSpore's own generator exponentials are off by up to 2.8e-4 and never reach "
                "inf, and NaN may compare equal.",
            ),
            Preset(
                "expert",
                "experimental passes too (opt_level 3; on CPU the kernels of auto); takes explicit flags",
                SAME_ON_CPU,
            ),
            Preset(
                "precise",
                "bit-for-bit the unfused result",
                "Built by MindSpore's own generator; on CPU that leaves Mul and Add/Sub unfused (it contracts and rewrites "
                "them), and Cast, Less, Greater, Equal, NotEqual, LogicalNot, LogicalOr, Maximum, Minimum, RealDiv and Neg "
                "too: only <=, >=, select, Abs, Sqrt, Floor and tests for NaN and inf are fused.",
            ),
        )
    }
)

NEVER_ON_CPU: Mapping[str, str] = MappingProxyType(
    {
        "Round": "MindSpore's own generator cannot build it; every kernel with it would fall apart",
        "Cast": "a cast to float16 next to one that MindSpore inserts by itself cannot be built (mixed precision)",
        "Transpose": "left unwritten where the kernel also hands out its Reshape, which makes gradients of attention wrong; "
        "garbage for dtypes that are not 4 bytes wide; never fused with what is before it",
    }
)
"""Clustered by default on CPU, kept out of every preset."""

INACCURATE_ON_CPU: Mapping[str, str] = MappingProxyType(
    {
        "Exp": "76 → 2,370 ULP, never reaches inf, NaN becomes a number",
        "Log": "wrong for 0, inf and NaN (accurate elsewhere: 25,000 → 0.8 ULP)",
        "Tanh": "1,690 → 4,180 ULP; 445 ULP where unfused has 0.3",
        "Reciprocal": "of integers gives 0 (of floats it is right, and 1/x stays fusible as RealDiv)",
        "Equal": "`x == x` becomes true, also for NaN",
        "LogicalNot": "`not x < y` becomes `y <= x`, which differs for NaN",
        "Mod": "a division of integers by 0 ends the process",
    }
)
"""Clustered by default on CPU, kept out of `auto` and `basic`, with what was measured."""

INACCURATE_EXPANSIONS: Mapping[str, str] = MappingProxyType(
    {
        "GeLU": "through Tanh: 1.1 → 11 ULP on edges",
        "GeLUGrad": "through Tanh",
        "Softplus": "through Exp and Log",
        "SoftplusGrad": "through Exp",
        **dict.fromkeys(
            ("Square", "SqrtGrad", "BiasAddGrad"),
            "of float16 is float32 where its kernel has several results",
        ),
    }
)
"""Expanded by default on CPU, kept whole by `auto` and `basic`."""

AUTO_CLUSTERED: Mapping[str, str] = MappingProxyType(
    {
        "Div": "0.5 → 0.5 ULP; NaN/0 is NaN as it should be (unfused: inf)",
        "Greater": "exact",
        "GreaterEqual": "exact",
        "LogicalAnd": "exact",
        "LogicalOr": "exact, but for `x > y or x <= y`, which becomes true for NaN as well",
        "Sin": "0.5 → 0.56 ULP",
        "Cos": "0.5 → 0.56 ULP",
        "Atan": "0.5 → 0.83 ULP",
        "Erf": "0.9 → 0.9 ULP",
        "Floor": "exact",
        "FloorDiv": "exact",
        "IsNan": "exact",
        "IsInf": "exact",
        "IsFinite": "exact",
        "StridedSlice": "exact",
        "ReduceMin": "exact",
        "BroadcastTo": "exact",
        "Tile": "exact",
    }
)
"""Not clustered by default on CPU, added by `auto`."""

NOT_ADDED: Mapping[str, str] = MappingProxyType(
    {
        "NotEqual": "false for NaN; `x != x` is how NaN is looked for",
        "Sign": "a comparison with the sign of NaN differs",
        "CumSum": "nothing fuses with it",
        "FloorMod": "float16 is 0.29 off; a division of integers by 0 ends the process",
        "OneHot": "not measured",
        "Sigmoid": "through Exp: 64 → 1,400 ULP",
        "SiLU": "through Exp: 64 → 1,450 ULP",
        "Softmax": "through Exp: 151 → 4,690 ULP",
        "LogSoftmax": "through Exp, whose error of 2.8e-4 a logarithm near 0 does not forgive",
        "HSigmoid": "1 → 32,800 ULP near 0, where it cancels",
        "HSwish": "1.9 → 2.3 ULP",
        "FastGeLU": "through Exp",
        "ReduceMean": "of float16 is float32 where its kernel has several results",
        "LayerNorm": "as accurate, but four kernels in place of one: nothing is fused behind a reduction",
    }
)
"""Could be clustered or expanded on CPU, not added by `auto`, with the reason."""

AUTO_EXPANDED: Mapping[str, str] = MappingProxyType(
    {
        "SigmoidGrad": "1.9 → 1.9 ULP",
        "ReluGrad": "exact",
        "SquaredDifference": "1.9 → 1.9 ULP",
        "Squeeze": "exact",
    }
)
"""Not expanded by default on CPU, added by `auto`."""

PRECISE_ON_CPU = tuple(
    "Abs Floor GreaterEqual IsFinite IsInf IsNan LessEqual LogicalAnd Select Sqrt".split()
)
"""Clustered by `precise` with MindSpore's own CPU generator: any combination of these is bit-equal to the unfused result.

Left out though correctly rounded one by one: Mul, Add, Sub (`x*y+z` is contracted, `x*y+x` becomes `x*(y+1)`,
`(x+y)-x` becomes `y`, `x*0` becomes 0), Maximum and Minimum (`max(x,x)` becomes `x`, where MindSpore's own flushes
subnormals), Less and Greater (a select by them becomes min or max, which flush subnormals), Equal, NotEqual, LogicalNot,
LogicalOr (rewritten as if there were no NaN), Neg (loses the sign of 0), RealDiv and Div (unfused MindSpore says
NaN/0 = -inf), Sign (a comparison with it differs for NaN) and Cast (out-of-range values, NaN to bool, float64 to
float16). Measured on x86-64; NaN counts as equal to NaN, whatever its payload.
"""

PRECISE_ELSEWHERE = tuple(
    """Abs Cast Equal Floor Greater GreaterEqual IsFinite Less LessEqual LogicalAnd LogicalNot LogicalOr Maximum Minimum
    Mul Neg NotEqual Select Sqrt""".split()
)
"""Clustered by `precise` on GPU and Ascend: correctly rounded, Add and Sub left out so that nothing can be contracted.

Chosen by rule; not measured, since no such device was at hand.
"""


def check_preset(name: str) -> None:
    """Raises `InputError`, with the name that was meant, unless there is such a preset."""
    if not isinstance(name, str) or name not in PRESETS:
        near = difflib.get_close_matches(str(name), PRESETS, 1)
        raise InputError(
            "there is no such preset",
            expected=" or ".join(PRESETS),
            got=repr(name),
            remedy=f"Did you mean {near[0]}?" if near else None,
        )


def resolve(
    preset: str = "auto",
    *,
    device: str = "CPU",
    version: str = "2.10.0",
    flags: GraphKernelFlags | str | None = None,
    generator: str = "mindspore",
) -> GraphKernelFlags:
    """The flags that a preset stands for.

    Args:
        preset: a name in `PRESETS`.
        device: ``CPU``, ``GPU`` or ``Ascend``.
        version: MindSpore's version.
        flags: explicit flags, put over those of the preset (`ms_fusion.flags.merge_values`).
        generator: ``ms_fusion``, which `enable` chooses on CPU where it can: the kernels are built by
            `ms_fusion.kernel_server`, so that what is wrong in MindSpore's own generator need not be kept out; for `auto`,
            `basic`, `aggressive` and `expert`.

    Raises:
        InputError: no such preset or device, flags that cannot be parsed, a version below 2.7.
    """
    check_preset(preset)
    if device not in DEVICES:
        raise InputError("there is no such device", expected=" or ".join(DEVICES), got=repr(device))
    number = version_number(version)
    if number < (2, 7):
        raise InputError("this MindSpore is too old", expected="2.7 or newer", got=version)
    explicit = GraphKernelFlags.of(flags)
    own = _on_cpu(preset, number) if device == "CPU" else _elsewhere(preset)
    if generator == "ms_fusion" and device == "CPU" and is_served(preset):
        own = served(_SERVED_LEVELS[preset])
    return own.merge(explicit)


def shown_flags(text: str, preset: str, *, device: str = "CPU", version: str = "2.10.0") -> str:
    """A flag string as the name of the preset that it came from, and what differs: ``auto +Reshape``.

    The string itself where no preset is known, or where that is shorter.
    """
    if not (text and preset):
        return text
    try:
        flags = GraphKernelFlags.parse(text)
        own = resolve(preset, device=device, version=version, generator=generator_of(text))
    except InputError:
        return text
    return min(" ".join((preset, *flags.changes(own))), text, key=len)


_SERVED_LEVELS = {"basic": 1, "auto": 2, "aggressive": 2, "expert": 3}


def is_served(preset: str) -> bool:
    """Whether our generator can build what this preset stands for, on CPU."""
    return preset in _SERVED_LEVELS


def version_number(version: str) -> tuple[int, int]:
    """(2, 10) of ``2.10.0``; raises `InputError` for what is no version."""
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        raise InputError(
            "this is no version of MindSpore", expected="such as 2.10.0", got=repr(version)
        )
    return int(parts[0]), int(parts[1])


def _on_cpu(preset: str, version: tuple[int, int]) -> GraphKernelFlags:
    never = tuple(NEVER_ON_CPU)
    # the flag is newer than the others; without it the rewritings of all kinds are done from opt_level 2
    exact = True if version >= (2, 10) else None
    rewriting = () if exact else ("highlevelopt1.arithmetic_simplify",)
    if preset == "off":
        return GraphKernelFlags(opt_level=0)
    if preset == "basic":
        return GraphKernelFlags(
            opt_level=1,
            disable_cluster_ops=(*INACCURATE_ON_CPU, *never),
            disable_expand_ops=tuple(INACCURATE_EXPANSIONS),
            disable_pass=order_kept(1),
        )
    if preset == "auto":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops=tuple(AUTO_CLUSTERED),
            disable_cluster_ops=(*INACCURATE_ON_CPU, *never),
            enable_expand_ops=tuple(AUTO_EXPANDED),
            disable_expand_ops=tuple(INACCURATE_EXPANSIONS),
            disable_pass=(*rewriting, *order_kept(2)),
        )
    if preset == "precise":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops_only=PRECISE_ON_CPU,
            enable_expand_ops_only=(NOTHING,),
            disable_pass=("highlevelopt1.arithmetic_simplify", *order_kept(2)),
            exact_precision_mode=exact,
        )
    if preset == "aggressive":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops=(*AUTO_CLUSTERED, *_CLUSTERED_FOR_SPEED),
            disable_cluster_ops=never,
            enable_expand_ops=(*AUTO_EXPANDED, *_EXPANDED_FOR_SPEED),
            disable_pass=order_kept(2),
        )
    return GraphKernelFlags(opt_level=3, disable_cluster_ops=never, disable_pass=order_kept(3))


_CLUSTERED_FOR_SPEED = ("NotEqual", "Sign")
_EXPANDED_FOR_SPEED = tuple("ReduceMean Sigmoid SiLU LayerNorm HSigmoid HSwish FastGeLU".split())
"""What `aggressive` adds to `auto` on CPU, although `NOT_ADDED` says what it costs."""


def _elsewhere(preset: str) -> GraphKernelFlags:
    """GPU and Ascend: MindSpore's own lists at each level; read in its source, not measured."""
    if preset == "precise":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops_only=PRECISE_ELSEWHERE,
            enable_expand_ops_only=(NOTHING,),
            disable_pass=("highlevelopt1.arithmetic_simplify",),
        )
    levels = {"off": 0, "basic": 1, "auto": 2, "aggressive": 2, "expert": 3}
    return GraphKernelFlags(
        opt_level=levels[preset], fusion_ops_level=1 if preset == "aggressive" else None
    )


def to_yaml(
    preset: str = "auto",
    *,
    device: str = "CPU",
    version: str = "2.10.0",
    flags: GraphKernelFlags | str | None = None,
) -> str:
    """A `context:` block to paste into a mindformers-style configuration.

    On CPU ``jit_level: O1`` switches nothing on, so its comment carries the environment variable as well; the flags are
    those for MindSpore's own generator, since ours is there in processes that call `enable`.
    """
    import yaml

    text = resolve(preset, device=device, version=version, flags=flags).render()
    block = {
        "context": {
            "mode": 0,
            "device_target": device,
            "jit_config": {"jit_level": "O1" if preset != "off" else "O0"},
            "enable_graph_kernel": preset != "off",
            "graph_kernel_flags": text,
        }
    }
    exported = f'export MS_DEV_GRAPH_KERNEL_FLAGS="{text}"'
    environment = (
        f"on CPU this block alone switches nothing on, and this does: {exported}\n"
        "# both are for MindSpore's own generator; ours builds where a process calls `mf.enable`"
        if device == "CPU" and preset != "off"
        else f"the same by environment: {exported}"
    )
    head = f"# ms_fusion preset {preset!r} for {device}, MindSpore {version}\n# {environment}\n"
    return head + yaml.safe_dump(block, sort_keys=False, width=10_000)
