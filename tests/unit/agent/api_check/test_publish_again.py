"""A gate that has seen a marker stays closed even if its answer is refused or lost; otherwise it opens."""

import json
from collections.abc import Callable

import pytest

from nodemend.agent import exit_codes
from nodemend.agent.api_check.check import DesiredLease, Publisher
from nodemend.agent.boot_gate.decide import CheckNow, GateClosed, GateOptions, evaluate_gate
from tests.unit.agent.api_check.test_publish import ARMED, EARLIER, WANTED, Server, published

LATER = DesiredLease("n1", "boot-2", ARMED, 35.0, "1.0", "2026-01-01T00:01:00")
Ask = Callable[[str, str, object], tuple[int, bytes]]


def refusing(server: Server, status: int, *, applied: bool) -> Callable[[str], Ask]:
    """Answer requests with the agent's token with this status; `applied`: the write takes effect."""

    def as_agent(shown: str) -> Ask:
        def ask(method: str, path: str, body: object) -> tuple[int, bytes]:
            if applied:
                server.as_agent(shown)(method, path, body)
            return status, json.dumps({"kind": "Status", "code": status}).encode()

        return ask

    return as_agent


@pytest.mark.parametrize("status", [401, 403, 429, 500, 503, 504])
def test_a_restarted_gate_still_reports_the_marker_even_if_its_next_report_is_refused(
    status: int,
) -> None:
    """The answer is already on the Lease, so the manager may release on it."""
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=4)
    assert published(server)[0] == exit_codes.MARKED_FOR_ANOTHER_BOOT
    assert server.report.answers == 4

    code, _ = Publisher(LATER, server.as_node, refusing(server, status, applied=False)).publish()

    person = GateOptions(by_person=True)  # It was restarted, so it does not know what it has answered.
    assert isinstance(evaluate_gate(CheckNow(), code, asked=person), GateClosed)
    assert code == exit_codes.MARKED_FOR_ANOTHER_BOOT


def test_a_marker_is_reported_even_if_the_first_acknowledgement_is_applied_and_refused() -> None:
    """A 504 whose write was applied."""
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=4)
    code, _ = Publisher(WANTED, server.as_node, refusing(server, 504, applied=True)).publish()
    assert server.report.answers == 4
    assert isinstance(evaluate_gate(CheckNow(), code, asked=GateOptions(by_person=True)), GateClosed)


def test_a_marker_is_reported_even_if_another_writer_writes_all_the_time() -> None:
    server = Server()
    server.put(EARLIER, marker="boot-1", epoch=4)
    code, _ = Publisher(WANTED, server.as_node, refusing(server, 409, applied=False)).publish()
    assert isinstance(evaluate_gate(CheckNow(), code, asked=GateOptions(by_person=True)), GateClosed)


@pytest.mark.parametrize("gone", [True, False], ids=["gone", "being deleted"])
def test_a_published_gate_opens_after_a_minute_even_without_the_agent_s_pod(
    gone: bool,
) -> None:
    """Decision 47: "no marker, and this boot already on it: opens".

    The gate's feeder was not ready. Meanwhile the DaemonSet was rolled, and the deleted pod waits for
    kubelet, which waits for the gate.
    """
    server = Server()
    server.put(EARLIER)
    assert published(server)[0] == exit_codes.CLEAN
    server.pods = [] if gone else [Server.pod(deletionTimestamp="2026-01-01T00:00:30Z")]
    assert published(server)[0] == exit_codes.CLEAN
    assert published(server, LATER)[0] == exit_codes.CLEAN
