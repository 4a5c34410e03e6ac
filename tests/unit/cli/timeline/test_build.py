"""A timeline from several sources."""

from dataclasses import replace
from datetime import timedelta

from nodemend.api.manual_remediation import ManualRemediationPhase as ManualPhase
from nodemend.api.metal3_remediation import Metal3RemediationPhase
from nodemend.api.remediation_policy import MachineRemediation, RemediationPolicy, RemediationPolicyStatus
from nodemend.api.upstream_types import NodeTaint
from nodemend.cli.timeline.build import merge, timeline_view
from nodemend.cli.timeline.collect import (
    Emphasis,
    Lane,
    Measure,
    MomentDraft,
    ReleaseView,
    TimelineFacts,
    TimelineView,
)
from nodemend.kube.events import EventWire, ReferenceSeen, SourceSeen
from nodemend.safety.facts import Unreadable
from tests.unit.cli.node_cases import (
    NODE,
    a_case,
    a_host,
    a_lease,
    a_node,
    a_power_cycle,
    a_sighting,
    at,
    by_hand,
    condition,
    event,
    evidence,
    often,
    written,
)
from tests.unit.cli.timeline.goldens import view_of

DAY = timedelta(days=1)
READY = a_node("True", 0.0)


def reported(*events: EventWire, now: float = 1000.0, since: timedelta = DAY) -> TimelineView:
    """The timeline of a node with these events and no other facts."""
    return timeline_view(TimelineFacts(a_case(now, node=READY), events), since)


def test_an_event_and_a_status_of_the_same_change_are_one_entry_with_the_event_s_text() -> None:
    ready = event(0.7, "NodeReady", "It is now Ready.", reporting_controller="kubelet")
    [moment] = reported(ready).moments

    assert (moment.at, moment.what) == (at(0.7), "It is now Ready.")
    assert moment.sources == ("event NodeReady by kubelet", "condition Ready")


def test_a_change_long_before_or_after_is_a_separate_entry() -> None:
    ready = event(31.0, "NodeReady", "It is now Ready.", reporting_controller="kubelet")

    assert len(reported(ready).moments) == 2


def test_a_later_record_of_the_same_change_does_not_hide_the_evidence_of_an_earlier_one() -> None:
    release = MomentDraft(at=at(10.0), lane=Lane.WORKLOADS, what="released", key="release")
    drafts = (
        replace(release, evidence="E1", because="off", sources=("remediation",)),
        replace(release, at=at(20.0), what="Released.", from_event=True, sources=("event",)),
        replace(release, at=at(30.0), sources=("taint",)),
    )
    [(moment, _)] = merge(drafts)

    assert (moment.what, moment.evidence, moment.because) == ("Released.", "E1", "off")
    assert moment.sources == ("event", "remediation", "taint")


def test_two_events_are_two_moments_however_alike() -> None:
    twice = [event(seconds, "PowerOffRequested", "off.") for seconds in (100.0, 100.1)]

    assert [one.at for one in reported(*twice).moments[1:]] == [at(100.0), at(100.1)]


def test_a_repeated_event_shows_its_count() -> None:
    [_, held] = reported(event(10.0, "RemediationHeld", "No.", series=often(7, 70.0))).moments

    assert (held.times, held.last) == (7, at(70.0))


def test_an_event_of_the_older_api_has_its_time_its_count_and_its_reporter() -> None:
    old = EventWire(
        deprecated_first_timestamp=written(10.0),
        deprecated_last_timestamp=written(40.0),
        deprecated_count=3,
        deprecated_source=SourceSeen(component="kubelet"),
        reason="Starting",
        note="Starting kubelet.",
        type="Normal",
        regarding=ReferenceSeen(kind="Node", name=NODE),
    )
    [_, moment] = reported(old).moments

    assert (moment.at, moment.times, moment.last) == (at(10.0), 3, at(40.0))
    assert moment.sources == ("event Starting by kubelet",)


def test_an_event_without_a_time_is_left_out_and_an_unknown_warning_is_a_problem() -> None:
    lost = EventWire(reason="NodeReady", regarding=ReferenceSeen(kind="Node"))
    strange = event(5.0, "DiskOnFire", "It burns.", type="Warning", reporting_controller="example.com/fire")
    [_, moment] = reported(lost, strange).moments

    assert (moment.mark, moment.lane) == (Emphasis.PROBLEM, Lane.NODE)


