"""Logs the relevant events of a simulated cluster, one line each."""

from collections.abc import Callable
from typing import Any

import msgspec

from nodemend.api import well_known
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from simulation.cluster.machines import Machine
from simulation.cluster.world import World

Object = dict[str, Any]


class Narrator:
    """Observes the writes of Nodemend's accounts and the machines."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._world: World | None = None
        self._said: dict[str, str] = {}
        self._tainted: set[str] = set()
        self._awaited: list[tuple[str, Callable[[], object]]] = []
        self.at_the_end: list[Callable[[], None]] = []
        """Callbacks that append the final state after the last event."""

    @property
    def awaited(self) -> list[str]:
        """Texts that `once` still waits for."""
        return [words for words, _ in self._awaited]

    def once(self, words: str, then: Callable[[], object]) -> None:
        """Call `then` when a logged line contains `words`."""
        self._awaited.append((words, then))

    def conclude(self) -> None:
        self.lines.append("at the end")
        for tell in self.at_the_end:
            tell()

    def listen(self, world: World) -> None:
        self._world = world
        world.checker.witnesses.append(self._heard)
        world.remediator.witnesses.append(self._heard)

    def tell(self, what: str) -> None:
        now = int(self._world.scheduler.now) if self._world else 0
        self.lines.append(f"{now // 60:02}:{now % 60:02}  {what}")
        due = [pair for pair in self._awaited if pair[0] in what]
        self._awaited = [pair for pair in self._awaited if pair not in due]
        for _, then in due:
            then()

    def started(self, machine: Machine, workload: str) -> None:
        self.tell(f"{workload} runs on {machine.name}")

    def _heard(self, _user: str, request: Request, answer: ApiResponse) -> None:
        kind = request.path.split("/")
        if "manualremediations" in kind:
            self._heard_remediation(request, msgspec.json.decode(answer.body))
        elif "switchons" in kind:
            self._heard_recovery(request, kind[-1], msgspec.json.decode(answer.body))
        elif "remediationorders" in kind and request.method is Method.DELETE:
            self.tell(f"the order for {kind[-1]} ends")
        elif "nodes" in kind and request.method is Method.DELETE:
            self.tell(f"RELEASE {kind[-1]}: its Node is deleted")
        elif "nodes" in kind:
            self._heard_node(msgspec.json.decode(answer.body))
        elif "nodehealthchecks" in kind:
            self._heard_check(msgspec.json.decode(answer.body))

    def _heard_remediation(self, request: Request, now: Object) -> None:
        name = request.path.rstrip("/").removesuffix("/status").rpartition("/")[2]
        if request.method is Method.POST:
            self.tell(f"remediation of {now['metadata']['name']} is created{_whose(now)}")
        elif request.method is Method.DELETE:
            self.tell(f"remediation of {name} is withdrawn")
        else:
            status = now.get("status") or {"phase": "New"}
            said = f"{status['phase']}: {status.get('message', '')}".rstrip(": ")
            self.say(f"remediation of {name}", said)

    def _heard_recovery(self, request: Request, last: str, now: Object) -> None:
        created = request.method is Method.POST
        name = now["metadata"]["name"] if created else last
        self.tell(f"recovery of {name} is {'created' if created else 'withdrawn'}")

    def _heard_node(self, node: Object) -> None:
        name = node["metadata"]["name"]
        on = any(taint.get("value") == well_known.OUR_TAINT_VALUE for taint in node["spec"].get("taints", ()))
        if on and name not in self._tainted:
            self._tainted.add(name)
            self.tell(f"RELEASE {name}: out of service")
        elif not on and name in self._tainted:
            self._tainted.discard(name)
            self.tell(f"the taint is off {name}")

    def _heard_check(self, check: Object) -> None:
        for report in (check.get("status") or {}).get("reports", ()):
            said = f"{report['verdict']} {report.get('message', '')}".rstrip()
            self.say(f"check: {report['name']}", said)
        for recovery in (check.get("status") or {}).get("recoveries", ()):
            said = f"{recovery['phase']} {recovery.get('message', '')}".rstrip()
            self.say(f"check: recovery of {recovery['node']}", said)

    def say(self, about: str, said: str) -> None:
        """Log `said`, unless it equals the last entry about the same subject."""
        if self._said.get(about) != said:
            self._said[about] = said
            self.tell(f"{about}: {said}")


def _whose(remediation: Object) -> str:
    """Return the author of the order that started the remediation, and the guard that it overrode."""
    annotations = remediation["metadata"].get("annotations", {})
    if well_known.ORDERED_BY not in annotations:
        return ""
    past = annotations.get(well_known.PAST_GUARD)
    return f", ordered by {annotations[well_known.ORDERED_BY]}" + (f" past {past}" if past else "")
