"""The age of each cache is a metric, also of a cache without objects."""

from math import inf

from nodemend.cmd.controllers import CHECKER, ProgramDependencies, build_checker
from nodemend.kube.events import EventRecorder
from nodemend.settings.controller import read_settings
from simulation.api_server.admission import User
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.replicas import election
from simulation.cluster.world import DEFINITIONS, Account
from simulation.network import GOOD_LINK, Link
from simulation.other_clusters import SimulatedConnector
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.unit.telemetry.scraped import Scraped

METRIC = "nodemend_cache_staleness_seconds"


def test_the_age_of_an_empty_cache_is_infinite_until_its_first_list() -> None:
    """No cluster with a managed control plane has Pods of etcd."""
    scheduler, scraped = Scheduler("ages"), Scraped()
    server = SimulatedApiServer(scheduler.wall, definitions=DEFINITIONS)
    process = SimulatedProcess(scheduler, CHECKER, HostClock())
    transport = SimulatedTransport(Link(process, Account(server, User(CHECKER)), GOOD_LINK))
    checker = build_checker(
        ProgramDependencies(
            process,
            transport,
            SimulatedConnector(process, {}),
            election(CHECKER, "checker-1", "nodemend-system"),
            scraped.log,
            scraped.metrics,
            EventRecorder(process, transport, controller=CHECKER, instance="checker-1"),
            read_settings({}, {}, "checker-1"),
        )
    )
    assert scraped.value(METRIC, resource="etcdpods") == inf
    process.spawn(checker.run(), CHECKER)
    scheduler.run(10.0)
    age = scraped.value(METRIC, resource="etcdpods")
    assert age is not None
    assert 0.0 < age <= 10.0
    process.crash()
