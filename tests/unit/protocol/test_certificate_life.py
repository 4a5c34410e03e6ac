"""The class of a certificate by its remaining life."""

import pytest

from nodemend.protocol.timing import RENEWED_AFTER, CertificateStanding, evaluate_certificate

FRESH, AGING, ENDING, OVER = CertificateStanding
HOUR = 3600.0


@pytest.mark.parametrize(
    ("life", "left", "feed_lease", "state"),
    [
        (24 * HOUR, 24 * HOUR, 35.0, FRESH),
        (24 * HOUR, 16 * HOUR + 1, 35.0, FRESH),
        (24 * HOUR, 16 * HOUR, 35.0, AGING),
        (24 * HOUR, 12 * HOUR + 1, 35.0, AGING),
        (24 * HOUR, 12 * HOUR, 35.0, ENDING),
        (24 * HOUR, 1.0, 35.0, ENDING),
        (24 * HOUR, 0.0, 35.0, OVER),
        (24 * HOUR, -5.0, 35.0, OVER),
        # A short-lived one: it must not expire before a feed lease could.
        (600.0, 401.0, 400.0, FRESH),
        (600.0, 400.0, 400.0, ENDING),
    ],
)
def test_a_standing(life: float, left: float, feed_lease: float, state: CertificateStanding) -> None:
    assert evaluate_certificate(life, left, feed_lease) is state


def test_on_a_common_day_the_api_server_may_be_down_for_eighteen_hours() -> None:
    left = 24 * HOUR * (1 - RENEWED_AFTER)

    assert left == 18 * HOUR
    assert evaluate_certificate(24 * HOUR, left, 35.0) is FRESH


def test_only_the_first_two_let_a_node_count_on_its_peers() -> None:
    assert [one.lasts for one in CertificateStanding] == [True, True, False, False]
