"""The example change in CONTRIBUTING.md applies to the current code."""

import re
import subprocess

from tests.tidy.source_tree import ROOT


def test_the_example_change_applies() -> None:
    changes = re.findall(
        r"^```diff\n(.*?)^```$", (ROOT / "CONTRIBUTING.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert len(changes) == 2
    for change in changes:
        ended = subprocess.run(
            ["git", "apply", "--check", "-"],
            cwd=ROOT,
            input=change,
            capture_output=True,
            text=True,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr
