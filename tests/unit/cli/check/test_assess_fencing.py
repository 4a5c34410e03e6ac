"""`check` predicts how self-fencing would work before nodes need it."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.api.agent import Marker
from nodemend.api.self_remediation import Weakness
from nodemend.cli.agents import AgentReadiness
from nodemend.cli.check.assess import assess
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.cli.check.view import FencingRow, Finding, Level, fencing_rows, only_of, spell_shares, sum_up
from nodemend.cli.exit_codes import CommandFailure
from nodemend.records.node import NodeTaintRecord
from nodemend.safety.facts import Absent, Present, Unreadable
from tests.unit.cli.check.fencing_cluster import (
    GUEST,
    NO_DEVICE,
    NODES,
    SOFTDOG,
    agent,
    fencing_facts,
    resetting,
    template,
)
from tests.unit.cli.check.sound_facts import SOUND, facts, node

FAIL, WARN = Level.FAIL, Level.WARN
LEFT = Marker(node_uid="uid-edge-1", boot_id="boot-1", remediation_uid="gone")
TAKE_OFF = (
    "kubectl annotate lease edge-1 -n nodemend-agents nodemend.io/marker- "
    "--as=system:serviceaccount:nodemend-system:nodemend-remediator"
)


def found(facts: CheckCommandFacts) -> tuple[Finding, ...]:
    [group] = [one for one in assess(facts).groups if one.name == "self-fencing"]
    return group.findings


def wrong(facts: CheckCommandFacts) -> list[tuple[Level, str]]:
    return [(one.level, one.text) for one in found(facts) if one.level is not Level.OK]


def row(facts: CheckCommandFacts, name: str = "edge-1") -> FencingRow:
    return next(one for one in fencing_rows(facts) if one.node == name)


def test_without_self_fencing_nothing_is_reported() -> None:
    view = assess(SOUND)

    assert "self-fencing" not in [group.name for group in view.groups]
    assert view.fencing is None
    assert assess(facts(agents=Unreadable("forbidden"))).fencing is None


def test_a_sound_cluster_could_release_all_by_time() -> None:
    assert [(one.level, one.text) for one in found(fencing_facts())] == [
        (Level.OK, "5 of 5 nodes have an agent: version 0.4.0 on 5"),
        (Level.OK, "5 nodes could be released by time (E4), after T_safe: 72 s on 5"),
        (Level.OK, "no marker was left behind"),
    ]
    assert row(fencing_facts()) == FencingRow(
        node="edge-1",
        agent=AgentReadiness.REPORTING,
        renewed_ago=3.0,
        version="0.4.0",
        watchdog="hardware",
        driver="iTCO_wdt",
        written_seconds=5.0,
        effective_seconds=10.0,
        peers=4,
        boot_gate=True,
        certificate="20h left",
        certificate_fresh=True,
        certificate_left_seconds=72_000.0,
        safe_time_seconds=72,
        resets=True,
        check="workers",
    )


@pytest.mark.parametrize(
    ("others", "why", "to_change"),
    [
        (
            {"watchdog": SOFTDOG},
            "its watchdog is the kernel's own, which hangs with it",
            "If you accept that, add SoftwareWatchdog to spec.accept of its template.",
        ),
        (
            {"boot_gate": False},
            "no boot gate holds its kubelet back when it returns",
            "If you accept that, add NoBootGate to spec.accept of its template.",
        ),
        ({"watchdog": GUEST}, GUEST.why, "Power it off yourself if it does not come back."),
        (
            {"peers": (("edge-2",),)},
            "it has 1 peer, and a time proof needs at least 2",
            (
                "Power it off yourself if it does not come back. "
                "Four nodes with agents are enough; for three see docs/how-to/self_fence_nodes.md."
            ),
        ),
    ],
)
def test_the_reason_why_time_proves_nothing_has_the_remediator_s_text(
    others: dict[str, Any], why: str, to_change: str
) -> None:
    weak = row(fencing_facts(agent("edge-1", **others)))

    assert (weak.by_time, weak.resets, weak.why_not, weak.to_change) == (False, True, why, to_change)
    assert wrong(fencing_facts(agent("edge-1", **others))) == [
        (WARN, "1 node could be released only by a new boot (E2), not by time")
    ]


@pytest.mark.parametrize(
    ("others", "why"),
    [
        ({"watchdog": NO_DEVICE}, "no watchdog would reset it: there is no watchdog device"),
        ({"node_uid": "uid-another"}, "its agent's Lease is of another Node of that name"),
        ({"boot_id": "boot-2"}, "its agent's Lease and its Node name different boots"),
    ],
)
def test_blockers_of_a_self_reset_are_reported(others: dict[str, Any], why: str) -> None:
    weak = fencing_facts(agent("edge-1", **others))

    assert (row(weak).by_time, row(weak).resets, row(weak).why_not) == (False, False, why)
    assert wrong(weak) == [(WARN, "1 node would not reset at all, as far as is known")]


def test_the_acceptance_of_the_template_in_use_counts() -> None:
    soft = agent("edge-1", watchdog=SOFTDOG)

    assert row(fencing_facts(soft, accepting=template(Weakness.SOFTWARE_WATCHDOG))).safe_time_seconds == 72
    assert not row(fencing_facts(soft, accepting=template(Weakness.NO_BOOT_GATE))).by_time


def test_a_template_can_raise_the_time_but_not_lower_it() -> None:
    assert row(fencing_facts(accepting=template(safe_time=120))).safe_time_seconds == 120
    assert row(fencing_facts(accepting=template(safe_time=60))).why_not == (
        "60 s prove nothing for this node: at least 71.7 s do"
    )


def test_peers_whose_agents_are_silent_prove_nothing() -> None:
    """Of four peers three must be in contact, since one may be Byzantine."""
    one = fencing_facts(agent("edge-2", ago=200.0))
    two = fencing_facts(agent("edge-2", ago=200.0), agent("edge-3", ago=100.0))

    assert row(one).by_time
    assert row(two).why_not == "too few of its peers have an agent that reports now"
    assert wrong(two)[0] == (
        WARN,
        "2 agents have been silent for long: edge-2 (3m20s), edge-3 (1m40s)",
    )


def test_overdue_certificates_are_reported_most_severe_first() -> None:
    found = fencing_facts(
        agent("edge-1", left=57_600.0),
        agent("edge-2", left=20_000.0, peers=((),)),
        agent("edge-3", left=-5.0),
        agent("edge-4", left=None, certificate=None),
        # Its last report is old.
        agent("edge-5", left=-900.0, ago=1000.0),
    )
    said = next(text for level, text in wrong(found) if level == WARN and "certificate" in text)

    assert said == (
        "4 nodes have no fresh certificate for peers: edge-3 (over), edge-4 (none), "
        "edge-2 (5h33m left, too little to have peers), edge-1 (16h left)"
    )


def test_a_boot_gate_needs_no_certificate() -> None:
    found = fencing_facts(agent("edge-1", left=None, certificate=None, acknowledged=0))

    assert not [text for _, text in wrong(found) if "certificate" in text]


def test_nodes_without_an_agent_are_reported_if_a_check_needs_it() -> None:
    without = [agent(name) for name in NODES[:4]]
    said = "nhc/workers uses self-fencing for nodes without an agent: edge-5"
    some = fencing_facts(agents=Present(without))

    assert (WARN, said) in wrong(some)
    assert row(some, "edge-5").why_not == "Nodemend's agent has never run there"
    all_ = fencing_facts(agents=Present([]))
    assert wrong(all_)[0][0] is FAIL


def test_nodes_that_no_check_would_reset_may_do_without() -> None:
    few = fencing_facts(
        nodes=Present([node("edge-1", labels={"reset": "yes"}), node("db-1")]),
        checks=Present([resetting(labels={"reset": "yes"})]),
        agents=Present([agent("edge-1"), agent("edge-2"), agent("edge-3"), agent("edge-4"), agent("edge-5")]),
    )

    assert wrong(few) == []
    assert not row(few, "db-1").affected
    assert found(few)[0].text == "1 of 2 nodes have an agent: version 0.4.0 on 1"


def test_the_first_check_by_name_has_a_node_and_what_others_accept_does_not_count() -> None:
    plain = facts().checks
    assert isinstance(plain, Present)
    both = fencing_facts(checks=Present([resetting("z-reset"), *plain.value]))

    assert row(both).check == ""


def test_agents_without_any_proposal_point_at_the_remediator() -> None:
    alone = [replace(agent(name), proposed=False) for name in NODES]

    assert wrong(fencing_facts(agents=Present(alone))) == [
        (WARN, "no peers were proposed to any agent: nothing can be proven by time")
    ]


def test_a_marker_without_a_remediation_is_a_failure_with_what_to_do() -> None:
    left = fencing_facts(agent("edge-1", marker=LEFT))
    [said] = [one for one in found(left) if one.level is FAIL]

    assert said.text == (
        "edge-1 has a marker, and no remediation that would remove it: its kubelet will not start"
    )
    assert said.hint.endswith(TAKE_OFF)


def test_a_gate_is_not_opened_manually_before_the_taint_is_removed() -> None:
    ours = NodeTaintRecord(key="node.kubernetes.io/out-of-service", value="nodemend", effect="NoExecute")
    nodes = [node(name, taints=(ours,) if name == "edge-1" else ()) for name in NODES]
    left = fencing_facts(agent("edge-1", marker=LEFT), nodes=Present(nodes))
    [said] = [one for one in found(left) if one.level is FAIL]

    assert said.hint == (f"handle its out-of-service taint first; then: {TAKE_OFF}")


def test_leases_that_may_not_be_seen_do_not_count_as_absent() -> None:
    assert wrong(fencing_facts(agents=Unreadable("forbidden"))) == [
        (FAIL, "the agents' Leases in nodemend-agents cannot be read: forbidden")
    ]
    assert assess(fencing_facts(nodes=Absent())).fencing is None


def test_reasons_are_counted_the_most_frequent_first_with_a_few_names() -> None:
    soft = [agent(name, watchdog=SOFTDOG) for name in NODES[:4]]
    reasons = sum_up(fencing_rows(fencing_facts(*soft, agent("edge-5", boot_gate=False))))

    assert [(one.nodes, one.named) for one in reasons] == [
        (4, ("edge-1", "edge-2", "edge-3")),
        (1, ("edge-5",)),
    ]


def test_shares_are_of_the_most_frequent_and_the_rest_is_counted() -> None:
    assert spell_shares(["a", "b", "a"]) == "a on 2, b on 1"
    assert spell_shares("aaabbcde") == "a on 3, b on 2, c on 1, others on 2"


def test_only_the_nodes_that_are_named_are_shown() -> None:
    view = only_of(assess(fencing_facts()), ("edge-3",))

    assert view.fencing is not None
    assert [one.node for one in view.fencing.nodes] == ["edge-3"]
    with pytest.raises(CommandFailure, match="there is no node edge-9"):
        only_of(view, ("edge-9",))
    with pytest.raises(CommandFailure, match="no agents are known"):
        only_of(assess(SOUND), ("edge-1",))


def test_a_node_held_after_its_resets_is_a_failure_after_any_time_of_silence() -> None:
    held = agent("edge-1", ago=9000.0, acknowledged=0, held_back="it has reset itself 3 times")

    assert [(one.text, one.hint) for one in found(fencing_facts(held)) if one.level is FAIL] == [
        (
            "the boot gate of edge-1 keeps kubelet from starting: it has reset itself 3 times",
            "find out why; then, on edge-1: rm /var/lib/nodemend/resets/*",
        )
    ]


def test_a_new_boot_that_is_held_back_would_release_it() -> None:
    held = agent("edge-1", boot_id="boot-2", acknowledged=0, held_back="it has reset itself 3 times")

    assert (row(fencing_facts(held)).resets, row(fencing_facts(held)).why_not) == (
        True,
        "its boot gate keeps the kubelet of a new boot from starting",
    )
