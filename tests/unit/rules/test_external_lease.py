"""A Lease holds until it has certainly expired."""

import pytest

from nodemend.rules.request import ExternalLease, held_externally
from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.guard_holds import OtherRemediation
from nodemend.safety.holds import CannotRead, Hold

HELD = Hold(OtherRemediation("node-maintenance (by the Lease leases/node-a)"))


@pytest.mark.parametrize(
    ("holder", "lasts", "unchanged_for", "hold"),
    [
        ("node-maintenance", 3600.0, 0.0, HELD),
        ("node-maintenance", 3600.0, 3599.9, HELD),
        ("node-maintenance", 3600.0, 3600.0, None),
        ("node-maintenance", None, 1e9, HELD),
        ("node-maintenance", 0.0, 1e9, HELD),
        ("node-maintenance", -15.0, 1e9, HELD),
        ("", 3600.0, 0.0, None),
    ],
)
def test_a_named_holder_holds_for_the_whole_duration_by_our_own_eyes(
    holder: str, lasts: float | None, unchanged_for: float, hold: Hold | None
) -> None:
    lease = ExternalLease("leases/node-a", holder, lasts, unchanged_for)
    assert held_externally(Present(lease)) == hold


def test_a_missing_lease_has_no_holder_and_an_unreadable_one_may_have_any_holder() -> None:
    assert held_externally(Absent()) is None
    assert held_externally(Unreadable("forbidden")) == Hold(
        CannotRead("the Lease that medik8s has for this node", "forbidden")
    )
