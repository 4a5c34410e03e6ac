"""Every `Next:` line is one command that can be pasted, or says that no action is needed."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from nodemend.cli.text import NOTHING, NextStep, split_step, step_lines
from nodemend.safety.holds import WaitingForConfirmation

SOURCES: Final = Path(__file__).parents[3] / "src/nodemend/cli"
GOLDEN: Final = sorted(Path(__file__).parent.glob("*/golden/**/*.txt"))


def is_command(step: str) -> bool:
    return step == NOTHING or (step.startswith("kubectl ") and bool(shlex.split(step)))


@pytest.mark.attack("U11")
def test_every_next_line_of_every_answer_that_was_read() -> None:
    lines = [line for file in GOLDEN for line in file.read_text().splitlines() if line.startswith("Next: ")]

    assert len(lines) > 60
    assert [line for line in lines if not is_command(line.removeprefix("Next: "))] == []


@pytest.mark.attack("U11")
def test_every_next_line_that_is_written_as_it_is() -> None:
    """In the sources, the text after `Next: ` is a command, or a step that was split."""
    written = [
        found
        for file in SOURCES.rglob("*.py")
        for found in re.findall(r"[\"']Next: (.*?)[\"']", file.read_text())
    ]
    own = {"{step.command}", "{_next_step(view)}", "{view.next_step}", NOTHING}

    assert written
    assert [one for one in written if not one.startswith("kubectl ") and one not in own] == []


@pytest.mark.parametrize(
    ("said", "step"),
    [
        ("nothing.", NextStep("", NOTHING)),
        ("kubectl mend check", NextStep("", "kubectl mend check")),
        ("try again.", NextStep("Try again.", NOTHING)),
        (
            'once it is down: kubectl mend confirm a --reason "x; y, z"',
            NextStep("Once it is down:", 'kubectl mend confirm a --reason "x; y, z"'),
        ),
        (
            "kubectl mend tree a; kubectl mend stop a when it is back",
            NextStep("kubectl mend stop a when it is back.", "kubectl mend tree a"),
        ),
        (
            "Power it off or reset it, then run `kubectl mend confirm a --reason ...`.",
            NextStep(
                "Power it off or reset it, then run `kubectl mend confirm a --reason ...`.",
                "kubectl mend confirm a --reason ...",
            ),
        ),
        ("nothing; it continues by itself", NextStep("It continues by itself.", NOTHING)),
    ],
)
def test_the_command_is_found_in_the_text(said: str, step: NextStep) -> None:
    assert split_step(said) == step


def test_a_text_without_a_command_ends_with_the_one_that_is_given() -> None:
    step = split_step("It goes on in 30 s.", "kubectl mend tree a")

    assert list(step_lines(step)) == ["It goes on in 30 s.", "Next: kubectl mend tree a"]
    assert is_command(split_step(WaitingForConfirmation("edge-07").explain().next_step).command)
