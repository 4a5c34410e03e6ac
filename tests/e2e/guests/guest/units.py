"""Does with the shipped unit files what systemd does, as far as they ask for it."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

from guest.inside import become, child


class Unit:
    """One service. `pid` is that of its main process while it runs."""

    def __init__(self, file: Path) -> None:
        self.pid = 0
        self._settings = _read(file)

    def prepare(self) -> None:
        """To the end. Raises OSError when what comes before its start fails."""
        for line in self._settings.get("ExecStartPre", []):
            pid = child(lambda line=line: become(self._words(line)))  # type: ignore[misc]
            if os.waitpid(pid, 0)[1]:
                raise OSError(f"failed: {line}")

    def start(self) -> None:
        (line,) = self._settings["ExecStart"]
        self.pid = child(lambda: become(self._words(line)))

    def _words(self, line: str) -> list[str]:
        (file,) = self._settings["EnvironmentFile"]
        environment = environment_of(Path(file))
        return [substituted(word, environment) for word in shlex.split(line)]


def substituted(word: str, environment: Mapping[str, str]) -> str:
    for name, value in environment.items():
        word = word.replace(f"${{{name}}}", value)
    return word


def environment_of(file: Path) -> dict[str, str]:
    lines = [line for line in file.read_text().splitlines() if line and not line.startswith("#")]
    return {name: value for name, _, value in (line.partition("=") for line in lines)}


def _read(file: Path) -> dict[str, list[str]]:
    """The settings of a unit, each with all its values; lines that are continued are put together."""
    found: dict[str, list[str]] = {}
    text = file.read_text().replace("\\\n", " ")
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value.strip())
    return found
