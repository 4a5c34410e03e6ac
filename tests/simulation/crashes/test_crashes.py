"""A few crashes of every flow, for CI and mutation testing. `just simulate-checks` runs all."""

from dataclasses import replace

import msgspec
import pytest

from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Request
from simulation.cluster.world import Account
from simulation.network import CrashPoint
from tests.simulation.crashes.campaign import FLOWS, evaluate
from tests.simulation.crashes.run import PAIR, Crash, FlowFailedError, play

pytestmark = pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")


@pytest.mark.parametrize("name", FLOWS)
def test_a_crash_at_its_first_write_changes_nothing_about_how_a_flow_ends(name: str) -> None:
    flow = FLOWS[name]
    wanted = play(flow, PAIR)
    assert evaluate(flow, PAIR, Crash(1, CrashPoint.AFTER_COMMIT), wanted) == ""


class Forgetful(Account):
    """Drops a node's current remedy from status writes, so that the checker has it only in its memory."""

    def handle(self, request: Request) -> ApiResponse:
        if request.writes and request.path.endswith("/nodehealthchecks/bare/status"):
            said = msgspec.json.decode(request.body)
            for report in said["status"].get("reports", ()):
                report.pop("remedy", None)
            request = replace(request, body=msgspec.json.encode(said))
        return super().handle(request)


def test_a_checker_that_keeps_an_action_only_in_memory_is_caught() -> None:
    flow = FLOWS["the next remedy after one that failed"]
    wanted = play(flow, PAIR, account=Forgetful)
    given_up = next(number for number, write in enumerate(wanted.writes, 1) if write.startswith("DELETE"))
    crash = Crash(given_up, CrashPoint.AFTER_COMMIT)
    with pytest.raises(FlowFailedError, match="fixes/bare-1: 2 instead of 1"):
        play(flow, PAIR, crash, wanted, account=Forgetful)
