"""Every scenario tells the same story as it did when somebody last read it.

`python -m tests.scenarios.test_scenarios` writes the stories anew; the reviewer reads the difference.
"""

import re
from pathlib import Path
from typing import Any

import pytest

from nodemend.testing.scenario.reader import read, with_told
from tests.scenarios.telling import FOLDER, tell

FILES = sorted(FOLDER.glob("*/*.txt"))


def a_case(path: Path) -> Any:
    """`# conforms N16 W4` names the rows that the story holds, `# attack S2` the findings that it plays."""
    found = re.findall(r"^# (conforms|attack) ([A-Z]\d.*)$", path.read_text(), re.MULTILINE)
    marks = [getattr(pytest.mark, kind)(*said.split()) for kind, said in found]
    return pytest.param(path, marks=marks, id=str(path.relative_to(FOLDER)))


@pytest.mark.parametrize("path", [a_case(path) for path in FILES])
def test_the_story_is_the_same(path: Path) -> None:
    scenario = read(path.read_text())
    assert tell(scenario) == scenario.told


def test_there_are_scenarios() -> None:
    assert FILES


def rewrite() -> None:
    for path in FILES:
        text = path.read_text()
        path.write_text(with_told(text, tell(read(text))))


if __name__ == "__main__":
    rewrite()
