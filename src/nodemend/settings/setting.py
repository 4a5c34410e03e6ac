"""One setting: a flag and a variable of the same meaning, and the parser of its text.

A settings class has one field per setting. Flags win over variables, variables over defaults.
"""

import difflib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Generic, TypeVar, cast, dataclass_transform

from nodemend.api.quantities import duration_seconds

T_co = TypeVar("T_co", covariant=True)
T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)
S = TypeVar("S")

PREFIX: Final = "NODEMEND_"
_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_HIGHEST_PORT: Final = 65535


EXIT_WRONG_USAGE: Final = 2


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


def setting(parse: Callable[[str], T], default: str, help_: str) -> T:
    """A field of a settings class. Its name gives the flag and the variable."""
    return cast("T", field(metadata={"setting": (parse, default, help_)}))


@dataclass_transform(frozen_default=True, kw_only_default=True, field_specifiers=(setting,))
def settings_class(kind: type[S]) -> type[S]:
    return dataclass(frozen=True, slots=True, kw_only=True)(kind)


def settings_of(kind: type[Any]) -> tuple[Setting[object], ...]:
    """The settings of a settings class, in the order of its fields."""
    return tuple(Setting(one.name.replace("_", "-"), *one.metadata["setting"]) for one in fields(kind))


def parse_port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _HIGHEST_PORT):
        raise ValueError(f"it must be a port, 0 to {_HIGHEST_PORT}; 0 is any free one")
    return int(text)


def parse_seconds(text: str) -> float:
    try:
        seconds = duration_seconds(text)
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


def parse_switch(text: str) -> bool:
    return choice_of(Switch)(text) is Switch.ON


def choice_of(choices: type[E]) -> Callable[[str], E]:
    def parse(text: str) -> E:
        try:
            return choices(text)
        except ValueError as error:
            raise ValueError(f"it must be one of {', '.join(choices)}") from error

    return parse


@dataclass(frozen=True, slots=True)
class Address:
    """An address to listen on; an empty host is every address, port 0 any free one."""

    host: str
    port: int


def read_as(
    kind: type[S],
    flags: Mapping[str, str | None],
    environment: Mapping[str, str],
    defaults: Mapping[str, str] = MappingProxyType({}),
) -> S:
    """Read a settings class. `flags` and `defaults` are by the settings' keys; a flag may be absent or None.

    Raises SettingsError for invalid values and for an unknown NODEMEND_ variable: a misspelt setting must not
    silently be the default.
    """
    settings = settings_of(kind)
    _refuse_unknown(environment, settings)
    values: dict[str, Any] = {}
    for one in settings:
        said, where = flags.get(one.key), one.flag
        if said is None:
            said, where = environment.get(one.variable), one.variable
        if said is None:
            said, where = defaults.get(one.key, one.default), f"the default of {one.flag}"
        try:
            values[one.key] = one.parse(said)
        except ValueError as error:
            raise SettingsError(f"{where} is {said!r}: {error}.") from error
    return kind(**values)


def _refuse_unknown(environment: Mapping[str, str], settings: tuple[Setting[object], ...]) -> None:
    known = {setting.variable for setting in settings}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not _names_a_service(name, environment):
            raise SettingsError(f"{name} is set, but there is no such setting.{_nearest(name, settings)}")


def _nearest(variable: str, settings: tuple[Setting[object], ...]) -> str:
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
