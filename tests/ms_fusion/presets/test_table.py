"""The preset table: what each preset stands for, that it is clean, that `precise` is bit-equal and `auto` accurate."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from ms_fusion import operators
from ms_fusion.flag_lint import lint
from ms_fusion.flags import GraphKernelFlags
from ms_fusion.presets.generators import GENERATORS
from ms_fusion.presets.table import (
    AUTO_CLUSTERED,
    AUTO_EXPANDED,
    DEVICES,
    INACCURATE_EXPANSIONS,
    INACCURATE_ON_CPU,
    NEVER_ON_CPU,
    NOT_ADDED,
    PRECISE_ON_CPU,
    PRESETS,
    VERSIONS,
    resolve,
    to_yaml,
)
from ms_fusion.why_not.suggest import NEVER_ENABLE
from tbe_impl.errors import InputError
from tests.ms_fusion.presets.mindspore_child import run

EVERY = [
    (preset, device, version) for preset in PRESETS for device in DEVICES for version in VERSIONS
]


@pytest.mark.parametrize("generator", GENERATORS)
@pytest.mark.parametrize(("preset", "device", "version"), EVERY)
def test_every_preset_is_clean_and_survives_its_own_text(
    preset: str, device: str, version: str, generator: str
) -> None:
    flags = resolve(preset, device=device, version=f"{version}.0", generator=generator)
    assert GraphKernelFlags.parse(flags.render()) == flags
    found = lint(flags.render(), device=device, generator=generator)
    assert [item for item in found if item.severity == "error" or item.code == "fatal"] == []


@pytest.mark.parametrize(
    ("preset", "level"),
    [("off", 0), ("basic", 1), ("aggressive", 2), ("expert", 3), ("auto", 2), ("precise", 2)],
)
@pytest.mark.parametrize("device", DEVICES)
def test_levels(preset: str, level: int, device: str) -> None:
    assert resolve(preset, device=device).opt_level == level


@pytest.mark.parametrize("preset", [name for name in PRESETS if name != "off"])
def test_what_kills_the_generator_is_in_no_preset_on_cpu(preset: str) -> None:
    flags = resolve(preset)
    for name, dtypes in operators.CRASHES.items():
        if dtypes is not None:
            continue
        if flags.enable_cluster_ops_only is not None:
            assert name not in flags.enable_cluster_ops_only
        else:
            assert name in (flags.disable_cluster_ops or ())
            assert name not in (flags.enable_cluster_ops or ())


def test_auto_adds_and_takes_away_what_the_table_says() -> None:
    flags = resolve("auto")
    assert set(flags.enable_cluster_ops or ()) == set(AUTO_CLUSTERED) <= operators.CPU_CLUSTERABLE
    assert set(flags.enable_expand_ops or ()) == set(AUTO_EXPANDED) <= operators.CPU_EXPANDABLE
    assert (
        set(flags.disable_cluster_ops or ())
        == {*INACCURATE_ON_CPU, *NEVER_ON_CPU}
        <= operators.CPU_CLUSTERED
    )
    assert (
        set(flags.disable_expand_ops or ()) == set(INACCURATE_EXPANSIONS) <= operators.CPU_EXPANDED
    )
    reasons = {
        **AUTO_CLUSTERED,
        **AUTO_EXPANDED,
        **INACCURATE_ON_CPU,
        **INACCURATE_EXPANSIONS,
        **NOT_ADDED,
        **NEVER_ON_CPU,
    }
    assert all(reasons.values())


def test_what_every_preset_keeps_out_is_never_suggested() -> None:
    assert set(NEVER_ON_CPU) == NEVER_ENABLE


def test_precise_holds_correctly_rounded_operators_only_and_nothing_that_contracts() -> None:
    for device in DEVICES:
        names = set(resolve("precise", device=device).enable_cluster_ops_only or ())
        assert names <= operators.CORRECTLY_ROUNDED and not names & operators.REDUCTIONS
        assert not {"Add", "Sub"} & names or "Mul" not in names
    assert "Mul and Add/Sub unfused" in PRESETS["precise"].note


@pytest.mark.parametrize("version", ["2.7.0", "2.8.0", "2.9.1"])
def test_a_flag_that_is_newer_than_the_version_is_left_out(version: str) -> None:
    assert resolve("precise", version=version).exact_precision_mode is None
    assert resolve("auto", version=version).disable_pass == ("highlevelopt1.arithmetic_simplify",)
    assert resolve("precise").exact_precision_mode is True and resolve("auto").disable_pass is None


def test_explicit_flags_lie_over_the_preset() -> None:
    assert resolve("expert", flags="--opt_level=2 --dump_as_text=true").render() == (
        "--opt_level=2 --disable_cluster_ops=Round,Cast,Transpose --dump_as_text=true"
    )
    only = resolve("auto", flags=GraphKernelFlags(enable_cluster_ops_only=("Add",)))
    assert only.enable_cluster_ops is None and only.disable_cluster_ops is None
    assert only.enable_expand_ops == tuple(AUTO_EXPANDED)


@pytest.mark.parametrize(
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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("preset", PRESETS)
def test_yaml_holds_a_context_block_and_says_where_it_does_nothing(
    preset: str, device: str
) -> None:
    text = to_yaml(preset, device=device)
    context = yaml.safe_load(text)["context"]
    assert context["graph_kernel_flags"] == resolve(preset, device=device).render()
    assert context["device_target"] == device and context["enable_graph_kernel"] == (
        preset != "off"
    )
    assert f'export MS_DEV_GRAPH_KERNEL_FLAGS="{context["graph_kernel_flags"]}"' in text
    useless = device == "CPU" and preset != "off"
    assert ("on CPU this block alone switches nothing on" in text) == useless


PRECISE = """
import random as random_module
import mindspore.ops.operations as O
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
FLOATS = {"Abs": "{0}", "Sqrt": "{0}", "Floor": "{0}", "Select": "b,{0},y"}
COMPARES = ["LessEqual", "GreaterEqual"]
TESTS = ["IsNan", "IsInf", "IsFinite"]
pairs = []   # (producer, consumer, expression)
producers = {"Abs": "Abs(x)", "Sqrt": "Sqrt(x)", "Floor": "Floor(x)", "Select": "Select(b,x,y)"}
for first, made in producers.items():
    for then in ("Abs", "Sqrt", "Floor", *TESTS):
        pairs.append((first, then, f"{then}({made})"))
    for then in COMPARES:
        pairs += [(first, then, f"{then}({made},{other})") for other in ("y", made.replace("x", "z"))]
        pairs.append((first, then, f"{then}(x,{made})"))
    pairs += [(first, "Select", f"Select(b,{made},y)"), (first, "Select", f"Select(c,x,{made})")]
