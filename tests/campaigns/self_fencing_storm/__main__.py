"""`python -m tests.campaigns.self_fencing_storm`: nodes lost together are released about as fast as one.

The shipped remediator and agents among simulated machines, with 1 to 20 ms each way to the API server.
"""

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Final

from nodemend.api import well_known
from nodemend.api.resources import LEASE, NODE, SELF_REMEDIATION
from nodemend.kube.request import Selection
from nodemend.remediation.self_fencing.peer_assignment import ZONE
from simulation.api_server.admission import User
from simulation.cluster.fenced_machine import Rack
from simulation.cluster.world import Account, Shape, World
from tests.unit.remediation.complaints import BY_CONDITION, OPEN, complain

ZONES: Final = 3
AS_LONG_AS_ALONE: Final = 1.5
"""The limit for the last of many, relative to a single one."""
SETTLED_WITHIN: Final = 600.0
RELEASED_WITHIN: Final = 400.0
A_POLL: Final = 1.0


class Storm:
    """A cluster of three zones, of which one falls silent at once; or one node of it."""

    def __init__(self, lost: int) -> None:
        zone = max(lost, 3)
        machines = ZONES * zone
        shape = Shape(
            people=False,
            self_fencing=True,
            machines=machines,
            workloads=0,
            replicas=1,
            check=BY_CONDITION,
            policy={**OPEN, "maxConcurrent": machines},
        )
        self._world = World(f"storm of {lost}", shape)
        self._rack = Rack(
            self._world.admin_api, Account(self._world.server, User("agents")), self._world.scheduler
        )
        for number, machine in enumerate(self._world.machines.values()):
            labels = {ZONE: f"zone-{number // zone}"}
            self._world.admin_api.patch(NODE, machine.name, {"metadata": {"labels": labels}})
            self._rack.fence(machine)
        self._lost = list(self._world.machines)[:lost]

    def play(self) -> list[float]:
        """Seconds from the creation of all remediations to the release, for each released node."""
        if not any(self._have_peers() for _ in self._polls(SETTLED_WITHIN)):
            raise TimeoutError("agents were not given peers")
        for name in self._lost:
            fenced = self._rack.members[name]
            fenced.machine.connected, fenced.deaf = False, True
            named = {"metadata": complain(self._world.admin_api, name), "spec": {}}
            self._world.admin_api.create(SELF_REMEDIATION, named, well_known.SYSTEM_NAMESPACE)
        released: dict[str, float] = {}
        for passed in self._polls(RELEASED_WITHIN):
            for name in self._released() - released.keys():
                released[name] = passed
            if len(released) == len(self._lost):
                break
        return sorted(released.values())

    def requests(self) -> int:
        return self._world.remediator.asked.total()

    def close(self) -> None:
        self._rack.close()
        self._world.close()

    def _polls(self, within: float) -> Iterator[float]:
        began = self._world.scheduler.now
        while (passed := self._world.scheduler.now - began) < within:
            self._world.run(self._world.scheduler.now + A_POLL)
            yield passed + A_POLL

    def _have_peers(self) -> bool:
        leases = self._world.admin_api.list(LEASE, Selection(well_known.AGENT_NAMESPACE))
        reported = [
            lease["metadata"].get("annotations", {}).get(well_known.AGENT_REPORT, "") for lease in leases
        ]
        return len(leases) == len(self._world.machines) and all('"peers":[["' in one for one in reported)

    def _released(self) -> set[str]:
        found = self._world.admin_api.list(SELF_REMEDIATION, Selection(well_known.SYSTEM_NAMESPACE))
        return {one["metadata"]["name"] for one in found if one.get("status", {}).get("released")}


def play(lost: int) -> tuple[list[float], int]:
    storm = Storm(lost)
    before = storm.requests()
    released, asked = storm.play(), storm.requests() - before
    storm.close()
    return released, asked


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("nodes", type=int, nargs="?", default=100)
    nodes: int = parser.parse_args().nodes
    warnings.simplefilter("ignore")
    (alone,), _ = play(1)
    released, asked = play(nodes)
    last = released[-1] if released else 0.0
    print(
        f"fencing-storm: {len(released)} of {nodes} nodes lost together are released, the last after "
        f"{last:.0f} s, one alone after {alone:.0f} s (at most {AS_LONG_AS_ALONE} times that); "
        f"{asked:,} requests"
    )
    return 0 if len(released) == nodes and last <= AS_LONG_AS_ALONE * alone else 1


if __name__ == "__main__":
    sys.exit(main())
