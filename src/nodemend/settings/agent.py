"""Reads the settings of an agent from its command line and environment: every setting is also a flag.

Flags win over variables, variables over defaults. The command line uses argparse because click costs two
megabytes.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from typing import Final

from nodemend import __version__
from nodemend.kube.credentials import SERVICE_ACCOUNT_DIRECTORY
from nodemend.settings.setting import (
    EXIT_WRONG_USAGE,
    Address,
    SettingsError,
    choice_of,
    parse_name,
    parse_port,
    read_as,
    setting,
    settings_class,
    settings_of,
)
from nodemend.telemetry.logging import LogForm, LogLevel


def parse_folder(text: str) -> str:
    if not text.startswith("/"):
        raise ValueError("it must be a path that begins with /")
    return text.rstrip("/")


LONGEST_RIDE: Final = 3600.0


def parse_ride_through(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0.0 <= seconds <= LONGEST_RIDE:
        raise ValueError(f"it must be between 0 and {LONGEST_RIDE:g} seconds")
    return seconds


@settings_class
class AgentSettings:
    node_name: str = setting(parse_name, "", "The node that this agent runs on. Required.")
    peer_host: str = setting(
        parse_name, "", "The address of this node, at which its peers reach it. Required."
    )
    peer_port: int = setting(parse_port, "9771", "The port for peers, on every address.")
    host_folder: str = setting(
        parse_folder, "/run/nodemend", "The folder of the status files of the feeder and the boot gate."
    )
    state_folder: str = setting(
        parse_folder,
        "/run/nodemend/agent",
        "The folder of the agent's feed lease and state files. It must not outlive the boot.",
    )
    certificates: str = setting(
        parse_folder, "/run/nodemend/agent/tls", "The folder of the agent's key and certificate."
    )
    trust: str = setting(
        parse_folder, "/etc/nodemend/trust/ca.crt", "The authorities whose certificates peers may show."
    )
    account: str = setting(
        parse_folder, SERVICE_ACCOUNT_DIRECTORY, "The folder of token and ca.crt, as in every pod."
    )
    boot_id: str = setting(parse_folder, "/proc/sys/kernel/random/boot_id", "The file that names this boot.")
    ride_through: float = setting(
        parse_ride_through,
        "0",
        "Seconds for which a node stays up that is cut off from the API server and from most of its peers. "
        "Releases by time are delayed by the same time. The host's NODEMEND_LEASE_LENGTH must allow it.",
    )
    probe_address: str = setting(str, "127.0.0.1", "The address that /livez and /readyz listen on.")
    probe_port: int = setting(parse_port, "9772", "The port of /livez and /readyz.")
    log_level: LogLevel = setting(choice_of(LogLevel), "info", "debug, info, warning or error.")
    log_form: LogForm = setting(
        choice_of(LogForm), "auto", "json, console, or auto: console on a terminal and json elsewhere."
    )

    @property
    def peers(self) -> Address:
        """The address at which peers reach this node; the agent listens on every address, at this port."""
        return Address(self.peer_host, self.peer_port)

    @property
    def probes(self) -> Address:
        return Address(self.probe_address, self.probe_port)


SETTINGS: Final = settings_of(AgentSettings)


def read_agent_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> AgentSettings:
    """Raises SettingsError for values that are invalid or clash, and for unknown variables."""
    settings = read_as(AgentSettings, flags, environment)
    if settings.peers.port == settings.probes.port != 0:
        raise SettingsError(f"--peer-port and --probe-port are both {settings.peers.port}: they must differ.")
    return settings


def run_with_settings(
    program: str, summary: str, run: Callable[[AgentSettings], int], words: list[str] | None = None
) -> int:
    """Pass the settings to `run` and return its exit code. Exits the process for --help and --version."""
    parser = argparse.ArgumentParser(prog=program, description=summary, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{program}, version {__version__}")
    for one in SETTINGS:
        reported = f"{one.help} [{one.variable}]".replace("%", "%%")
        parser.add_argument(one.flag, metavar=one.default or "TEXT", help=reported)
    flags: dict[str, str | None] = vars(parser.parse_args(words))
    try:
        settings = read_agent_settings(flags, os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return EXIT_WRONG_USAGE
    return run(settings)
