"""The preset table: flags of each preset, lint-free; `precise` is bit-equal, `auto` accurate."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.lint import lint
from ms_fusion.mindspore.flags.order_preserving_passes import disabled_passes
from ms_fusion.mindspore.flags.preset_table import (
    AUTO_CLUSTERED,
    AUTO_EXPANDED,
    DEVICES,
    EXCLUDED_FROM_AUTO,
    INACCURATE_EXPANSIONS,
    INACCURATE_ON_CPU,
    PRECISE_ON_CPU,
    PRESETS,
    UNSAFE_ON_CPU,
    VERSIONS,
    resolve,
    to_yaml,
)
from ms_fusion.mindspore.presets.generator_choice import GENERATORS
from ms_fusion.ops import OPERATORS, operators_with, selections
from ms_fusion.ops.op_info import Trait
from ms_fusion.why_not.suggest import NEVER_ENABLED_OPERATORS
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

EVERY = [
    (preset, device, version) for preset in PRESETS for device in DEVICES for version in VERSIONS
]


@cases("generator", GENERATORS)
@cases("preset, device, version", EVERY)
def test_every_preset_is_clean_and_survives_its_own_text(
    preset: str, device: str, version: str, generator: str
) -> None:
    flags = resolve(preset, device=device, version=f"{version}.0", generator=generator)
    assert GraphKernelFlags.parse(flags.render()) == flags
    found = lint(flags.render(), device=device, generator=generator)
    assert [item for item in found if item.severity == "error" or item.code == "fatal"] == []


@cases(
    "preset, level",
    [("off", 0), ("basic", 1), ("aggressive", 2), ("expert", 3), ("auto", 2), ("precise", 2)],
)
@cases("device", DEVICES)
def test_levels(preset: str, level: int, device: str) -> None:
    assert resolve(preset, device=device).opt_level == level


@cases("preset", [name for name in PRESETS if name != "off"])
def test_what_kills_the_generator_is_in_no_preset_on_cpu(preset: str) -> None:
    flags = resolve(preset)
    killers = [
        name
        for name, operator in OPERATORS.items()
        if operator.mindspore_generator.crashes and not operator.mindspore_generator.crash_dtypes
    ]
    assert "Round" in killers
    for name in killers:
        if flags.enable_cluster_ops_only is not None:
            assert name not in flags.enable_cluster_ops_only
        else:
            assert name in (flags.disable_cluster_ops or ())
            assert name not in (flags.enable_cluster_ops or ())


def test_auto_adds_and_takes_away_what_the_table_says() -> None:
    flags = resolve("auto")
    assert (
        set(flags.enable_cluster_ops or ()) == set(AUTO_CLUSTERED) <= selections.CPU_CLUSTERABLE_OPS
    )
    assert set(flags.enable_expand_ops or ()) == set(AUTO_EXPANDED) <= selections.CPU_EXPANDABLE_OPS
    assert (
        set(flags.disable_cluster_ops or ())
        == {*INACCURATE_ON_CPU, *UNSAFE_ON_CPU}
        <= selections.CPU_CLUSTER_OPS
    )
    assert (
        set(flags.disable_expand_ops or ())
        == set(INACCURATE_EXPANSIONS)
        <= selections.CPU_EXPAND_OPS
    )
    reasons = {
        **AUTO_CLUSTERED,
        **AUTO_EXPANDED,
        **INACCURATE_ON_CPU,
        **INACCURATE_EXPANSIONS,
        **EXCLUDED_FROM_AUTO,
        **UNSAFE_ON_CPU,
    }
    assert all(reasons.values())


def test_what_every_preset_keeps_out_is_never_suggested() -> None:
    assert set(UNSAFE_ON_CPU) == NEVER_ENABLED_OPERATORS


def test_precise_holds_correctly_rounded_operators_only() -> None:
    for device in DEVICES:
        names = set(resolve("precise", device=device).enable_cluster_ops_only or ())
        assert (
            names <= operators_with(Trait.CORRECTLY_ROUNDED) and not names & selections.REDUCTIONS
        )
        assert not {"Add", "Sub"} & names or "Mul" not in names
    assert "Mul and Add/Sub stay unfused" in PRESETS["precise"].note


@cases("version", ["2.7.0", "2.8.0", "2.9.1"])
def test_a_flag_that_is_newer_than_the_version_is_left_out(version: str) -> None:
    assert resolve("precise", version=version).exact_precision_mode is None
    rewriting = "highlevelopt1.arithmetic_simplify"
    assert rewriting in (resolve("auto", version=version).disable_pass or ())
    assert resolve("precise").exact_precision_mode is True
    assert rewriting not in (resolve("auto").disable_pass or ())


def test_explicit_flags_lie_over_the_preset() -> None:
    assert resolve("expert", flags="--opt_level=2 --dump_as_text=true").render() == (
        "--opt_level=2 --disable_cluster_ops=Cast,Round,Transpose "
        f"--disable_pass={','.join(disabled_passes(3))} --dump_as_text=true"
    )
    only = resolve("auto", flags=GraphKernelFlags(enable_cluster_ops_only=("Add",)))
    assert only.enable_cluster_ops is None and only.disable_cluster_ops is None
    assert only.enable_expand_ops == tuple(AUTO_EXPANDED)


@cases(
    "arguments",
    [
        {"preset": "fast"},
        {"device": "TPU"},
        {"version": "2.6.0"},
        {"version": "two"},
        {"flags": "--opt_lvl=1"},
    ],
)
def test_what_is_not_in_the_table_is_refused(arguments: dict[str, str]) -> None:
    with pytest.raises(InputError):
        resolve(**arguments)


@cases("device", DEVICES)
@cases("preset", PRESETS)
def test_yaml_holds_a_context_and_says_where_it_does_nothing(preset: str, device: str) -> None:
    text = to_yaml(preset, device=device)
    context = yaml.safe_load(text)["context"]
    assert context["graph_kernel_flags"] == resolve(preset, device=device).render()
    assert context["device_target"] == device and context["enable_graph_kernel"] == (
        preset != "off"
    )
    assert f'export MS_DEV_GRAPH_KERNEL_FLAGS="{context["graph_kernel_flags"]}"' in text
    useless = device == "CPU" and preset != "off"
    assert ("on CPU this block alone switches nothing on" in text) == useless


@pytest.fixture(scope="module")
def precise(full: bool, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Results of operator pairs of a dtype; by default an eighth of them, with fewer elements."""
    step, elements = (1, 500_000) if full else (8, 50_000)

    @cache
    def found(dtype: str) -> dict[str, Any]:
        place = tmp_path_factory.mktemp("precise") / dtype
        return run(PROGRAMS / "precise.py", place, dtype, str(step), str(elements)).result

    return found


