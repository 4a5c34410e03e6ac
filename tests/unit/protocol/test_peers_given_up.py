"""A node that waits at its boot gate does not prevent the time proof of others."""

from dataclasses import replace

import pytest

from nodemend.protocol.peers import PeerCandidate, propose_peers
from nodemend.safety.time_proof import enough
from tests.unit.protocol.test_peer_proposals import _without_address, agent


def swept(agents: list[PeerCandidate]) -> list[PeerCandidate]:
    """After one sweep: every node has its proposed peers."""
    found = {one.peer.name: wanted for one, wanted in propose_peers(agents)}
    return [replace(one, proposal=found.get(one.peer.name, one.proposal)) for one in agents]


def names_of(one: PeerCandidate) -> list[str]:
    assert one.proposal is not None
    return [peer.name for peer in one.proposal.peers]


def after_loss(nodes: int, closed: int) -> list[PeerCandidate]:
    """The first nodes have closed gates: they publish no address, and are not silent."""
    known = swept([agent(number) for number in range(nodes)])
    gates = [replace(_without_address(one), gated=True) for one in known[:closed]]
    return [*gates, *known[closed:]]


@pytest.mark.parametrize(("nodes", "closed"), [(7, 2), (11, 4), (15, 6)])
def test_closed_gates_do_not_take_the_time_proof_from_those_who_could_be_proven(
    nodes: int, closed: int
) -> None:
    """Enough peers are covered that time would prove the end of any of them."""
    agents = after_loss(nodes, closed)
    covered = {one.peer.name for one in agents[closed:]}
    lost = agents[-1]
    assert enough(covered - {lost.peer.name}, [names_of(lost)], byzantine_peers=1)

    for _ in range(3):
        agents = swept(agents)

    assert enough(covered - {lost.peer.name}, [names_of(agents[-1])], byzantine_peers=1)
