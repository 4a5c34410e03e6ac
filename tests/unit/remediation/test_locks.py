"""A lock whose holder is gone is released; any other is left alone."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import pytest

from nodemend.api import well_known
from nodemend.api.meta import ObjectMeta
from nodemend.api.resources import LEASE, MANUAL_REMEDIATION, NODE
from nodemend.api.upstream_types import Lease
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply, Unanswered
from nodemend.records.live_reads import LiveReader
from nodemend.remediation.writes import held_by, is_orphaned
from nodemend.safety.facts import Present
from nodemend.safety.lifecycle import LockHolder
from simulation.cluster.direct import Object
from simulation.cluster.world import Shape, World
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from tests.unit.kube.scripted_transport import ScriptedTransport
from tests.unit.remediation.metal3.power_world import SICK, PowerWorld

SYSTEM = well_known.SYSTEM_NAMESPACE
T = TypeVar("T")


def a_lock(name: str, holder: str, uid: str) -> Object:
    metadata = {"name": name, "annotations": {well_known.HOLDER: holder} if holder else {}}
    return {"metadata": metadata, "spec": {"holderIdentity": uid}}


@pytest.mark.attack("S13")
@pytest.mark.conforms("N7")
def test_locks_without_a_living_holder_go_and_others_stay() -> None:
    world = World("sweep", Shape(machines=3, people=False, replicas=1))
    world.run(30.0)
    api = world.admin_api
    living = api.create(MANUAL_REMEDIATION, {"metadata": {"name": "node-9"}, "spec": {}}, SYSTEM)
    here = f"ManualRemediation {SYSTEM}/node-9"
    locks = (
        a_lock("node-gone", f"ManualRemediation {SYSTEM}/node-7", "u7"),
        a_lock("node-replaced", here, "an-earlier-one"),
        a_lock("node-held", here, living["metadata"]["uid"]),
        a_lock("node-of-others", "NodeFence default/x", "u8"),
        a_lock("node-unnamed", "", "u9"),
        a_lock("node-half-named", "ManualRemediation", "u9"),
        a_lock("node-nowhere", "ManualRemediation /node-9", "u9"),
    )
    for lock in locks:
        api.create(LEASE, lock, SYSTEM)
    world.run(120.0)
    left = {lease["metadata"]["name"] for lease in api.list(LEASE)}
    world.close()

    assert left & {lock["metadata"]["name"] for lock in locks} == {"node-held", "node-of-others"}


@pytest.mark.slow
@pytest.mark.attack("S13")
def test_a_lock_without_a_holder_blocks_no_remediation() -> None:
    world = PowerWorld("nobody's lock")
    try:
        uid = (world.api.get(NODE, SICK) or {})["metadata"]["uid"]
        world.api.create(LEASE, a_lock(f"node-{uid}", "", "x"), SYSTEM)
        world.world.machines[SICK].hung = True
        world.ask()
        world.run(300.0)
        assert world.status["phase"] not in ("", "pending")
    finally:
        world.close()


def concluded(evaluate: Callable[[LiveReader], Awaitable[T]], reply: Reply) -> T:
    """The conclusion about a lock if the read of its holder gets this reply."""
    scheduler = Scheduler("orphan")
    process = SimulatedProcess(scheduler, "remediator", HostClock())
    reader = LiveReader(ApiClient(ScriptedTransport(process, lambda _: reply), process), process)
    found: list[T] = []

    async def observation() -> None:
        found.append(await evaluate(reader))

    process.spawn(observation(), "look")
    scheduler.run(1.0)
    return found[0]


@pytest.mark.parametrize(
    ("reply", "orphaned"),
    [
        (ApiResponse(404, b'{"kind": "Status", "reason": "NotFound"}'), True),
        (ApiResponse(200, b'{"metadata": {"uid": "another"}}'), True),
        (ApiResponse(200, b'{"metadata": {"uid": "u7"}}'), False),
        (ApiResponse(200, b'{"metadata": 7}'), False),
        (ApiResponse(200, b'{"metadata": {"ui'), False),
        (ApiResponse(403, b'{"kind": "Status", "reason": "Forbidden"}'), False),
        (ApiResponse(429, b'{"kind": "Status", "reason": "TooManyRequests"}'), False),
        (ApiResponse(500, b"{}"), False),
        (Unanswered("reset by peer"), False),
    ],
)
def test_only_a_holder_that_is_certainly_gone_leaves_an_orphan(reply: Reply, orphaned: bool) -> None:
    """A holder that cannot be read may be active."""
    lock = msgspec.convert(a_lock("node-x", f"ManualRemediation {SYSTEM}/node-7", "u7"), Lease)

    assert concluded(lambda reader: is_orphaned(reader, lock), reply) == orphaned


def test_the_lock_of_another_kind_with_the_same_name_is_foreign() -> None:
    """Remediations of one node all have its name: only the UID differs."""
    holder = f"ManualRemediation {SYSTEM}/node-7"
    lock = Present(msgspec.convert(a_lock("node-x", holder, "u7"), Lease))
    ours = ObjectMeta(name="node-7", namespace=SYSTEM, uid="u8")
    living = ApiResponse(200, b'{"metadata": {"uid": "u7"}}')

    found = concluded(lambda reader: held_by(reader, lock, ours), living)
    assert found == Present(LockHolder(ours=False, holder=holder))
