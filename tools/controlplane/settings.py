"""The configuration of a control plane."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from controlplane.credentials import User
from controlplane.pins import USUAL_KUBERNETES


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Choices for one control plane. Times are seconds.

    The defaults are quick rather than Kubernetes' own: a silent node turns Unknown in about 5 s, not 50.
    """

    kubernetes: str = USUAL_KUBERNETES
    controller_manager: bool = True
    scheduler: bool = True
    attacher: bool = False
    """Play the storage: answer VolumeAttachments, and let the nodes mount (see attacher.py, mounts.py)."""

    users: tuple[User, ...] = ()
    """Accounts beside the admin, known by a static token."""
    authorization_modes: tuple[str, ...] = ("Node", "RBAC")
    admission_plugins: tuple[str, ...] = ("NodeRestriction",)
    """Beside those that are on by default."""
    audit: bool = False
    """Write audit.log into the run directory, one JSON line a request, level Metadata."""
    fsync: bool = False
    """Let etcd wait for the disk: for tests of durability only."""

    node_lease_duration: int = 4
    """Leases of the played nodes; they are renewed four times as often."""
    node_monitor_grace_period: float = 4.0
    node_monitor_period: float = 1.0

    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    flags: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """More command line flags, by program name, as {"kube-apiserver": ("--v=4",)}. A later flag wins."""


API_SERVER_ALONE = Settings(controller_manager=False, scheduler=False)
WHOLE_CLUSTER = Settings(attacher=True)
