"""The most recent remediations of Machines, and the outcome of each.

The status of another project's check has no field for them, so the status of the RemediationPolicy stores one
bounded list for all checks. It is derived from the current state: each active remediation gets an entry, and
an open entry without an active remediation has ended. So a change of leader loses only a remediation that
started and ended between two leader terms.
"""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from nodemend.api import well_known
from nodemend.api.node_health_check import HowEnded
from nodemend.api.remediation_policy import MachineRemediation
from nodemend.guard.state import TargetIndex, TargetState
from nodemend.health.machine import targets
from nodemend.health.machine.targets import MachineView
from nodemend.records.live_reads import BoundedMap
from nodemend.records.machine import MachineRecord

KEPT: Final = 50
_Key = tuple[str, str, str]
"""A Machine's UID, the kind of its remediation, and the creation time if the remediation is an object."""
BY_OWNER: Final = "OwnerRemediation"
BY_DELETION: Final = "MachineDeletion"


@dataclass(frozen=True, slots=True)
class _Work:
    """An active remediation of a Machine. `began` is empty if nothing records its start."""

    machine: MachineRecord
    check: str
    kind: str
    began: str = ""
    contradicted: bool = False

    @property
    def key(self) -> "_Key":
        return self.machine.uid, self.kind, self.began


class MachineHistory:
    """The history as maintained by one leader term."""

    def __init__(self, view: MachineView, target_index: TargetIndex) -> None:
        self._view = view
        self._target_index = target_index
        self._ring: tuple[MachineRemediation, ...] | None = None
        self._first_seen: dict[_Key, str] = {}
        self._deleted: list[_Work] = []
        self._contradicted: BoundedMap[_Key, bool] = BoundedMap()

    def note_deletion(self, machine: MachineRecord, check: str, now: str) -> None:
        """Record a deletion by Nodemend: a deletion timestamp alone does not show who deleted the Machine."""
        self._deleted.append(_Work(machine, check, BY_DELETION, now))

    def update(self, written: Sequence[MachineRemediation], now: str) -> tuple[MachineRemediation, ...]:
        """Return the current history, newest first. `written` is used only on the first call."""
        ring = tuple(written) if self._ring is None else self._ring
        in_progress = {work.key: work for work in self._in_progress()}
        self._first_seen = {key: self._first_seen.get(key, now) for key in in_progress}
        for key in (key for key, work in in_progress.items() if work.contradicted):
            self._contradicted.keep(key, True)
        known = {_key_of(one) for one in ring if not one.ended}
        begun = [work for key, work in in_progress.items() if key not in known] + self._deleted
        self._deleted = []
        reported = [
            one if one.ended or self._goes_on(one, in_progress) else self._end(one, now)
            for one in (*ring, *map(self._entry, begun))
        ]
        newest = sorted(reported, key=lambda one: (one.began, one.machine), reverse=True)
        self._ring = tuple(newest[:KEPT])
        return self._ring

    def _in_progress(self) -> Iterator[_Work]:
        """Yield owner requests under Nodemend's checks, and the remediations created from templates."""
        machine_index = self._view.machine_index
        for key in list(machine_index.asked()):
            target = targets.find_target(self._view, key)
            if target is not None and not target.by_annotation:
                yield _Work(target.machine, target.check.name, BY_OWNER)
        for record in self._view.remedies.all():
            owners = (machine_index.by_uid(uid) for uid in record.owners)
            owner = next((key for key in owners if key is not None), None)
            machine = machine_index.machine(owner) if owner is not None else None
            if machine is not None and well_known.CHECK_UID in record.annotations:
                check = record.labels.get(well_known.CHECK, "")
                yield _Work(machine, check, record.resource.kind, record.created, record.contradicted)

    def _entry(self, work: _Work) -> MachineRemediation:
        """Return the entry for a remediation; always the same, even if the bounded list dropped it before."""
        return MachineRemediation(
            machine=work.machine.key,
            uid=work.machine.uid,
            node=work.machine.node,
            check=work.check,
            kind=work.kind,
            began=work.began or self._first_seen[work.key],
        )

    def _goes_on(self, one: MachineRemediation, in_progress: Container[_Key]) -> bool:
        """True while the remediation is active. A deletion stays active until the Machine is gone."""
        deleted = one.kind == BY_DELETION and self._view.machine_index.by_uid(one.uid) is not None
        return deleted or _key_of(one) in in_progress

    def _end(self, one: MachineRemediation, now: str) -> MachineRemediation:
        return one.but(ended=now, outcome=self._outcome(one))

    def _outcome(self, one: MachineRemediation) -> HowEnded:
        if self._contradicted.find(_key_of(one)):
            return HowEnded.CONTRADICTED
        key = self._view.machine_index.by_uid(one.uid)
        if key is None:
            return HowEnded.GONE
        stands = self._target_index.find(str(key))
        well = stands is not None and stands.state is TargetState.HEALTHY
        return HowEnded.HEALED if well else HowEnded.WITHDRAWN


def _key_of(one: MachineRemediation) -> _Key:
    return one.uid, one.kind, "" if one.kind in (BY_OWNER, BY_DELETION) else one.began
