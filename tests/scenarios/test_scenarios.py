"""Every scenario has the output that its file records.

`python -m tests.scenarios.test_scenarios` rewrites the recorded outputs; the reviewer reads the difference.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from simulation.scenario.reader import read, with_log_lines
from tests.scenarios.playing import FOLDER, tell

FILES = sorted(FOLDER.glob("*/*.txt"))


def a_case(path: Path) -> Any:
    """Return the test parameter of a scenario, with the marks that its comments name.

    `# conforms N16 W4` names conformance rows that it tests, `# attack S2` findings that it plays.
    """
    found = re.findall(r"^# (conforms|attack) ([A-Z]\d.*)$", path.read_text(), re.MULTILINE)
    marks = [getattr(pytest.mark, kind)(*said.split()) for kind, said in found]
    return pytest.param(path, marks=marks, id=str(path.relative_to(FOLDER)))


@pytest.mark.parametrize("path", [a_case(path) for path in FILES])
def test_the_story_is_the_same(path: Path) -> None:
    scenario = read(path.read_text())
    assert tell(scenario) == scenario.log_lines


def test_there_are_scenarios() -> None:
    assert FILES


def rewrite() -> None:
    for path in FILES:
        text = path.read_text()
        path.write_text(with_log_lines(text, tell(read(text))))


if __name__ == "__main__":
    rewrite()
