"""Agents on the machines of the power world: an unhealthy node is fenced by itself and by a power cycle.

The order of the two remediations is drawn. Both are served; at most one of them acts on a node at a time.
"""

from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import NODE, SELF_REMEDIATION
from simulation.api_server.admission import User
from simulation.cluster.fenced_machine import Rack
from simulation.cluster.world import Account
from tests.simulation.hostile.fault_context import Around
from tests.simulation.hostile.kinds import Kind

NOTICED: Final = 0.1
"""Probability of a request for an unhealthy node at one check."""
LASTS: Final = (100.0, 300.0, 600.0)


class SelfFencing:
    def __init__(self, around: Around) -> None:
        self._around = around

    def plan(self) -> None:
        around = self._around
        rack = Rack(around.api, Account(around.server, User("agents")), around.scheduler)
        for machine in around.machines.values():
            rack.fence(machine)
        self._poll()

    def _poll(self) -> None:
        around = self._around
        for name, machine in around.machines.items():
            if not machine.kubelet_works and around.chance.random() < NOTICED:
                self._ask(name)
        if around.now < around.ceases * (1.0 - around.quiet):
            around.scheduler.after(10.0, self._poll)

    def _ask(self, name: str) -> None:
        around, api, namespace = self._around, self._around.api, well_known.SYSTEM_NAMESPACE
        if api.get(NODE, name) is None or api.get(SELF_REMEDIATION, name, namespace) is not None:
            return
        token = around.token(Kind.BOTH)
        around.note(f"somebody asks {name} to end itself")
        metadata = {"name": name, "annotations": {"example.com/why": token}}
        api.create(SELF_REMEDIATION, {"metadata": metadata, "spec": {}}, namespace)
        around.counts.make(Kind.BOTH, token)
        around.later(lambda: api.delete(SELF_REMEDIATION, name, namespace), LASTS)
