"""What happens to the node, in lines for people: told when it changes, and not again while it lasts."""

from collections import Counter
from typing import Final

from nodemend.agent.memory import Memory
from nodemend.agent.published import Names, names
from nodemend.agent.self_watch_steps import AskPeers, Command, Condemn, Event, PeerSaid, RoundOver, StandDown
from nodemend.api.agent_lease import UNSUPPORTED, AgentReport, WatchdogReport
from nodemend.decide.peer_verdict import Answer
from nodemend.kube.agent_lease import Failed, Found, Missing
from nodemend.telemetry.log_lines import Log

_TELL_AFTER: Final = 3
"""Failures in a row. One or two are no news: a server that is restarted, a reply that was lost."""


class WatchLog:
    """A Listener. With everything well it says two lines at the start, and nothing after that."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self._failures = 0
        self._out_since: float | None = None
        self._known = False
        self._peers: Names | None = None
        self._watchdog: WatchdogReport | None = None
        self._answers: Counter[Answer] = Counter()
        self._told_kinds: frozenset[Answer] | None = None

    def stepped(self, event: Event, commands: tuple[Command, ...], memory: Memory, now: float) -> None:
        match event:
            case Found(lease):
                self._reached(lease.report, memory, now)
            case Failed(why):
                self._failed(why, memory, now)
            case Missing():
                self._log.info("this node has no Lease with us yet: it is made")
            case PeerSaid(_, _, answer):
                self._answers[answer] += 1
            case _:
                pass
        if isinstance(event, PeerSaid | RoundOver) and commands:
            self._heard_peers(commands, memory, now)
        for command in commands:
            match command:
                case Condemn(why):
                    self._log.error("this boot is to end: its watchdog is never fed again", why=why)
                case StandDown():
                    self._log.info(
                        "stood down: the watchdog is fed without an agent, and nothing rests on it"
                    )
                case _:
                    pass

    def _reached(self, report: object, memory: Memory, now: float) -> None:
        """The Lease as read, or as we just wrote it."""
        self._failures, self._told_kinds = 0, None
        if self._out_since is not None:
            self._log.info("the API server is reached again", after_seconds=round(now - self._out_since, 1))
            self._out_since = None
        if memory.contact is None or not isinstance(report, AgentReport):
            return
        if not self._known:
            self._known = True
            self._log.info(
                "the API server knows this boot", boot_id=report.boot_id, boot_gate=report.boot_gate
            )
        if report.watchdog != self._watchdog:
            self._tell_watchdog(report.watchdog)
        if names(memory.conduct.peers) != self._peers:
            self._peers = names(memory.conduct.peers)
            self._log.info("peers to ask", count=len(self._peers), names=", ".join(self._peers))

    def _tell_watchdog(self, found: WatchdogReport) -> None:
        self._watchdog = found
        if found.class_ == UNSUPPORTED:
            self._log.warning("no release can rest on this node's watchdog", why=found.why)
        else:
            told = {"watchdog": found.class_, "driver": found.driver, "resets_after_seconds": found.effective}
            self._log.info("this node ends itself when nobody vouches for it", **told)

    def _failed(self, why: str, memory: Memory, now: float) -> None:
        self._failures += 1
        if self._failures == _TELL_AFTER:
            self._out_since = now
            left = round(max(0.0, memory.fed_until - now), 1)
            self._log.warning("the API server is not reached", why=why, fed_for_seconds=left)

    def _heard_peers(self, commands: tuple[Command, ...], memory: Memory, now: float) -> None:
        """A round is over, with a verdict.

        Told when peers say something else than before. How many say it changes with whom we begin.
        """
        if any(isinstance(one, AskPeers) for one in commands):
            return  # The others are asked now.
        answers, self._answers = self._answers, Counter()
        kinds = frozenset(answers) - {Answer.SILENT}
        if kinds == self._told_kinds:
            return
        self._told_kinds = kinds
        told = {answer.value.lower().replace("-", "_"): count for answer, count in answers.items()}
        left = round(max(0.0, memory.fed_until - now), 1)
        self._log.warning("peers were asked", fed_for_seconds=left, asked=len(memory.conduct.peers), **told)
