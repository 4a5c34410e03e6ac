"""The settings of an agent. Flags win over variables, variables over defaults.

The command line of the agent: every setting as a flag.

It uses argparse because click costs two megabytes.
"""

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from nodemend import __version__
from nodemend.kube.credentials import SERVICE_ACCOUNT_DIRECTORY
from nodemend.settings.setting import (
    Address,
    Setting,
    SettingsError,
    SettingsSource,
    choice_of,
    parse_name,
    parse_port,
    refuse_unknown,
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


NODE_NAME: Final = Setting("node-name", parse_name, "", "The node that this agent runs on. Required.")
PEER_HOST: Final = Setting(
    "peer-host", parse_name, "", "The address of this node, at which its peers reach it. Required."
)
PEER_PORT: Final = Setting("peer-port", parse_port, "9771", "The port for peers, on every address.")
HOST_FOLDER: Final = Setting(
    "host-folder",
    parse_folder,
    "/run/nodemend",
    "The folder of the status files of the feeder and the boot gate.",
)
STATE_FOLDER: Final = Setting(
    "state-folder",
    parse_folder,
    "/run/nodemend/agent",
    "The folder of the agent's feed lease and state files. It must not outlive the boot.",
)
CERTIFICATES: Final = Setting(
    "certificates", parse_folder, "/run/nodemend/agent/tls", "The folder of the agent's key and certificate."
)
TRUST: Final = Setting(
    "trust", parse_folder, "/etc/nodemend/trust/ca.crt", "The authorities whose certificates peers may show."
)
ACCOUNT: Final = Setting(
    "account", parse_folder, SERVICE_ACCOUNT_DIRECTORY, "The folder of token and ca.crt, as in every pod."
)
BOOT_ID: Final = Setting(
    "boot-id", parse_folder, "/proc/sys/kernel/random/boot_id", "The file that names this boot."
)
RIDE_THROUGH: Final = Setting(
    "ride-through",
    parse_ride_through,
    "0",
    "Seconds for which a node stays up that is cut off from the API server and from most of its peers. "
    "Releases by time are delayed by the same time. The host's NODEMEND_LEASE_LENGTH must allow it.",
)
PROBE_ADDRESS: Final = Setting(
    "probe-address", str, "127.0.0.1", "The address that /livez and /readyz listen on."
)
PROBE_PORT: Final = Setting("probe-port", parse_port, "9772", "The port of /livez and /readyz.")
LOG_LEVEL: Final = Setting("log-level", choice_of(LogLevel), "info", "debug, info, warning or error.")
LOG_FORM: Final = Setting(
    "log-form",
    choice_of(LogForm),
    "auto",
    "json, console, or auto: console on a terminal and json elsewhere.",
)

SETTINGS: Final[tuple[Setting[object], ...]] = (
    NODE_NAME,
    PEER_HOST,
    PEER_PORT,
    HOST_FOLDER,
    STATE_FOLDER,
    CERTIFICATES,
    TRUST,
    ACCOUNT,
    BOOT_ID,
    RIDE_THROUGH,
    PROBE_ADDRESS,
    PROBE_PORT,
    LOG_LEVEL,
    LOG_FORM,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentSettings:
    node_name: str
    peers: Address
    """The address at which peers reach this node; the agent listens on every address, at this port."""
    host_folder: str
    state_folder: str
    certificates: str
    trust: str
    account: str
    boot_id: str
    ride_through: float
    probes: Address
    log_level: LogLevel
    log_form: LogForm


def read_agent_settings(flags: Mapping[str, str | None], environment: Mapping[str, str]) -> AgentSettings:
    """Raises SettingsError for values that are invalid or clash, and for unknown variables."""
    refuse_unknown(environment, SETTINGS)
    source = SettingsSource(flags, environment)
    settings = AgentSettings(
        node_name=source.read(NODE_NAME),
        peers=Address(source.read(PEER_HOST), source.read(PEER_PORT)),
        host_folder=source.read(HOST_FOLDER),
        state_folder=source.read(STATE_FOLDER),
        certificates=source.read(CERTIFICATES),
        trust=source.read(TRUST),
        account=source.read(ACCOUNT),
        boot_id=source.read(BOOT_ID),
        ride_through=source.read(RIDE_THROUGH),
        probes=Address(source.read(PROBE_ADDRESS), source.read(PROBE_PORT)),
        log_level=source.read(LOG_LEVEL),
        log_form=source.read(LOG_FORM),
    )
    if settings.peers.port == settings.probes.port != 0:
        raise SettingsError(f"--peer-port and --probe-port are both {settings.peers.port}: they must differ.")
    return settings


EXIT_WRONG_USAGE: Final = 2


def run_with_settings(
    program: str, summary: str, run: Callable[[AgentSettings], int], words: list[str] | None = None
) -> int:
    """Pass the settings to `run` and return its exit code. Exits the process for --help and --version."""
    parser = argparse.ArgumentParser(prog=program, description=summary, allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"{program}, version {__version__}")
    for setting in SETTINGS:
        reported = f"{setting.help} [{setting.variable}]".replace("%", "%%")
        parser.add_argument(setting.flag, metavar=setting.default or "TEXT", help=reported)
    flags: dict[str, str | None] = vars(parser.parse_args(words))
    try:
        settings = read_agent_settings(flags, os.environ)
    except SettingsError as error:
        sys.stderr.write(f"{program}: {error}\n")
        return EXIT_WRONG_USAGE
    return run(settings)
