"""Where settings come from: flags win over variables, variables over defaults."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from nodemend.settings.setting import PREFIX, Setting, SettingsError

T = TypeVar("T")
Settings = tuple[Setting[object], ...]


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen; an empty host is every address, port 0 any free one."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Source:
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
    """Raises SettingsError: a misspelt setting must not silently be the default."""
    known = {setting.variable for setting in settings}
    for name in sorted(environment):
        if name.startswith(PREFIX) and name not in known and not _names_a_service(name, environment):
            raise SettingsError(f"{name} is set, but there is no such setting.{_nearest(name, settings)}")


def _nearest(variable: str, settings: Settings) -> str:
    # What all have in common says nothing about which was meant.
    names = [setting.variable.removeprefix(PREFIX) for setting in settings]
    near = difflib.get_close_matches(variable.removeprefix(PREFIX), names, n=1)
    return f" Did you mean {PREFIX}{near[0]}?" if near else ""


def _names_a_service(variable: str, environment: Mapping[str, str]) -> bool:
    """Kubelets tell pods of the Services beside them by variables, which may begin as ours do."""
    host = "_SERVICE_HOST"
    services = (name.removesuffix(host) for name in environment if name.endswith(host))
    endings = (f"{service}_" for service in services)
    return any(variable.startswith((f"{ending}SERVICE_", f"{ending}PORT")) for ending in endings)
