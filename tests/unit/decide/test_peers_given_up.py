"""Who waits at a boot gate takes the time proof from nobody."""

from dataclasses import replace

import pytest

from nodemend.decide.peer_proposals import AgentSeen, propose_peers
from nodemend.decide.proven_seconds import enough
from tests.unit.decide.test_peer_proposals import _without_address, agent


def swept(agents: list[AgentSeen]) -> list[AgentSeen]:
    """After one sweep: everybody has what was proposed."""
    found = {one.peer.name: wanted for one, wanted in propose_peers(agents)}
    return [replace(one, proposal=found.get(one.peer.name, one.proposal)) for one in agents]


def names_of(one: AgentSeen) -> list[str]:
    assert one.proposal is not None
    return [peer.name for peer in one.proposal.peers]


def after_loss(nodes: int, closed: int) -> list[AgentSeen]:
    """The first have closed gates: those say no address, and are not silent."""
    known = swept([agent(number) for number in range(nodes)])
    gates = [replace(_without_address(one), gated=True) for one in known[:closed]]
    return [*gates, *known[closed:]]


@pytest.mark.parametrize(("nodes", "closed"), [(7, 2), (11, 4), (15, 6)])
def test_closed_gates_do_not_take_the_time_proof_from_those_who_could_be_proven(
    nodes: int, closed: int
) -> None:
    """So many peers are covered that time would prove the end of any of them."""
    agents = after_loss(nodes, closed)
    covered = {one.peer.name for one in agents[closed:]}
    lost = agents[-1]
    assert enough(covered - {lost.peer.name}, [names_of(lost)], liars=1)

    for _ in range(3):
        agents = swept(agents)

    assert enough(covered - {lost.peer.name}, [names_of(agents[-1])], liars=1)
