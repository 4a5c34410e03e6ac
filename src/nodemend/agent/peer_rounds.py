"""One asking of peers: at most two rounds, and what was said in them."""

from dataclasses import dataclass, field

from nodemend.api.agent_lease import PeerEntry
from nodemend.decide.peer_sampling import first_round, second_round
from nodemend.decide.peer_verdict import Answer, Poll, Verdict, conclude


@dataclass(slots=True)
class PeerRounds:
    """`began` is when the first question was sent: no answer is worth more than a look at that moment."""

    peers: tuple[PeerEntry, ...]
    began: float
    healthy_wanted: int = 1
    _asked: list[PeerEntry] = field(default_factory=list)
    _said: dict[str, Answer] = field(default_factory=dict)

    def open_first(self, chance: float) -> tuple[PeerEntry, ...]:
        return self._ask(first_round(self.peers, chance))

    def open_second(self) -> tuple[PeerEntry, ...]:
        return self._ask(second_round(self.peers, self._asked))

    def note(self, peer: str, answer: Answer) -> None:
        """The first word of each counts, and only of those who were asked."""
        if any(one.name == peer for one in self._asked):
            self._said.setdefault(peer, answer)

    @property
    def all_answered(self) -> bool:
        return len(self._said) == len(self._asked)

    def conclude(self) -> Verdict:
        said = list(self._said.values())
        return conclude(
            Poll(
                peers=len(self.peers),
                healthy=said.count(Answer.HEALTHY),
                condemned=said.count(Answer.CONDEMNED),
                out_of_reach=said.count(Answer.API_OUT_OF_REACH),
                all_asked=len(self._asked) == len(self.peers),
                healthy_wanted=self.healthy_wanted,
            )
        )

    def _ask(self, chosen: tuple[PeerEntry, ...]) -> tuple[PeerEntry, ...]:
        self._asked.extend(chosen)
        return chosen