def test_a_hold_is_in_the_lane_of_the_component_that_holds() -> None:
    held = event(10.0, "RemediationHeld", "No.")
    early = held.but(reporting_controller="nodemend.io/checker")

    assert [one.lane for one in reported(held, early).moments[1:]] == [Lane.REMEDIATION, Lane.CHECK]


def test_entries_older_than_the_requested_start_are_counted() -> None:
    view = reported(event(900.0, "NodeHealthy", "Well."), since=timedelta(seconds=200))

    assert ([one.what for one in view.moments], view.earlier) == (["Well."], 1)


def test_evidence_of_the_same_second_comes_before_the_release_that_rests_on_it() -> None:
    view = reported(event(5.0, "ReleaseStarted", "Out."), event(5.0, "PowerOffConfirmed", "It is off."))

    assert [one.key for one in view.moments[1:]] == ["evidence", "release"]
    assert view.releases == (ReleaseView(at=at(5.0), evidence="E1", because="It is off."),)


def test_a_release_rests_on_no_evidence_that_was_voided_before_it() -> None:
    view = reported(
        event(5.0, "PowerOffConfirmed", "It is off."),
        event(6.0, "EvidenceRevoked", "It is not."),
        event(7.0, "ReleaseStarted", "Out."),
    )

    assert view.releases == (ReleaseView(at=at(7.0)),)


def test_a_release_of_which_only_the_end_is_known_rests_on_what_the_status_still_says() -> None:
    assert view_of("events_forgotten").releases == (
        ReleaseView(
            at=at(428.0),
            evidence="E1",
            because="BareMetalHost metal3/rack7-u12: its power went off after Nodemend's power-off request.",
        ),
    )


def test_evidence_of_one_attempt_does_not_count_for_the_next() -> None:
    attempt = (
        event(5.0, "PowerOffConfirmed", "It is off."),
        event(6.0, "ReleaseStarted", "Out."),
        event(7.0, "WorkloadsReleased", "Gone."),
    )
    for between in ("PowerCycleFailed", "RemediationSucceeded", "RemediationStarted", "NodeHealthy"):
        view = reported(*attempt, event(8.0, between, "Next."), event(900.0, "ReleaseStarted", "Out again."))
        assert view.releases == (
            ReleaseView(at=at(6.0), evidence="E1", because="It is off."),
            ReleaseView(at=at(900.0)),
        )


def test_a_second_release_is_marked_where_only_its_end_is_known() -> None:
    view = reported(
        event(5.0, "ReleaseStarted", "Out."),
        event(6.0, "WorkloadsReleased", "Gone."),
        event(700.0, "WorkloadsReleased", "Gone again."),
    )

    assert [one.at for one in view.releases] == [at(5.0), at(700.0)]


def test_a_heartbeat_after_the_evidence_is_shown() -> None:
    cycle = a_power_cycle(Metal3RemediationPhase.RELEASE, evidence=evidence(0.0, 392.0))
    case = a_case(500.0, power=[cycle], kubelet=a_lease(3.0))
    spoken = [one.at for one in timeline_view(TimelineFacts(case), DAY).moments if one.key == "last-life"]

    assert spoken == [at(0.0), at(3.0)]


def test_a_host_write_after_the_recorded_power_off_is_a_second_entry() -> None:
    cycle = a_power_cycle(Metal3RemediationPhase.POWER_OFF, seen_off=a_sighting(0.0, 392.0))
    for wrote, moments in ((392.0, 1), (395.0, 2)):
        case = a_case(500.0, power=[cycle], host=a_host(on=False, wrote=wrote, held=True))
        view = timeline_view(TimelineFacts(case), DAY)
        assert len([one for one in view.moments if one.key == "off"]) == moments


def test_two_remediations_that_began_in_the_same_minute_are_two() -> None:
    cycle = a_power_cycle(Metal3RemediationPhase.PENDING, begun=360.0)
    manual = by_hand(ManualPhase.PENDING, begun=350.0)
    case = a_case(500.0, power=[cycle], manual=[manual])
    begun = [one.what for one in timeline_view(TimelineFacts(case), DAY).moments if one.key == "started"]

    assert [one.partition(" ")[0] for one in begun] == ["ManualRemediation", "Metal3Remediation"]


