"""Every scenario tells the same story as it did when somebody last read it.

`python -m tests.scenarios.test_scenarios` writes the stories anew; the reviewer reads the difference.
"""

from pathlib import Path

import pytest

from nodemend.testing.scenario.play import play
from nodemend.testing.scenario.reader import read, with_told

FILES = sorted(Path(__file__).parent.glob("*/*.txt"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(Path(__file__).parent)) for path in FILES])
def test_the_story_is_the_same(path: Path) -> None:
    scenario = read(path.read_text())
    assert play(scenario) == scenario.told


def test_there_are_scenarios() -> None:
    assert FILES


def rewrite() -> None:
    for path in FILES:
        text = path.read_text()
        path.write_text(with_told(text, play(read(text))))


if __name__ == "__main__":
    rewrite()
