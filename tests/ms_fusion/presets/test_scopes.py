"""Presets take effect and say so: scopes and their precedence, PyNative mode, what is left behind, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.ms_fusion.presets.mindspore_child import run

pytestmark = pytest.mark.mindspore

SCOPES = """
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
NAME = "MS_DEV_GRAPH_KERNEL_FLAGS"

class Chain(nn.Cell):
    def construct(self, x):
        return ops.sqrt(ops.abs(x * 2.0 + 1.0 - x))

# each scope fuses another pair, so a kernel's name tells whose flags were in force
def only(names):
    return f"--opt_level=2 --enable_cluster_ops_only={names}"
USER, PROCESS, BLOCK, CELL = (only(names) for names in ("Mul,Add", "Add,Sub", "Sub,Abs", "Abs,Sqrt"))
PAIRS = {"Fused_Mul_Add": "user", "Fused_Add_Sub": "process", "Fused_Sub_Abs": "block", "Fused_Abs_Sqrt": "Cell"}
size = 64
def seen(patched=False):
    global size
    size += 8
    before, net = set(kernels()), Chain()
    if patched:
        mf.patch(net, "expert", flags=CELL)
    told = presets.in_force(net).scope
    net(ones(size, 64))
    new = [scope for kernel in set(kernels()) - before for start, scope in PAIRS.items() if kernel.startswith(start)]
    return [told, *new]

def scope(*, user, process, block, cell):
    os.environ.pop(NAME, None)
    if user:
        os.environ[NAME] = USER
    before = os.environ.get(NAME)
    if process:
        mf.enable("expert", flags=PROCESS)
    if block:
        held = os.environ.get(NAME)
        with mf.fusion("expert", flags=BLOCK):
            got = seen(cell)
        assert os.environ.get(NAME) == held
    else:
        got = seen(cell)
    if process:
        mf.disable()
    assert os.environ.get(NAME) == before
    return got

presets.kernel_directory()
for bits in range(16):
    on = {name: bool(bits >> index & 1) for index, name in enumerate(("user", "process", "block", "cell"))}
    RESULT["".join("upbc"[i] if bits >> i & 1 else "-" for i in range(4))] = scope(**on)
"""

NARROWEST = {"c": "Cell", "b": "block", "p": "process", "u": "user"}


@pytest.fixture(scope="module")
def scopes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(SCOPES, tmp_path_factory.mktemp("scopes") / "work").result


@pytest.mark.parametrize(
    "which", [f"{u}{p}{b}{c}" for u in "-u" for p in "-p" for b in "-b" for c in "-c"]
)
def test_the_narrower_scope_wins(scopes: dict[str, Any], which: str) -> None:
    want = next((NARROWEST[letter] for letter in "cbpu" if letter in which), None)
    assert scopes[which] == ([want, want] if want else ["none"])


BLOCKS = """
ms.set_context(mode=ms.GRAPH_MODE)
warnings.simplefilter("ignore")
NAME = "MS_DEV_GRAPH_KERNEL_FLAGS"
values = [os.environ.get(NAME)]
mf.enable("basic")
with mf.fusion("aggressive") as outer:
    values.append(outer.preset)
    try:
        with mf.fusion("off") as inner:
            values.append(inner.preset)
            raise KeyError("out of the block")
    except KeyError:
        values.append(presets.in_force().preset)
values.append(presets.in_force().preset)
mf.disable()
values.append(os.environ.get(NAME))
with mf.fusion("precise"):
    values.append(presets.in_force().preset)
values.append(os.environ.get(NAME))
RESULT["values"] = values

# a copy of a patched Cell keeps its preset and compiles itself, not the original
import copy
class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.w = ms.Parameter(ones(4), name="w")
    def construct(self, x):
        return x * self.w + 1.0
net = mf.patch(Net(), "auto")
twin = copy.deepcopy(net)
twin.w.set_data(Tensor(np.full(4, 3, np.float32)))
RESULT["copy"] = [presets.in_force(twin).scope, float(twin(ones(64, 4)).asnumpy()[0, 0]), float(net(ones(64, 4)).asnumpy()[0, 0])]
RESULT["fused"] = [kernel for kernel in kernels() if kernel.startswith("Fused_Mul_Add")]

