"""Output of ``make test``: a line for each test folder, at the end the slowest items.

A pytest plugin, enabled by ``--rooms``. Rooms are folders, ``tests/<package>/<room>``; files
beside them belong to ``tests/<package>`` or ``tests``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import pytest

SLOWEST = 10


def room_of(nodeid: str) -> str:
    """The room of an item: at most the three first folders of its file."""
    folders = nodeid.partition("::")[0].split("/")[:-1]
    return "/".join(folders[:3])


@dataclass
class RoomLines:
    """Counts finished tests by room, in the reporting process."""

    terminal: pytest.TerminalReporter
    waiting: Counter[str] = field(default_factory=Counter)
    outcomes: dict[str, Counter[str]] = field(default_factory=dict)
    seconds: Counter[str] = field(default_factory=Counter)

    def expect(self, nodeids: list[str]) -> None:
        """Registers the items that will run; several workers name the same ones."""
        if not self.seconds:
            self.waiting = Counter(map(room_of, nodeids))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.expect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        self.expect(list(ids))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_report_teststatus(self) -> Generator[None, Any, Any]:
        """Suppresses the letters: each room has a line, each failure another one."""
        status = yield
        return (status[0], "", status[2]) if status else status

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        room = room_of(report.nodeid)
        if report.failed:
            row = f" [{report.context.msg}]" if hasattr(report, "context") else ""
            self.terminal.write_line(f"FAILED {report.nodeid}{row}")
        outcomes = self.outcomes.setdefault(room, Counter())
        if hasattr(report, "context"):  # a subtest: its time is part of its item's
            outcomes["failed rows"] += report.failed
            return
        self.seconds[report.nodeid] += report.duration
        if report.when == "call" or report.outcome != "passed":
            outcomes["xfailed" if hasattr(report, "wasxfail") else report.outcome] += 1
        if report.when == "teardown":
            self.waiting[room] -= 1
            if not self.waiting[room]:
                self.terminal.ensure_newline()
                self.terminal.write_line(self._line(room))

    def _line(self, room: str) -> str:
        counts = self.outcomes[room]
        said = [f"{counts['passed']} passed"]
        said += [f"{counts[name]} {name}" for name in counts if counts[name] and name != "passed"]
        seconds = sum(spent for nodeid, spent in self.seconds.items() if room_of(nodeid) == room)
        return f"{room:<34} {', '.join(said)}, {seconds:.1f} s"

    def pytest_terminal_summary(self) -> None:
        self.terminal.section(f"slowest {SLOWEST}")
        for nodeid, seconds in self.seconds.most_common(SLOWEST):
            self.terminal.write_line(f"{seconds:6.1f} s  {nodeid}")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rooms", action="store_true", help="a line for each room instead of dots")


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    terminal = config.pluginmanager.get_plugin("terminalreporter")
    if config.getoption("--rooms") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(RoomLines(terminal), "room lines")
