"""Parser of scenario files."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final

from nodemend.api.quantities import parse_duration

LINE: Final = "---"
_GIVEN: Final = re.compile(r"given (\d+) nodes?, (\d+) workloads?")
_RECOVERY: Final = "given a recovery"
_HOSTS: Final = re.compile(r"given hosts((?:, \S+ \S+)*)")
_CROSSED: Final = "given the BMCs of node-1 and node-2 are mixed up"
_PROVIDER_IDS: Final = re.compile(r"given provider IDs like (\S+)")
_NO_PROVIDER_IDS: Final = "given Nodes without provider IDs"
_CONTROL_PLANE: Final = "given node-1, node-2 and node-3 are the control plane"
_DELETABLE: Final = "given Nodes may be deleted"
_MACHINES: Final = re.compile(r"given Machines of (Cluster API|OpenShift)")
_AT: Final = re.compile(r"at (\S+) (.+)")
_ONCE: Final = re.compile(r'once "(.+)"(?:, after (\S+))?: (.+)')
_UNTIL: Final = re.compile(r"until (\S+)")


class ScenarioError(ValueError):
    """A line that cannot be parsed."""


@dataclass(frozen=True, slots=True)
class Incident:
    """One event of a scenario: its text and its time.

    With `once`, the time counts from the first logged line that contains this text.
    """

    at: timedelta
    words: str
    once: str = ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The nodes are metal3 hosts, and the check has them power-cycled."""

    spec: Mapping[str, Any]
    """Fields of each Metal3Remediation that differ from the default."""
    crossed: bool = False
    """Two BMCs are interchanged; only the system UUID that is annotated on each host reveals it."""
    provider_id: str | None = None
    """Format of the nodes' provider IDs. None: the default; empty: nodes have none."""
    control_plane: bool = False
    """True if the first three nodes are the control plane."""
    may_delete_nodes: bool = False
    """True if Nodemend is installed with the right to release by deleting Nodes."""
    machines: str = ""
    """The project whose Machines use the hosts; empty: there are no Machines."""


@dataclass(slots=True)
class Scenario:
    """A scenario; `take` adds what one line says."""

    log_lines: tuple[str, ...]
    """The expected log: the text below the line."""
    title: str = ""
    nodes: int = 3
    workloads: int = 1
    incidents: list[Incident] = field(default_factory=list)
    until: timedelta = timedelta(minutes=10)
    recovers: bool = False
    """True if the check names a recovery."""
    host_options: dict[str, Any] = field(default_factory=dict)

    @property
    def hosts(self) -> Hosts | None:
        return Hosts(**self.host_options) if self.host_options else None

    def take(self, line: str) -> bool:
        """Parse one line. Returns False if no pattern matches."""
        if line.startswith("#"):
            self.title = self.title or line.lstrip("# ")
        elif found := _UNTIL.fullmatch(line):
            self.until = parse_duration(found[1])
        elif found := _AT.fullmatch(line):
            self.incidents.append(Incident(parse_duration(found[1]), found[2]))
        elif found := _ONCE.fullmatch(line):
            after = parse_duration(found[2]) if found[2] else timedelta()
            self.incidents.append(Incident(after, found[3], once=found[1]))
        else:
            return self._take_given(line)
        return True

    def _take_given(self, line: str) -> bool:
        if found := _GIVEN.fullmatch(line):
            self.nodes, self.workloads = int(found[1]), int(found[2])
        elif line == _RECOVERY:
            self.recovers = True
        elif found := _HOSTS.fullmatch(line):
            options = (wish.split() for wish in found[1].split(", ")[1:])
            self.host_options["spec"] = {
                name: int(said) if said.isdigit() else said for name, said in options
            }
        elif line == _CROSSED:
            self.host_options["crossed"] = True
        elif found := _PROVIDER_IDS.fullmatch(line):
            self.host_options["provider_id"] = found[1]
        elif line == _NO_PROVIDER_IDS:
            self.host_options["provider_id"] = ""
        elif line == _CONTROL_PLANE:
            self.host_options["control_plane"] = True
        elif line == _DELETABLE:
            self.host_options["may_delete_nodes"] = True
        elif found := _MACHINES.fullmatch(line):
            self.host_options["machines"] = found[1]
        else:
            return False
        return True


def read(text: str) -> Scenario:
    """Parse a scenario. Raises ScenarioError for a line that no pattern matches."""
    above, _, below = text.partition(f"\n{LINE}\n")
    scenario = Scenario(tuple(below.splitlines()))
    for line in (raw.strip() for raw in above.splitlines()):
        if line and not scenario.take(line):
            raise ScenarioError(f"what is {line!r}?")
    if not scenario.title:
        raise ScenarioError("the first line says what the scenario shows: # ...")
    if scenario.host_options and "spec" not in scenario.host_options:
        raise ScenarioError("there are no hosts: given hosts")
    return scenario


def with_log_lines(text: str, log_lines: tuple[str, ...]) -> str:
    """Return the scenario's text with this log below the line."""
    above, _, _ = text.partition(f"\n{LINE}\n")
    return "\n".join((above.rstrip(), LINE, *log_lines, ""))
