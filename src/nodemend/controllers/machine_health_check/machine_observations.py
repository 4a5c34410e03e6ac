"""For how long machines have been as they are, as far as we saw."""

from dataclasses import dataclass, field

from nodemend.controllers.checking.condition_ages import ConditionAges
from nodemend.kube.machine_record import MachineRecord


@dataclass(slots=True)
class MachineObservations:
    """What one leadership keeps from the machines it sees."""

    ages: ConditionAges = field(default_factory=ConditionAges)
    _waiting: dict[str, float] = field(default_factory=dict)
    _asked: dict[str, tuple[str, float]] = field(default_factory=dict)

    def awaited(self, uid: str, *, could_start: bool, now: float) -> float:
        """For how many seconds we have seen that it could have a node and has none."""
        if not could_start:
            self._waiting.pop(uid, None)
            return 0.0
        return now - self._waiting.setdefault(uid, now)

    def asked_for(self, machine: MachineRecord, now: float) -> float | None:
        """For how many seconds we have seen the annotation ask just so; None when it does not."""
        value = machine.asked_externally
        if value is None:
            self._asked.pop(machine.uid, None)
            return None
        known = self._asked.get(machine.uid)
        if known is None or known[0] != value:
            known = self._asked[machine.uid] = value, now
        return now - known[1]

    def forget(self, uid: str) -> None:
        self.ages.forget(uid)
        self._waiting.pop(uid, None)
        self._asked.pop(uid, None)
