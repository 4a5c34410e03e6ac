"""A pytest plugin that records the collected tests, the rows that their marks name, and their outcomes.

`-p conformance.marks_plugin --conformance-notes FILE --conformance-mark MARK`. Of an xdist run only the
outcomes are recorded, because its workers collect the tests.
"""

import json
from pathlib import Path
from typing import Any, Final

import pytest

MARK: Final = "conforms"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--conformance-notes", type=Path, help="the file for marks and outcomes")
    parser.addoption("--conformance-mark", default=MARK, help="the mark to record")


def pytest_configure(config: pytest.Config) -> None:
    file = config.getoption("--conformance-notes")
    if file is not None and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Notes(file, config.getoption("--conformance-mark")))


class _Notes:
    def __init__(self, file: Path, mark: str) -> None:
        self._file = file
        self._mark = mark
        self._tests: dict[str, dict[str, Any]] = {}
        self._collected: dict[str, bool] = {}
        """Every collected test; True if it needs the real control plane."""
        self._results: dict[str, str] = {}

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        for item in session.items:
            rows = sorted({row for mark in item.iter_markers(self._mark) for row in mark.args})
            real = item.get_closest_marker("real") is not None
            self._collected[item.nodeid] = real
            if rows:
                self._tests[item.nodeid] = {"rows": rows, "name": _name(item, self._mark), "real": real}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test passed if its call passed and neither setup nor teardown failed. Skipped is not passed."""
        if report.outcome != "passed" or hasattr(report, "wasxfail"):
            self._results[report.nodeid] = report.outcome
        elif report.when == "call":
            self._results.setdefault(report.nodeid, "passed")

    def pytest_sessionfinish(self) -> None:
        notes = {"tests": self._tests, "collected": self._collected, "endings": self._results}
        self._file.write_text(json.dumps(notes))


def _name(item: pytest.Item, wanted: str) -> str:
    """The node id, without the case unless the case itself is marked."""
    case = getattr(item, "callspec", None)
    marked = case is not None and any(mark.name == wanted for mark in case.marks)
    return item.nodeid if marked else item.nodeid.partition("[")[0]
