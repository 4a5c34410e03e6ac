"""All of `python -m tests.e2e.refusals`, as a test."""

import pytest

from tests.e2e.refusals import agent_refusals, check_refusals
from tests.e2e.refusals.__main__ import try_all
from tests.e2e.refusals.bad_specs import BAD_SPECS
from tests.e2e.refusals.installed_cluster import installed_cluster

pytestmark = pytest.mark.real


@pytest.mark.attack("S18")
@pytest.mark.conforms("N2", "N3", "N12", "W8")
def test_the_api_server_refuses_what_it_must_and_nothing_else() -> None:
    with installed_cluster() as cluster:
        trial = try_all(cluster)

    assert trial.misses == []
    assert len(BAD_SPECS) >= 50


@pytest.mark.conforms("A03", "A04", "A05", "A06", "A07", "A08", "A09", "A10", "A11", "A12", "A13", "A15")
@pytest.mark.conforms("A16", "A18", "A19", "A20")
def test_bad_policies_and_checks_are_refused_and_good_ones_are_not() -> None:
    assert check_refusals.try_all().misses == []


@pytest.mark.attack("S18")
def test_agents_nodes_and_people_cannot_do_to_self_fencing_what_they_must_not() -> None:
    assert agent_refusals.try_all().misses == []
