"""Tells of every step and every hold of a Metal3Remediation."""

from collections.abc import Callable, Sequence
from typing import Final

from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.event import ObjectReference
from nodemend.api.group_versions import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.api.power_cycle import Metal3Remediation, Phase
from nodemend.controllers.power_cycle.figures import PowerFigures
from nodemend.controllers.remediating.teller import Subject, Teller, Told, spell_taint
from nodemend.decide import power_cycle_steps as power
from nodemend.decide import remediation_steps as steps
from nodemend.decide.contradiction import is_contradiction, says_contradicted
from nodemend.decide.hold_explanations import explain
from nodemend.decide.holds import Hold
from nodemend.kube.event_book import Happening
from nodemend.kube.ports import Runtime
from nodemend.telemetry import event_reasons
from nodemend.telemetry.host_book import HeldFor
from nodemend.telemetry.log_format import Log
from nodemend.telemetry.metrics import Metrics
from nodemend.telemetry.printable import printable

CONTROLLER: Final = "power_cycle"
_ONLY_REPORTS = steps.Stamp | steps.ReportLeft


class PowerCycleRecorder:
    """The Recorder of the controller. `record` takes an event, and never waits or fails."""

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[Happening], None], runtime: Runtime
    ) -> None:
        self._teller = Teller(CONTROLLER, log, metrics, record, runtime)
        self._figures = PowerFigures(metrics, runtime)
        self._log = log
        self._record = record

    def took(self, remediation: Metal3Remediation, step: power.Step) -> None:
        self._figures.took(remediation, step)
        told = (
            _tell_deletion(remediation, step)
            or _tell_power(remediation, step)
            or _tell_release(remediation, step)
        )
        released = remediation.status.released
        if isinstance(step, power.GiveUp) and is_contradiction(step.why, released=released):
            self._teller.contradicted(_subject(remediation), str(explain(step.why)), first=True)
        if isinstance(step, steps.ForgetEvidence | steps.MarkReleased) and step.contradicted:
            self._teller.broke_off(_subject(remediation))
        ends_hold = not isinstance(step, _ONLY_REPORTS)
        self._teller.took(_subject(remediation), type(step).__name__, told, ends_hold=ends_hold)

    def held(self, remediation: Metal3Remediation, hold: Hold) -> None:
        self._teller.held(_subject(remediation), hold)

    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None:
        self._figures.looked(hosts, held)

    def left_behind(self, host: BareMetalHost, why_kept: str) -> None:
        self._figures.left_behind(kept=why_kept != "")
        metadata = host.metadata
        after = f"It stays: {why_kept}." if why_kept else "It is taken off, and the host may go on."
        said = (
            f"{metadata.namespace}/{metadata.name} is held off by us for a remediation that is gone. {after}"
        )
        self._log.warning("hold left behind", host=metadata.name, namespace=metadata.namespace, note=said)
        self._record(
            Happening(
                regarding=ObjectReference(
                    api_version=BARE_METAL_HOST.api_version,
                    kind=BARE_METAL_HOST.kind,
                    name=metadata.name,
                    namespace=metadata.namespace,
                    uid=metadata.uid,
                ),
                related=None,
                type=event_reasons.HOLD_LEFT_BEHIND.type,
                reason=event_reasons.HOLD_LEFT_BEHIND.word,
                action=event_reasons.HOLD_LEFT_BEHIND.action,
                note=printable(said),
            )
        )


def _subject(remediation: Metal3Remediation) -> Subject:
    metadata, status = remediation.metadata, remediation.status
    node = status.node_name or metadata.name
    twice = says_contradicted(status.conditions)
    return Subject(METAL3_REMEDIATION, metadata, node, status.node_uid, status.released, twice)