# flags given after the first call take effect through patch, which drops what was compiled
late = Net()
late(ones(72, 4))
count = len(kernels())
RESULT["compiled"] = [item.code for item in mf.check(late, ones(72, 4))]
mf.patch(late, "auto")
late(ones(72, 4))
RESULT["late"] = len(kernels()) - count
presets.unpatch(late)
RESULT["unpatched"] = presets.in_force(late).scope

with presets.environment_flags("--opt_level=2 --enable_cluster_ops_only=Sub"):
    patched = mf.patch(Net(), "auto")
    before = set(kernels())
    patched(ones(80, 4))
    RESULT["fixed"] = sorted(set(kernels()) - before)

# what is set for a compilation is looked up then, and not with each call
from ms_fusion.presets import net_choices
asked, look_up = [], net_choices.applied
net_choices.applied = lambda *given: asked.append(1) or look_up(*given)
@ms.jit
def function(x):
    return x * 2.0 + 1.0
with mf.fusion("auto"):
    for often in (Net(), function):
        for rows in (8, 16, 8, 16, 16):
            often(ones(rows, 4))
RESULT["asked"] = len(asked)

@ms.jit
def beside_a_number(x):
    return x * 2.0 + 1.0
with mf.fusion("auto", generator="ms_fusion"), warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    found = beside_a_number(Tensor(np.arange(4, dtype=np.float32)).astype(ms.bfloat16))
RESULT["bfloat16"] = [found.astype(ms.float32).asnumpy().tolist(), sum("bfloat16" in str(one.message) for one in said)]
"""


@pytest.fixture(scope="module")
def blocks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BLOCKS, tmp_path_factory.mktemp("blocks") / "work").result


def test_blocks_nest_and_restore_also_after_an_exception(blocks: dict[str, Any]) -> None:
    assert blocks["values"] == [
        None,
        "aggressive",
        "off",
        "aggressive",
        "basic",
        None,
        "precise",
        None,
    ]


def test_a_copied_cell_keeps_its_preset_and_its_own_weights(blocks: dict[str, Any]) -> None:
    assert blocks["copy"] == ["Cell", 4.0, 2.0] and blocks["fused"]


def test_patch_compiles_anew(blocks: dict[str, Any]) -> None:
    assert (
        "compiled" in blocks["compiled"] and blocks["late"] == 1 and blocks["unpatched"] == "none"
    )


def test_a_call_of_what_is_compiled_looks_nothing_up(blocks: dict[str, Any]) -> None:
    assert blocks["asked"] == 4


def test_a_number_beside_bfloat16_leaves_a_net_unfused_and_is_said(blocks: dict[str, Any]) -> None:
    assert blocks["bfloat16"] == [[1.0, 3.0, 5.0, 7.0], 1]


def test_environment_flags_stand_above_a_patched_cell(blocks: dict[str, Any]) -> None:
    assert blocks["fixed"] == []


TRAINING = """
class Block(nn.Cell):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm((32,)), nn.Dense(32, 64), nn.Dense(64, 32)
    def construct(self, x):
        y = self.up(self.norm(x))
        return x + self.down(y / (1.0 + ops.abs(y)) * 0.5 + y * 0.25)

ms.set_seed(3)
np.random.seed(3)
net = Block()
loss_function = nn.MSELoss()
optimizer = nn.Adam(net.trainable_params(), 1e-2)
x = Tensor(np.random.rand(128, 32).astype(np.float32))
y = Tensor(np.random.rand(128, 32).astype(np.float32))

def forward(x, y):
    return loss_function(net(x), y)

gradients = ms.value_and_grad(forward, None, optimizer.parameters)

def train_step(x, y):
    loss, grads = gradients(x, y)
    optimizer(grads)
    return loss

