"""What `kubectl mend stop` says."""

from dataclasses import dataclass

from nodemend.api import keys, self_remediation
from nodemend.api.power_cycle import Metal3Remediation, Phase
from nodemend.api.self_remediation import SelfRemediation
from nodemend.cli.remediations import Remediation, node_of


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


def stopped_view(remediation: Remediation) -> Stopped:
    metadata = remediation.metadata
    return Stopped(
        node=node_of(remediation),
        namespace=metadata.namespace,
        check=metadata.labels.get(keys.CHECK, ""),
        phase="Ending" if metadata.deleting else remediation.status.phase,
        ends=_ends(remediation),
    )


def _ends(remediation: Remediation) -> str:
    status = remediation.status
    if remediation.metadata.deleting:
        return "was ending already"
    if isinstance(remediation, Metal3Remediation):
        return _ends_with_power(remediation)
    if isinstance(remediation, SelfRemediation):
        return _ends_with_marker(remediation)
    if status.released:
        return "ends; its workloads run elsewhere, and the node is waited for no longer"
    if status.evidence is not None:
        return "ends once its taint is off the node; what was released by then runs elsewhere"
    return "ends at once; nothing was released"


def _ends_with_power(remediation: Metal3Remediation) -> str:
    """As decide/power_cycle_ends has it: what is begun to be released is released first."""
    match remediation.status.phase:
        case Phase.RELEASE:
            return "ends once its workloads have left the node and its host is on again"
        case Phase.CONTRADICTED:
            return "ends once its host is on again; its workloads may run twice"
        case Phase.POWER_ON | Phase.DELETING_MACHINE:
            return "ends once its host is on again; its workloads run elsewhere"
        case Phase.POWER_OFF:
            return "ends once its host is on again; nothing was released"
        case _:
            return "ends at once; its host is left alone"


def _ends_with_marker(remediation: SelfRemediation) -> str:
    """As decide/self_remediation has it: first the Node, then the marker. A reset is not called back."""
    status = remediation.status
    if status.released:
        return (
            "ends once its marker is off; its workloads run elsewhere, and the node is waited for no longer"
        )
    if status.evidence is not None:
        return "ends once its taint and its marker are off; what was released by then runs elsewhere"
    if status.phase is self_remediation.Phase.PENDING:
        return "ends at once; nothing was asked of the node"
    return "ends once its marker is off; nothing was released, and the node may have reset itself"
