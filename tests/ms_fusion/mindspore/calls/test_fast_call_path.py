"""The fast call path equals MindSpore's own Cell methods and is installed only with fusion."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ms_fusion.mindspore.calls import fast_call_path
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run

pytestmark = pytest.mark.mindspore
NAMES = ("_check_construct_args", "__setattr__", "compile_and_run", "compile_phase")
NO_SCOPES = SimpleNamespace(flags_in_scope=("", False))
"""No scope of ours is active."""


@pytest.fixture
def nn(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """`mindspore.nn` with MindSpore's own Cell methods, regardless of earlier tests."""
    from mindspore import nn

    for name, method in originals(nn.Cell).items():
        monkeypatch.setattr(nn.Cell, name, method)  # restored after the test
    yield nn


def originals(cell: Any) -> dict[str, Any]:
    """MindSpore's versions of the replaced methods."""
    found = {name: vars(cell)[name] for name in NAMES}
    phase = found["compile_phase"]
    setter = getattr(phase.fset, "__wrapped__", phase.fset)
    return {
        **{name: getattr(one, "__wrapped__", one) for name, one in found.items()},
        "compile_phase": property(phase.fget, setter, phase.fdel, phase.__doc__),
    }


def said(action: Callable[[], Any]) -> str:
    """The raised error, or success."""
    try:
        action()
    except Exception as error:  # noqa: BLE001 - whatever the original raises
        return f"{type(error).__name__}: {error}"
    return "right"


def both(nn: Any, action: Callable[[], Any]) -> Any:
    """The result of `action` on the fast call path, checked against MindSpore's own methods."""
    for name, method in originals(nn.Cell).items():
        setattr(nn.Cell, name, method)  # an earlier row has installed the fast ones
    before = action()
    fast_call_path.install(NO_SCOPES)
    assert action() == before
    return before


def two(self: Any, x: Any, y: Any) -> None: ...
def default(self: Any, x: Any, y: Any = None) -> None: ...
def many(self: Any, x: Any, *more: Any) -> None: ...
def named(self: Any, x: Any, *, y: Any) -> None: ...
def free(self: Any, x: Any, **more: Any) -> None: ...
def bare(x: Any) -> None: ...


@functools.wraps(two)
def wrapped(self: Any, *args: Any) -> None: ...


class Callable3:
    def __call__(self, x: Any, y: Any, z: Any) -> None: ...


RIGHT_COUNTS = {
    "two": (two, {2}),
    "default": (default, {1, 2}),
    "many": (many, {0, 1, 2, 3}),
    "named": (named, {1}),
    "free": (free, {0, 1, 2, 3}),
    "static": (staticmethod(bare), {1}),
    "wrapped": (wrapped, {2}),
    "an object": (Callable3(), {3}),
}


@cases("name", RIGHT_COUNTS)
@cases("order", [(0, 1, 2, 3), (3, 2, 1, 0), (2, 2, 3, 2, 1, 1, 2, 0)])
def test_a_wrong_number_of_arguments_is_told_as_before(
    nn: Any, name: str, order: tuple[int, ...]
) -> None:
    construct, right = RIGHT_COUNTS[name]
    kind = type("Net", (nn.Cell,), {"construct": construct})

    def told() -> list[str]:
        nets = kind(), kind()
        return [
            said(lambda: net._check_construct_args(*range(count)))  # noqa: B023 - called at once
            for count in order + order
            for net in nets
        ]

    found = both(nn, told)
    assert [one == "right" for one in found] == [n in right for n in order + order for _ in "ab"]


def test_named_arguments_are_refused_in_the_same_words(nn: Any) -> None:
    net = type("Net", (nn.Cell,), {"construct": two})()
    found = both(nn, lambda: [said(lambda: net._check_construct_args(1, 2, y=3)) for _ in "ab"])
    assert "unexpected keyword argument" in found[0]


