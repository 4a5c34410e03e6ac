"""Without proof that its admission policies are in force the signer signs nothing, and reports that."""

from collections.abc import Iterator, Mapping

import pytest

from nodemend.api.resources import CONFIG_MAP
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_TRUST, SYSTEM_NAMESPACE
from nodemend.guard.policy_proof import Admission, AdmissionRequirement, requirement_of_signer
from nodemend.safety.guard_holds import PolicyProblem
from tests.unit.signer.signer_world import SignerWorld

pytestmark = pytest.mark.attack("S6")

SECONDS_TO_LEAD = 30.0
ROUND = 70.0
"""Longer than the interval between two proofs."""


class RecordedEvents:
    def __init__(self) -> None:
        self.problems: list[Mapping[str, PolicyProblem | None]] = []

    def proved(self, problems: Mapping[str, PolicyProblem | None]) -> None:
        self.problems.append(problems)


@pytest.fixture
def world() -> Iterator[SignerWorld]:
    """The signer proves its policies only by an attempt on a Lease, which needs no policy to be read."""
    whole = requirement_of_signer({}, SYSTEM_NAMESPACE)
    tries = [one for one in whole.attempts if one.policy == "nodemend-accounts"]
    found = SignerWorld(
        admission=Admission(AdmissionRequirement((), {}, tries, SYSTEM_NAMESPACE), RecordedEvents())
    )
    yield found
    found.close()


def test_with_them_it_signs(world: SignerWorld) -> None:
    world.ask("mine")
    world.run(SECONDS_TO_LEAD)

    assert world.certificate("mine") is not None
    assert world.able == 1


@pytest.mark.slow
def test_from_the_start_of_a_term_it_holds_with_words(world: SignerWorld) -> None:
    world.pins_leases = False
    world.ask("mine")
    world.run(600.0)

    assert world.status("mine") == {}
    assert world.able == 0
    assert "The admission policy nodemend-accounts is not in force" in world.recorder.idles[-1]


def test_nor_does_it_approve_what_it_will_not_sign(world: SignerWorld) -> None:
    world.run(SECONDS_TO_LEAD)
    world.pins_leases = False
    world.run(ROUND)
    world.ask("mine")
    world.run(600.0)

    assert world.conditions("mine") == {}
    assert world.able == 0


def test_what_waited_is_signed_when_they_are_back(world: SignerWorld) -> None:
    world.pins_leases = False
    for number in range(20):
        world.ask(f"request-{number}", f"node-{number}")
    world.run(600.0)
    world.pins_leases = True
    world.run(ROUND)

    assert all(world.certificate(f"request-{number}") is not None for number in range(20))
    assert world.recorder.idles[-1] == ""


def test_a_held_signer_continues_to_maintain_the_trusted_authorities(world: SignerWorld) -> None:
    """It still publishes a CA, so that certificates stay trusted."""
    world.run(SECONDS_TO_LEAD)
    world.ask("mine")
    world.run(5.0)
    certificate = world.certificate("mine")
    world.pins_leases = False
    world.run(ROUND)
    world.admin.delete(CONFIG_MAP, AGENT_TRUST, AGENT_NAMESPACE)
    world.run(ROUND)

    assert certificate is not None
    assert world.accepted(certificate)
