"""Log lines, metrics and events about steps, holds and power cycles of Metal3Remediations."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from nodemend.api import well_known
from nodemend.api.metal3_remediation import Metal3Remediation, Metal3RemediationPhase
from nodemend.api.resources import BARE_METAL_HOST, METAL3_REMEDIATION
from nodemend.api.upstream_types import BareMetalHost, reference_to
from nodemend.kube.events import EventRecord, EventText
from nodemend.kube.ports import Runtime
from nodemend.remediation.metal3 import model as power
from nodemend.remediation.metal3.holds import HOST_HOLDS
from nodemend.remediation.metal3.status import OVER, spell_failure
from nodemend.remediation.reconciler import RemediationRecorder, spell_taint, tell_release
from nodemend.remediation.status import WaitingForNewBoot, is_contradiction
from nodemend.safety import lifecycle as steps
from nodemend.safety.holds import CannotRead, HoldReason, KubeletActive
from nodemend.telemetry import event_reasons, metric_labels
from nodemend.telemetry.logging import Log
from nodemend.telemetry.metrics import HeldFor, HostName, Metrics

_MOST: Final = 10_000
_ENTERED: Final = {
    steps.AddFinalizer: Metal3RemediationPhase.PENDING,
    power.PreparePowerOff: Metal3RemediationPhase.POWER_OFF,
    steps.RecordEvidence: Metal3RemediationPhase.RELEASE,
    steps.MarkReleased: Metal3RemediationPhase.POWER_ON,
    power.FailAttempt: Metal3RemediationPhase.BACKING_OFF,
    power.StartNextAttempt: Metal3RemediationPhase.PENDING,
    power.ReplaceMachine: Metal3RemediationPhase.DELETING_MACHINE,
    steps.Close: Metal3RemediationPhase.SUCCEEDED,
    steps.DropFinalizer: Metal3RemediationPhase.SUCCEEDED,
}
"""The phase that each step starts. Forgetting evidence returns to an earlier phase and starts none."""


_FAILURES: Final[tuple[type[HoldReason], ...]] = (*HOST_HOLDS, WaitingForNewBoot, KubeletActive, CannotRead)


class _OffPeriod(NamedTuple):
    """A phase and the number of failed attempts before it."""

    phase: Metal3RemediationPhase
    failed: int


class PowerCycleRecorder(RemediationRecorder[Metal3Remediation, power.Step]):
    """Also reports hosts, and power-off requests without their remediation.

    A phase that started or ended under another leader is not measured.
    """

    resource = METAL3_REMEDIATION
    controller = metric_labels.POWER_CYCLE

    def __init__(
        self, log: Log, metrics: Metrics, record: Callable[[EventRecord], None], runtime: Runtime
    ) -> None:
        super().__init__(log, metrics, record, runtime)
        self._since: dict[str, tuple[_OffPeriod, float]] = {}
        """By the UID of the remediation."""
        # Create every counter at 0: rate() misses the first increment of a new series.
        for reason in _FAILURES:
            for permanent in (metric_labels.NO, metric_labels.YES):
                metrics.power_cycle_failures.labels(reason.reason, permanent)

    def node_of(self, remediation: Metal3Remediation) -> str:
        return remediation.status.node_name or remediation.metadata.name

    def took(self, remediation: Metal3Remediation, step: power.Step) -> None:
        self._count(step)
        self._measure(remediation, step)
        released = remediation.status.released
        if isinstance(step, power.FailAttempt) and is_contradiction(step.why, released=released):
            self.contradicted(self.subject_of(remediation), str(step.why.explain()), first=True)
        super().took(remediation, step)

    def _count(self, step: power.Step) -> None:
        match step:
            case power.RequestPowerOff():
                self._metrics.power_switches.labels(metric_labels.OFF).inc()
            case power.ClearPowerOff():
                self._metrics.power_switches.labels(metric_labels.ON).inc()
            case power.FailAttempt(why, permanent):
                labels = (why.reason, metric_labels.YES if permanent else metric_labels.NO)
                self._metrics.power_cycle_failures.labels(*labels).inc()
            case _:
                pass

    def _measure(self, remediation: Metal3Remediation, step: power.Step) -> None:
        uid, status = remediation.metadata.uid, remediation.status
        entered, left = _ENTERED.get(type(step)), _OffPeriod(status.phase, status.retry_count)
        if entered is None or (isinstance(step, power.PreparePowerOff) and status.phase is entered):
            # PreparePowerOff was repeated because the host was on again: the phase started before.
            return
        now = self._runtime.monotonic()
        stay, since = self._since.pop(uid, (None, now))
        if stay == left and not isinstance(step, steps.DropFinalizer):
            result = (
                metric_labels.PHASE_FAILED
                if isinstance(step, power.FailAttempt)
                else metric_labels.PHASE_DONE
            )
            labels = (METAL3_REMEDIATION.kind, left.phase.value, result)
            self._metrics.phase_seconds.labels(*labels).observe(now - since)
        if entered is not Metal3RemediationPhase.SUCCEEDED and len(self._since) < _MOST:
            failed = left.failed + isinstance(step, power.FailAttempt)
            self._since[uid] = (_OffPeriod(entered, failed), now)

    def tell(self, remediation: Metal3Remediation, step: power.Step) -> EventText | None:
        return (
            _tell_deletion(remediation, step)
            or _tell_power(step)
            or _tell_node(remediation.status.node_name, step)
            or tell_release(
                step,
                remediation.status.node_name,
                cause=lambda evidence: f"because {evidence.by} is off",
                alive="may be running although its host was observed off",
                over=remediation.status.phase in OVER,
            )
        )

    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None:
        """Record the hosts: all were read; `held` are those with a power-off request now."""
        unhealthy = [
            HostName(host.metadata.namespace, host.metadata.name)
            for host in hosts
            if any(
                host.metadata.annotations.get(key) == well_known.MARKED_BY_US
                for key in well_known.HOST_UNHEALTHY
            )
        ]
        self._metrics.hosts.update(held, unhealthy, wall=self._runtime.wall().timestamp())

    def report_orphaned(self, host: BareMetalHost, why_kept: str) -> None:
        result = metric_labels.KEPT if why_kept else metric_labels.CLEARED
        self._metrics.power_off_requests_left_behind.labels(result).inc()
        metadata = host.metadata
        after = (
            f"Nodemend keeps it: {why_kept}."
            if why_kept
            else "Nodemend clears it, and the host may power on."
        )
        said = (
            f"{metadata.namespace}/{metadata.name} has a power-off request of Nodemend for a remediation "
            f"that no longer exists. {after}"
        )
        self._log.warning("hold left behind", host=metadata.name, namespace=metadata.namespace, note=said)
        regarding = reference_to(BARE_METAL_HOST, metadata.name, metadata.namespace, metadata.uid)
        self._record(EventText(event_reasons.POWER_OFF_REQUEST_LEFT_BEHIND, said).about(regarding))


def _tell_power(step: power.Step) -> EventText | None:
    """Return the event about the host; None if the step has none."""
    match step:
        case power.RequestPowerOff(host):
            return EventText(
                event_reasons.POWER_OFF_REQUESTED, f"Nodemend requested metal3 to power off {host}."
            )
        case power.ClearPowerOff(host):
            return EventText(
                event_reasons.POWER_ON_REQUESTED,
                f"Nodemend cleared its power-off request on {host}: metal3 powers the host on.",
            )
        case power.FailAttempt(why, permanent=False):
            return EventText(event_reasons.POWER_CYCLE_FAILED, f"{spell_failure(why)}{_spell_retry(why)}")
        case power.FailAttempt(why, permanent=True):
            return EventText(event_reasons.REMEDIATION_FAILED, spell_failure(why))
        case power.MarkHost(host):
            return EventText(
                event_reasons.HOST_MARKED_UNHEALTHY, f"{host} is not picked for another machine."
            )
        case power.AskOwner():
            said = "Power cycles did not help: Nodemend requests a replacement from the Machine's owner."
            return EventText(event_reasons.MACHINE_REPLACEMENT_REQUESTED, said)
        case steps.DropFinalizer(still_off=still_off) if still_off:
            said = f"The remediation was deleted and has ended; {still_off} is not powered on again."
            return EventText(event_reasons.POWER_NOT_RESTORED, said)
        case _:
            return None


def _spell_retry(why: HoldReason) -> str:
    return "" if "tries again" in why.explain().next_step else " Nodemend tries again after a pause."


def _tell_deletion(remediation: Metal3Remediation, step: power.Step) -> EventText | None:
    """Return the event about deletion or restoration of the Node; None if the step has none."""
    name, backup = remediation.status.node_name, remediation.status.backup
    match step:
        case power.DeleteNode(ticket):
            said = f"Deleted the Node {name}, because {ticket.evidence.by} is off"
            return EventText(event_reasons.RELEASE_STARTED, f"{said}: its pods and volumes are released.")
        case power.Restore(_, missing):
            said = f"The Node {name} exists again, and Nodemend restores: {', '.join(missing.parts)}."
            return EventText(event_reasons.NODE_RESTORED, said)
        case power.ForgetBackup(refused) if refused and backup is not None:
            parts = ", ".join(backup.parts)
            said = f"Nodemend could not restore the metadata of Node {name} ({refused}): {parts}."
            return EventText(event_reasons.NODE_NOT_RESTORED, said)
        case steps.DropFinalizer(still_off, lost) if lost:
            off = f", and {still_off} is not powered on again" if still_off else ""
            said = f"The Node {name} does not exist again{off}. It had: {', '.join(lost)}."
            return EventText(event_reasons.NODE_NOT_RESTORED, said)
        case _:
            return None


def _tell_node(name: str, step: power.Step) -> EventText | None:
    """Return the event about the node, if its text is not that of other kinds; else None."""
    match step:
        case steps.RecordEvidence(evidence):
            said = f"{evidence.by} is off: {evidence.reason}."
            return EventText(event_reasons.POWER_OFF_CONFIRMED, said)
        case steps.MarkReleased(taint_stays) if not name:
            said = f"The host has been powered off.{spell_taint(taint_stays)}"
            return EventText(event_reasons.WORKLOADS_RELEASED, said)
        case steps.Close():
            return EventText(event_reasons.REMEDIATION_SUCCEEDED, f"{name} is back on a new boot.")
        case _:
            return None
