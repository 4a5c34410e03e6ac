"""The view and the text of `kubectl mend check`: findings by group, and self-fencing per node."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import ClassVar, Final

from nodemend.api.self_remediation import SelfRemediationSpec
from nodemend.cli.agents import (
    AgentInfo,
    AgentReadiness,
    ByTime,
    NoRelease,
    OnlyNewBoot,
    evaluate_prospect,
    spell_certificate,
    wanted_of,
)
from nodemend.cli.check.facts import CheckCommandFacts
from nodemend.cli.exit_codes import CommandFailure, ExitCode
from nodemend.cli.text import align, spell_seconds
from nodemend.protocol.timing import CertificateStanding
from nodemend.safety.facts import Present
from nodemend.safety.holds import spell_count

GROUP = "self-fencing"
NAMED: Final = 3
"""Number of nodes named per reason; the others are only counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingRow:
    """One node. A field is None if its agent does not report it."""

    node: str
    agent: AgentReadiness
    renewed_ago: float | None = None
    version: str = ""
    watchdog: str = ""
    """hardware, untested, software or unsupported."""
    driver: str = ""
    written_seconds: float | None = None
    effective_seconds: float | None = None
    """W in seconds: the value written to the driver and the effective value."""
    peers: int | None = None
    boot_gate: bool | None = None
    held_back: str = ""
    """Reason for a closed boot gate although no remediation needs the node to stay down."""
    certificate: str = ""
    """Remaining validity of the certificate for peers, as text; empty if no agent reports."""
    certificate_fresh: bool | None = None
    """False if the certificate should have been replaced by now, or if there is no certificate."""
    certificate_left_seconds: float | None = None
    safe_time_seconds: int | None = None
    """T_safe in seconds; None if the node cannot be released by time."""
    why_not: str = ""
    to_change: str = ""
    resets: bool = False
    """True if the node would reset itself at all."""
    check: str = ""
    """The check that has the node reset itself; empty if there is no such check."""

    @property
    def by_time(self) -> bool:
        return self.safe_time_seconds is not None

    @property
    def affected(self) -> bool:
        """True if a check relies on the node resetting itself, or if the node has an agent."""
        return self.check != "" or self.agent is not AgentReadiness.NONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonRow:
    """One reason why nodes cannot be released by time, and the number of nodes it applies to."""

    nodes: int
    why: str
    to_change: str
    named: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FencingView:
    reasons: tuple[ReasonRow, ...]
    nodes: tuple[FencingRow, ...]


def fencing_rows(facts: CheckCommandFacts) -> tuple[FencingRow, ...]:
    """Return a row per node, sorted by name. Empty if the nodes or the agent Leases were not read."""
    if not isinstance(facts.nodes, Present) or not isinstance(facts.agents, Present):
        return ()
    agents = {one.node: one for one in facts.agents.value}
    speaking = frozenset(name for name, one in agents.items() if one.state is AgentReadiness.REPORTING)
    checks = facts.checks.value if isinstance(facts.checks, Present) else []
    rows = []
    for record in sorted(facts.nodes.value, key=lambda one: one.name):
        wanted = wanted_of(record.labels, checks, facts.templates)
        agent, spec = agents.get(record.name), wanted.spec if wanted else SelfRemediationSpec()
        prospect = evaluate_prospect(record.uid, record.boot_id, agent, spec, speaking)
        rows.append(_row(record.name, agent, prospect, wanted.check if wanted else ""))
    return tuple(rows)


def _row(
    node: str, agent: AgentInfo | None, prospect: ByTime | OnlyNewBoot | NoRelease, check: str
) -> FencingRow:
    row = FencingRow(
        node=node,
        agent=agent.state if agent is not None else AgentReadiness.NONE,
        renewed_ago=agent.renewed_ago if agent is not None else None,
        safe_time_seconds=prospect.seconds if isinstance(prospect, ByTime) else None,
        why_not="" if isinstance(prospect, ByTime) else prospect.why,
        to_change="" if isinstance(prospect, ByTime) else prospect.to_change,
        resets=not isinstance(prospect, NoRelease),
        check=check,
    )
    if agent is None or agent.report is None:
        return row
    report, watchdog = agent.report, agent.report.watchdog
    return replace(
        row,
        version=report.version,
        watchdog=watchdog.class_,
        driver=watchdog.driver,
        written_seconds=watchdog.written,
        effective_seconds=watchdog.effective,
        # While the agent changes its peers it may use either list, so the shorter one counts.
        peers=min((len(names) for names in report.peers), default=0),
        boot_gate=report.boot_gate,
        held_back=report.held_back,
        certificate=spell_certificate(agent) if agent.has_begun else "",
        certificate_fresh=agent.certificate is CertificateStanding.FRESH if agent.has_begun else None,
        certificate_left_seconds=agent.certificate_left,
    )


def sum_up(rows: Sequence[FencingRow]) -> tuple[ReasonRow, ...]:
    """Group the nodes that cannot be released by time by reason, the most frequent reason first."""
    by_reason: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.affected and not row.by_time:
            by_reason[row.why_not, row.to_change].append(row.node)
    found = [
        ReasonRow(nodes=len(names), why=why, to_change=to_change, named=tuple(names[:NAMED]))
        for (why, to_change), names in by_reason.items()
    ]
    return tuple(sorted(found, key=lambda one: (-one.nodes, one.why)))


