"""The times at which an agent requests its certificate, and its behaviour without one."""

from dataclasses import dataclass, field

import pytest

from nodemend.agent.certificates import (
    AFTER_DENIAL,
    AFTER_FAILURE,
    BUNDLE_CHECK_INTERVAL,
    CHECK_INTERVAL,
    GIVE_UP_AFTER,
    CertificateGranted,
    CertificateHeld,
    CertificateRequester,
    FilesChecked,
    GetRequest,
    KeyMade,
    MakeKey,
    NoBundle,
    NoCertificate,
    PostRequest,
    RequestDenied,
    RequestFailed,
    RequestGone,
    RequestPending,
    RequestPosted,
    StoreCertificate,
    WaitForCertificate,
)

DAY = 86400.0


@dataclass
class Chance:
    value: float = 0.0
    drawn: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        self.drawn.append(self.value)
        return self.value


def asking(chance: float = 0.0) -> CertificateRequester:
    return CertificateRequester(Chance(chance))


def test_without_a_certificate_it_requests_one_at_once_and_keeps_it() -> None:
    machine = asking()
    assert machine.step(FilesChecked(NoCertificate()), 0.0) == MakeKey()
    assert machine.step(KeyMade("request"), 0.0) == PostRequest("request")
    assert machine.step(RequestPosted(), 0.1) == GetRequest(0.5)
    assert machine.step(RequestPending(), 0.6) == GetRequest(1.0)
    assert machine.step(CertificateGranted("certificate"), 1.6) == StoreCertificate("certificate")
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY)), 1.6) == WaitForCertificate(CHECK_INTERVAL)


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_it_renews_after_a_quarter_of_the_validity_and_not_on_all_nodes_at_once(chance: float) -> None:
    machine = asking(chance)
    share = 0.25 - 0.1 * chance
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * (1 - share) + 1)), 0.0) == WaitForCertificate(
        CHECK_INTERVAL
    )
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * (1 - share) - 1)), 0.0) == MakeKey()


def test_a_certificate_that_peers_no_longer_accept_is_replaced_at_any_age() -> None:
    machine = asking()
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY)), 0.0) == WaitForCertificate(CHECK_INTERVAL)
    assert machine.step(FilesChecked(NoCertificate()), 30.0) == MakeKey()


def test_a_request_with_an_unknown_outcome_is_posted_again_and_no_other_beside_it() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    assert machine.step(RequestFailed("no answer"), 5.0) == WaitForCertificate(AFTER_FAILURE.first)
    assert machine.failure == "no answer"
    assert machine.step(FilesChecked(NoCertificate()), 7.0) == PostRequest("first")
    machine.step(RequestPosted(), 7.0)
    machine.step(CertificateGranted("certificate"), 8.0)
    machine.step(FilesChecked(CertificateHeld(DAY, DAY)), 8.0)
    assert machine.failure == ""


def test_no_certificate_is_requested_before_peers_could_accept_it() -> None:
    machine = asking()
    assert machine.step(FilesChecked(NoBundle()), 0.0) == WaitForCertificate(BUNDLE_CHECK_INTERVAL)
    assert machine.failure == "no authority is known yet"
    assert machine.step(FilesChecked(NoCertificate()), 5.0) == MakeKey()


def test_an_unacceptable_certificate_is_not_requested_repeatedly() -> None:
    machine = asking()
    waits = []
    for _ in range(3):
        machine.step(FilesChecked(NoCertificate()), 0.0)
        machine.step(KeyMade("request"), 0.0)
        machine.step(RequestPosted(), 0.0)
        assert machine.step(CertificateGranted("certificate"), 0.0) == StoreCertificate("certificate")
        waits.append(machine.step(RequestFailed("the certificate that came cannot be trusted"), 0.0))
    assert waits == [WaitForCertificate(2.0), WaitForCertificate(4.0), WaitForCertificate(8.0)]


def test_failures_are_spread_and_ever_farther_apart() -> None:
    machine = asking(0.5)
    waits = [machine.step(RequestFailed("no"), 0.0) for _ in range(12)]
    seconds = [wait.seconds for wait in waits if isinstance(wait, WaitForCertificate)]
    assert seconds[0] == AFTER_FAILURE.first * 1.5
    assert seconds == sorted(seconds)
    assert seconds[-1] == AFTER_FAILURE.most * 1.5


def test_a_denial_is_reported_and_retried_slowly_with_a_new_key() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 0.0)
    assert machine.step(RequestDenied("WrongName: ..."), 1.0) == WaitForCertificate(AFTER_DENIAL.first)
    assert machine.failure == "WrongName: ..."
    assert machine.step(FilesChecked(NoCertificate()), 301.0) == MakeKey()
    assert machine.step(RequestDenied("again"), 302.0) == WaitForCertificate(2 * AFTER_DENIAL.first)


def test_an_unanswered_request_is_finally_abandoned() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 100.0)
    for _ in range(20):
        assert isinstance(machine.step(RequestPending(), 100.0 + GIVE_UP_AFTER - 1), GetRequest)
    assert machine.step(RequestPending(), 100.0 + GIVE_UP_AFTER) == WaitForCertificate(AFTER_FAILURE.first)
    assert machine.step(FilesChecked(NoCertificate()), 800.0) == MakeKey()


def test_the_agent_does_not_wait_for_a_deleted_request() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 0.0)
    assert isinstance(machine.step(RequestGone(), 1.0), WaitForCertificate)
    assert machine.step(FilesChecked(NoCertificate()), 3.0) == MakeKey()


def test_without_the_signer_it_continues_with_its_current_certificate() -> None:
    machine = asking()
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * 0.4)), 0.0) == MakeKey()
    machine.step(KeyMade("next"), 0.0)
    assert isinstance(machine.step(RequestFailed("no answer"), 0.0), WaitForCertificate)
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * 0.3)), 10.0) == PostRequest("next")
