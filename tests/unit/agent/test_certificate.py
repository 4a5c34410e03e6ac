"""When an agent asks for its certificate, and what it does when it gets none."""

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


def test_without_a_certificate_it_asks_at_once_and_keeps_what_it_gets() -> None:
    machine = asking()
    assert machine.step(FilesChecked(NoCertificate()), 0.0) == MakeKey()
    assert machine.step(KeyMade("request"), 0.0) == PostRequest("request")
    assert machine.step(RequestPosted(), 0.1) == GetRequest(0.5)
    assert machine.step(RequestPending(), 0.6) == GetRequest(1.0)
    assert machine.step(CertificateGranted("certificate"), 1.6) == StoreCertificate("certificate")
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY)), 1.6) == WaitForCertificate(CHECK_INTERVAL)


@pytest.mark.parametrize("chance", [0.0, 0.999])
def test_it_asks_anew_when_a_quarter_of_its_life_is_over_and_not_all_nodes_at_once(chance: float) -> None:
    machine = asking(chance)
    share = 0.25 - 0.1 * chance
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * (1 - share) + 1)), 0.0) == WaitForCertificate(
        CHECK_INTERVAL
    )
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * (1 - share) - 1)), 0.0) == MakeKey()


def test_one_that_nobody_believes_any_more_is_replaced_however_young() -> None:
    machine = asking()
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY)), 0.0) == WaitForCertificate(CHECK_INTERVAL)
    assert machine.step(FilesChecked(NoCertificate()), 30.0) == MakeKey()


def test_a_request_whose_fate_is_unknown_is_posted_again_and_no_other_beside_it() -> None:
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


def test_before_anybody_could_believe_a_certificate_none_is_asked_for() -> None:
    machine = asking()
    assert machine.step(FilesChecked(NoBundle()), 0.0) == WaitForCertificate(BUNDLE_CHECK_INTERVAL)
    assert machine.failure == "no authority is known yet"
    assert machine.step(FilesChecked(NoCertificate()), 5.0) == MakeKey()


def test_one_that_is_not_to_be_believed_is_not_asked_for_again_and_again() -> None:
    machine = asking()
    waits = []
    for _ in range(3):
        machine.step(FilesChecked(NoCertificate()), 0.0)
        machine.step(KeyMade("request"), 0.0)
        machine.step(RequestPosted(), 0.0)
        assert machine.step(CertificateGranted("certificate"), 0.0) == StoreCertificate("certificate")
        waits.append(machine.step(RequestFailed("what came is not to be believed"), 0.0))
    assert waits == [WaitForCertificate(2.0), WaitForCertificate(4.0), WaitForCertificate(8.0)]


def test_failures_are_spread_and_ever_farther_apart() -> None:
    machine = asking(0.5)
    waits = [machine.step(RequestFailed("no"), 0.0) for _ in range(12)]
    seconds = [wait.seconds for wait in waits if isinstance(wait, WaitForCertificate)]
    assert seconds[0] == AFTER_FAILURE.first * 1.5
    assert seconds == sorted(seconds)
    assert seconds[-1] == AFTER_FAILURE.most * 1.5


def test_a_denial_is_told_and_tried_again_slowly_with_a_new_key() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 0.0)
    assert machine.step(RequestDenied("NotItsOwnName: ..."), 1.0) == WaitForCertificate(AFTER_DENIAL.first)
    assert machine.failure == "NotItsOwnName: ..."
    assert machine.step(FilesChecked(NoCertificate()), 301.0) == MakeKey()
    assert machine.step(RequestDenied("again"), 302.0) == WaitForCertificate(2 * AFTER_DENIAL.first)


def test_a_request_that_nobody_answers_is_given_up_in_the_end() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 100.0)
    for _ in range(20):
        assert isinstance(machine.step(RequestPending(), 100.0 + GIVE_UP_AFTER - 1), GetRequest)
    assert machine.step(RequestPending(), 100.0 + GIVE_UP_AFTER) == WaitForCertificate(AFTER_FAILURE.first)
    assert machine.step(FilesChecked(NoCertificate()), 800.0) == MakeKey()


def test_nor_is_one_waited_for_that_is_gone() -> None:
    machine = asking()
    machine.step(FilesChecked(NoCertificate()), 0.0)
    machine.step(KeyMade("first"), 0.0)
    machine.step(RequestPosted(), 0.0)
    assert isinstance(machine.step(RequestGone(), 1.0), WaitForCertificate)
    assert machine.step(FilesChecked(NoCertificate()), 3.0) == MakeKey()


def test_while_the_signer_is_away_it_goes_on_with_what_it_has() -> None:
    machine = asking()
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * 0.4)), 0.0) == MakeKey()
    machine.step(KeyMade("next"), 0.0)
    assert isinstance(machine.step(RequestFailed("no answer"), 0.0), WaitForCertificate)
    assert machine.step(FilesChecked(CertificateHeld(DAY, DAY * 0.3)), 10.0) == PostRequest("next")
