"""Names that the documentation may use although no code of this project does, each with its owner."""

from typing import Final

NAMES: Final = {
    "InstanceDeletionFailed": "Machine API",
    "RebootWatchdogSec": "systemd",
    "RuntimeWatchdogSec": "systemd",
    "escalatingRemediations": "medik8s",
    "nodeConditionPeriod": "the design node remedy",
    "unhealthyLessThanOrEqualTo": "Cluster API",
    # Planned (ROADMAP.md), or rejected in a decision.
    "FenceConfig": "planned",
    "JobRemediation": "planned",
    "NodeFence": "planned",
}
OPTIONS: Final = {
    "--cascade": "kubectl",
    "--disable-admission-plugins": "kube-apiserver",
    "--etcd-servers-overrides": "kube-apiserver",
    "--even-if-healthy": "rejected by decision 20",
    "--event-ttl": "kube-apiserver",
    "--force": "kubectl",
    "--kube-version": "helm",
    "--no-hooks": "helm",
    "--node-labels": "kubelet",
    "--now": "systemctl",
    "--previous": "kubectl",
    "--provider-id": "kubelet",
    "--set": "helm",
}
RECIPES: Final = {"quick": "added by a change of its own"}
EVENTS: Final = {
    "NodeNotReady": "the node controller",
    "NodeReady": "kubelet",
    "PowerOff": "metal3",
    "PowerOn": "metal3",
    "Rebooted": "kubelet",
}
