"""Bugs that a restored etcd reveals: each removes one mechanism that keeps out old evidence."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf
from typing import Any, Final

from nodemend.agent.state import AgentState
from nodemend.kube import leader_election
from nodemend.kube.leader_election import LeaderLease
from nodemend.kube.leader_runner import LeaderTransport
from nodemend.remediation import writes
from nodemend.remediation.manual import controller as manual_act
from nodemend.remediation.manual import decide
from nodemend.remediation.metal3 import controller as power_act
from nodemend.remediation.metal3 import decide as power_cycle_phases
from nodemend.remediation.self_fencing import controller as self_act
from nodemend.remediation.self_fencing import decide as self_remediation
from nodemend.safety import lifecycle
from nodemend.safety.lifecycle import RecordEpoch
from nodemend.safety.time_proof import BootOver
from tests.campaigns.restore.run import play

Mutant = Callable[[], None]


def _replace(where: object, name: str, value: object) -> None:
    if not hasattr(where, name):
        raise AttributeError(f"{where} has no {name} to replace")
    setattr(where, name, value)


def _agents_compare_nothing() -> None:
    """An agent does not notice that its Lease went back."""
    _replace(AgentState, "compare", lambda self, _who, _report: self)


def _no_peer_need_vouch() -> None:
    """Time proves a boot over although no peer remembers its last report."""
    _replace(self_remediation, "unvouched", lambda *_: None)


def _agents_are_taken_for_gates() -> None:
    """Any report of a new boot under a marker counts as proof that its kubelet is held back."""
    _replace(self_remediation, "_evaluate_new_boot", lambda *_: BootOver())


def _any_answer_of_a_gate_counts() -> None:
    """An answer to an earlier leader counts like one to this leader."""
    evaluate = vars(self_remediation)["_evaluate_new_boot"]

    def believe(facts: Any, node: Any, agent: Any, report: Any) -> Any:
        return evaluate(facts, node, agent, report) if report.answers is None else BootOver()

    _replace(self_remediation, "_evaluate_new_boot", believe)


def _epochs_alone_are_compared() -> None:
    """A later leader trusts all records of an earlier one."""
    begin = lifecycle.begin

    def trusting(facts: Any) -> Any:
        behind = 0 < facts.remediation.status.epoch < facts.epoch
        return RecordEpoch() if behind and not facts.remediation.metadata.deleting else begin(facts)

    for module in (decide, power_cycle_phases, self_remediation):
        _replace(module, "begin", trusting)


def _recorded_evidence_is_trusted() -> None:
    """Only what was gathered on the way to evidence is forgotten."""
    _replace(lifecycle, "_disown", lambda _facts: None)


def _inputs_are_trusted() -> None:
    """Only evidence is forgotten, not what was gathered on the way to it."""
    for module in (manual_act, power_act, self_act):
        after = vars(module)["after"]

        def forgetting_nothing(status: Any, step: Any, *, _after: Any = after, **reported: Any) -> Any:
            return _after(status, RecordEpoch() if isinstance(step, RecordEpoch) else step, **reported)

        _replace(module, "after", forgetting_nothing)


def _words_are_trusted() -> None:
    """A confirmation counts regardless of the leader at its time."""
    facts = vars(manual_act)["ManualFacts"]
    _replace(manual_act, "ManualFacts", lambda **reported: facts(**{**reported, "remembers_for": inf}))


def _terms_are_not_confirmed() -> None:
    """A leader releases without renewing its Lease after the decision."""

    async def at_once(_self: LeaderTransport, _deadline: float) -> bool:
        return True

    _replace(LeaderTransport, "_confirm", at_once)


def _a_fall_of_the_leaders_lease_is_ignored() -> None:
    """A leader continues although its Lease went back, and remembers state from before."""
    remember = vars(LeaderLease)["_remember"]

    def forgetful(self: Any, event: Any, now: float) -> bool:
        before = vars(self)["_memory"]
        if remember(self, event, now) and before is not None:
            _replace(self, "_memory", before)
            _replace(self, "_restored", "")
        return False

    _replace(LeaderLease, "_remember", forgetful)


def _a_record_that_is_first_seen_is_accepted() -> None:
    """A process that starts after a restore adopts the memory of a leader in the backup."""
    begin = leader_election.begin_memory

    def believing(record: Any, **reported: Any) -> Any:
        known = begin(record, **reported)
        return replace(known, remembers_from=record.remembers_from or known.remembers_from)

    _replace(leader_election, "begin_memory", believing)


def _leaders_answer_for_what_they_find_at_once() -> None:
    """A leader that has not noticed a restore yet stamps the backup's state with its epoch."""
    confirmed = vars(writes)["as_confirmed"]
    _replace(
        writes, "as_confirmed", lambda write: write if write.path.endswith("/status") else confirmed(write)
    )


MUTANTS: Final[dict[str, Mutant]] = {
    mutant.__name__.strip("_").replace("_", " "): mutant
    for mutant in (
        _agents_compare_nothing,
        _no_peer_need_vouch,
        _agents_are_taken_for_gates,
        _any_answer_of_a_gate_counts,
        _epochs_alone_are_compared,
        _recorded_evidence_is_trusted,
        _inputs_are_trusted,
        _words_are_trusted,
        _terms_are_not_confirmed,
        _a_fall_of_the_leaders_lease_is_ignored,
        _a_record_that_is_first_seen_is_accepted,
        _leaders_answer_for_what_they_find_at_once,
    )
}


def catch(name: str, seeds: Iterable[int]) -> int | None:
    """The first seed that reveals the bug. Run it in a separate process, since it is not undone."""
    MUTANTS[name]()
    return next((seed for seed in seeds if play(seed).broken), None)
