"""Shared code of the commands: progress on a terminal only, milestones everywhere."""

from __future__ import annotations

import pytest

from ms_fusion.cli.command_support import show_progress
from ms_fusion.progress import Milestone, Step
from tests.cases import cases


@cases("terminal", [True, False])
def test_steps_are_counted_on_a_terminal_only(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
    with show_progress() as say:
        say("reading [this]")
        say(Step("kernel", 3, 12))
        say(Milestone("Found 3 [kernels]"))
    told = capsys.readouterr()
    assert told.out == "[INFO] Found 3 [kernels]\n"
    assert ("kernel 3 of 12" in told.err and "━" in told.err) == terminal
    assert terminal or told.err == ""