def named(row: ReasonRow) -> str:
    more = row.nodes - len(row.named)
    return ", ".join(row.named) + (f" and {more} more" if more else "")


def spell_shares(values: Iterable[str]) -> str:
    """Count equal values: "72 s on 20 nodes, 106 s on 4". Names only the three most frequent values."""
    counted = Counter(values).most_common()
    shown = [f"{value} on {count}" for value, count in counted[:3]]
    rest = sum(count for _, count in counted[3:])
    return ", ".join((*shown, f"others on {rest}") if rest else shown)


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: a finding, and a hint about the next step."""

    level: Level
    text: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    name: str
    findings: tuple[Finding, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckView:
    kind: ClassVar[str] = "Check"
    groups: tuple[Group, ...]
    failures: int
    warnings: int
    fine: int
    fencing: FencingView | None = None
    """Self-fencing per node; None if self-fencing is not used."""


def ok(text: str) -> Finding:
    return Finding(level=Level.OK, text=text)


def warn(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.WARN, text=text, hint=hint)


def fail(text: str, hint: str = "") -> Finding:
    return Finding(level=Level.FAIL, text=text, hint=hint)


def unread(what: str, why: str) -> Finding:
    """Return a failure: something that cannot be read is not known to be correct."""
    return fail(f"{what} cannot be read: {why}")


def check_view(groups: tuple[Group, ...], fencing: FencingView | None = None) -> CheckView:
    levels = [finding.level for group in groups for finding in group.findings]
    return CheckView(
        groups=groups,
        failures=levels.count(Level.FAIL),
        warnings=levels.count(Level.WARN),
        fine=levels.count(Level.OK),
        fencing=fencing,
    )


def only_of(view: CheckView, nodes: tuple[str, ...]) -> CheckView:
    """Return the view with only these nodes, or unchanged if none are named.

    Raises CommandFailure for an unknown node.
    """
    if not nodes:
        return view
    rows = view.fencing.nodes if view.fencing is not None else ()
    known = {row.node for row in rows}
    if view.fencing is None:
        raise CommandFailure(
            ExitCode.WRONG,
            "no agents are known: none is installed, or you may not list their Leases.",
            "kubectl mend check",
        )
    if unknown := [name for name in nodes if name not in known]:
        raise CommandFailure(ExitCode.WRONG, f"there is no node {unknown[0]}.", "kubectl get nodes")
    return replace(view, fencing=replace(view.fencing, nodes=tuple(row for row in rows if row.node in nodes)))


MOST_REASONS: Final = 12
_GATE: Final = {True: "yes", False: "no", None: "-"}


def render_reasons(view: FencingView) -> Iterator[str]:
    """Render the reasons. Yields nothing if every concerned node could be released by time."""
    if not view.reasons:
        return
    rows = [("NODES", "WHY NOT BY TIME", "WHICH", "WHAT CHANGES IT")]
    rows += [(str(one.nodes), one.why, named(one), one.to_change) for one in view.reasons[:MOST_REASONS]]
    yield from align(rows)
    rest = view.reasons[MOST_REASONS:]
    if rest:
        yield f"{sum(one.nodes for one in rest)} more nodes for other reasons: kubectl mend check -o wide"


def render_nodes(view: FencingView) -> Iterator[str]:
    head = ("NODE", "AGENT", "VERSION", "WATCHDOG", "WRITTEN", "EFFECTIVE", "T_SAFE", "PEERS", "GATE")
    rows: list[tuple[str, ...]] = [(*head, "CERTIFICATE", "BY-TIME")]
    rows += [(*_cells(row), "yes" if row.by_time else f"no: {row.why_not}") for row in view.nodes]
    yield from align(rows)


def _cells(row: FencingRow) -> tuple[str, ...]:
    watchdog = f"{row.watchdog} ({row.driver})" if row.driver else row.watchdog
    return (
        row.node,
        _agent(row),
        row.version or "-",
        watchdog or "-",
        _seconds(row.written_seconds),
        _seconds(row.effective_seconds),
        _seconds(row.safe_time_seconds),
        "-" if row.peers is None else str(row.peers),
        _GATE[row.boot_gate],
        row.certificate or "-",
    )


def _agent(row: FencingRow) -> str:
    if row.agent is AgentReadiness.SILENT and row.renewed_ago is not None:
        return f"silent {spell_seconds(row.renewed_ago)}"
    return row.agent


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:g} s"


def render(view: CheckView, *, by_node: bool = False) -> Iterator[str]:
    """Render the findings, with a row per node if `by_node`."""
    for group in view.groups:
        yield group.name
        for finding in group.findings:
            yield f"  {finding.level:<4}  {finding.text}"
            if finding.hint:
                yield f"          {finding.hint}"
        if group.name == GROUP and view.fencing is not None:
            yield from (f"        {line}" for line in render_reasons(view.fencing))
    yield ""
    if by_node and view.fencing is not None:
        yield from render_nodes(view.fencing)
        yield ""
    counts = (
        spell_count(view.failures, "failure"),
        spell_count(view.warnings, "warning"),
        f"{view.fine} fine",
    )
    yield f"{', '.join(counts)}. Nothing was changed."
    if view.failures or view.warnings:
        yield "Fix the findings above, then run the check again."
        yield "Next: kubectl mend check"
    else:
        yield "Next: kubectl mend status"
