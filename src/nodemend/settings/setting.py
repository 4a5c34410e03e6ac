"""One setting: a flag and a variable of the same meaning, and the parser of its text.

The sources of settings: flags win over variables, variables over defaults.
"""

import difflib
import re
from collections.abc import Callable, Mapping
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
    """A setting that cannot be used. The message is a sentence for its author."""


class Switch(StrEnum):
    ON = "on"
    OFF = "off"


@dataclass(frozen=True, slots=True)
class Setting(Generic[T_co]):
    """`parse` raises ValueError with a message that says what the text must be."""

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
        """The name as a Python identifier."""
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


def parse_name(text: str) -> str:
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


T = TypeVar("T")
Settings = tuple[Setting[object], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on; an empty host is every address, port 0 any free one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class SettingsSource:
    """Flags by the settings' keys, and the environment."""

    flags: Mapping[str, str | None]
    environment: Mapping[str, str]

    def read(self, setting: Setting[T], default: str = "") -> T:
        said, where = self.flags.get(setting.key), setting.flag
        if said is None:
            said, where = self.environment.get(setting.variable), setting.variable
        if said is None:
            said, where = default or setting.default, f"the default of {setting.flag}"
        try:
            return setting.parse(said)
        except ValueError as error:
            raise SettingsError(f"{where} is {said!r}: {error}.") from error


def refuse_unknown(environment: Mapping[str, str], settings: Settings) -> None:
    """Raises SettingsError for an unknown variable: a misspelt setting must not silently be the default."""
    known = {setting.variable for setting in settings}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not _names_a_service(name, environment):
            raise SettingsError(f"{name} is set, but there is no such setting.{_nearest(name, settings)}")


def _nearest(variable: str, settings: Settings) -> str:
    # The prefix that all names share does not help to find the intended one.
    names = [setting.variable.removeprefix(PREFIX) for setting in settings]
    near = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1)
    return f" Did you mean {PREFIX}{near[0]}?" if near else ""


def _names_a_service(variable: str, environment: Mapping[str, str]) -> bool:
    """True for a variable by which kubelets announce a Service to pods; its name may have the same prefix."""
    host = "_SERVICE_HOST"
    services = (name.removesuffix(host) for name in environment if name.endswith(host))
    suffixes = (f"{service}_" for service in services)
    return any(variable.startswith((f"{ending}SERVICE_", f"{ending}PORT")) for ending in suffixes)
