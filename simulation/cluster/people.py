"""An admin who responds to a ManualRemediation: powers the machine off and then confirms it.

Admins never confirm falsely. They are slow, they sometimes withdraw a confirmation, and they power a machine
on again only when that is allowed: after the release, after the withdrawal of the confirmation, or after the
confirmation expired unused.
"""

from typing import Final

from nodemend.api.resources import MANUAL_REMEDIATION
from simulation.cluster.direct import Direct, Object
from simulation.cluster.machines import Machine
from simulation.scheduler import Scheduler

POLL_INTERVAL: Final = 15.0
CONFIRMATION_EXPIRES_AFTER: Final = 660.0


class Admin:
    """Handles the ManualRemediations of one cluster."""

    def __init__(self, name: str, api: Direct, scheduler: Scheduler, machines: dict[str, Machine]) -> None:
        self.name = name
        self._api = api
        self._scheduler = scheduler
        self._machines = machines
        self._chance = scheduler.chance(f"admin {name}")
        self._confirmed_at: dict[str, float] = {}

    def start(self) -> None:
        self._scheduler.after(POLL_INTERVAL, self._poll)

    def _poll(self) -> None:
        called_for = set()
        for remediation in self._api.list(MANUAL_REMEDIATION):
            called_for.add(remediation["metadata"]["name"])
            self._attend(remediation, self._machines[remediation["metadata"]["name"]])
        for name in self._confirmed_at.keys() - called_for:
            self._switch_on(self._machines[name], "nobody needs it off any more")
        self._scheduler.after(self._chance.uniform(POLL_INTERVAL / 2, POLL_INTERVAL * 2), self._poll)

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
        confirmation = {
            "by": self.name,
            "reason": "I switched it off and stand beside it",
            "nodeUID": status["nodeUID"],
            "bootID": status["bootID"],
            "lastRenewTime": status["lastRenewTime"],
        }
        if self._write(remediation, confirmation):
            self._confirmed_at[machine.name] = self._scheduler.now
            self._scheduler.note(f"{self.name} vouches for {machine.name}")

    def _reconsider(self, remediation: Object, machine: Machine) -> None:
        """Handle an unused confirmation: withdraw it at random, or because it has expired."""
        given_at = self._confirmed_at.get(machine.name, self._scheduler.now)
        if self._scheduler.now - given_at > CONFIRMATION_EXPIRES_AFTER:
            self._write(remediation, None)
            self._switch_on(machine, "the word has expired unused")
        elif self._chance.random() < 0.1 and self._write(remediation, None):
            self._switch_on(machine, "the word was taken back")

    def _write(self, remediation: Object, confirmation: Object | None) -> bool:
        metadata = remediation["metadata"]
        at = (metadata["namespace"], "")
        change = {"metadata": {"uid": metadata["uid"]}, "spec": {"confirmation": confirmation}}
        return self._api.try_patch(MANUAL_REMEDIATION, metadata["name"], change, at=at).status == 200

    def _switch_on(self, machine: Machine, why: str) -> None:
        self._confirmed_at.pop(machine.name, None)
        if not machine.powered:
            self._scheduler.note(f"{self.name} switches {machine.name} on: {why}")
            machine.power_on()