producers = {name: f"{name}(x,y)" for name in COMPARES} | {name: f"{name}(x)" for name in TESTS}
producers["LogicalAnd"] = "LogicalAnd(b,c)"
for first, made in producers.items():
    pairs += [(first, "Select", f"Select({made},{sides})") for sides in ("x,y", "y,x", "x,0.0")]
    pairs += [(first, "LogicalAnd", f"LogicalAnd({made},b)")]
    pairs.append((first, "LogicalAnd", f"LogicalAnd({made},{producers['LessEqual']})"))
dice = random_module.Random(11)
def number(depth):
    if depth == 0:
        return dice.choice(["x", "y", "x", "z"])
    one, other = number(depth - 1), number(dice.randrange(depth))
    return dice.choice([f"Abs({one})", f"Sqrt({one})", f"Floor({one})", f"Select({truth(depth - 1)},{one},{other})"])
def truth(depth):
    if depth == 0:
        return dice.choice("bc")
    by = dice.choice([*COMPARES, *COMPARES, *TESTS, "LogicalAnd"])
    if by == "LogicalAnd":
        return f"LogicalAnd({truth(depth - 1)},{truth(depth - 1)})"
    return f"{by}({number(depth - 1)},{number(depth - 1)})" if by in COMPARES else f"{by}({number(depth - 1)})"