def test_a_construct_with_other_code_is_looked_at_again(nn: Any) -> None:
    """Like a notebook that reloads a changed module."""

    def construct(self: Any, x: Any, y: Any = None) -> None: ...

    fast_call_path.install(NO_SCOPES)
    net = type("Net", (nn.Cell,), {"construct": construct})()
    net._check_construct_args(1)
    construct.__defaults__ = ()
    with pytest.raises(TypeError, match="requires 2 positional argument, but got 1"):
        net._check_construct_args(1)
    net._check_construct_args(1, 2)
    construct.__code__ = (lambda self, x: None).__code__
    with pytest.raises(TypeError, match="total 1, but got 2"):
        net._check_construct_args(1, 2)
    net._check_construct_args(1)
    net.construct = lambda x, y, z: None
    with pytest.raises(TypeError, match="requires 3 positional argument"):
        net._check_construct_args(1)


def test_a_construct_that_wraps_another_is_looked_at_again(nn: Any) -> None:
    @functools.wraps(two)
    def construct(self: Any, *args: Any) -> None: ...

    fast_call_path.install(NO_SCOPES)
    net = type("Net", (nn.Cell,), {"construct": construct})()
    net._check_construct_args(1, 2)
    construct.__wrapped__ = bare
    with pytest.raises(TypeError, match="total 0, but got 2"):
        net._check_construct_args(1, 2)


def test_nothing_is_kept_alive(nn: Any) -> None:
    fast_call_path.install(NO_SCOPES)
    net: Any = type("Net", (nn.Cell,), {"construct": lambda self, x, kept=[]: None})()
    type(net).construct.__defaults__[0].append(type(net))
    net._check_construct_args(1)
    net.inner = nn.ReLU()
    net.compile_phase = "x"
    left = [weakref.ref(one) for one in (net, type(net), type(net).construct, net.inner)]
    del net
    gc.collect()
    assert [one() for one in left] == [None] * 4


class Text(str):
    pass


def described(value: Any) -> str:
    return f"{type(value).__name__} {value if isinstance(value, (str, int, float)) else ''}"


ATTRIBUTES: dict[str, Callable[[Any, Any], Any]] = {
    "a number": lambda net, ms: [setattr(net, "x", n) for n in (1, 2, 2.5, True, None, "text")],
    "text of a subclass": lambda net, ms: [setattr(net, "x", n) for n in ("text", Text("other"))],
    "a parameter": lambda net, ms: [setattr(net, "x", n) for n in (1, a_parameter(ms), None)],
    "a parameter is no number": lambda net, ms: [
        setattr(net, "x", n) for n in (a_parameter(ms), 3)
    ],
    "a Cell": lambda net, ms: [setattr(net, "x", n) for n in (1, ms.nn.ReLU(), None)],
    "a Cell is no number": lambda net, ms: [setattr(net, "x", n) for n in (ms.nn.ReLU(), 3)],
    "a primitive": lambda net, ms: [setattr(net, "x", n) for n in (1, ms.ops.Add(), 2)],
    "a tuple": lambda net, ms: [setattr(net, "x", n) for n in (1, (1, 2), 2)],
    "a parameter, and a number": lambda net, ms: at_both_places(net, "_params", a_parameter(ms)),
    "a Cell, and a number": lambda net, ms: at_both_places(net, "_cells", ms.nn.ReLU()),
    "a buffer, and a number": lambda net, ms: at_both_places(net, "_buffers", ms.Tensor([1])),
    "a parameter, and nothing": lambda net, ms: at_both_places(
        net, "_params", a_parameter(ms), None
    ),
    "a property": lambda net, ms: [setattr(net, "doubled", n) for n in (2, 3)],
    "a property over an attribute": lambda net, ms: [
        vars(net).update(doubled=1),
        setattr(net, "doubled", 4),
    ],
    "a property that cannot be set": lambda net, ms: [
        vars(net).update(fixed=1),
        setattr(net, "fixed", 4),
    ],
    "what a Cell has": lambda net, ms: [setattr(net, "training", True), setattr(net, "phase", "p")],
    "a phase that is none": lambda net, ms: setattr(net, "phase", 3),
}