#ENABLE
RESULT["losses"] = [float(train_step(x, y).asnumpy()) for _ in range(5)]
RESULT["operators"] = [len(body["op_desc"]) for body in bodies()] if "MS_COMPILER_CACHE_PATH" in os.environ else []
RESULT["mode"] = "pynative" if ms.get_context("mode") == ms.PYNATIVE_MODE else "graph"
"""


def test_a_stock_pynative_training_script_is_fused_by_its_step(tmp_path: Path) -> None:
    plain = run(TRAINING, tmp_path / "plain").result
    on = 'record = mf.enable(step=train_step)\ntrain_step = record.step\nRESULT["warnings"] = list(record.warnings)\n'
    on += 'RESULT["fused"] = record.fused'
    fused = run(TRAINING.replace("#ENABLE", on), tmp_path / "fused").result
    assert plain["mode"] == fused["mode"] == "pynative" and plain["operators"] == []
    assert fused["fused"] is True and fused["warnings"] == []
    assert sum(count >= 2 for count in fused["operators"]) >= 5
    assert fused["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    assert fused["losses"][-1] < fused["losses"][0]


PATCHED = """
net.set_train()
record = mf.patch(net)
RESULT["in force"] = [presets.in_force(net).fused, list(presets.in_force(net).warnings), presets.in_force().scope]
net.phase_cache["prefill"] = "of a graph"
mf.patch(net)
RESULT["phases"] = len(net.phase_cache)
"""

RECORDING = """
from ms_fusion.presets import pynative
told, flags_set = [], pynative.flags_set
pynative.flags_set = lambda text: (told.append(text), flags_set(text))[1]
net(x)
RESULT["flags set"] = [len(told)]
train_step(x, y)
RESULT["flags set"].append(len(told))
pynative.flags_set = flags_set
"""


def test_a_cell_that_is_patched_in_pynative_mode_is_fused_with_its_gradients(
    tmp_path: Path,
) -> None:
    undone = RECORDING
    undone += 'first = vars(net)["construct"]\nmf.patch(net, "basic")\nmf.patch(Block())\n'
    undone += (
        'RESULT["again"] = [presets.in_force(net).preset, vars(net)["construct"] is not first]\n'
    )
    undone += 'presets.unpatch(net)\nRESULT["undone"] = "construct" in vars(net)\n'
    plain = run(TRAINING, tmp_path / "plain").result
    fused = run(TRAINING.replace("#ENABLE", PATCHED) + undone, tmp_path / "fused").result
    assert fused["mode"] == "pynative" and fused["in force"] == [True, [], "none"]
    assert fused["phases"] == 0
    # forward and backward
    assert sum(count >= 4 for count in fused["operators"]) >= 2
    assert fused["losses"] == pytest.approx(plain["losses"], rel=1e-4)
    # only what records a gradient may compile one
    assert fused["flags set"][0] == 0 < fused["flags set"][1]
    # what was compiled under the first preset is gone, and so is all after the last
    assert fused["again"] == ["basic", True] and fused["undone"] is False


SAYS = """
warnings.simplefilter("ignore")
default = mf.enable()
RESULT["pynative"] = [default.fused, default.mode, default.remedy, str(default)]
mf.disable()
ms.set_context(mode=ms.GRAPH_MODE)
RESULT["none"] = [presets.in_force().route, presets.in_force().remedy]
ms.set_context(jit_config={"jit_level": "O1"})
RESULT["O1"] = [presets.in_force().fused, *presets.in_force().warnings]
ms.set_context(jit_config={"jit_level": "O0"})
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--enable_cluster_ops=Div"
RESULT["no level"] = [presets.in_force().fused, presets.in_force().scope, presets.in_force().remedy]
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=2 --enable_cse=true"
RESULT["own"] = [presets.in_force().fused, presets.in_force().scope, *presets.in_force().warnings]
mf.enable()
RESULT["over the user's"] = [presets.in_force().scope]
RESULT["the user's"] = os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS")
os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = "--opt_level=0"
RESULT["changed after"] = [presets.in_force().fused, presets.in_force().scope, *presets.in_force().warnings]
del os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"]
RESULT["ours again"] = presets.in_force().scope
mf.disable()
class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
net = Net()
net.set_jit_config(ms.JitConfig(jit_level="O1", graph_kernel_flags="--opt_level=2"))
RESULT["JitConfig"] = [presets.in_force(net).fused, presets.in_force(net).route]

