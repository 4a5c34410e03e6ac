"""Mistakes that a restored etcd brings to light: each takes away one thing that keeps old evidence out."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from math import inf
from typing import Any, Final

from nodemend.agent.memory import Memory
from nodemend.controllers.manual_remediation import act as manual_act
from nodemend.controllers.manual_remediation import gather as manual_gather
from nodemend.controllers.power_cycle import act as power_act
from nodemend.controllers.remediating import writes
from nodemend.controllers.self_remediation import act as self_act
from nodemend.decide import (
    manual_remediation,
    power_cycle_phases,
    remediation_life,
    self_remediation,
    self_remediation_fencing,
    self_remediation_release,
)
from nodemend.decide.remediation_steps import Stamp
from nodemend.decide.time_proof import Over
from nodemend.kube import leader_lease, leader_memory
from nodemend.kube.leader_lease import LeaderLease
from nodemend.kube.write_gate import WriteGate
from tests.restore.run import play

Mutant = Callable[[], None]


def _replace(where: object, name: str, value: object) -> None:
    setattr(where, name, value)


def _agents_compare_nothing() -> None:
    """An agent does not notice that its Lease went back."""
    _replace(Memory, "compare", lambda self, _who, _report: self)


def _no_peer_need_vouch() -> None:
    """Time proves a boot over though no peer remembers its last report."""
    _replace(self_remediation_fencing, "unvouched", lambda *_: None)


def _agents_are_taken_for_gates() -> None:
    """Whatever a new boot reports under a marker, its kubelet is taken to be held back."""
    _replace(self_remediation_release, "_weigh_new_boot", lambda *_: Over())


def _any_answer_of_a_gate_counts() -> None:
    """An answer to an earlier leader is as good as one to this."""
    weigh = vars(self_remediation_release)["_weigh_new_boot"]

    def believe(facts: Any, node: Any, agent: Any, report: Any) -> Any:
        return weigh(facts, node, agent, report) if report.answers is None else Over()

    _replace(self_remediation_release, "_weigh_new_boot", believe)


def _epochs_alone_are_compared() -> None:
    """A later term trusts whatever an earlier one recorded."""
    begin = remediation_life.begin

    def trusting(facts: Any) -> Any:
        behind = 0 < facts.remediation.status.epoch < facts.epoch
        return Stamp() if behind and not facts.remediation.metadata.deleting else begin(facts)

    for module in (manual_remediation, power_cycle_phases, self_remediation):
        _replace(module, "begin", trusting)


def _recorded_evidence_is_trusted() -> None:
    """Only what was gathered on the way to evidence is forgotten."""
    _replace(remediation_life, "_disown", lambda _facts: None)


def _gathered_facts_are_trusted() -> None:
    """Only evidence is forgotten, not what was gathered on the way to it."""
    for module in (manual_act, power_act, self_act):
        after = vars(module)["after"]

        def forgetting_nothing(status: Any, step: Any, *, _after: Any = after, **told: Any) -> Any:
            return _after(status, Stamp() if isinstance(step, Stamp) else step, **told)

        _replace(module, "after", forgetting_nothing)


def _words_are_trusted() -> None:
    """A person's word counts, whoever was there when it was given."""
    facts = vars(manual_gather)["ManualFacts"]
    _replace(manual_gather, "ManualFacts", lambda **told: facts(**{**told, "remembers_for": inf}))


def _terms_are_not_confirmed() -> None:
    """A leader releases without having renewed its Lease after it decided."""

    async def at_once(_self: WriteGate, _deadline: float) -> bool:
        return True

    _replace(WriteGate, "_confirm", at_once)


def _a_fall_of_the_leaders_lease_is_ignored() -> None:
    """A leader goes on though its Lease went back, and remembers from before that."""
    remember = vars(LeaderLease)["_remember"]

    def forgetful(self: Any, event: Any, now: float) -> bool:
        before = vars(self)["_memory"]
        if remember(self, event, now) and before is not None:
            _replace(self, "_memory", before)
            _replace(self, "_restored", "")
        return False

    _replace(LeaderLease, "_remember", forgetful)


def _a_record_that_is_first_seen_is_believed() -> None:
    """A process that starts after a restore remembers what a leader in the backup remembered."""
    begin = leader_memory.begin_memory

    def believing(record: Any, **told: Any) -> Any:
        known = begin(record, **told)
        return replace(known, remembers_from=record.remembers_from or known.remembers_from)

    for module in (leader_memory, leader_lease):
        _replace(module, "begin_memory", believing)


def _leaders_answer_for_what_they_find_at_once() -> None:
    """A leader that does not know yet of a restore stamps what the backup shows with its epoch."""
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
        _gathered_facts_are_trusted,
        _words_are_trusted,
        _terms_are_not_confirmed,
        _a_fall_of_the_leaders_lease_is_ignored,
        _a_record_that_is_first_seen_is_believed,
        _leaders_answer_for_what_they_find_at_once,
    )
}


def catch(name: str, seeds: Iterable[int]) -> int | None:
    """The first seed that shows the mistake. In a process of its own: it is not undone."""
    MUTANTS[name]()
    return next((seed for seed in seeds if play(seed).broken), None)
