"""What `kubectl mend check` says of self-fencing, node by node and summed up."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from nodemend.api.self_remediation import SelfRemediationSpec
from nodemend.cli.agents import AgentSeen, AgentState, spell_certificate
from nodemend.cli.check.facts import CheckFacts
from nodemend.cli.self_fencing import ByTime, NodeNamed, Nothing, OnlyNewBoot, judge_prospect, wanted_of
from nodemend.decide.certificate_life import CertificateStanding
from nodemend.decide.facts import Present

NAMED: Final = 3
"""So many nodes are named for each reason; the rest are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingRow:
    """One node. What its agent does not tell is None."""

    node: str
    agent: AgentState
    renewed_ago: float | None = None
    version: str = ""
    watchdog: str = ""
    """hardware, untested, software or unsupported."""
    driver: str = ""
    written_seconds: float | None = None
    effective_seconds: float | None = None
    """W, as it was written to the driver and as it takes."""
    peers: int | None = None
    boot_gate: bool | None = None
    held_back: str = ""
    """Why its boot gate stays closed though nobody asks for its end."""
    certificate: str = ""
    """How long the one for its peers is good for, in words; empty where no agent tells."""
    certificate_fresh: bool | None = None
    """False where it should have been replaced by now, and where there is none."""
    certificate_left_seconds: float | None = None
    safe_time_seconds: int | None = None
    """T_safe; None where time proves nothing."""
    why_not: str = ""
    to_change: str = ""
    resets: bool = False
    """Whether it would reset itself at all."""
    check: str = ""
    """Which check has it reset itself; empty for none."""

    @property
    def by_time(self) -> bool:
        return self.safe_time_seconds is not None

    @property
    def concerned(self) -> bool:
        """Somebody wants it to reset itself, or its agent could."""
        return self.check != "" or self.agent is not AgentState.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """Why so many nodes cannot be released by time."""

    nodes: int
    why: str
    to_change: str
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingView:
    reasons: tuple[ReasonRow, ...]
    nodes: tuple[FencingRow, ...]


def fencing_rows(facts: CheckFacts) -> tuple[FencingRow, ...]:
    """Every node, by name. None where the nodes or the Leases were not read."""
    if not isinstance(facts.nodes, Present) or not isinstance(facts.agents, Present):
        return ()
    agents = {one.node: one for one in facts.agents.value}
    speaking = frozenset(name for name, one in agents.items() if one.report is not None and not one.silent)
    checks = facts.checks.value if isinstance(facts.checks, Present) else []
    rows = []
    for record in sorted(facts.nodes.value, key=lambda one: one.name):
        node = NodeNamed(record.name, record.uid, record.boot_id, record.labels)
        wanted = wanted_of(node, checks, facts.templates)
        agent = agents.get(record.name)
        prospect = judge_prospect(node, agent, wanted.spec if wanted else SelfRemediationSpec(), speaking)
        rows.append(_row(node, agent, prospect, wanted.check if wanted else ""))
    return tuple(rows)


def _row(
    node: NodeNamed, agent: AgentSeen | None, prospect: ByTime | OnlyNewBoot | Nothing, check: str
) -> FencingRow:
    report = agent.report if agent is not None else None
    watchdog = report.watchdog if report is not None else None
    peers = report.peers if report is not None else ()
    return FencingRow(
        node=node.name,
        agent=agent.state if agent is not None else AgentState.NONE,
        renewed_ago=agent.renewed_ago if agent is not None else None,
        version=report.version if report is not None else "",
        watchdog=watchdog.class_ if watchdog is not None else "",
        driver=watchdog.driver if watchdog is not None else "",
        written_seconds=watchdog.written if watchdog is not None else None,
        effective_seconds=watchdog.effective if watchdog is not None else None,
        # While it changes them it may go by either list, and the shorter one counts.
        peers=min((len(names) for names in peers), default=0) if report is not None else None,
        boot_gate=report.boot_gate if report is not None else None,
        held_back=report.held_back if report is not None else "",
        certificate=spell_certificate(agent) if agent is not None and agent.has_begun else "",
        certificate_fresh=_is_fresh(agent),
        certificate_left_seconds=agent.certificate_left if agent is not None else None,
        safe_time_seconds=prospect.seconds if isinstance(prospect, ByTime) else None,
        why_not="" if isinstance(prospect, ByTime) else prospect.why,
        to_change="" if isinstance(prospect, ByTime) else prospect.to_change,
        resets=not isinstance(prospect, Nothing),
        check=check,
    )


def _is_fresh(agent: AgentSeen | None) -> bool | None:
    if agent is None or not agent.has_begun:
        return None
    return agent.certificate is CertificateStanding.FRESH


def sum_up(rows: Sequence[FencingRow]) -> tuple[ReasonRow, ...]:
    """The most frequent reason first."""
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.concerned and not row.by_time:
            by_reason[row.why_not, row.to_change].append(row.node)
    found = [
        ReasonRow(nodes=len(names), why=why, to_change=to_change, named=tuple(names[:NAMED]))
        for (why, to_change), names in by_reason.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.nodes, one.why)))


def named(row: ReasonRow) -> str:
    more = row.nodes - len(row.named)
    return ", ".join(row.named) + (f" and {more} more" if more else "")


def spell_shares(values: Iterable[str], many: int = 3) -> str:
    """ "72 s on 20 nodes, 106 s on 4": the most frequent first, of at most so many different ones."""
    counted = Counter(values).most_common()
    shown = [f"{value} on {count}" for value, count in counted[:many]]
    rest = sum(count for _, count in counted[many:])
    return ", ".join((*shown, f"others on {rest}") if rest else shown)
