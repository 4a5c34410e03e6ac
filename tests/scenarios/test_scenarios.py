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
    """Its lines `# conforms N16 W4` and `# attack K2` name the rows it holds and the findings it plays."""
    said = re.findall(r"^# (conforms|attack) (.+)$", path.read_text(), re.MULTILINE)
    marks = [getattr(pytest.mark, what)(*names.split()) for what, names in said]
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
