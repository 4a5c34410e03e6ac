"""Only Nodemend's own remediation is deleted, and only if a live read shows no release or that it is over."""

import msgspec
import pytest

from nodemend.api.resources import MANUAL_REMEDIATION
from nodemend.health.creation import check_before_deletion
from nodemend.kube.client import ApiClient
from nodemend.kube.outcome import ApiResponse, Reply
from nodemend.kube.ports import Stream
from nodemend.kube.request import Method, Request
from nodemend.records.live_reads import LiveReader
from nodemend.records.remediation import RemediationRecord, RemediationWire, as_record
from nodemend.rules.request import ExistingRemediation, RemedyAttempt
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold
from simulation.processes import HostClock, SimulatedProcess
from simulation.scheduler import Scheduler

NEWER = {"metadata": {"name": "n1", "namespace": "default", "uid": "u", "resourceVersion": "8"}}
OLDER = {"metadata": {**NEWER["metadata"], "resourceVersion": "7"}}


class Server:
    def __init__(self, status: int) -> None:
        self._status = status

    async def send(self, _request: Request, _deadline: float) -> Reply:
        gone = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": self._status}
        return ApiResponse(self._status, msgspec.json.encode(NEWER if self._status == 200 else gone))

    async def open(self, _request: Request, _deadline: float) -> Stream | Reply:
        raise AssertionError("nobody watches here")


def check(status: int = 200, **said: bool) -> Request | Hold:
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "one", HostClock())
    reader = LiveReader(ApiClient(Server(status), process), process)
    known = as_record(MANUAL_REMEDIATION, msgspec.convert(OLDER, RemediationWire))
    flags = {"ours": True, "ending": False, "committed": False, "finished": False, **said}
    found: list[Request | Hold] = []

    def as_open(fresh: RemediationRecord) -> ExistingRemediation:
        assert fresh.version == "8"
        return ExistingRemediation(holder="it", trying=RemedyAttempt(0, 0.0, failed=False), order="", **flags)

    async def ask() -> None:
        found.append(await check_before_deletion(reader, known, as_open))

    process.spawn(ask(), "ask")
    scheduler.run(10.0)
    return found[0]


@pytest.mark.parametrize("said", [{}, {"committed": True, "finished": True}, {"finished": True}])
def test_exactly_the_version_that_was_read_is_deleted(said: dict[str, bool]) -> None:
    write = check(**said)
    assert isinstance(write, Request)
    assert write.method is Method.DELETE
    assert msgspec.json.decode(write.body)["preconditions"] == {"uid": "u", "resourceVersion": "8"}


@pytest.mark.parametrize("said", [{"ours": False}, {"committed": True}, {"committed": True, "ending": True}])
def test_a_foreign_remediation_or_one_that_has_released_something_is_kept(said: dict[str, bool]) -> None:
    assert check(**said) == Hold(OtherRemediation("it"))


def test_what_ends_or_is_gone_or_cannot_be_seen_is_left() -> None:
    assert check(ending=True) == Hold(CannotRead("the remediation", "it is ending already"))
    assert check(404) == Hold(CannotRead("the remediation", "it is gone already"))
    unseen = check(500)
    assert isinstance(unseen, Hold)
    assert isinstance(unseen.reason, CannotRead)
