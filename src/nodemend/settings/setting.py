"""One setting: a flag and a variable of the same meaning, and how its text becomes a value."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar

from nodemend.api.quantities import parse_duration

T_co = TypeVar("T_co", covariant=True)
E = TypeVar("E", bound=StrEnum)

PREFIX: Final = "NODEMEND_"
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HIGHEST_PORT: Final = 65535


class SettingsError(ValueError):
    """A setting that cannot be used, said in a sentence for whoever wrote it."""


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """`parse` raises ValueError, saying what the text must be."""

    name: str
    parse: Callable[[str], T_co]
    default: str
    help: str

    @property
    def flag(self) -> str:
        return f"--{self.name}"

    @property
    def variable(self) -> str:
        return PREFIX + self.name.upper().replace("-", "_")

    @property
    def key(self) -> str:
        """As a Python name."""
        return self.name.replace("-", "_")


def parse_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _HIGHEST_PORT):
        raise ValueError(f"it must be a port, 0 to {_HIGHEST_PORT}; 0 is any free one")
    return int(text)


def parse_seconds(text: str) -> float:
    try:
        seconds = parse_duration(text).total_seconds()
    except ValueError as error:
        raise ValueError("it must be a duration such as 15s or 1m30s") from error
    if seconds <= 0:
        raise ValueError("it must be longer than 0s")
    return seconds


def parse_namespace(text: str) -> str:
    if not _LABEL.fullmatch(text):
        raise ValueError(
            "it must be the name of a namespace: lower case letters, digits and '-', at most 63 characters"
        )
    return text


def parse_namespace_or_none(text: str) -> str:
    return parse_namespace(text) if text else ""


def parse_word(text: str) -> str:
    if not text or not text.isprintable() or " " in text:
        raise ValueError("it must be one printable word")
    return text


def choice_of(choices: type[E]) -> Callable[[str], E]:
    def parse(text: str) -> E:
        try:
            return choices(text)
        except ValueError as error:
            raise ValueError(f"it must be one of {', '.join(choices)}") from error

    return parse
