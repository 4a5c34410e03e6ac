"""A remediation of the node: how far it is, its evidence and its lock, and what it waits for. Pure."""

from collections.abc import Iterator
from typing import Final

from nodemend.api import keys
from nodemend.api.conditions import find
from nodemend.api.power_cycle import Metal3Remediation, Strategy
from nodemend.api.power_cycle import Phase as PowerPhase
from nodemend.api.self_remediation import SelfRemediation, SelfRemediationStatus
from nodemend.cli.node_case import NodeCase, is_ready
from nodemend.cli.remediations import Remediation, is_open, resource_of
from nodemend.cli.tree.view import Branch
from nodemend.cli.words import spell_seconds
from nodemend.cli.written_ages import age_of
from nodemend.decide.explanation import spell_count
from nodemend.decide.facts import Absent, Present, Unreadable

SHOWN: Final = 8
"""So many pods or volumes are named; of the rest, how many."""


def remediation_branches(case: NodeCase) -> Iterator[Branch]:
    for one in case.remediations:
        yield _remediation(case, one)
    if _nothing_is_done(case):
        waiting = tuple(_named(case))
        if waiting and not is_ready(case):
            says = (_counted(case), "nothing releases them")
            yield Branch(kind="Workloads", state="on it", says=says, children=waiting)


def _nothing_is_done(case: NodeCase) -> bool:
    """As far as can be seen, and all can be seen."""
    unseen = any(isinstance(kind, Unreadable) for kind in (case.manual, case.power, case.by_itself))
    return not unseen and not any(map(is_open, case.remediations))


def _remediation(case: NodeCase, remediation: Remediation) -> Branch:
    metadata, status = remediation.metadata, remediation.status
    return Branch(
        kind=resource_of(remediation).kind,
        name=metadata.name,
        namespace=metadata.namespace,
        state="Ending" if metadata.deleting else status.phase,
        says=tuple(said.removesuffix(".") for said in _says(case, remediation)),
        children=tuple(_below(case, remediation)),
    )


def _says(case: NodeCase, remediation: Remediation) -> Iterator[str]:
    metadata, status = remediation.metadata, remediation.status
    if metadata.deleting:
        yield f"was {status.phase}"
    if (age := age_of(metadata.creation_timestamp, case.now)) is not None:
        yield f"begun {spell_seconds(age)} ago"
    if isinstance(remediation, Metal3Remediation):
        yield from _attempts(remediation)
    if check := metadata.labels.get(keys.CHECK, ""):
        yield f"asked for by nhc/{check}"
    if by := metadata.annotations.get(keys.ORDERED_BY, ""):
        yield f"ordered by {by}"
    if status.message:
        yield status.message


def _attempts(remediation: Metal3Remediation) -> Iterator[str]:
    spec, status = remediation.spec, remediation.status
    over = status.phase in (PowerPhase.SUCCEEDED, PowerPhase.FAILED, PowerPhase.DELETING_MACHINE)
    if over:
        yield spell_count(status.retry_count, "attempt") + " failed" if status.retry_count else "at once"
    elif spec.strategy is Strategy.ESCALATE:
        yield f"attempt {status.retry_count + 1} of {1 + spec.delete_after_retries}"
    else:
        yield f"attempt {status.retry_count + 1}"


def _below(case: NodeCase, remediation: Remediation) -> Iterator[Branch]:
    if isinstance(remediation, SelfRemediation):
        yield from _proof(remediation.status)
    yield _evidence(case, remediation)
    if not is_open(remediation):
        return
    yield _lock(case, remediation)
    if remediation.status.released:
        yield Branch(kind="Workloads", state="gone from it", says=("they may run elsewhere",))
        return
    waits = "leaving" if remediation.status.evidence is not None else "held back until there is evidence"
    yield Branch(
        kind="Workloads", state=waits, says=(_counted(case, remediation),), children=tuple(_named(case))
    )


def _proof(status: SelfRemediationStatus) -> Iterator[Branch]:
    """By time, as far as it was counted; once there is evidence, that says all."""
    if status.contradicted:
        says = (f"boot {status.boot_id} spoke after it was proven to be over",)
        yield Branch(kind="Proof", state="contradicted", says=says)
    elif status.evidence is None and status.safe_time_seconds:
        counted = [f"{one.name} {one.milliseconds // 1000} s" for one in status.proven]
        yield Branch(
            kind="Proof",
            state=f"{status.proven_seconds} s of {status.safe_time_seconds} s",
            says=(f"covered by its peers: {', '.join(counted)}" if counted else "no peer is covered",),
        )


def _evidence(case: NodeCase, remediation: Remediation) -> Branch:
    evidence = remediation.status.evidence
    if evidence is None:
        return Branch(kind="Evidence", state="none", says=("nothing may be released",))
    fenced = find(remediation.status.conditions, "Fenced")
    stands = fenced is not None and fenced.status == "True"
    said = [f"{evidence.by}: {evidence.reason}"]
    if (silent := age_of(evidence.last_renew_time, case.now)) is not None:
        said.append(f"the kubelet had last spoken {spell_seconds(silent)} ago")
    if not stands:
        said.append("of the past: the node may run again")
    age = age_of(fenced.last_transition_time, case.now) if fenced is not None and stands else None
    return Branch(kind="Evidence", state=evidence.class_, for_seconds=age, says=tuple(said))


def _lock(case: NodeCase, remediation: Remediation) -> Branch:
    match case.lock:
        case Present(lock) if lock.spec.holder_identity == remediation.metadata.uid:
            return Branch(kind="Lock", state="has it")
        case Present(lock):
            holder = lock.metadata.annotations.get(keys.HOLDER, "") or lock.spec.holder_identity or "somebody"
            return Branch(kind="Lock", state="waits for it", says=(f"{holder} has it",))
        case Absent():
            return Branch(kind="Lock", state="nobody has it")
        case Unreadable():
            return Branch(kind="Lock", state="unknown")


def _counted(case: NodeCase, remediation: Remediation | None = None) -> str:
    """What is on the node, as seen now; as the remediation last told where the caller may not see it."""
    pods, volumes = case.pods, case.volumes
    if isinstance(pods, Present) and isinstance(volumes, Present):
        return _spell(len(pods.value), len(volumes.value))
    if remediation is None or remediation.status.evidence is None:
        return "how many cannot be seen"
    status = remediation.status
    return f"{_spell(status.pods_left, status.attachments_left)}, as the remediation tells"


def _spell(pods: int, volumes: int) -> str:
    return f"{spell_count(pods, 'pod')} and {spell_count(volumes, 'volume')}"


def _named(case: NodeCase) -> Iterator[Branch]:
    pods = case.pods.value if isinstance(case.pods, Present) else []
    volumes = case.volumes.value if isinstance(case.volumes, Present) else []
    by_pod = [
        Branch(
            kind="Pod",
            name=one.metadata.name,
            namespace=one.metadata.namespace,
            state="Terminating" if one.metadata.deleting else one.status.phase,
        )
        for one in pods
    ]
    by_volume = [
        Branch(
            kind="VolumeAttachment",
            name=one.metadata.name,
            state="detaching" if one.metadata.deleting else "attached",
        )
        for one in volumes
    ]
    yield from _few(by_pod, "pod")
    yield from _few(by_volume, "volume attachment")


def _few(branches: list[Branch], what: str) -> Iterator[Branch]:
    shown = branches if len(branches) <= SHOWN else branches[: SHOWN - 1]
    yield from shown
    if len(branches) > len(shown):
        yield Branch(kind="More", state=spell_count(len(branches) - len(shown), f"more {what}"))
