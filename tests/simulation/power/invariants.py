"""What must hold of power cycles in every simulated run, beside what holds of every release.

The numbers are those of SAFETY.md.
"""

from collections import Counter

import msgspec

from nodemend.api import keys
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.kube.api_reply import Answer
from nodemend.kube.api_request import Method, Request
from nodemend.testing.cluster.world import World
from tests.simulation.settling import InvariantBrokenError
from tests.simulation.walking_path.invariants import Invariants


class PowerInvariants(Invariants):
    """Sees every write to a host, too."""

    def __init__(self) -> None:
        super().__init__()
        self.holds = 0
        self._placed: Counter[str] = Counter()

    def watch(self, world: World) -> None:
        super().watch(world)
        world.remediator.witnesses.append(self._saw_host)

    def _saw_host(self, _user: str, request: Request, answer: Answer) -> None:
        if "/baremetalhosts/" not in request.path:
            return
        body = msgspec.json.decode(request.body)
        metadata = body["metadata"]
        if not metadata.get("uid") or not metadata.get("resourceVersion"):
            raise InvariantBrokenError(f"I3: {request.method} {request.path} without preconditions")
        if request.method is not Method.PATCH or body.keys() - {"metadata"}:
            raise InvariantBrokenError(f"I8: {request.path} is changed beside our annotations")
        for key, value in metadata.get("annotations", {}).items():
            if key.startswith(keys.OUR_HOLD_PREFIX) and value is not None:
                self._saw_hold(key, metadata["resourceVersion"], msgspec.json.decode(answer.body))

    def _saw_hold(self, key: str, version: str, host: dict[str, object]) -> None:
        """I4, I5, I11: by one who is at work, allowed, and once for each time that the host was seen on."""
        self.holds += 1
        uid, name = key.removeprefix(keys.OUR_HOLD_PREFIX), str(host["metadata"]["name"])  # type: ignore[index]
        living = [
            one
            for one in self.world.admin_api.list(METAL3_REMEDIATION)
            if one["metadata"]["uid"] == uid and (one.get("status") or {}).get("seenOnVersion") == version
        ]
        if len(living) != 1:
            raise InvariantBrokenError(f"I4: {name} is held by {uid}, which did not say so before")
        self._holds_the_lock(living[0])
        self._was_allowed(name)
        self._placed[f"{uid}/{version}"] += 1
        if self._placed[f"{uid}/{version}"] > 1:
            raise InvariantBrokenError(f"I11: {name} was switched off twice for {uid}")

    def settled(self) -> None:
        """I7 and I8: every host is on again, and no hold of ours is left."""
        super().settled()
        for host in self.world.admin_api.list(BARE_METAL_HOST):
            name, annotations = host["metadata"]["name"], host["metadata"].get("annotations", {})
            if any(key.startswith(keys.OUR_HOLD_PREFIX) for key in annotations):
                raise InvariantBrokenError(f"I8: our hold is left on {name}")
        off = [machine.name for machine in self.world.machines.values() if not machine.powered]
        if off:
            raise InvariantBrokenError(f"I7: {off} are left off")