def _tell_power(remediation: Metal3Remediation, step: power.Step) -> Told | None:
    """What people should hear about the host."""
    match step:
        case power.PlaceHold(host):
            return Told(event_reasons.POWER_OFF_REQUESTED, f"{host} is to be switched off.")
        case power.GiveBack(host):
            return Told(event_reasons.POWER_ON_REQUESTED, f"Our hold on {host} is gone: it may go on.")
        case power.GiveUp(why, for_good=False):
            return Told(event_reasons.POWER_CYCLE_FAILED, f"{explain(why)} It is tried again.")
        case power.GiveUp(why, for_good=True):
            return Told(event_reasons.REMEDIATION_FAILED, str(explain(why)))
        case power.MarkHost(host):
            return Told(event_reasons.HOST_MARKED_UNHEALTHY, f"{host} is not picked for another machine.")
        case power.AskOwner():
            said = "Power cycles did not help: the machine's owner is asked to replace it."
            return Told(event_reasons.MACHINE_HANDED_OVER, said)
        case steps.DropFinalizer(still_off=still_off) if still_off:
            said = f"Deleted, and ended at its safe point; {still_off} has not come back on."
            return Told(event_reasons.POWER_NOT_BACK, said)
        case steps.DropFinalizer() if remediation.status.phase not in (Phase.SUCCEEDED, Phase.FAILED):
            return Told(event_reasons.REMEDIATION_STOPPED, "Deleted, and ended at its safe point.")
        case _:
            return None


def _tell_deletion(remediation: Metal3Remediation, step: power.Step) -> Told | None:
    """What people should hear where the Node itself is deleted."""
    name, backup = remediation.status.node_name, remediation.status.backup
    match step:
        case power.DeleteNode(ticket):
            said = f"The Node {name} is deleted: its pods and volumes are released, as"
            return Told(event_reasons.RELEASE_STARTED, f"{said} {ticket.evidence.by} is off.")
        case power.Restore(_, missing):
            said = f"The Node {name} is there again, and gets back: {', '.join(missing.parts)}."
            return Told(event_reasons.NODE_RESTORED, said)
        case power.ForgetBackup(refused) if refused and backup is not None:
            said = f"The Node {name} did not get back what it had ({refused}): {', '.join(backup.parts)}."
            return Told(event_reasons.NODE_NOT_RESTORED, said)
        case steps.DropFinalizer(still_off, lost) if lost:
            off = f", nor has {still_off} come back on" if still_off else ""
            said = f"The Node {name} has not come back{off}. It had: {', '.join(lost)}."
            return Told(event_reasons.NODE_NOT_RESTORED, said)
        case _:
            return None


def _tell_release(remediation: Metal3Remediation, step: power.Step) -> Told | None:
    """What people should hear about the node."""
    name = remediation.status.node_name
    match step:
        case steps.RecordEvidence(evidence):
            said = f"{evidence.by} is off: {evidence.reason}."
            return Told(event_reasons.POWER_OFF_CONFIRMED, said)
        case steps.ForgetEvidence(why) if why is not None:
            return Told(event_reasons.EVIDENCE_VOIDED, str(explain(why)))
        case steps.Release(ticket):
            said = f"{name} is marked out of service: its pods and volumes are released, as"
            return Told(event_reasons.RELEASE_STARTED, f"{said} {ticket.evidence.by} is off.")
        case steps.MarkReleased(taint_stays):
            said = f"The pods and volumes of {name} are gone from it." if name else "It has been off."
            return Told(event_reasons.WORKLOADS_RELEASED, f"{said}{spell_taint(taint_stays)}")
        case steps.Untaint(contradicted=True):
            said = f"{name} may be running, although its host was seen off. Its workloads may run twice."
            return Told(event_reasons.NODE_CONTRADICTED_EVIDENCE, said)
        case steps.Untaint():
            said = f"{name} is marked out of service no longer."
            return Told(event_reasons.OUT_OF_SERVICE_TAINT_REMOVED, said)
        case steps.Close():
            return Told(event_reasons.REMEDIATION_SUCCEEDED, f"{name} is back on a new boot.")
        case _:
            return None
