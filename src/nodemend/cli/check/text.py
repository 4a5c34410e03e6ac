"""Text output of `kubectl mend check`.

Text of self-fencing: summed reasons why nodes cannot be released by time, and a row per node.
"""

from collections.abc import Iterator
from typing import Final

from nodemend.cli.agents import AgentReadiness
from nodemend.cli.check.assess_remediation import GROUP
from nodemend.cli.check.view import CheckView, FencingRow, FencingView, named
from nodemend.cli.text import align, spell_seconds
from nodemend.safety.holds import spell_count

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
        yield "See to what is above, and then verify it again."
        yield "Next: kubectl mend check"
    else:
        yield "Next: kubectl mend status"
