"""`kubectl mend probe` for a person."""

from collections.abc import Iterator
from typing import Final

from nodemend.cli.agents import AgentState
from nodemend.cli.next_steps import Step, step_lines
from nodemend.cli.probe.view import PeerRow, Possible, ProbeView, Way
from nodemend.cli.words import align, fold, spell_seconds

EVIDENCE: Final = {
    "E1": "E1 power off",
    "E2": "E2 new boot",
    "E4": "E4 time",
    "E5": "E5 a word",
}


def render(view: ProbeView, width: int) -> Iterator[str]:
    yield from fold(view.headline, width)
    if view.steps:
        yield ""
        for number, step in enumerate(view.steps, 1):
            yield from fold(f"{number:>3}  {step}", width, " " * 5)
    if view.ways:
        yield ""
        rows = [("REMEDY", "EVIDENCE", "POSSIBLE", "AFTER", "RESTS ON, OR WHY NOT")]
        rows += [_way(way) for way in view.ways]
        yield from align(rows)
    if view.peers or view.needed_peers:
        yield ""
        yield from (line for said in view.needed_peers for line in fold(f"By time: {said}.", width))
        yield from align([("PEER", "AGENT"), *((row.node, _agent(row)) for row in view.peers)])
    yield ""
    for note in view.notes:
        yield from fold(note, width)
    for unread in view.unread:
        yield from fold(f"Warning: {unread}", width)
    yield from step_lines(Step(view.advice, view.next_step))


def _way(way: Way) -> tuple[str, str, str, str, str]:
    remedy = f"{way.remedy} {way.kind}" if way.remedy else f"- {way.kind}"
    said = way.rests_on if way.possible is Possible.YES else way.because
    return remedy, EVIDENCE.get(way.evidence, way.evidence), way.possible, way.after or "-", said


def _agent(row: PeerRow) -> str:
    ago = "" if row.renewed_ago is None else f", renewed {spell_seconds(row.renewed_ago)} ago"
    why = f": {row.why}" if row.why else ""
    return f"{row.agent}{ago}{why}" if row.agent is not AgentState.NONE else "none"