def refused(call):
    try:
        call()
    except Exception as error:
        return [type(error).__name__, str(error)]
    return ["nothing"]
two = ones(64, 64)
for name, arguments in {
    "DVM": {"flags": "--opt_level=2 --kernel_generator=DVM"},
    "tuning": {"flags": "--online_tuning=1"},
    "dynamic": {"flags": "--enable_dynamic_shape_fusion=true"},
    "generator": {"generator": "AKG_V2"},
    "Round": {"flags": "--enable_cluster_ops=Round", "generator": "mindspore"},
    "preset": {"preset": "fast"},
    "lint": {"flags": "--enable_cluster_ops=Dvi"},
}.items():
    RESULT[name] = refused(lambda: mf.enable(**arguments))
RESULT["nothing set"] = presets.in_force().route
half = Tensor(np.ones((64, 64)), ms.bfloat16)
mf.enable(generator="mindspore")
RESULT["bfloat16"] = refused(lambda: Net()(half))
mf.disable()
RESULT["bfloat16 patched"] = refused(lambda: mf.patch(Net(), generator="mindspore")(half))
RESULT["function"] = refused(lambda: mf.patch(len))
RESULT["step"] = [refused(lambda: mf.enable(step=5))[0], presets.in_force().scope]
ms.set_context(mode=ms.PYNATIVE_MODE)
RESULT["patched, in PyNative mode"] = [item.code for item in mf.check(mf.patch(Net()), two)]
ms.set_context(mode=ms.GRAPH_MODE)

class Sum(nn.Cell):
    def construct(self, x):
        return ops.pow(x, x).sum() + 1
class Alone(nn.Cell):
    def construct(self, x):
        return ops.pow(x, x) * x
