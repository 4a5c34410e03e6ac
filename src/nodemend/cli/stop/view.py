"""What `kubectl mend stop` says."""

from dataclasses import dataclass

from nodemend.api import keys
from nodemend.api.manual_remediation import ManualRemediation


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """One remediation, and how it ends."""

    node: str
    namespace: str
    check: str
    phase: str
    ends: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One that goes on, and why."""

    node: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StopView:
    """`paused` when the cluster is paused with it."""

    stopped: tuple[Stopped, ...]
    failed: tuple[Failed, ...]
    paused: bool
    pause_reason: str
    dry_run: bool


def stopped_view(remediation: ManualRemediation) -> Stopped:
    metadata = remediation.metadata
    return Stopped(
        node=metadata.name,
        namespace=metadata.namespace,
        check=metadata.labels.get(keys.CHECK, ""),
        phase="Ending" if metadata.deleting else remediation.status.phase,
        ends=_ends(remediation),
    )


def _ends(remediation: ManualRemediation) -> str:
    status = remediation.status
    if remediation.metadata.deleting:
        return "was ending already"
    if status.released:
        return "ends; its workloads run elsewhere, and the node is waited for no longer"
    if status.evidence is not None:
        return "ends once its taint is off the node; what was released by then runs elsewhere"
    return "ends at once; nothing was released"
