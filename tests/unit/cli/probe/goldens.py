"""Reviewed probes: the facts about edge-07, and the output.

`python -m tests.unit.cli.probe.goldens` rewrites them; the reviewer reads the difference.
"""

from pathlib import Path
from typing import Any, Final

from nodemend.api.agent import AgentReport, CertificateReport, WatchdogReport
from nodemend.api.node_health_check import Remedy, TemplateReference
from nodemend.api.self_remediation import SelfRemediationPhase, Weakness
from nodemend.cli.agents import AgentInfo, read_agent
from nodemend.cli.probe import AnyTemplate, ProbeFacts, ProbeView, probe_view, render
from nodemend.safety.facts import Absent, Present, ReadResult, Unreadable
from tests.unit.cli.check.fencing_cluster import RESET, SOFTDOG, template
from tests.unit.cli.check.sound_facts import CALL
from tests.unit.cli.node_cases import (
    A_REPORT,
    NODE,
    a_case,
    a_check,
    a_host,
    a_lease,
    a_machine,
    a_node,
    an_agent_lease,
    at,
    by_itself,
    written,
)

FOLDER: Final = Path(__file__).with_name("golden")
NOW: Final = 100.0
POWER: Final = TemplateReference(
    api_version="remediation.metal3.io/v1alpha1",
    kind="Metal3RemediationTemplate",
    name="cycle",
    namespace="metal3",
)
THEIRS: Final = TemplateReference(
    api_version="self-node-remediation.medik8s.io/v1alpha1",
    kind="SelfNodeRemediationTemplate",
    name="snr",
    namespace="default",
)


def agent(report: AgentReport = A_REPORT, renewed: float = 97.0, name: str = NODE) -> AgentInfo:
    return read_agent(an_agent_lease(renewed, report, name=name), at(NOW))


def facts_of(
    *remedies: TemplateReference,
    agent_: ReadResult[AgentInfo] | None = None,
    accepting: ReadResult[AnyTemplate] | None = None,
    silent: tuple[str, ...] = (),
    **known: Any,
) -> ProbeFacts:
    """A healthy node with these remedies in its check and with peers of which some are silent."""
    found = agent_ if agent_ is not None else Present(agent())
    check = a_check()
    named = tuple(Remedy(template=one) for one in remedies)
    checks = [check.but(spec=check.spec.but(remedies=named))] if remedies else []
    node = a_node("True", -86_400.0)
    case = a_case(NOW, **{"node": node, "kubelet": a_lease(95.0), "all_checks": checks, **known})
    names = found.value.peers if isinstance(found, Present) else ()
    peers = {name: Present(agent(renewed=-60.0 if name in silent else 98.0, name=name)) for name in names}
    return ProbeFacts(case, node, found, peers, {RESET: accepting or Present(template())})


WITHOUT_GATE: Final = A_REPORT.but(watchdog=SOFTDOG, boot_gate=False)
DEVICELESS: Final = A_REPORT.but(
    watchdog=WatchdogReport(class_="unsupported", why="there is no watchdog device")
)
CASES: Final[dict[str, ProbeFacts]] = {
    "by_time": facts_of(RESET, CALL),
    "one_peer_is_silent": facts_of(RESET, CALL, silent=("edge-02",)),
    "too_few_peers": facts_of(RESET, CALL, silent=("edge-02", "edge-03")),
    "a_weakness": facts_of(RESET, CALL, agent_=Present(agent(WITHOUT_GATE))),
    "a_weakness_accepted": facts_of(
        RESET,
        agent_=Present(agent(WITHOUT_GATE)),
        accepting=Present(template(Weakness.SOFTWARE_WATCHDOG, Weakness.NO_BOOT_GATE)),
    ),
    "nothing_resets_it": facts_of(RESET, agent_=Present(agent(DEVICELESS))),
    "no_agent": facts_of(RESET, agent_=Absent()),
    "its_agent_is_silent": facts_of(RESET, agent_=Present(agent(renewed=-90.0))),
    "two_lists_of_peers": facts_of(
        RESET, agent_=Present(agent(A_REPORT.but(peers=(A_REPORT.peers[0], ("edge-01", "edge-09")))))
    ),
    "its_certificate_runs_out": facts_of(
        RESET,
        agent_=Present(
            agent(
                A_REPORT.but(
                    peers=((),), certificate=CertificateReport(ends=written(NOW + 19_800.0), life=86_400.0)
                )
            )
        ),
    ),
    "its_gate_holds_it_back": facts_of(
        RESET,
        agent_=Present(
            agent(
                A_REPORT.but(
                    acknowledged=0,
                    peers=((),),
                    certificate=None,
                    held_back="it has reset itself 3 times within 60 minutes: an operator must check it",
                ),
                renewed=-900.0,
            )
        ),
    ),
    "by_its_power_first": facts_of(
        POWER, RESET, CALL, behind=a_machine(), host=a_host(on=True, wrote=60.0), power=[]
    ),
    "a_remedy_of_others": facts_of(THEIRS),
    "nobody_watches_it": facts_of(),
    "leases_unseen": facts_of(
        RESET, agent_=Unreadable("you may not get them"), accepting=Unreadable("you may not get them")
    ),
    "under_way": facts_of(RESET, by_itself=[by_itself(SelfRemediationPhase.FENCING, 60.0)]),
}
"""Facts by the name of the golden file."""


def view_of(name: str) -> ProbeView:
    return probe_view(CASES[name])


def text(name: str, width: int = 120) -> str:
    return "\n".join((f"$ kubectl mend probe {NODE}", *render(view_of(name), width), ""))


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for case in CASES:
        (FOLDER / f"{case}.txt").write_text(text(case))
