"""What is taken back is ours, and has released nothing or is over, by a look at the very object."""

import msgspec
import pytest

from nodemend.api.group_versions import MANUAL_REMEDIATION
from nodemend.controllers.checking.withdrawal import look_before_withdrawal
from nodemend.controllers.fresh_reads import Reader
from nodemend.decide.escalation import Trying
from nodemend.decide.guard_holds import OtherRemediation
from nodemend.decide.holds import CannotRead, Hold
from nodemend.decide.remediation_request import Open
from nodemend.kube.api_client import ApiClient
from nodemend.kube.api_reply import Answer, Reply
from nodemend.kube.api_request import Method, Request
from nodemend.kube.ports import Stream
from nodemend.kube.remediation_record import RemediationRecord, RemediationWire, as_record
from nodemend.testing.processes import HostClock, SimulatedProcess
from nodemend.testing.scheduler import Scheduler

NEWER = {"metadata": {"name": "n1", "namespace": "default", "uid": "u", "resourceVersion": "8"}}
OLDER = {"metadata": {**NEWER["metadata"], "resourceVersion": "7"}}


class Server:
    def __init__(self, status: int) -> None:
        self._status = status

    async def send(self, _request: Request, _deadline: float) -> Reply:
        gone = {"kind": "Status", "status": "Failure", "reason": "NotFound", "code": self._status}
        return Answer(self._status, msgspec.json.encode(NEWER if self._status == 200 else gone))

    async def open(self, _request: Request, _deadline: float) -> Stream | Reply:
        raise AssertionError("nobody watches here")


def look(status: int = 200, **said: bool) -> Request | Hold:
    scheduler = Scheduler(1)
    process = SimulatedProcess(scheduler, "one", HostClock())
    reader = Reader(ApiClient(Server(status), process), process)
    known = as_record(MANUAL_REMEDIATION, msgspec.convert(OLDER, RemediationWire))
    flags = {"ours": True, "ending": False, "committed": False, "finished": False, **said}
    found: list[Request | Hold] = []

    def as_open(fresh: RemediationRecord) -> Open:
        assert fresh.version == "8"
        return Open(holder="it", trying=Trying(0, 0.0, failed=False), order="", **flags)

    async def ask() -> None:
        found.append(await look_before_withdrawal(reader, known, as_open))

    process.spawn(ask(), "ask")
    scheduler.run(10.0)
    return found[0]


@pytest.mark.parametrize("said", [{}, {"committed": True, "finished": True}, {"finished": True}])
def test_the_version_that_was_looked_at_is_deleted(said: dict[str, bool]) -> None:
    write = look(**said)
    assert isinstance(write, Request)
    assert write.method is Method.DELETE
    assert msgspec.json.decode(write.body)["preconditions"] == {"uid": "u", "resourceVersion": "8"}


@pytest.mark.parametrize("said", [{"ours": False}, {"committed": True}, {"committed": True, "ending": True}])
def test_what_is_not_ours_or_has_released_something_is_left(said: dict[str, bool]) -> None:
    assert look(**said) == Hold(OtherRemediation("it"))


def test_what_ends_or_is_gone_or_cannot_be_seen_is_left() -> None:
    assert look(ending=True) == Hold(CannotRead("the remediation", "it is ending already"))
    assert look(404) == Hold(CannotRead("the remediation", "it is gone already"))
    unseen = look(500)
    assert isinstance(unseen, Hold)
    assert isinstance(unseen.reason, CannotRead)
