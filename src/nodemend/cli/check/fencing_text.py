"""Self-fencing for a person: why not by time, summed up; and a row for each node."""

from collections.abc import Iterator
from typing import Final

from nodemend.cli.agents import AgentState
from nodemend.cli.check.fencing_view import FencingRow, FencingView, named
from nodemend.cli.words import align, spell_seconds

MOST_REASONS: Final = 12
_GATE: Final = {True: "yes", False: "no", None: "-"}


def render_reasons(view: FencingView) -> Iterator[str]:
    """Nothing where every node that somebody cares for could be released by time."""
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
    if row.agent is AgentState.SILENT and row.renewed_ago is not None:
        return f"silent {spell_seconds(row.renewed_ago)}"
    return row.agent


def _seconds(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:g} s"
