"""All of `python -m tests.refusals`, as a test."""

import pytest

from tests.refusals.__main__ import try_all
from tests.refusals.bad_specs import BAD_SPECS
from tests.refusals.installed_cluster import installed_cluster

pytestmark = pytest.mark.real


@pytest.mark.conforms("N2", "N3", "N12", "W8")
def test_the_api_server_refuses_what_it_must_and_nothing_else() -> None:
    with installed_cluster() as cluster:
        trial = try_all(cluster)

    assert trial.misses == []
    assert len(BAD_SPECS) >= 50
