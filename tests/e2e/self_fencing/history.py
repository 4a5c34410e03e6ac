"""One failure of one node, from healthy to healthy, and its verdict."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from tests.e2e.self_fencing.agent_and_feeder import W
from tests.e2e.self_fencing.cluster import Cluster
from tests.e2e.self_fencing.faults import Heals, Plan, hang_kubelet, heal
from tests.e2e.self_fencing.host import Boot, boottime

STAYS_ALIVE_FOR: Final = 48.0
"""Seconds from a fault: longer than a feed lease and a reset take."""
ENDS_WITHIN: Final = 480.0
"""Seconds for a whole history. A proof by time that starts again under another leader takes some 250."""
SILENT_HEALS: Final = (Heals.AT_RESET, Heals.AT_RELEASE)


class WrongError(Exception):
    """A forbidden state was observed."""


class End(StrEnum):
    """The outcome of a remediation."""

    BY_TIME = "released by time"
    BY_NEW_BOOT = "released by a new boot"
    LEFT_ALONE = "left alone"


_BY: Final = {"E4": End.BY_TIME, "E2": End.BY_NEW_BOOT}


@dataclass
class History:
    """`elsewhere` is the node where the workload starts after its release."""

    cluster: Cluster
    node: str
    elsewhere: str
    plan: Plan
    began: float = field(default_factory=boottime)
    margins: list[float] = field(default_factory=list)
    """Seconds from the end of a boot to the release of its workloads."""
    resets: list[float] = field(default_factory=list)
    """Seconds after the start."""
    end: End | None = None
    """None without a remediation, and before its end."""

    def __post_init__(self) -> None:
        self.pod = f"db-{self.node}-{int(self.began)}"

    def play(self) -> None:
        cluster, workloads = self.cluster, self.cluster.kubelets.workloads
        self._over_at = boottime() + ENDS_WITHIN
        cluster.hosts[self.node].off_for = self.plan.off_for
        workloads[self.pod] = self.node
        register = cluster.kubelets.register(self.pod)
        self._until("its workload runs", lambda: register.last() is not None)
        workloads[self.pod] = self.elsewhere
        self.began = boottime() + max(0.0, -(self.plan.asked_after or 0.0), self.plan.hangs_before or 0.0)
        try:
            self._go_through()
        finally:
            heal(cluster, self.node)
        self._until("it is well again", lambda: cluster.is_well(self.node))
        self.evaluate()
        workloads.pop(self.pod)

    def _go_through(self) -> None:
        steps = [(0.0, self._inject)]
        if self.plan.hangs_before is not None:
            steps.append((-self.plan.hangs_before, self._hang_kubelet))
        if self.plan.asked_after is not None:
            steps.append((self.plan.asked_after, self._ask))
        if self.plan.heals not in SILENT_HEALS:
            steps.append((self.plan.heals_after, self._heal))
        for at, step in sorted(steps, key=lambda one: one[0]):
            time.sleep(max(0.0, self.began + at - boottime()))
            step()
        if self.plan.heals is Heals.AT_RESET:
            self._until("it is reset", lambda: bool(self._resets()))
            self._heal()
        if self.plan.asked_after is not None and not self.plan.stays_well:
            self._see_through()
            return
        time.sleep(max(0.0, self.began + STAYS_ALIVE_FOR - boottime()))
        if self.plan.stays_well:
            self._until("its remediation says that the node is well", self._is_left_alone)
            self._withdraw(End.LEFT_ALONE)
        elif self.plan.may_reset:
            self._until("it is reset", lambda: bool(self._resets()))

    def _see_through(self) -> None:
        """Follow the remediation to its end, after which the check deletes it.

        A node that its fault resets may be healthy in a new boot before it was marked.
        """
        self._until("it is released, or is well and left alone", self._is_released, self._is_left_alone)
        if not self._is_released():
            self._withdraw(End.LEFT_ALONE)
            return
        end = _BY[self.cluster.view.status(self.node)["evidence"]["class"]]
        self.evaluate()  # At once: if the boot still runs, the remediation may hide it later, or never end.
        if self.plan.heals is Heals.AT_RELEASE:
            self._heal()
        self._until("it has succeeded", lambda: self.cluster.view.phase(self.node) == "Succeeded")
        self._withdraw(end)

    def _withdraw(self, end: End) -> None:
        if self.plan.proven_by_time and end is not End.BY_TIME:
            raise WrongError(f"{end}, and nobody can have heard of {self.node}")
        self.cluster.withdraw(self.node)
        self._until("its remediation is gone", lambda: self.node not in self.cluster.view.remediations)
        self.end = end

    def _until(self, what: str, *any_holds: Callable[[], bool]) -> None:
        """Wait with the rest of the history's time limit."""
        left = max(0.0, self._over_at - boottime())
        self.cluster.until(what, lambda: any(holds() for holds in any_holds), within=left)

    def _is_released(self) -> bool:
        return bool(self.cluster.view.status(self.node).get("released"))

    def _is_left_alone(self) -> bool:
        """True if the remediation reports NodeHealthy, has no marker or evidence, and the node is really
        healthy.
        """
        view = self.cluster.view
        asked = view.marked(self.node) or view.status(self.node).get("evidence")
        return (
            view.held_as(self.node) == "NodeHealthy"
            and not asked
            and self.cluster.kubelets.is_well(self.node)
        )

    def _inject(self) -> None:
        self.plan.fault.inject(self.cluster, self.node)

    def _hang_kubelet(self) -> None:
        hang_kubelet(self.cluster, self.node)

    def _ask(self) -> None:
        self.cluster.remediate(self.node)

    def _heal(self) -> None:
        heal(self.cluster, self.node)

    # Verdicts.

    def evaluate(self) -> None:
        """Check the properties that hold in every history."""
        self.resets = [at - self.began for at in self._resets()]
        if self.resets and not self.plan.may_reset:
            raise WrongError(f"{self.node} was reset, and should have lived on")
        register = self.cluster.kubelets.register(self.pod)
        if both := register.returns():
            raise WrongError(f"two had the workload at once: {both[0]}")
        releases = self.cluster.releases(self.node, self.began - 10.0)
        self.margins = [
            min(self._margin(release, boot) for boot in self._run_before(release)) for release in releases
        ]
        if any(margin <= 0 for margin in self.margins):
            raise WrongError(f"{self.node} was released while it ran: {self.margins}")

    def _resets(self) -> list[float]:
        boots = self.cluster.hosts[self.node].boots
        return [
            boot.reset_at for boot in boots if boot.reset_at is not None and boot.reset_at > self.began - W
        ]

    def _run_before(self, release: float) -> list[Boot]:
        """The boots whose kubelets started before it. A boot behind its gate runs nothing."""
        return [
            boot
            for boot in self.cluster.hosts[self.node].boots
            if boot.opened_at is not None
            and boot.opened_at < release
            and (boot.reset_at is None or boot.reset_at > self.began - W)
        ]

    def _margin(self, release: float, boot: Boot) -> float:
        """Seconds from the last activity of this boot to the release."""
        writes = self.cluster.kubelets.register(self.pod).writes()
        mine = [write.seconds for write in writes if write.boot == boot.id]
        end = boot.reset_at if boot.reset_at is not None else float("inf")
        return release - max(end, *mine, 0.0)