def a_parameter(ms: Any) -> Any:
    return ms.Parameter(ms.Tensor([1.0]), name="weight")


def at_both_places(net: Any, place: str, part: Any, value: Any = 3) -> None:
    vars(net)["x"] = 1
    getattr(net, place)["x"] = part
    net.x = value


@cases("name", ATTRIBUTES)
def test_attributes_are_set_as_before(nn: Any, name: str) -> None:
    import mindspore as ms

    class Net(nn.Cell):
        @property
        def doubled(self) -> int:
            return int(self.half) * 2

        @doubled.setter
        def doubled(self, value: int) -> None:
            self.half = value / 2

        @property
        def fixed(self) -> int:
            return 7

    def told() -> Any:
        net = Net()
        what = said(lambda: ATTRIBUTES[name](net, ms))
        own = {
            key: described(one) for key, one in vars(net).items() if key not in ("_create_time",)
        }
        parts = {
            place: {key: described(one) for key, one in vars(net)[place].items()}
            for place in ("_params", "_cells", "_buffers", "_primitives")
        }
        return what, list(own), own, parts

    what, *_ = both(nn, told)
    refused = (
        "is no" in name or "cannot" in name or "that is none" in name or "and a number" in name
    )
    assert (what == "right") is not refused


def test_attributes_before_a_cell_is_made_are_set_as_before(nn: Any) -> None:
    class Net(nn.Cell):
        def __init__(self) -> None:
            self.x = 1
            self.x = 2
            self.seen = self.x
            super().__init__()

    def told() -> Any:
        net = Net()
        return net.seen, net.x

    assert both(nn, told) == (2, 2)


def tree(nn: Any, log: list[Any]) -> Any:
    """Nested Cells: none, one twice, containers, and two that report their phase."""

    class Own(nn.Cell):
        @property
        def compile_phase(self) -> Any:
            return f"own {self._compile_phase}"

        @compile_phase.setter
        def compile_phase(self, value: str) -> None:
            log.append(("property", value))
            nn.Cell.compile_phase.fset(self, value)

    class Told(nn.Cell):
        def __setattr__(self, name: str, value: Any) -> None:
            if "compile_phase" in name:
                log.append((name, value))
            super().__setattr__(name, value)

    net = nn.Cell()
    shared = nn.SequentialCell(nn.ReLU(), nn.SequentialCell(nn.Dense(2, 2)))
    net.first, net.gone, net.second = shared, nn.ReLU(), shared
    net.gone = None
    net.list, net.by_name = nn.CellList([Own(), Told()]), nn.CellDict({"a": nn.ReLU(), "b": Told()})
    net.list[0].inner, net.list[1].inner = nn.Tanh(), nn.SequentialCell(nn.Tanh())
    return net


def test_the_phase_arrives_in_every_cell(nn: Any) -> None:
    def told() -> Any:
        log: list[Any] = []
        net = tree(nn, log)
        log.clear()
        net.compile_phase = "first"
        net.first.compile_phase = Text("second")
        net.list[0].compile_phase = "third"
        return log, [(name, cell.compile_phase) for name, cell in net.cells_and_names()]

    log, phases = both(nn, told)
    assert len(phases) == 14 and all(value is not None for _, value in phases)
    assert dict(phases)["list.1.inner.0"] == "first" and dict(phases)["first.1.0"] == "second"
    assert dict(phases)["list.0"] == "own third" and dict(phases)["list.0.inner"] == "third"
    told_twice = [("compile_phase", "first"), ("_compile_phase", "first")]
    assert log == [("property", "first"), *told_twice * 2, ("property", "third")]


