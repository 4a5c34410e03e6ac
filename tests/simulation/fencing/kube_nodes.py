"""The Nodes of the cluster, as the API server has them: what kubelets report, and our taint."""

from dataclasses import dataclass, field, replace

from nodemend.api.conditions import ConditionStatus
from nodemend.decide.facts import NodeFacts
from nodemend.decide.remediation_life import OUR_TAINT

GRACE = 40.0
"""Seconds without a word, after which a Node counts as unknown."""


@dataclass(frozen=True, slots=True)
class KubeNode:
    version: int = 0
    boot_id: str = ""
    renewed: int = 0
    """How often its kubelet has spoken."""
    heard_at: float = 0.0
    tainted_at: float | None = None
    void_mark: str = ""

    def facts(self, name: str, now: float) -> NodeFacts:
        alive = now - self.heard_at <= GRACE
        return NodeFacts(
            name,
            name,
            str(self.version),
            self.boot_id,
            ConditionStatus.TRUE if alive else ConditionStatus.UNKNOWN,
            (OUR_TAINT,) if self.tainted_at is not None else (),
            hardware_id=name,
        )


@dataclass(slots=True)
class KubeNodes:
    """Written by compare-and-swap, but for kubelets, who write what is theirs."""

    of: dict[str, KubeNode] = field(default_factory=dict)

    def report(self, name: str, boot_id: str, now: float) -> None:
        """A kubelet says that it is alive; where it boots anew, or was thought dead, the Node changes."""
        before = self.of.get(name, KubeNode())
        news = before.boot_id != boot_id or now - before.heard_at > GRACE
        self.of[name] = KubeNode(
            before.version + news, boot_id, before.renewed + 1, now, before.tainted_at, before.void_mark
        )

    def swap(self, name: str, version: str, **changes: object) -> bool:
        found = self.of[name]
        if str(found.version) != version:
            return False
        self.of[name] = replace(found, version=found.version + 1, **changes)  # type: ignore[arg-type]
        return True
