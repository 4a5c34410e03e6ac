"""Directed seeds: users delete remediations in a phase in which something of them is still on the node."""

from typing import ClassVar, Final

import msgspec

from nodemend.api import well_known
from nodemend.api.resources import NODE, SELF_REMEDIATION
from nodemend.kube.request import Method, Request
from simulation.network import CrashPoint, LinkQuality, no_crash
from tests.simulation.convergence import InvariantBrokenError
from tests.simulation.self_fencing_nodes.directed import SICK, Directed
from tests.simulation.self_fencing_nodes.invariants import NODES
from tests.simulation.walking_path.invariants import is_ours

IN_FLIGHT: Final = (15.0, 50.0)
"""Seconds from the sending of a release to its arrival."""
SWEPT_WITHIN: Final = 120.0
"""Seconds after which nothing of a deleted remediation is left: a sweep waits for 60, and sweeps every 20."""


class Withdrawn(Directed):
    """A user deletes the remediation: while time is counted, while the release is in flight, or after it.

    After the release, Kubernetes' controllers are slow, so our taint is still on the Node.
    """

    family: ClassVar[str] = "Withdrawn"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        when = chance.choice(("while it counts", "in flight", "released"))
        cluster.counts[f"fault: withdrawn {when}"] += 1
        if when == "while it counts":
            self.mark()
            cluster.run(chance.uniform(20.0, 30.0))
            cluster.content(SICK)
            self.withdraw()
        else:
            if when == "in flight":
                for replica in cluster.remediators:
                    replica.link.crash_plan = self._send_late
            else:
                cluster.invariants.on_evidence = lambda _name: self.slow_controllers()
                cluster.invariants.on_released = lambda _name: self.soon(2.0, self.withdraw)
            self.hang()
        cluster.run(100.0)

    def withdraw(self) -> None:
        self.cluster.api.delete(SELF_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)

    def _send_late(self, request: Request) -> CrashPoint | None:
        """Delay the first release on its way to the API server. The node cannot reach that meanwhile."""
        if request.method is not Method.PATCH or not request.path.startswith(NODES):
            return None
        taints = (msgspec.json.decode(request.body).get("spec") or {}).get("taints") or ()
        if not any(map(is_ours, taints)):
            return None
        cluster, link = self.cluster, self.cluster.leader.link
        quality, late = link.quality, self.chance.uniform(*IN_FLIGHT)
        link.quality = LinkQuality(delay=(late, late))
        cluster.scheduler.after(0.0, lambda: setattr(link, "quality", quality))
        for replica in cluster.remediators:
            replica.link.crash_plan = no_crash
        cluster.isolate(SICK)
        cluster.scheduler.after(1.0, self.withdraw)
        return None


class Orphaned(Directed):
    """A user deletes a remediation together with its finalizer, while our taint is on its Node.

    Only a user removes the taint; until then the gate must stay closed, and then it must open.
    """

    family: ClassVar[str] = "Orphaned"

    def play(self) -> None:
        cluster, chance = self.cluster, self.chance
        self.settle()
        cluster.invariants.on_evidence = lambda _name: self.slow_controllers()
        cluster.invariants.on_released = lambda _name: self.soon(chance.uniform(0.0, 1.0), self._delete)
        self.hang()
        cluster.run(SWEPT_WITHIN + chance.uniform(20.0, 40.0))
        node = cluster.api.get(NODE, SICK)
        taints = node["spec"]["taints"] if node else []
        change = {"spec": {"taints": [one for one in taints if not is_ours(one)]}}
        cluster.api.patch(NODE, SICK, change)
        cluster.world.engine.away = False
        cluster.run(SWEPT_WITHIN)
        lease = cluster.store.read(SICK)
        if lease is None or lease.marker is not None:
            raise InvariantBrokenError(f"I8: the marker of a deleted remediation stays on {SICK}")

    def _delete(self) -> None:
        cluster = self.cluster
        cluster.content(SICK)
        at = (well_known.SYSTEM_NAMESPACE, "")
        cluster.api.delete(SELF_REMEDIATION, SICK, well_known.SYSTEM_NAMESPACE)
        cluster.api.patch(SELF_REMEDIATION, SICK, {"metadata": {"finalizers": None}}, at=at)
