"""A node that must reset itself is reported as under remediation, with its progress and what it waits for."""

from typing import Any

from nodemend.api.agent import WatchdogReport
from nodemend.api.self_remediation import MarkedLease, SelfRemediation, SelfRemediationPhase
from nodemend.cli.cluster import Cluster
from nodemend.cli.explain.facts import gather_node
from nodemend.cli.explain.node import explain_node
from nodemend.cli.explain.questions import ask_of_self_fencing
from nodemend.cli.explain.view import ExplainAnswer, ExplainView
from tests.unit.cli.node_cases import by_itself, evidence
from tests.unit.cli.simulated_caller import SimulatedCaller
from tests.unit.remediation.self_fencing.fencing_world import SICK, FencingWorld

YES, NO, OPEN = ExplainAnswer.YES, ExplainAnswer.NO, ExplainAnswer.OPEN
MARKED: dict[str, Any] = {"marked": MarkedLease(uid="lease", version="7")}
BY_TIME = evidence(0.0, 0.0).but(class_="E4", by="its watchdog", reason="it was marked", host=None)


async def read(cluster: Cluster) -> ExplainView:
    return explain_node(await gather_node(cluster, SICK))


def answers(remediation: SelfRemediation) -> list[tuple[ExplainAnswer, str]]:
    return [(one.answer, one.because) for one in ask_of_self_fencing(remediation)]


def test_the_headline_is_how_much_is_proven() -> None:
    world = FencingWorld("explain")
    world.cut_off()
    world.ask()
    world.run(30.0)
    view = SimulatedCaller(world.world).run(read)
    world.close()
    asked = {row.key: row for row in view.questions}

    assert view.headline.startswith(
        f"{SICK} is under remediation: it must reset itself (Fencing). The node must reset itself: "
    )
    assert asked["remediating"].because.startswith(f"self-fencing nodemend-system/{SICK}, Fencing, for ")
    assert asked["marked"].answer is YES
    assert asked["proven"].answer is NO
    assert asked["proven"].because.endswith(" s of 72 s are proven")


def test_if_only_a_new_boot_can_show_it_the_text_says_where_to_check() -> None:
    paused = WatchdogReport(class_="unsupported", why="a virtual machine can be paused", effective=10.0)
    world = FencingWorld("explain", watchdog=paused)
    world.cut_off()
    world.ask()
    world.run(30.0)
    view = SimulatedCaller(world.world).run(read)
    world.close()

    assert view.headline.endswith(
        "and only a new boot can prove that it has: a virtual machine can be paused. "
        "Power it off yourself if it does not come back. Nodemend continues when the node reports a new boot."
    )
    assert view.advice == "See what it waits for above. What could release it:"
    assert view.next_step == f"kubectl mend probe {SICK}"


def test_a_user_without_the_right_to_see_them_still_sees_the_others() -> None:
    world = FencingWorld("explain", machines=3)
    world.ask()
    world.run(5.0)
    view = SimulatedCaller(world.world, hidden=("selfremediations",)).run(read)
    world.close()

    assert [row.key for row in view.questions][-1] == "remediating"


def test_the_questions_follow_its_life() -> None:
    assert answers(by_itself(SelfRemediationPhase.PENDING)) == [(OPEN, "")] * 4
    assert answers(by_itself(SelfRemediationPhase.FENCING))[:2] == [(NO, ""), (OPEN, "")]
    assert answers(by_itself(SelfRemediationPhase.FENCING, **MARKED))[:2] == [
        (YES, "boot boot-1, by the marker on its Lease in nodemend-agents"),
        (NO, "it has not reported a new boot"),
    ]
    assert answers(by_itself(SelfRemediationPhase.FENCING, contradicted=True, **MARKED))[1] == (
        NO,
        "that boot was active after it was proven to have ended",
    )
    assert answers(by_itself(SelfRemediationPhase.RELEASING, evidence=BY_TIME, pods_left=2, **MARKED))[
        1:
    ] == [
        (YES, "E4, its watchdog: it was marked"),
        (NO, "2 pods and 0 volumes still on it"),
        (OPEN, ""),
    ]
    assert answers(by_itself(SelfRemediationPhase.RECOVERING, evidence=BY_TIME, released=True, **MARKED))[
        2:
    ] == [
        (YES, ""),
        (NO, ""),
    ]
    assert answers(by_itself(SelfRemediationPhase.SUCCEEDED, evidence=BY_TIME, released=True, **MARKED))[
        3
    ] == (YES, "")
