"""What is told while we wait: each thing once, and again when it has changed. Pure."""

from collections.abc import Iterator, Mapping

from nodemend.cli.remediations import Remediation, node_of
from nodemend.cli.wind_down.explanations import explain, explain_leaderless
from nodemend.cli.wind_down.facts import OpenFacts
from nodemend.cli.wind_down.leftovers import Leftover, StillOpen, is_leaderless, may_pass
from nodemend.cli.wind_down.remediation_words import title, waits_for

_LEADER = "leader"


def lines_of_open(facts: OpenFacts, system_namespace: str) -> dict[str, str]:
    """One line a remediation, by its UID; and one before them where nobody leads who could end them."""
    lines = {}
    if facts.remediations and is_leaderless(facts.leader):
        lines[_LEADER] = f"{facts.leader.sentence}. To do: {explain_leaderless(system_namespace)}"
    return lines | {found.metadata.uid: _line(found) for found in facts.remediations}


def lines_of_left(leftovers: tuple[Leftover, ...], system_namespace: str) -> dict[str, str]:
    """What is waited for beside remediations."""
    waited_for = [one for one in leftovers if may_pass(one) and not isinstance(one, StillOpen)]
    explained = [explain(one, system_namespace) for one in waited_for]
    return {said.what: f"{said.what}: {said.because}" for said in explained}


def news(before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    for key, line in now.items():
        if before.get(key) != line:
            yield line


def _line(remediation: Remediation) -> str:
    phase = remediation.status.phase
    return f"{node_of(remediation)}: {title(remediation)} is ending, {phase}: {waits_for(remediation)}"
