"""What the status of a remediation tells of its past, as drafts. Pure."""

from collections.abc import Iterator
from datetime import datetime

from nodemend.api import keys
from nodemend.api.conditions import Condition
from nodemend.api.manual_remediation import ManualRemediation
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.api.timestamps import written_moment
from nodemend.cli.remediations import Remediation, resource_of
from nodemend.cli.timeline import drafts as states
from nodemend.cli.timeline.drafts import OVER, Begin, Draft
from nodemend.cli.timeline.view import Lane, Mark


def remediation_drafts(remediation: Remediation) -> Iterator[Draft]:
    yield from _life(remediation)
    yield from _signs_of_life(remediation)
    for condition in remediation.status.conditions:
        at = written_moment(condition.last_transition_time)
        draft = _turn(remediation, condition, at) if at is not None else None
        if draft is not None:
            yield draft


def last_life(at: datetime, source: str) -> Draft:
    return Draft(
        at=at,
        lane=Lane.NODE,
        what="Its kubelet's last sign of life.",
        source=source,
        key="last-life",
        begins=((Lane.NODE, states.SILENT), (Lane.WORKLOADS, states.HELD)),
    )


def _life(remediation: Remediation) -> Iterator[Draft]:
    metadata, source = remediation.metadata, _source(remediation)
    begun, told_to_end = (
        written_moment(metadata.creation_timestamp),
        written_moment(metadata.deletion_timestamp),
    )
    address = f"{resource_of(remediation).kind} {metadata.namespace}/{metadata.name}"
    if begun is not None:
        check = metadata.labels.get(keys.CHECK, "")
        by = f" by nhc/{check}" if check else ""
        begins = ((Lane.REMEDIATION, states.FENCE),)
        yield Draft(
            at=begun,
            lane=Lane.REMEDIATION,
            what=f"{address} was asked for{by}.",
            source=source,
            key="started",
            begins=begins,
        )
    if told_to_end is not None:
        yield Draft(
            at=told_to_end,
            lane=Lane.REMEDIATION,
            what=f"{address} is told to end.",
            source=source,
            key="deleted",
            begins=((Lane.REMEDIATION, states.ENDING),),
        )


def _signs_of_life(remediation: Remediation) -> Iterator[Draft]:
    """What it wrote down when it saw it: the last words of the kubelet, and how its host was seen off."""
    status, source = remediation.status, _source(remediation)
    spoken = {status.evidence.last_renew_time} if status.evidence is not None else set()
    if isinstance(remediation, ManualRemediation):
        spoken.add(remediation.status.last_renew_time)
    elif isinstance(remediation, Metal3Remediation) and remediation.status.seen_off is not None:
        sighting, host = remediation.status.seen_off, remediation.status.host
        spoken.add(sighting.last_renew_time)
        at = written_moment(sighting.last_updated)
        if at is not None:
            yield Draft(
                at=at,
                lane=Lane.HOST,
                what=f"{host or 'Its host'} was off, by what its operator wrote then.",
                source=f"{source}.seenOff",
                key="off",
                begins=((Lane.HOST, states.OFF),),
            )
    for text in sorted(spoken):
        renewed = written_moment(text)
        if renewed is not None:
            yield last_life(renewed, source)


def _turn(remediation: Remediation, condition: Condition, at: datetime) -> Draft | None:
    """A condition that has come true, or failed, and what began with it."""
    status, source = remediation.status, f"condition {condition.type}"
    evidence, lane = status.evidence, Lane.REMEDIATION
    match condition.type, condition.status:
        case "Fenced", "True" if evidence is not None:
            return Draft(
                at=at,
                lane=lane,
                what=f"{evidence.class_}: {evidence.by}: {evidence.reason}.",
                source=source,
                key="evidence",
                mark=Mark.EVIDENCE,
                evidence=evidence.class_,
                because=f"{evidence.by}: {evidence.reason}.",
                begins=_after_evidence(remediation),
            )
        case "WorkloadReleased", "True":
            return Draft(
                at=at,
                lane=Lane.WORKLOADS,
                what="Its pods and volumes are gone from it.",
                source=source,
                key="gone",
                evidence=evidence.class_ if evidence is not None else "",
                because=f"{evidence.by}: {evidence.reason}." if evidence is not None else "",
                begins=((Lane.WORKLOADS, states.ELSEWHERE), (lane, states.RECOVER)),
            )
        case "Succeeded", "True":
            what = status.message or "It has succeeded."
            return Draft(
                at=at,
                lane=lane,
                what=what,
                source=source,
                key="succeeded",
                begins=((lane, OVER), (Lane.HOST, OVER)),
            )
        case "Succeeded", "False":
            return Draft(
                at=at,
                lane=lane,
                what=status.message or "It has failed.",
                source=source,
                key="failed",
                mark=Mark.TROUBLE,
                begins=((lane, states.FAILED),),
            )
        case _:
            return None


def _after_evidence(remediation: Remediation) -> tuple[Begin, ...]:
    release = (Lane.REMEDIATION, states.RELEASE)
    by_power = isinstance(remediation, Metal3Remediation)
    return (release, (Lane.HOST, states.OFF)) if by_power else (release,)


def _source(remediation: Remediation) -> str:
    return f"status of {resource_of(remediation).kind}"