numbers = Tensor(np.full((64, 64), 2, np.int32))
def warned(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        value = call().asnumpy().ravel()[0]
    told = [[str(item.message), item.filename] for item in caught if item.category.__name__ == "FusionWarning"]
    return [float(value), told]
# what the generator cannot build runs unfused, and the process lives; asked again, it is refused again
RESULT["Pow before a sum"] = warned(lambda: mf.patch(Sum(), generator="mindspore")(numbers))
RESULT["Pow alone"] = warned(lambda: mf.patch(Alone(), generator="mindspore")(numbers))
RESULT["Pow once more"] = warned(lambda: mf.patch(Alone(), generator="mindspore")(numbers))
mf.enable(generator="mindspore")
RESULT["Pow enabled"] = warned(lambda: Alone()(numbers))
@ms.jit
def function(x):
    return ops.pow(x, x) * x
RESULT["Pow in a function"] = warned(lambda: function(numbers))
RESULT["nothing to say"] = warned(lambda: Net()(two))
class Moving(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
shifting = Moving()
shifting.set_inputs(Tensor(shape=[None, 64], dtype=ms.float32))
RESULT["dynamic shape"] = warned(lambda: shifting(two))
mf.disable()
RESULT["after it"] = float(mf.patch(Net(), generator="mindspore")(two).asnumpy()[0, 0])
class ToHalf(nn.Cell):
    def construct(self, x):
        return ops.cast(x * x, ms.float16) * 2
wide = Tensor(np.full((64, 64), 3.0))
RESULT["float64 to float16"] = float(mf.patch(ToHalf(), generator="mindspore")(wide).asnumpy()[0, 0])
with mf.fusion(generator="mindspore"):
    RESULT["check"] = [item.code for item in mf.check(Alone(), numbers)]
RESULT["tiny"] = [item.code for item in mf.check(Net(), ones(8, 8))]
RESULT["clean"] = [item.code for item in mf.check(Net(), two)]
moving = Net()
moving.set_inputs(Tensor(shape=[None, 64], dtype=ms.float32))
RESULT["moving"] = [item.code for item in mf.check(moving, two)]
RESULT["wrong input"] = refused(lambda: mf.check(Net(), "text", two))
class Wrong(nn.Cell):
    def construct(self, x):
        return x + ops.ones((3, 5))
RESULT["wrong shape"] = refused(lambda: mf.check(Wrong(), two))
RESULT["left"] = os.listdir()
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(SAYS, tmp_path_factory.mktemp("said") / "work").result


def test_pynative_mode_names_the_remedies(said: dict[str, Any]) -> None:
    fused, mode, remedy, text = said["pynative"]
    assert (fused, mode) == (False, "pynative")
    for way in ("@ms.jit", "mf.enable(step=step)", "ms.set_context(mode=ms.GRAPH_MODE)"):
        assert way in remedy and way in text


def test_what_does_nothing_is_said(said: dict[str, Any]) -> None:
    assert said["none"] == ["none", "Call `ms_fusion.enable()`."]
    assert said["O1"][0] is False and "jit_level" in said["O1"][1]
    assert said["no level"] == [False, "user", "Add `--opt_level=2`."]
    assert said["own"][:2] == [True, "user"] and "enable_cse" in said["own"][2]
    assert (
        said["over the user's"] == ["process"]
        and said["the user's"] == "--opt_level=2 --enable_cse=true"
        and said["ours again"] == "process"
    )
    assert (
        said["changed after"][:2] == [False, "user"]
        and "after enable()" in said["changed after"][2]
    )
    assert said["JitConfig"] == [True, "JitConfig"]


@pytest.mark.parametrize(
    ("case", "error", "words"),
    [
        ("DVM", "UnsafeError", "--kernel_generator=DVM"),
        ("tuning", "UnsafeError", "--online_tuning=1"),
        ("dynamic", "UnsafeError", "--enable_dynamic_shape_fusion=true"),
        ("generator", "InputError", "expected mindspore or ms_fusion, got 'AKG_V2'"),
        ("Round", "UnsafeError", "`Round`"),
        ("preset", "InputError", "'fast'"),
        ("lint", "InputError", "Write `Div`."),
        ("bfloat16", "UnsafeError", "bfloat16"),
        ("bfloat16 patched", "UnsafeError", "bfloat16"),
        ("function", "InputError", "mf.enable(step=train_step)"),
        ("wrong input", "InputError", "cannot compile Net"),
    ],
)
def test_what_is_refused(said: dict[str, Any], case: str, error: str, words: str) -> None:
    assert said[case][0] == error and words in said[case][1]
    assert said["nothing set"] == "none"


def test_enable_that_is_refused_leaves_fusion_off(said: dict[str, Any]) -> None:
    assert said["step"] == ["InputError", "none"]


@pytest.mark.parametrize(
    ("case", "value", "name"),
    [
        ("Pow before a sum", 16385.0, "Sum"),
        ("Pow alone", 8.0, "Alone"),
        ("Pow once more", 8.0, "Alone"),
        ("Pow enabled", 8.0, "Alone"),
        ("Pow in a function", 8.0, "function"),
    ],
)
def test_what_the_generator_cannot_build_runs_unfused_and_is_named_at_the_users_line(
    said: dict[str, Any], case: str, value: float, name: str
) -> None:
    got, [[text, file]] = said[case]
    assert got == value and file.endswith(".py") and "mindspore" not in file
    assert text.startswith(f"{name}: ") and "it cannot build Pow of int32" in text
    assert "--disable_cluster_ops=Pow" in text


def test_a_first_compilation_says_what_is_not_fused_and_no_more(said: dict[str, Any]) -> None:
    assert said["nothing to say"] == [3.0, []]
    value, [[text, _]] = said["dynamic shape"]
    assert value == 3.0 and "not known before run time" in text
    assert said["after it"] == 3.0 and said["float64 to float16"] == 18.0


def test_check_leaves_no_failed_graph_behind(said: dict[str, Any]) -> None:
    error, text = said["wrong shape"]
    assert error == "InputError" and "cannot compile Wrong" in text and said["left"] == []


def test_check_finds(said: dict[str, Any]) -> None:
    assert said["check"] == ["refused"] and said["tiny"] == ["tiny"] and said["clean"] == []
    assert "dynamic" in said["moving"]
    assert said["patched, in PyNative mode"] == []


CHILDREN = """
import subprocess
ms.set_context(mode=ms.GRAPH_MODE)
class Line(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
preset, flags, wanted = "PRESET", "FLAGS" or None, os.environ.pop("WANTED", "")
if wanted:
    Line()(ones(8, 8))
else:
    mf.enable(preset, flags=flags)
    Line()(ones(8, 8))
    child = subprocess.run([sys.executable, __file__, sys.argv[1] + ".child"], env=os.environ | {"WANTED": "unfused"}, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, text=True)
    mf.disable()
    RESULT["child"] = [child.returncode, child.stdout]
    RESULT["kernels"] = len(kernels())
"""


@pytest.mark.parametrize(
    ("preset", "flags"),
    [("auto", ""), ("basic", ""), ("auto", "--opt_level=1"), ("auto", "--disable_pass=combine.parallel_fusion")],
)  # fmt: skip
def test_processes_end_well_and_their_children_inherit_no_generator(
    preset: str, flags: str, tmp_path: Path
) -> None:
    """When it ends, MindSpore reads the passes once more that it was told of, also those that it has not at this level."""
    found = run(CHILDREN.replace("PRESET", preset).replace("FLAGS", flags), tmp_path / "work")
    assert found.result["child"][0] == 0, found.result["child"][1]
    assert found.result["kernels"] == 1


OFF = """
class Net(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0
def step(x):
    return x * 2.0 + 1.0
ms.set_context(mode=ms.GRAPH_MODE)
record = mf.enable(step=step)
RESULT["record"] = [record.fused, record.step is step, *record.warnings]
with mf.fusion("aggressive") as block:
    net = mf.patch(Net())
    net(ones(64, 64))
mf.disable()
RESULT["variables"] = [os.environ.get("MS_DEV_GRAPH_KERNEL_FLAGS"), os.environ.get("MS_COMPILER_CACHE_PATH")]
from mindspore._c_expression import GraphExecutor_
RESULT["hooked"] = hasattr(GraphExecutor_.compile, "_ms_fusion_original")
"""


def test_ms_fusion_off_changes_nothing_and_says_so_once(tmp_path: Path) -> None:
    child = run(OFF, tmp_path / "off", environment={"MS_FUSION": "off"})
    assert child.result["record"][:2] == [False, True]
    assert child.result["variables"] == [None, None] and child.result["hooked"] is False
    assert child.output.count("MS_FUSION=off: ms_fusion changes nothing") == 1


ON_ASCEND = """
from ms_fusion.presets import scopes
scopes.device_target = lambda: "Ascend"
class Net(nn.Cell):
    def construct(self, x):
        return x
def level():
    return (ms.get_context("jit_config") or {}).get("jit_level", "")
compile = scopes._guarded(lambda self, net, inputs: level())
def compiled(net):
    return compile(None, net, ())
warnings.simplefilter("ignore")
RESULT["as it comes"] = [level(), compiled(Net()), compiled(mf.patch(Net()))]
with mf.fusion():
    RESULT["block"] = [level(), compiled(Net()), compiled(mf.patch(Net(), "off"))]
RESULT["behind"] = level()
mf.enable()
with mf.fusion("off"):
    RESULT["off inside"] = [level(), compiled(mf.patch(Net()))]
RESULT["process"] = level()
mf.disable()
RESULT["disabled"] = level()
"""


def test_on_ascend_each_scope_brings_its_jit_level(tmp_path: Path) -> None:
    found = run(ON_ASCEND, tmp_path / "work").result
    before = found["as it comes"][0]
    off = before or "O0"
    assert found == {
        "as it comes": [before, before, "O1"],
        "block": ["O1", "O1", off],
        "behind": off,
        "off inside": [off, "O1"],
        "process": "O1",
        "disabled": off,
    }
