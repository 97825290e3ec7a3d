"""Control flow in MindSpore's actor dump."""

from __future__ import annotations

from ms_fusion.readers.control_flow import ControlFlow, parse_actors
from tests.cases import cases

IF = """
Actor for func graph:main
%0 = EntranceActor(param_x)
%1 = RunGraph[kernel_graph0]()
%2 = ExitActor(%1[1], %1[0])
%3 = GatherActor(yes, %0[0], %2[1])
%4 = GatherActor(no, %0[0], %2[1])
%5 = SwitchActor(%2[0], %4[0], %3[0])
%6 = GatherActor(%5[0])
%7 = RunGraph[yes, no](%6[0])
%8 = StackActor(%7[0])
%9 = RunGraph[kernel_graph1]()
%10 = ExitActor(%9[0])
%11 = ExitActor(%10[0])

Actor for func graph:yes
%0 = EntranceActor(param_x)
%1 = RunGraph[kernel_graph2]()
%2 = ExitActor(%1[0])

Actor for func graph:no
%0 = EntranceActor(param_x)
%1 = RunGraph[kernel_graph3]()
%2 = ExitActor(%1[0])
"""
ALL = frozenset(f"kernel_graph{number}" for number in range(4))
IN_THE_BRANCHES = IF.replace(
    "%9 = RunGraph[kernel_graph1]()\n%10 = ExitActor(%9[0])", "%10 = ExitActor(%7[0])"
)
LOOP = IF.replace(
    "%2 = ExitActor(%1[0])\n\nActor for func graph:no",
    "%2 = RunGraph[main](%1[0])\n\nActor for func graph:no",
)


@cases(
    "text, expected",
    [
        ("", ControlFlow()),
        ("%0 = EntranceActor(param_x)\n%1 = RunGraph[kernel_graph0]()", ControlFlow()),
        (IF, ControlFlow(frozenset({"kernel_graph1"}), ALL)),
        (
            IN_THE_BRANCHES,
            ControlFlow(frozenset({"kernel_graph2", "kernel_graph3"}), ALL - {"kernel_graph1"}),
        ),
        (LOOP, ControlFlow(frozenset({"kernel_graph1"}))),
        ("Actor for func graph:a\n%0 = ExitActor(%0[0])", ControlFlow()),
    ],
)
def test_control_flow(text: str, expected: ControlFlow) -> None:
    assert parse_actors(text) == expected


@cases(
    "text",
    [
        "\n".join(
            f"Actor for func graph:f{n}\n%0 = RunGraph[f{n + 1}](%0[0])" for n in range(20_000)
        ),
        "Actor for func graph:f\n"
        + "\n".join(f"%{n} = ExitActor(%{n - 1}[0])" for n in range(20_000)),
        "Actor for func graph:\x00\n%1 = RunGraph[" * 1000,
        "Actor for func graph:f\n%1 = RunGraph[" + "](x" * 1_000_000,
    ],
)
def test_hostile_text_ends(text: str) -> None:
    assert isinstance(parse_actors(text), ControlFlow)
