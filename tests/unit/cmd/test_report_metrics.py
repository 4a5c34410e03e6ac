"""A controller counts the log lines and events that it could not write."""

import io

from nodemend.cmd.controllers import CHECKER, follow_reports
from nodemend.kube.events import EventRecorder
from nodemend.telemetry.logging import Log, LogForm, LogLevel, LogStream
from simulation.api_server.admission import User
from simulation.api_server.server import SimulatedApiServer
from simulation.cluster.world import Account
from simulation.network import GOOD_LINK, Link
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler
from simulation.transport import SimulatedTransport
from tests.unit.telemetry.scraped import Scraped


def test_a_log_line_that_cannot_be_written_is_counted() -> None:
    scheduler, scraped, stream = Scheduler("reports"), Scraped(), io.StringIO()
    log = Log(LogStream(stream), LogForm.JSON, LogLevel.INFO, fixed={}, wall=scheduler.wall)
    process = SimulatedProcess(scheduler, CHECKER, HostClock())
    server = SimulatedApiServer(scheduler.wall)
    transport = SimulatedTransport(Link(process, Account(server, User(CHECKER)), GOOD_LINK))
    events = EventRecorder(process, transport, controller=CHECKER, instance="checker-1")
    follow_reports(scraped.metrics.readings, log, events)
    log.info("written")
    assert scraped.value("nodemend_log_lines_lost_total") == 0
    stream.close()
    log.info("lost")
    assert scraped.value("nodemend_log_lines_lost_total") == 1
    assert scraped.value("nodemend_events_total", outcome="written") == 0
