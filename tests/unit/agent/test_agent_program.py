"""What the agent's program gives its parts."""

from nodemend.decide.time_proof import USUALLY
from nodemend.entrypoints.agent_shell import HEALTHY_WANTED


def test_as_many_peers_must_have_looked_as_managers_count_on() -> None:
    """Managers allow for peers that lie: one that lies must not keep a marked node alive."""
    assert USUALLY.liars < HEALTHY_WANTED