@pytest.mark.mindspore
@pytest.mark.timeout(900)
@cases("dtype", ["float32", pytest.param("float16", marks=FULL)], per_item=1)
def test_precise_is_bit_equal_for_each_pair(full: bool, precise: Any, dtype: str) -> None:
    found = precise(dtype)
    assert found["pairs"] >= (80 if full else 12)
    assert found["different"] == []
    # MindSpore computes these of float16 in float32, outside the kernel
    whole = {"Abs", "Floor"} if dtype == "float16" else set()
    apart = [pair for pair in found["apart"] if not whole & set(pair)]
    assert apart == [], "these pairs were not in one kernel, so nothing was shown for them"


@pytest.mark.mindspore
def test_the_bitwise_comparison_can_fail(precise: Any) -> None:
    assert len(precise("float32")["contracted"]) == 2


@FULL
@pytest.mark.mindspore
def test_auto_is_as_accurate_as_unfused_but_for_a_rounding(tmp_path: Path) -> None:
    found = run(PROGRAMS / "accuracy_of_auto.py", tmp_path / "work").result
    assert len(found) >= 16
    for name, (unfused, fused, kernels) in found.items():
        assert kernels >= 1, f"{name} was not built by the generator"
        assert fused <= max(1.0, unfused * 1.01 + 0.01), (name, unfused, fused)


def test_every_operator_of_precise_is_known_on_cpu() -> None:
    assert set(PRECISE_ON_CPU) <= selections.CPU_CLUSTER_OPS | selections.CPU_CLUSTERABLE_OPS
