"""Defines the presets: named sets of graph kernel flags for each device and MindSpore version.

The statements about MindSpore's CPU generator are results of measurements with MindSpore 2.10 on
x86-64 with AVX2 kernels. Each operator was measured separately, on 262,144 random values and on
edge values, and compared with float64. A figure such as "76 → 2,370 ULP" is the largest error: 76
ULP unfused, 2,370 ULP fused.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import NO_OPERATOR, GraphKernelFlags
from ms_fusion.mindspore.flags.order_preserving_passes import disabled_passes
from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator
from ms_fusion.ops import operators_where, operators_with, table
from ms_fusion.ops.op_info import Trait
from ms_fusion.ops.selections import CPU_CLUSTERABLE_OPS, CPU_EXPANDABLE_OPS
from tbe_impl.errors import InputError, suggest_name
from tbe_impl.records import Record

DEVICES = ("CPU", "GPU", "Ascend")
VERSIONS = ("2.7", "2.8", "2.9", "2.10")
"""Versions of MindSpore that the table covers; only 2.10 was measured."""


class Preset(Record):
    """Description of a preset, a named set of graph kernel flags.

    Attributes:
        name: name of the preset.
        summary: purpose of the preset, in one line.
        note: remarks; empty if there are none.
    """

    name: str
    summary: str
    note: str = ""


SAME_ON_CPU = (
    "On CPU our generator builds the same kernels as for `auto`. MindSpore's levels differ in some "
    "passes, but these passes do not change the groups of our generator. With MindSpore's own "
    "generator the kernels differ."
)
PRESETS: Mapping[str, Preset] = MappingProxyType(
    {
        item.name: item
        for item in (
            Preset(
                "auto",
                "the best that is known to be safe on this device and version (default)",
                "On CPU results are at most one rounding less accurate than those of MindSpore's "
                "own operators; sums are added in "
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
                "everything stable, also where it costs accuracy (opt_level 2; on CPU the kernels "
                "of auto)",
                "On CPU the same as `auto`; with MindSpore's own generator exponentials are off "
                "by up to 2.8e-4 and never reach "
                "inf, and NaN may compare equal.",
            ),
            Preset(
                "expert",
                "experimental passes too (opt_level 3; on CPU the kernels of auto)",
                SAME_ON_CPU,
            ),
            Preset(
                "precise",
                "bit-for-bit the unfused result",
                "Built by MindSpore's own generator; on CPU Mul and Add/Sub stay unfused, because "
                "this generator contracts and rewrites them. Cast, Less, Greater, Equal, NotEqual, "
                "LogicalNot, LogicalOr, Maximum, Minimum, RealDiv and Neg stay unfused too: "
                "only <=, >=, select, Abs, Sqrt, Floor and tests for NaN and inf are fused.",
            ),
        )
    }
)

UNSAFE_ON_CPU: Mapping[str, str] = table(lambda operator: operator.mindspore_generator.unsafe)
"""Operators that MindSpore clusters by default on CPU, but that no preset clusters.

Each operator is mapped to the reason. The table applies only to MindSpore's generator.
"""

INACCURATE_ON_CPU: Mapping[str, str] = table(
    lambda operator: operator.mindspore_generator.inaccurate
)
"""Operators that `auto` and `basic` do not cluster on CPU.

MindSpore clusters these operators by default. Each operator is mapped to a measurement of its
error.
"""

INACCURATE_EXPANSIONS: Mapping[str, str] = table(
    lambda operator: operator.mindspore_generator.inaccurate_expansion
)
"""Operators that `auto` and `basic` do not expand on CPU.

MindSpore expands these operators by default. Each operator is mapped to a measurement of its error.
"""

AUTO_CLUSTERED: Mapping[str, str] = table(
    lambda operator: operator.mindspore_generator.auto_cluster
)
"""Operators that `auto` clusters on CPU in addition to MindSpore's default.

Each operator is mapped to a measurement.
"""

EXCLUDED_FROM_AUTO: Mapping[str, str] = table(
    lambda operator: operator.mindspore_generator.not_auto
)
"""Operators that `auto` could cluster or expand on CPU, but does not.

