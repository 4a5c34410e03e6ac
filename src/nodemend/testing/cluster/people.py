"""An admin who answers the call: goes to the machine, makes sure that it is off, and says so.

They never lie. They are slow, they change their mind, and they switch a machine on again when they may: after
the release, after taking their word back, or once it has expired without having been used.
"""

from typing import Final

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.testing.cluster.direct import Direct, Object
from nodemend.testing.cluster.machines import Machine
from nodemend.testing.scheduler import Scheduler

LOOKS_EVERY: Final = 15.0
WORD_IS_VOID_AFTER: Final = 660.0


class Admin:
    """Looks after the remediations of one cluster."""

    def __init__(self, name: str, api: Direct, scheduler: Scheduler, machines: dict[str, Machine]) -> None:
        self.name = name
        self._api = api
        self._scheduler = scheduler
        self._machines = machines
        self._chance = scheduler.chance(f"admin {name}")
        self._gave_word_at: dict[str, float] = {}

    def start(self) -> None:
        self._scheduler.after(LOOKS_EVERY, self._look)

    def _look(self) -> None:
        called_for = set()
        for remediation in self._api.list(MANUAL_REMEDIATION):
            called_for.add(remediation["metadata"]["name"])
            self._attend(remediation, self._machines[remediation["metadata"]["name"]])
        for name in self._gave_word_at.keys() - called_for:
            self._switch_on(self._machines[name], "nobody needs it off any more")
        self._scheduler.after(self._chance.uniform(LOOKS_EVERY / 2, LOOKS_EVERY * 2), self._look)

    def _attend(self, remediation: Object, machine: Machine) -> None:
        status = remediation.get("status", {})
        if "confirmation" not in remediation["spec"]:
            if status.get("lastRenewTime") and not remediation["metadata"].get("deletionTimestamp"):
                self._answer(remediation, machine)
        elif status.get("released"):
            if not status.get("tainted"):
                self._switch_on(machine, "its workloads are released")
        elif "evidence" not in status:
            self._reconsider(remediation, machine)

    def _answer(self, remediation: Object, machine: Machine) -> None:
        if machine.powered:
            machine.power_off()
        status = remediation["status"]
        word = {
            "by": self.name,
            "reason": "I switched it off and stand beside it",
            "nodeUID": status["nodeUID"],
            "bootID": status["bootID"],
            "lastRenewTime": status["lastRenewTime"],
        }
        if self._write(remediation, word):
            self._gave_word_at[machine.name] = self._scheduler.now
            self._scheduler.note(f"{self.name} vouches for {machine.name}")

    def _reconsider(self, remediation: Object, machine: Machine) -> None:
        """The word stands and has not been used: now and then they take it back, or give up waiting."""
        given_at = self._gave_word_at.get(machine.name, self._scheduler.now)
        if self._scheduler.now - given_at > WORD_IS_VOID_AFTER:
            self._write(remediation, None)
            self._switch_on(machine, "the word has expired unused")
        elif self._chance.random() < 0.1 and self._write(remediation, None):
            self._switch_on(machine, "the word was taken back")

    def _write(self, remediation: Object, word: Object | None) -> bool:
        metadata = remediation["metadata"]
        at = (metadata["namespace"], "")
        change = {"metadata": {"uid": metadata["uid"]}, "spec": {"confirmation": word}}
        return self._api.try_patch(MANUAL_REMEDIATION, metadata["name"], change, at=at).status == 200

    def _switch_on(self, machine: Machine, why: str) -> None:
        self._gave_word_at.pop(machine.name, None)
        if not machine.powered:
            self._scheduler.note(f"{self.name} switches {machine.name} on: {why}")
            machine.power_on()
