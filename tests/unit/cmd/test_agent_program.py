"""Settings that the agent's program passes to its parts."""

from nodemend.cmd.agent import HEALTHY_WANTED
from nodemend.safety.time_proof import DEFAULT_ASSUMPTIONS


def test_as_many_peers_must_have_looked_as_managers_count_on() -> None:
    """Managers allow for Byzantine peers: a single one must not keep a marked node alive."""
    assert DEFAULT_ASSUMPTIONS.byzantine_peers < HEALTHY_WANTED