Each operator is mapped to the reason.
"""

AUTO_EXPANDED: Mapping[str, str] = table(lambda operator: operator.mindspore_generator.auto_expand)
"""Operators that `auto` expands on CPU in addition to MindSpore's default.

Each operator is mapped to a measurement.
"""

PRECISE_ON_CPU = tuple(
    sorted(operators_where(lambda operator: operator.mindspore_generator.precise))
)
"""Operators that `precise` clusters on CPU with MindSpore's generator.

Their results have the same bits as the unfused results. This was measured on x86-64. Any two NaNs
are treated as equal, whatever their payloads. The following operators are not in the list, although
each of them, computed alone, is correctly rounded:

- Mul, Add, Sub: `x*y+z` becomes one fused multiply-add, `x*y+x` becomes `x*(y+1)`, `(x+y)-x`
  becomes `y`, and `x*0` becomes 0.
- Maximum, Minimum: `max(x,x)` becomes `x`, but the unfused operator flushes subnormals.
- Less, Greater: a Select whose condition is a Less or Greater becomes a minimum or maximum, which
  flushes subnormals.
- Equal, NotEqual, LogicalNot, LogicalOr: the generator rewrites them as if there were no NaN.
- Neg: it loses the sign of 0.
- RealDiv, Div: MindSpore's unfused operator returns -inf for NaN/0.
- Sign: if its result is compared with a number, the comparison differs for NaN.
- Cast: it differs for out-of-range values, for NaN to bool, and for float64 to float16.
"""

PRECISE_ELSEWHERE = tuple(sorted(operators_with(Trait.PRECISE_ON_ACCELERATORS)))
"""Operators that `precise` clusters on GPU and Ascend.

