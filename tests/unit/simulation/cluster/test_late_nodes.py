"""A watch of Nodes that is late shows what was, never what was before that."""

from nodemend.api.resources import NODE
from simulation.api_server.admission import ADMIN
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.direct import Direct
from simulation.cluster.engine import LateNodes
from simulation.cluster.world import Account
from simulation.scheduler import Scheduler


def test_what_is_known_is_late_and_never_goes_back() -> None:
    scheduler = Scheduler(1)
    api = Direct(Account(SimulatedApiServer(scheduler.wall), ADMIN))
    nodes = LateNodes(api, scheduler)

    def known_at(second: float) -> set[str]:
        scheduler.run(second)
        return {one["metadata"]["name"] for one in nodes.list()}

    api.create(NODE, {"metadata": {"name": "a"}})
    assert known_at(1.0) == {"a"}
    nodes.lag = 10.0
    api.create(NODE, {"metadata": {"name": "b"}})
    assert known_at(5.0) == {"a"}
    assert known_at(14.0) == {"a"}
    assert known_at(15.0) == {"a", "b"}
    api.create(NODE, {"metadata": {"name": "c"}})
    assert known_at(20.0) == {"a", "b"}
    nodes.lag = 0.0
    assert known_at(21.0) == {"a", "b", "c"}
