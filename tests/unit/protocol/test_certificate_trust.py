"""Trust in a certificate by its validity, and the time that decides it."""

import pytest

from nodemend.protocol.peers import (
    SETTLED_AFTER,
    CertificateTrust,
    PeerReply,
    SettledContact,
    Validity,
    evaluate_validity,
    first_contact,
)

SHOWN = Validity(100.0, 200.0)
AUTHORITY = (Validity(0.0, 1000.0),)
K = 15.0


@pytest.mark.parametrize(
    ("wall", "trusted_at", "belief"),
    [
        pytest.param(150.0, (), CertificateTrust.FULL, id="it lasts"),
        pytest.param(100.0, (), CertificateTrust.FULL, id="from its first second"),
        pytest.param(200.0, (), CertificateTrust.FULL, id="to its last"),
        pytest.param(200.1, (), CertificateTrust.NONE, id="over, and this node never had contact"),
        pytest.param(300.0, (150.0,), CertificateTrust.OUTAGE_ONLY, id="over, and good at the last contact"),
        pytest.param(300.0, (200.0,), CertificateTrust.OUTAGE_ONLY, id="over at the very moment of it"),
        pytest.param(300.0, (200.1,), CertificateTrust.NONE, id="over before the last contact"),
        pytest.param(
            300.0,
            (250.0, 150.0),
            CertificateTrust.OUTAGE_ONLY,
            id="good then, by the clock that did not step",
        ),
        pytest.param(
            300.0, (50.0,), CertificateTrust.OUTAGE_ONLY, id="newer than the last contact, and over since"
        ),
        pytest.param(
            50.0, (60.0,), CertificateTrust.OUTAGE_ONLY, id="not begun yet, by a clock that was set back"
        ),
        pytest.param(50.0, (), CertificateTrust.NONE, id="not begun yet"),
    ],
)
def test_what_a_certificate_is_worth(
    wall: float, trusted_at: tuple[float, ...], belief: CertificateTrust
) -> None:
    assert evaluate_validity(SHOWN, AUTHORITY, wall, trusted_at) is belief


def test_without_an_authority_it_is_worth_nothing_and_with_one_that_is_over_little() -> None:
    assert evaluate_validity(SHOWN, (), 150.0, (150.0,)) is CertificateTrust.NONE
    assert evaluate_validity(SHOWN, (Validity(0.0, 120.0),), 150.0, (150.0,)) is CertificateTrust.OUTAGE_ONLY
    assert evaluate_validity(SHOWN, (Validity(0.0, 120.0),), 150.0, ()) is CertificateTrust.NONE


def test_the_answers_that_each_certificate_state_allows_a_peer() -> None:
    assert [answer for answer in PeerReply if CertificateTrust.FULL.admits(answer)] == list(PeerReply)
    assert [answer for answer in PeerReply if CertificateTrust.OUTAGE_ONLY.admits(answer)] == [
        PeerReply.API_OUT_OF_REACH
    ]
    assert [answer for answer in PeerReply if CertificateTrust.NONE.admits(answer)] == []


def renewing(
    contact: SettledContact, times: range, *, step: float = 0.0, heard: bool = True
) -> SettledContact:
    for now in times:
        contact = contact.renewed(float(now), now + 1000.0 + step, unbroken_for=K, heard=heard)
    return contact


def test_unbroken_contact_moves_it_on_once_it_is_settled() -> None:
    contact = first_contact(0.0, 1000.0)
    assert renewing(contact, range(5, int(SETTLED_AFTER), 5)).trusted_at == (1000.0,)
    assert renewing(contact, range(5, 905, 5)).trusted_at == (1900.0, 1900.0)


def test_an_api_server_that_is_back_for_a_moment_does_not() -> None:
    """Otherwise all nodes would have expired certificates in its next outage, and would end."""
    contact = renewing(first_contact(0.0, 1000.0), range(5, 905, 5))
    back = renewing(contact, range(100_000, 100_800, 5))
    assert back.trusted_at == contact.trusted_at
    assert renewing(back, range(100_800, 100_905, 5)).trusted_at == (101_900.0, 101_900.0)


def test_contact_without_an_own_certificate_does_not_count() -> None:
    contact = renewing(first_contact(0.0, 1000.0), range(5, 905, 5))
    assert renewing(contact, range(905, 5000, 5), heard=False).trusted_at == contact.trusted_at


def test_a_wall_clock_that_steps_moves_only_one_of_two() -> None:
    contact = renewing(first_contact(0.0, 1000.0), range(5, 905, 5))
    assert renewing(contact, range(905, 910, 5), step=144_000.0).trusted_at == (145_905.0, 1905.0)
