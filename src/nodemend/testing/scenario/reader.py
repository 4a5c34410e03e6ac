"""A scenario as it is written."""

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
    """A line that means nothing."""


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that happens, in words, at a time.

    With `once`, the time counts from the moment at which the story first tells something with these words.
    """

    at: timedelta
    words: str
    once: str = ""


@dataclass(frozen=True, slots=True)
class Hosts:
    """The nodes are hosts of metal3, and the check has them switched off and on."""

    spec: Mapping[str, Any]
    """Of each power cycle, where it is not as usual."""
    crossed: bool = False
    """Two BMCs are mixed up; what tells is the system UUID that somebody wrote on each host."""
    provider_id: str | None = None
    """How nodes name their hosts, where it is not as usual; empty where they do not."""
    control_plane: bool = False
    """The first three nodes are it."""
    may_delete_nodes: bool = False
    """We are installed so that we may release by deleting Nodes."""
    machines: str = ""
    """The project whose Machines stand before them; empty for none."""


@dataclass(frozen=True, slots=True)
class Scenario:
    title: str
    nodes: int
    workloads: int
    incidents: tuple[Incident, ...]
    until: timedelta
    told: tuple[str, ...]
    """What is written below the line."""
    recovers: bool = False
    """Whether the check names a recovery."""
    hosts: Hosts | None = None


@dataclass(slots=True)
class _Draft:
    """What has been read so far."""

    title: str = ""
    nodes: int = 3
    workloads: int = 1
    recovers: bool = False
    hosts: dict[str, Any] = field(default_factory=dict)
    incidents: list[Incident] = field(default_factory=list)
    until: timedelta = timedelta(minutes=10)

    def take(self, line: str) -> bool:
        """False when it means nothing."""
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
            wishes = (wish.split() for wish in found[1].split(", ")[1:])
            self.hosts["spec"] = {name: int(said) if said.isdigit() else said for name, said in wishes}
        elif line == _CROSSED:
            self.hosts["crossed"] = True
        elif found := _PROVIDER_IDS.fullmatch(line):
            self.hosts["provider_id"] = found[1]
        elif line == _NO_PROVIDER_IDS:
            self.hosts["provider_id"] = ""
        elif line == _CONTROL_PLANE:
            self.hosts["control_plane"] = True
        elif line == _DELETABLE:
            self.hosts["may_delete_nodes"] = True
        elif found := _MACHINES.fullmatch(line):
            self.hosts["machines"] = found[1]
        else:
            return False
        return True


def read(text: str) -> Scenario:
    """Raises ScenarioError for what it does not understand."""
    above, _, below = text.partition(f"\n{LINE}\n")
    draft = _Draft()
    for line in (raw.strip() for raw in above.splitlines()):
        if line and not draft.take(line):
            raise ScenarioError(f"what is {line!r}?")
    if not draft.title:
        raise ScenarioError("the first line says what the scenario shows: # ...")
    if draft.hosts and "spec" not in draft.hosts:
        raise ScenarioError("there are no hosts: given hosts")
    return Scenario(
        draft.title,
        draft.nodes,
        draft.workloads,
        tuple(draft.incidents),
        draft.until,
        tuple(below.splitlines()),
        draft.recovers,
        Hosts(**draft.hosts) if draft.hosts else None,
    )


def with_told(text: str, told: tuple[str, ...]) -> str:
    """The same scenario with another story below the line."""
    above, _, _ = text.partition(f"\n{LINE}\n")
    return "\n".join((above.rstrip(), LINE, *told, ""))