def test_a_phase_that_is_none_is_refused(nn: Any) -> None:
    found = both(nn, lambda: said(lambda: setattr(tree(nn, []), "compile_phase", 3)))
    assert found.startswith("TypeError: For 'Cell', 'compile_phase' must be string type")


def test_a_cell_in_itself_is_an_error_as_before(nn: Any) -> None:
    net = nn.Cell()
    net.inner = nn.Cell()
    net.inner._cells["outer"] = net
    found = both(nn, lambda: said(lambda: setattr(net, "compile_phase", "x")).partition(":")[0])
    net.inner._cells.clear()
    assert found == "RecursionError"


def test_cells_inside_are_told_by_no_setattr(nn: Any) -> None:
    """The purpose of the fast property."""
    calls: list[str] = []

    def seen(frame: Any, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_name in ("__setattr__", "set_attribute"):
            calls.append(f"{frame.f_code.co_name} {frame.f_locals['name']}")

    fast_call_path.install(NO_SCOPES)
    net = nn.SequentialCell(*[nn.SequentialCell(nn.ReLU()) for _ in range(20)])
    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        net[0].training = True
        net.compile_phase = "x"
    finally:
        sys.setprofile(before)
    # a container's method calls that of Cells
    plain = [f"{name} training" for name in ("__setattr__", "set_attribute")]
    phase = [f"{name} compile_phase" for name in ("__setattr__", "set_attribute", "__setattr__")]
    assert calls == plain + phase


def test_installing_twice_changes_nothing(nn: Any) -> None:
    before = {name: vars(nn.Cell)[name] for name in NAMES}
    fast_call_path.install(NO_SCOPES)
    once = {name: vars(nn.Cell)[name] for name in NAMES}
    fast_call_path.install(NO_SCOPES)
    assert {name: vars(nn.Cell)[name] for name in NAMES} == once
    assert all(once[name] is not before[name] for name in NAMES)


@pytest.mark.parametrize("first", [True, False])
def test_what_somebody_else_replaced_is_left_alone(
    nn: Any, monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    log: list[tuple[str, Any]] = []
    if not first:
        fast_call_path.install(NO_SCOPES)
    before = {name: vars(nn.Cell)[name] for name in NAMES}

    def theirs(self: Any, name: str, value: Any) -> None:
        log.append((name, value))
        before["__setattr__"](self, name, value)

    @functools.wraps(before["_check_construct_args"])
    def theirs_too(self: Any, *args: Any) -> None:
        raise ValueError("theirs")

    monkeypatch.setattr(nn.Cell, "__setattr__", theirs)
    monkeypatch.setattr(nn.Cell, "_check_construct_args", theirs_too)
    fast_call_path.install(NO_SCOPES)
    assert nn.Cell.__setattr__ is theirs and nn.Cell._check_construct_args is theirs_too
    net = nn.SequentialCell(nn.SequentialCell(nn.ReLU()))
    log.clear()
    net.compile_phase = "x"
    assert log == [("compile_phase", "x"), ("_compile_phase", "x")] * 3


def test_what_a_version_does_not_have_is_not_missed(
    nn: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in (
        "_check_construct_args",
        "compile_and_run",
        "compile_phase",
        "_set_attr_for_object",
    ):
        monkeypatch.delattr(nn.Cell, name)
    before = dict(vars(nn.Cell))
    fast_call_path.install(NO_SCOPES)
    assert dict(vars(nn.Cell)) == before


def test_fast_call_paths_come_with_the_first_preset(tmp_path: Path) -> None:
    found = run(PROGRAMS / "lighter_calls.py", tmp_path / "on").result
    assert found["imported"] == [False] * 3
    assert found["enabled"] == found["disabled"] == [True] * 3
    assert found["plain calls"] == [[3.0, 4.0], [3.0, 4.0], 20]
    assert found["calls"] == found["later calls"] == [[3.0, 4.0], [3.0, 4.0], 0]
    assert found["told"][0] == found["told"][1] and "but got 3" in found["told"][0]
