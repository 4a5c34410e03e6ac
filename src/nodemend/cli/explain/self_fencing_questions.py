"""What stands between a node that is to reset itself and its healing, by the status of its remediation."""

from collections.abc import Iterator

from nodemend.api.self_remediation import Phase, SelfRemediation, SelfRemediationStatus
from nodemend.cli.explain.step_words import spell_left
from nodemend.cli.explain.view import Answer, Question
from nodemend.decide.remediation_steps import Left


def ask_of_self_fencing(remediation: SelfRemediation) -> Iterator[Question]:
    status = remediation.status
    answers = (
        ("marked", "asked to reset itself", _marked(status)),
        ("proven", "its boot is over", _over(status)),
        ("released", "workloads have left", _released(status)),
        ("back", "back on a new boot", _back(status)),
    )
    for key, asked, (answer, because) in answers:
        yield Question(key=key, asked=asked, answer=answer, because=because)


def _marked(status: SelfRemediationStatus) -> tuple[Answer, str]:
    if status.marked is not None:
        return Answer.YES, f"boot {status.boot_id}, by the marker on its Lease in nodemend-agents"
    return (Answer.OPEN if status.phase is Phase.PENDING else Answer.NO), ""


def _over(status: SelfRemediationStatus) -> tuple[Answer, str]:
    if status.evidence is not None:
        return Answer.YES, f"{status.evidence.class_}, {status.evidence.by}: {status.evidence.reason}"
    if status.contradicted:
        return Answer.NO, "that boot spoke after it was proven to be over"
    if status.marked is None:
        return Answer.OPEN, ""
    if status.safe_time_seconds:
        return Answer.NO, f"{status.proven_seconds} s of {status.safe_time_seconds} s are proven"
    return Answer.NO, "it has not reported a new boot"


def _released(status: SelfRemediationStatus) -> tuple[Answer, str]:
    if status.released:
        return Answer.YES, ""
    if status.evidence is None:
        return Answer.OPEN, ""
    left = Left(status.pods_left, status.attachments_left)
    return Answer.NO, f"{spell_left(left)} still on it" if left.pods or left.attachments else ""


def _back(status: SelfRemediationStatus) -> tuple[Answer, str]:
    if status.phase is Phase.SUCCEEDED:
        return Answer.YES, ""
    return (Answer.NO, "") if status.released else (Answer.OPEN, "")
