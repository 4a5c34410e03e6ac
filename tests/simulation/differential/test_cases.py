"""Sequences on which the servers once differed: the simulated server against the record of the real one."""

import pytest

from tests.simulation.differential.cases import Case, read_all, replay


@pytest.mark.parametrize("case", read_all(), ids=lambda case: case.name)
def test_the_simulated_server_answers_as_the_real_one_did(case: Case) -> None:
    difference = replay(case).difference

    assert difference is None, f"{case.why}\n{difference}"