pairs += [("Abs", "Sqrt", f"Select({truth(3)},{number(3)},{number(2)})") for _ in range(24)]   # and whole trees
if BREAK:
    pairs = [("Mul", "Add", "Add(Mul(x,y),z)"), ("Mul", "Add", "Add(Mul(x,y),x)")]
names = sorted({name for pair in pairs for name in pair[:2]})
source = "import mindspore.ops.operations as O\\nfrom mindspore import nn\\n"
source += "".join(f"{name} = O.{name}()\\n" for name in names)
chunks = [pairs[start : start + 24] for start in range(0, len(pairs), 24)]
for number, chunk in enumerate(chunks):
    source += f"class Net{number}(nn.Cell):\\n    def construct(self, x, y, z, b, c):\\n        return (\\n"
    source += "".join(f"            {expression},\\n" for _, _, expression in chunk) + "        )\\n"
Path("precise_nets.py").write_text(source)
sys.path.insert(0, os.getcwd())
import precise_nets

ELEMENTS = 2_000_000
random = np.random.default_rng(5)
dtype = np.dtype(DTYPE)
info = np.finfo(dtype)
edges = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal,
    -info.smallest_subnormal, info.tiny / 2, 1, -1, 0.5, -0.5, 1.5, -2.5, 1 + info.eps, 1 / 3], dtype)
