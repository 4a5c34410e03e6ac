"""The last remediations of Machines, and how each of them ended.

The status of another project's check has no place for them, so they stand in the RemediationPolicy's: one
ring for all checks. It is derived from what is there: who is at work has an entry, and whose entry is open
and who is not at work any more has ended. So nothing is lost with a leadership but what began and ended
between two of them.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nodemend.api import keys
from nodemend.api.node_health_check import HowEnded
from nodemend.api.remediation_policy import MachineRemediation
from nodemend.controllers.checking.standings import Standing, Standings
from nodemend.controllers.machine_health_check import gather
from nodemend.controllers.machine_health_check.view import MachineView
from nodemend.controllers.recent import Recent
from nodemend.kube.machine_record import MachineRecord

KEPT: Final = 50
_Key = tuple[str, str, str]
"""A Machine's UID, the kind of its remediation, and when that was created, where it is an object."""
BY_OWNER: Final = "OwnerRemediation"
BY_DELETION: Final = "MachineDeletion"


@dataclass(frozen=True, slots=True)
class _Work:
    """Somebody at work on a Machine. `began` is empty where nothing says when."""

    machine: MachineRecord
    check: str
    kind: str
    began: str = ""
    contradicted: bool = False

    @property
    def key(self) -> "_Key":
        return self.machine.uid, self.kind, self.began


class MachineHistory:
    """One leadership's part of it."""

    def __init__(self, view: MachineView, standings: Standings) -> None:
        self._view = view
        self._standings = standings
        self._ring: tuple[MachineRemediation, ...] | None = None
        self._first_seen: dict[_Key, str] = {}
        self._deleted: list[_Work] = []
        self._contradicted: Recent[_Key, bool] = Recent()

    def note_deletion(self, machine: MachineRecord, check: str, now: str) -> None:
        """We have deleted it. That it is being deleted does not say by whom."""
        self._deleted.append(_Work(machine, check, BY_DELETION, now))

    def look(self, written: Sequence[MachineRemediation], now: str) -> tuple[MachineRemediation, ...]:
        """What should stand there, the newest first. `written` counts only before we wrote anything."""
        ring = tuple(written) if self._ring is None else self._ring
        at_work = {work.key: work for work in self._at_work()}
        self._first_seen = {key: self._first_seen.get(key, now) for key in at_work}
        for key in (key for key, work in at_work.items() if work.contradicted):
            self._contradicted.keep(key, True)
        known = {_key_of(one) for one in ring if not one.ended}
        begun = [work for key, work in at_work.items() if key not in known] + self._deleted
        self._deleted = []
        told = [
            one if one.ended or self._goes_on(one, at_work) else self._end(one, now)
            for one in (*ring, *map(self._entry, begun))
        ]
        newest = sorted(told, key=lambda one: (one.began, one.machine), reverse=True)
        self._ring = tuple(newest[:KEPT])
        return self._ring

    def _at_work(self) -> Iterator[_Work]:
        """Owners that are asked under a check of ours, and what was made from its template."""
        fleet = self._view.fleet
        for key in list(fleet.asked()):
            target = gather.find_target(self._view, key)
            if target is not None and not target.by_annotation:
                yield _Work(target.machine, target.check.name, BY_OWNER)
        for record in self._view.remedies.all():
            owners = (fleet.by_uid(uid) for uid in record.owners)
            owner = next((key for key in owners if key is not None), None)
            machine = fleet.machine(owner) if owner is not None else None
            if machine is not None and keys.CHECK_UID in record.annotations:
                check = record.labels.get(keys.CHECK, "")
                yield _Work(machine, check, record.resource.kind, record.created, record.contradicted)

    def _entry(self, work: _Work) -> MachineRemediation:
        """The same at every look, also of one that the ring has no room for."""
        return MachineRemediation(
            machine=work.machine.key,
            uid=work.machine.uid,
            node=work.machine.node,
            check=work.check,
            kind=work.kind,
            began=work.began or self._first_seen[work.key],
        )

    def _goes_on(self, one: MachineRemediation, at_work: Container[_Key]) -> bool:
        """One that we deleted does until it is gone: nobody can take that back."""
        deleted = one.kind == BY_DELETION and self._view.fleet.by_uid(one.uid) is not None
        return deleted or _key_of(one) in at_work

    def _end(self, one: MachineRemediation, now: str) -> MachineRemediation:
        return one.but(ended=now, outcome=self._outcome(one))

    def _outcome(self, one: MachineRemediation) -> HowEnded:
        if self._contradicted.find(_key_of(one)):
            return HowEnded.CONTRADICTED
        key = self._view.fleet.by_uid(one.uid)
        if key is None:
            return HowEnded.GONE
        stands = self._standings.find(str(key))
        well = stands is not None and stands.standing is Standing.HEALTHY
        return HowEnded.HEALED if well else HowEnded.WITHDRAWN


def _key_of(one: MachineRemediation) -> _Key:
    return one.uid, one.kind, "" if one.kind in (BY_OWNER, BY_DELETION) else one.began
