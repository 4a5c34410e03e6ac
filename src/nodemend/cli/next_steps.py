"""How every command ends: advice as a sentence where there is some, and `Next:` with one command to paste.

Explanations of holds, refusals and failures are written as one text. Here the command is found in it.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NOTHING: Final = "nothing"
_COMMAND: Final = re.compile(
    r"`(?P<quoted>kubectl [^`]*)`|(?:^|: )(?P<plain>kubectl (?:\"[^\"]*\"|'[^']*'|[^\"'`;,])*)"
)
"""In backticks; or at the beginning or after a colon, up to what goes on after it."""


@dataclass(frozen=True, slots=True)
class Step:
    """`command` begins with kubectl, or is `nothing`. `advice` is empty where that says all."""

    advice: str
    command: str


def split_step(said: str, otherwise: str = NOTHING) -> Step:
    """`otherwise` is the command where the text has none of its own."""
    said = said.strip()
    if said.rstrip(".") in ("", NOTHING):
        return Step("", NOTHING if said else otherwise)
    found = _COMMAND.search(said)
    if found is None:
        return Step(_sentence(said.removeprefix(f"{NOTHING}; ")), otherwise)
    command = _without_stop(found["quoted"] or found["plain"])
    if found["quoted"]:
        return Step(_sentence(said), command)
    before, _, after = (part.strip(";, ") for part in said.partition(command))
    after = after.strip(".")
    return Step(" ".join(_sentence(part) for part in (before, after) if part), command)


def _sentence(said: str) -> str:
    said = said if said.startswith("kubectl ") else said[:1].upper() + said[1:]
    return said if said.endswith((".", "?", ":")) or not said else f"{said}."


def step_lines(step: Step) -> Iterator[str]:
    if step.advice:
        yield step.advice
    yield f"Next: {step.command}"


def _without_stop(command: str) -> str:
    command = command.strip()
    return command if command.endswith("...") else command.removesuffix(".")
