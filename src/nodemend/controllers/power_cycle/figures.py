"""Power cycles in figures: switches, failures, how long each phase took, and which hosts are held."""

from collections.abc import Sequence
from typing import Final, NamedTuple, get_args

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.group_versions import METAL3_REMEDIATION
from nodemend.api.power_cycle import Metal3Remediation, Phase
from nodemend.decide import power_cycle_steps as power
from nodemend.decide import remediation_steps as steps
from nodemend.decide.holds import CannotRead, KubeletSpeaks, NotBackYet
from nodemend.decide.host_holds import HostHold
from nodemend.kube.ports import Runtime
from nodemend.telemetry.host_book import HeldFor, HostName
from nodemend.telemetry.metrics import Metrics

_MOST: Final = 10_000
_ENTERED: Final = {
    steps.AddFinalizer: Phase.PENDING,
    power.WantOff: Phase.POWER_OFF,
    steps.RecordEvidence: Phase.RELEASE,
    steps.MarkReleased: Phase.POWER_ON,
    power.GiveUp: Phase.BACKING_OFF,
    power.BeginAgain: Phase.PENDING,
    power.HandOver: Phase.DELETING_MACHINE,
    steps.Close: Phase.SUCCEEDED,
    steps.DropFinalizer: Phase.SUCCEEDED,
}
"""The phase that begins with a step. Evidence that is forgotten leads back, and begins none."""


class _Stay(NamedTuple):
    """In a phase, after so many attempts that had failed."""

    phase: Phase
    failed: int


class PowerFigures:
    """For one process. A phase that another leader saw begin or end is not measured."""

    def __init__(self, metrics: Metrics, runtime: Runtime) -> None:
        self._metrics = metrics
        self._runtime = runtime
        self._since: dict[str, tuple[_Stay, float]] = {}
        """By the UID of the remediation."""
        # A counter that begins at its first failure would hide that one from a rate.
        for reason in (*get_args(HostHold), NotBackYet, KubeletSpeaks, CannotRead):
            for for_good in ("no", "yes"):
                metrics.power_cycle_failures.labels(reason.__name__, for_good)

    def took(self, remediation: Metal3Remediation, step: power.Step) -> None:
        match step:
            case power.PlaceHold():
                self._metrics.power_switches.labels("off").inc()
            case power.GiveBack():
                self._metrics.power_switches.labels("on").inc()
            case power.GiveUp(why, for_good):
                labels = (type(why).__name__, "yes" if for_good else "no")
                self._metrics.power_cycle_failures.labels(*labels).inc()
            case _:
                pass
        self._measure(remediation, step)

    def _measure(self, remediation: Metal3Remediation, step: power.Step) -> None:
        uid, status = remediation.metadata.uid, remediation.status
        entered, left = _ENTERED.get(type(step)), _Stay(status.phase, status.retry_count)
        if entered is None or (isinstance(step, power.WantOff) and status.phase is entered):
            # A host that is seen on anew is still to go off: that phase began before.
            return
        now = self._runtime.monotonic()
        stay, since = self._since.pop(uid, (None, now))
        if stay == left and not isinstance(step, steps.DropFinalizer):
            result = "failed" if isinstance(step, power.GiveUp) else "done"
            labels = (METAL3_REMEDIATION.kind, left.phase.value, result)
            self._metrics.phase_seconds.labels(*labels).observe(now - since)
        if entered is not Phase.SUCCEEDED and len(self._since) < _MOST:
            failed = left.failed + isinstance(step, power.GiveUp)
            self._since[uid] = (_Stay(entered, failed), now)

    def looked(self, hosts: Sequence[BareMetalHost], held: Sequence[HeldFor]) -> None:
        """All hosts were read; `held` are those with a hold of ours on them now."""
        unhealthy = [
            HostName(host.metadata.namespace, host.metadata.name)
            for host in hosts
            if any(host.metadata.annotations.get(key) == keys.MARKED_BY_US for key in keys.HOST_UNHEALTHY)
        ]
        self._metrics.hosts.look(held, unhealthy, wall=self._runtime.wall().timestamp())

    def left_behind(self, *, kept: bool) -> None:
        self._metrics.holds_left_behind.labels("kept" if kept else "given_back").inc()
