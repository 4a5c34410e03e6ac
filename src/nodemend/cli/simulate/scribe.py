"""Writes the story of a simulation while it happens."""

from collections.abc import Sequence
from typing import Final

from nodemend.api.conditions import ConditionStatus
from nodemend.cli.finding_words import spell_met
from nodemend.cli.simulate.checker import Case
from nodemend.cli.simulate.spells import sort_of
from nodemend.cli.simulate.story import Attempt, Ending, Story, What
from nodemend.decide.guard_facts import Census
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import HoldReason
from nodemend.decide.node_health import Unhealthy
from nodemend.decide.remediation_request import Escalate, Withdraw
from nodemend.kube.remediation_record import RemediationRecord

_WEATHERS: Final = {
    "Raging": (What.STORM, "the guard closes where too many are"),
    "Settling": (What.SETTLE, "the storm is over"),
    "": (What.CALM, "it has settled"),
}


class Scribe:
    """Knows since when who is unhealthy, and which remediations are under way."""

    def __init__(self, story: Story) -> None:
        self._story = story
        self._unhealthy_since: dict[str, float] = {}
        self._attempts: dict[str, Attempt] = {}
        self._weather = ""

    def weather(self, weather: str, census: Census, now: float) -> bool:
        """True when it has changed."""
        if weather == self._weather:
            return False
        what, said = _WEATHERS[weather]
        self._story.tell(now, what, why=f"{said}; {census.unhealthy} of {census.total} are not healthy")
        self._weather = weather
        return True

    def judged(self, case: Case, now: float) -> None:
        name = case.target.node.name
        if not isinstance(case.health, Unhealthy):
            self._unhealthy_since.pop(name, None)
        elif name not in self._unhealthy_since:
            self._unhealthy_since[name] = now
            self._story.tell(now, What.UNHEALTHY, name, why=spell_met(case.health.match))

    def held(self, names: Sequence[str], reason: HoldReason, now: float) -> None:
        news = self._story.spells.hold(names, reason, now)
        if news:
            why, word = explain(reason).sentence, type(reason).__name__
            self._story.tell(now, What.HOLD, *news, why=why, reason=word, sort=sort_of(reason))

    def freed(self, name: str, now: float) -> None:
        self._story.spells.free(name, now)

    def begun(self, case: Case, record: RemediationRecord, number: int, *, waited: float, now: float) -> None:
        name = record.name
        self.freed(name, now)
        attempt = Attempt(
            node=name,
            check=case.target.check.metadata.name,
            remedy=record.resource.kind,
            number=number,
            unhealthy_at=self._unhealthy_since.get(name, now),
            waited=waited,
            begun_at=now,
        )
        self._attempts[record.uid] = attempt
        self._story.attempts.append(attempt)
        several = len(case.target.check.spec.remedies) > 1
        why = f"remedy {number}, {attempt.remedy}" if several else ""
        self._story.tell(now, What.BEGIN, name, why=why)

    def withdrawn(self, record: RemediationRecord, request: Withdraw | Escalate, now: float) -> None:
        what, ending = What.WITHDRAW, Ending.WITHDRAWN
        if isinstance(request, Escalate):
            what, ending = What.GIVE_UP, Ending.GIVEN_UP
        elif record.says("Succeeded") == ConditionStatus.TRUE:
            what, ending = What.CLOSE, Ending.HEALED
        self._story.tell(now, what, record.name)
        attempt = self._attempts.pop(record.uid, None)
        if attempt is not None:
            attempt.over_at, attempt.ending = now, ending