They are the operators that are correctly rounded and that a compiler never contracts. Add and Sub
are left out, since a compiler may contract them with a multiplication. The list is not measured,
since neither device was available.
"""


def check_preset(name: str) -> None:
    """Raises `InputError` if the preset does not exist; the error suggests a similar name."""
    if not isinstance(name, str) or name not in PRESETS:
        raise InputError(
            "there is no such preset",
            expected=" or ".join(PRESETS),
            got=repr(name),
            remedy=suggest_name(name, PRESETS),
        )


def resolve(
    preset: str = "auto",
    *,
    device: str = "CPU",
    version: str = "2.10.0",
    flags: GraphKernelFlags | str | None = None,
    generator: str = "mindspore",
) -> GraphKernelFlags:
    """Returns the flags of a preset.

    Args:
        preset: a name in `PRESETS`.
        device: ``CPU``, ``GPU`` or ``Ascend``.
        version: MindSpore's version.
        flags: explicit flags, merged into the flags of the preset
            (`ms_fusion.mindspore.flags.graph_kernel_flags.merge_values`).
        generator: generator of the kernels, ``mindspore`` or ``ms_fusion``. The generator of
            ms_fusion builds some operators that MindSpore's generator cannot build, so the flags
            exclude fewer operators from fusion. It is used only on CPU, and only for the presets
            `auto`, `basic`, `aggressive` and `expert`.

    Raises:
        InputError: the preset or device does not exist, the flags are malformed, or the version is
            below 2.7.
    """
    check_preset(preset)
    if device not in DEVICES:
        raise InputError("there is no such device", expected=" or ".join(DEVICES), got=repr(device))
    number = version_number(version)
    if number < (2, 7):
        raise InputError("this MindSpore is too old", expected="2.7 or newer", got=version)
    explicit = GraphKernelFlags.coerce(flags)
    own = _cpu_flags(preset, number) if device == "CPU" else _accelerator_flags(preset)
    if generator == "ms_fusion" and device == "CPU" and is_built_by_own_generator(preset):
        own = flags_for_own_generator(_OWN_GENERATOR_LEVELS[preset])
    return own.merge(explicit)


def shown_flags(text: str, preset: str, *, device: str = "CPU", version: str = "2.10.0") -> str:
    """Returns a short form of a flag string: a preset and the differences, as ``auto +Reshape``.

    Returns `text` unchanged if the short form would be longer, if `preset` is empty, or if `text`
    or `preset` is invalid.

    Args:
        text: the flag string.
        preset: name of the preset.
        device, version: as for `resolve`.
    """
    if not (text and preset):
        return text
    try:
        flags = GraphKernelFlags.parse(text)
        own = resolve(preset, device=device, version=version, generator=generator_of(text))
    except InputError:
        return text
    return min(" ".join((preset, *flags.changes(own))), text, key=len)


_OWN_GENERATOR_LEVELS = {"basic": 1, "auto": 2, "aggressive": 2, "expert": 3}


def is_built_by_own_generator(preset: str) -> bool:
    """Returns whether our generator can build the kernels of the preset `preset` on CPU."""
    return preset in _OWN_GENERATOR_LEVELS


def version_number(version: str) -> tuple[int, int]:
    """Returns the major and minor number of a version string: (2, 10) for ``2.10.0``.

    Raises:
        InputError: the version is malformed.
    """
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        raise InputError(
            "this is not a version of MindSpore", expected="such as 2.10.0", got=repr(version)
        )
    return int(parts[0]), int(parts[1])


def _cpu_flags(preset: str, version: tuple[int, int]) -> GraphKernelFlags:
    never = tuple(UNSAFE_ON_CPU)
    # Versions below 2.10 lack the flag `exact_precision_mode`. For them the whole pass with the
    # algebraic rewritings is disabled.
    exact = True if version >= (2, 10) else None
    rewriting = () if exact else ("highlevelopt1.arithmetic_simplify",)
    if preset == "off":
        return GraphKernelFlags(opt_level=0)
    if preset == "basic":
        return GraphKernelFlags(
            opt_level=1,
            disable_cluster_ops=(*INACCURATE_ON_CPU, *never),
            disable_expand_ops=tuple(INACCURATE_EXPANSIONS),
            disable_pass=disabled_passes(1),
        )
    if preset == "auto":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops=tuple(AUTO_CLUSTERED),
            disable_cluster_ops=(*INACCURATE_ON_CPU, *never),
            enable_expand_ops=tuple(AUTO_EXPANDED),
            disable_expand_ops=tuple(INACCURATE_EXPANSIONS),
            disable_pass=(*rewriting, *disabled_passes(2)),
        )
    if preset == "precise":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops_only=PRECISE_ON_CPU,
            enable_expand_ops_only=(NO_OPERATOR,),
            disable_pass=("highlevelopt1.arithmetic_simplify", *disabled_passes(2)),
            exact_precision_mode=exact,
        )
    if preset == "aggressive":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops=(*AUTO_CLUSTERED, *_CLUSTERED_FOR_SPEED),
            disable_cluster_ops=never,
            enable_expand_ops=(*AUTO_EXPANDED, *_EXPANDED_FOR_SPEED),
            disable_pass=disabled_passes(2),
        )
    return GraphKernelFlags(opt_level=3, disable_cluster_ops=never, disable_pass=disabled_passes(3))


_FOR_SPEED = operators_where(lambda operator: operator.mindspore_generator.for_speed)
_CLUSTERED_FOR_SPEED = tuple(sorted(_FOR_SPEED & CPU_CLUSTERABLE_OPS))
_EXPANDED_FOR_SPEED = tuple(sorted(_FOR_SPEED & CPU_EXPANDABLE_OPS))
"""Operators that `aggressive` expands on CPU, but `auto` does not.

`EXCLUDED_FROM_AUTO` describes the loss of accuracy of these operators and of the operators in
`_CLUSTERED_FOR_SPEED`.
"""


def _accelerator_flags(preset: str) -> GraphKernelFlags:
    """Returns the flags of a preset for GPU and Ascend.

    The preset `precise` restricts MindSpore's own lists of fused operators. The other presets leave
    these lists unchanged. The flags were derived from MindSpore's source code. Their effect was not
    measured.
    """
    if preset == "precise":
        return GraphKernelFlags(
            opt_level=2,
            enable_cluster_ops_only=PRECISE_ELSEWHERE,
            enable_expand_ops_only=(NO_OPERATOR,),
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
    """Returns the text of a `context:` block for a configuration file in the style of mindformers.

    On CPU ``jit_level: O1`` enables no fusion, so a comment above the block gives the environment
    variable to set. The flags are for MindSpore's generator, since a configuration file cannot
    select our generator: a process must call `enable` to use it.
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