def test_remediations_of_its_machine_come_from_the_policy_s_history() -> None:
    past = MachineRemediation(
        machine="metal3/workers-7xk2p",
        uid="uid-machine",
        check="workers",
        kind="OwnerRemediation",
        began=written(100.0),
        node=NODE,
        ended=written(300.0),
        outcome="Gone",
    )
    history = (past, past.but(node="edge-08"))
    policy = RemediationPolicy(status=RemediationPolicyStatus(machine_history=history))
    view = timeline_view(TimelineFacts(a_case(1000.0, node=READY, policy=policy)), DAY)

    assert [(one.key, one.what) for one in view.moments[1:]] == [
        ("started", "mhc/workers started an OwnerRemediation for Machine metal3/workers-7xk2p."),
        ("ended", "The OwnerRemediation is over: Gone."),
    ]


def test_a_release_by_another_controller_is_not_attributed_to_nodemend() -> None:
    theirs = NodeTaint(
        key="node.kubernetes.io/out-of-service", effect="NoExecute", value="x", time_added=written(60)
    )
    case = a_case(100.0, node=a_node("Unknown", 50.0, theirs))
    view = timeline_view(TimelineFacts(case), DAY)
    [_, moment] = view.moments

    assert (moment.mark, view.releases) == (Emphasis.PROBLEM, ())
    assert moment.what == f"Another client set the out-of-service taint on {NODE}."


def test_lease_renewals_of_a_live_kubelet_are_no_entries() -> None:
    silent, speaks = (
        timeline_view(TimelineFacts(a_case(100.0, kubelet=a_lease(renewed))), DAY) for renewed in (0.0, 90.0)
    )

    assert [one.key for one in silent.moments] == ["last-life", "not-ready"]
    assert [one.key for one in speaks.moments] == ["not-ready"]


def test_host_writes_before_the_power_request_are_left_out() -> None:
    cycle = a_power_cycle(Metal3RemediationPhase.POWER_OFF, begun=10.0)
    for wrote, keys in ((5.0, ["not-ready", "started"]), (40.0, ["off", "not-ready", "started"])):
        case = a_case(100.0, power=[cycle], host=a_host(on=False, wrote=wrote, held=True))
        view = timeline_view(TimelineFacts(case), DAY)
        assert sorted(one.key for one in view.moments) == sorted(keys)


def test_how_long_the_parts_took_and_what_still_lasts() -> None:
    assert view_of("healed").measures == (
        Measure(name="to fence", seconds=48.7),
        Measure(name="to release", seconds=28.9),
        Measure(name="to recover", seconds=204.0),
    )
    assert view_of("releasing").measures == (
        Measure(name="silent", seconds=412.0, lasts=True),
        Measure(name="to fence", seconds=48.7),
        Measure(name="to release", seconds=12.9, lasts=True),
    )


def test_what_was_voided_or_has_failed_was_not_fenced() -> None:
    assert view_of("evidence_voided").measures == ()
    assert [one.name for one in view_of("never_off").measures] == ["silent"]


def test_an_unreadable_object_is_reported() -> None:
    hidden = replace(a_case(100.0, node=READY), host=Unreadable("forbidden"))
    facts = TimelineFacts(hidden, unread=("Events of Node edge-07 cannot be read: no.",))

    assert timeline_view(facts, DAY).unread == (
        "Its BareMetalHost cannot be read: forbidden.",
        "Events of Node edge-07 cannot be read: no.",
    )


def test_the_status_of_a_power_cycle_alone_gives_the_same_lanes_as_its_events() -> None:
    cycle = a_power_cycle(
        Metal3RemediationPhase.RELEASE,
        evidence=evidence(0.0, 392.0),
        seen_off=a_sighting(0.0, 392.0),
        conditions=(condition("Fenced", "True", 399.0),),
    )
    view = timeline_view(TimelineFacts(a_case(420.0, power=[cycle])), DAY)

    assert [(bar.lane, bar.state.label) for bar in view.bars] == [
        (Lane.NODE, "silent"),
        (Lane.WORKLOADS, "held back"),
        (Lane.NODE, "not Ready"),
        (Lane.REMEDIATION, "fence"),
        (Lane.HOST, "off"),
        (Lane.REMEDIATION, "release"),
    ]