grid = np.array(np.meshgrid(edges, edges, edges)).reshape(3, -1)
def values(row):
    bits = random.integers(0, 256, ELEMENTS * dtype.itemsize, dtype=np.uint8).view(dtype).copy()
    bits[: ELEMENTS // 2] = (random.standard_normal(ELEMENTS // 2) * 3).astype(dtype)
    random.shuffle(bits)
    bits[: grid.shape[1]] = grid[row]
    return bits.reshape(-1, 1000)
arrays = [values(row) for row in range(3)] + [random.integers(0, 2, (ELEMENTS // 1000, 1000)).astype(bool) for _ in "bc"]
inputs = [Tensor(array) for array in arrays]
RESULT["different"], RESULT["pairs"] = [], len(pairs)
for number, chunk in enumerate(chunks):
    def outputs(preset, flags=None):
        with mf.fusion(preset, flags=flags, generator="mindspore"):
            return [tensor.asnumpy() for tensor in getattr(precise_nets, f"Net{number}")()(*inputs)]
    plain = outputs("off")
    fused = outputs("aggressive") if BREAK else outputs("precise")
    for (_, _, expression), one, other in zip(chunk, plain, fused):
        if np.array_equal(one.view(f"u{one.itemsize}"), other.view(f"u{one.itemsize}")):
            continue
        unlike = one.view(f"u{one.itemsize}") != other.view(f"u{one.itemsize}")
        if one.dtype.kind == "f":
            unlike &= ~(np.isnan(one) & np.isnan(other))   # a NaN is a NaN, whatever its payload
        if unlike.any():
            RESULT["different"].append([expression, float(unlike.mean())])
joined = set()
for body in bodies():
    made = {}
    for step in body["op_desc"]:
        for group in step["input_desc"]:
            for item in group:
                if item["tensor_name"] in made:
                    joined.add((made[item["tensor_name"]], step["name"]))
        for item in step["output_desc"]:
            made[item["tensor_name"]] = step["name"]
RESULT["apart"] = sorted({pair[:2] for pair in pairs} - joined)
"""


def _precise(place: Path, dtype: str, *, broken: bool = False) -> dict[str, Any]:
    return run(
        PRECISE.replace("DTYPE", repr(dtype)).replace("BREAK", repr(broken)), place / "work"
    ).result


@pytest.mark.mindspore
@pytest.mark.timeout(900)
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_precise_is_bit_equal_for_each_pair(tmp_path: Path, dtype: str) -> None:
    found = _precise(tmp_path, dtype)
    assert found["pairs"] >= 80
    assert found["different"] == []
    # MindSpore computes these of float16 in float32, which takes them out of the kernel
    whole = {"Abs", "Floor"} if dtype == "float16" else set()
    apart = [pair for pair in found["apart"] if not whole & set(pair)]
    assert apart == [], "these pairs were not in one kernel, so nothing was shown for them"


@pytest.mark.mindspore
def test_the_bitwise_comparison_can_fail(tmp_path: Path) -> None:
    found = _precise(tmp_path, "float32", broken=True)
    assert len(found["different"]) == 2


ACCURACY = """
from math import erf
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
import mindspore.ops.operations as O
import mindspore.ops.operations._grad_ops as G
random = np.random.default_rng(2)
def draw(scale=4.0):
    return (random.standard_normal((64, 512)) * scale).astype(np.float32)
x, y, positive = draw(), draw(), np.exp(draw()).astype(np.float32)
CASES = {
    "Div": ("(a, b)", lambda a, b: a / b, (x, y)),
    "RealDiv": ("(a, b)", lambda a, b: a / b, (x, y)),
    "Sin": ("(a)", np.sin, (x,)),
    "Cos": ("(a)", np.cos, (x,)),
    "Atan": ("(a)", np.arctan, (x,)),
    "Erf": ("(a)", np.vectorize(erf), (x,)),
    "Floor": ("(a)", np.floor, (x,)),
    "FloorDiv": ("(a, b)", np.floor_divide, (x, y)),
    "Sqrt": ("(a)", np.sqrt, (positive,)),
    "Rsqrt": ("(a)", lambda a: 1 / np.sqrt(a), (positive,)),
    "Pow": ("(a, b)", np.power, (positive, (x / 8).astype(np.float32))),
    "ReduceMin": ("(a, -1)", lambda a: a.min(-1), (x,)),
    "ReduceMax": ("(a, -1)", lambda a: a.max(-1), (x,)),
    "ReduceSum": ("(a, -1)", lambda a: a.sum(-1), (positive,)),
    "ReduceMean": ("(a, -1)", lambda a: a.mean(-1), (positive,)),
    "SquaredDifference": ("(a, b)", lambda a, b: (a - b) ** 2, (x, y)),
    "Tile": ("(a, (2, 1))", lambda a: np.tile(a, (2, 1)), (x,)),
}
def ulp(got, want):
    unit = np.spacing(np.maximum(np.abs(want), 1.2e-38).astype(np.float32)).astype(np.float64)
    return float((np.abs(got.astype(np.float64) - want) / unit).max())
source = "import mindspore.ops.operations as O\\nfrom mindspore import nn\\n"
for name, (text, _, arrays) in CASES.items():
    names = ", ".join("ab"[: len(arrays)])
    source += f"class {name}(nn.Cell):\\n    def construct(self, {names}):\\n        return O.{name}(){text}\\n"
Path("nets.py").write_text(source)
sys.path.insert(0, os.getcwd())
import nets
for name, (_, meaning, arrays) in CASES.items():
    want = meaning(*(array.astype(np.float64) for array in arrays))
    errors = []
    for preset in ("off", "auto"):
        before = len(kernels())
        with mf.fusion(preset, generator="mindspore"):
            got = getattr(nets, name)()(*map(Tensor, arrays)).asnumpy()
        errors.append(ulp(got, want))
    RESULT[name] = [*errors, len(kernels()) - before]
"""


@pytest.mark.mindspore
def test_auto_is_nowhere_less_accurate_than_unfused_by_more_than_a_rounding(tmp_path: Path) -> None:
    found = run(ACCURACY, tmp_path / "work").result
    assert len(found) >= 17
    for name, (unfused, fused, kernels) in found.items():
        assert kernels >= 1, f"{name} was not built by the generator"
        assert fused <= max(1.0, unfused * 1.01 + 0.01), (name, unfused, fused)


def test_every_operator_of_precise_is_known_on_cpu() -> None:
    assert set(PRECISE_ON_CPU) <= operators.CPU_CLUSTERED | operators.CPU_CLUSTERABLE
