"""All labels, annotations, taints, finalizers and object names that Nodemend writes or reads."""

from typing import Final

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""The taint that makes Kubernetes force-delete the pods of a node and detach its volumes."""

OUR_TAINT_VALUE: Final = "nodemend"
"""The value that distinguishes Nodemend's out-of-service taint from the taints of other writers."""

NO_EXECUTE: Final = "NoExecute"

SAFE_END: Final = "nodemend.io/safe-end"
"""Finalizer: a remediation is deleted only after Nodemend has removed what the remediation added."""

CHECK: Final = "nodemend.io/check"
"""Label on a remediation: the health check that requested it."""

CHECK_UID: Final = "nodemend.io/check-uid"
"""Annotation beside it: the UID of the check, because another check may get the same name."""

TEMPLATE: Final = "nodemend.io/template"
"""Annotation on a remediation: the template that it was created from."""

RECOVERY: Final = "nodemend.io/recovery"
"""Annotation on an object that a check created as a recovery, not as a remediation."""

ORDER: Final = "nodemend.io/order"
"""Annotation on a remediation that a user ordered: the UID of the order, which it consumes."""

ORDERED_BY: Final = "nodemend.io/ordered-by"
"""Annotation beside it: the user."""

ORDERED_BECAUSE: Final = "nodemend.io/ordered-because"
"""Annotation beside it: the reason."""

PAST_GUARD: Final = "nodemend.io/past-guard"
"""Annotation beside it, if the order overrides the guard: the overridden holds, or "nothing"."""

DRILL: Final = "nodemend.io/drill"
"""Annotation on a SelfRemediation that a user created to measure a reset: the user. Then only the watchdog
ends the boot."""

EXCLUDE: Final = "nodemend.io/exclude"
"""Label or annotation on a Node that excludes it from remediation. Any value except "false" does so."""

MEDIK8S_EXCLUDE: Final = "remediation.medik8s.io/exclude-from-remediation"
"""The label of medik8s with the same meaning. There only the value "true" excludes the Node."""

HOLDER: Final = "nodemend.io/holder"
"""Annotation on the lock of a node: its holder, for users. The lock itself names the holder's UID."""

RELEASE_REVOKED: Final = "nodemend.io/release-revoked"
"""Annotation on a Node: a release was revoked. Writing it changes the Node's resourceVersion, so a release
write that is still in flight fails with a conflict."""

HOLD_PREFIX: Final = "reboot.metal3.io/"
"""Prefix of annotations on a BareMetalHost that keep it powered off. The rest of the key names the client."""

POWER_OFF_REQUEST_PREFIX: Final = "reboot.metal3.io/nodemend-"
"""The prefix of Nodemend's power-off requests. The rest of the key is the UID of the remediation."""

POWER_OFF_REVOKED: Final = "nodemend.io/power-off-revoked"
"""Annotation on a BareMetalHost: the UID of a remediation that ends. Writing it changes the host's
resourceVersion, so a power-off request in flight fails with a conflict. It is removed immediately after."""

HARD_HOLD: Final = '{"mode":"hard"}'
"""The value of a power-off request that does not wait for a shutdown by the operating system."""

HOST_PAUSED: Final = "baremetalhost.metal3.io/paused"
HOST_DETACHED: Final = "baremetalhost.metal3.io/detached"

HOST_OF_MACHINE: Final = "metal3.io/BareMetalHost"
"""Annotation on a Metal3Machine, or on OpenShift's Machine: NAMESPACE/NAME of its host."""

HOST_UNHEALTHY: Final = ("capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy")
"""Annotations on a BareMetalHost, new name and old name: CAPM3 does not choose the host for a machine."""

MARKED_BY_US: Final = "nodemend"
"""The value of these annotations if Nodemend wrote them."""

HOST_SYSTEM_UUID: Final = "nodemend.io/system-uuid"
"""Annotation on a BareMetalHost: the system UUID of its machine, which metal3 itself does not report."""

EXTERNAL_REMEDIATION: Final = "host.metal3.io/external-remediation"
"""Annotation on a Machine that requests its remediation, for example from OpenShift's MachineHealthCheck with
the strategy external-baremetal. Any value does so."""

REMEDIATION_STRATEGY: Final = "machine.openshift.io/remediation-strategy"
"""Annotation on OpenShift's MachineHealthCheck: a strategy other than the deletion of Machines."""

EXTERNAL_STRATEGY: Final = "external-baremetal"
"""The strategy with which OpenShift's check sets the annotation above, and deletes nothing."""

MARKS_OF_THE_ACTUATOR: Final = (
    "remediation.metal3.io/powered-off-for-remediation",
    "remediation.metal3.io/power-on-will-timeout-at",
)
"""Annotations on a Machine that OpenShift's bare-metal actuator sets while it remediates the Machine."""

LEASE_OF_THE_ACTUATOR: Final = "controller-leader-election-capbm"
"""The leader election Lease of that actuator, in the namespace of its Machines."""

NODE_OF_REMEDIATION: Final = "remediation.medik8s.io/node-name"
"""Annotation on a remediation that medik8s created: the node. The remediation may have another name."""

TIMED_OUT: Final = "remediation.medik8s.io/nhc-timed-out"
"""Annotation on a remediation: its time in medik8s' check is over, and the check may try another remedy."""

MACHINE_OF_NODE: Final = "cluster.x-k8s.io/machine"
"""Annotation on a Node: the name of its Machine, in Cluster API."""

NAMESPACE_OF_CLUSTER: Final = "cluster.x-k8s.io/cluster-namespace"
"""Annotation beside it: the namespace of that Machine."""

OPENSHIFT_MACHINE_OF_NODE: Final = "machine.openshift.io/machine"
"""Annotation on a Node: NAMESPACE/NAME of its Machine, in OpenShift."""

DELEGATE_OF: Final = "nodemend.io/delegate-of"
"""Annotation on a Metal3Remediation of Nodemend: the UID of the CAPM3 remediation that it carries out."""

CAPM3_FINALIZER: Final = "metal3remediation.infrastructure.cluster.x-k8s.io"
"""Finalizer on a CAPM3 remediation: CAPM3 itself is processing it."""

CAPM3_LEASE: Final = "controller-leader-election-capm3"
"""The leader election Lease of CAPM3, in the namespace in which CAPM3 is installed."""

KUBELET_LABELS: Final = (
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "beta.kubernetes.io/arch",
    "node.kubernetes.io/windows-build",
)
"""Labels that each kubelet writes on its Node."""

LEADER_MEMORY: Final = "nodemend.io/leader-memory"
"""Annotation on a leader election Lease, written by its holder: a revision, and the holder's name."""

POLICY_PROBE: Final = "nodemend.io/policy-probe"
"""Label that is written only in dry runs, which an admission policy must refuse."""

UNKEPT_ANNOTATIONS: Final = (
    "volumes.kubernetes.io/controller-managed-attach-detach",
    "volumes.kubernetes.io/keep-terminated-pod-volumes",
    "csi.volume.kubernetes.io/nodeid",
    "alpha.kubernetes.io/provided-node-ip",
    "node.alpha.kubernetes.io/ttl",
    RELEASE_REVOKED,
)
"""Annotations on a Node that its kubelet, controllers of Kubernetes or Nodemend write again if needed."""

CONDITION_TAINTS: Final = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/")
"""Prefixes of taints that controllers add and remove; the out-of-service taint has one of them too."""

FLAT: Final = "nodemend.io/flat"
"""Label on the MachineHealthCheck definition that Nodemend ships for clusters without Cluster API."""

CONTROL_PLANE_ROLES: Final = frozenset(
    {
        "node-role.kubernetes.io/control-plane",
        "node-role.kubernetes.io/master",
        "node-role.kubernetes.io/etcd",
    }
)
"""Labels on Nodes. A Node with any of them is a member of the control plane."""

POLICY_NAME: Final = "cluster"
"""The one RemediationPolicy of a cluster."""

KUBELET_LEASE_NAMESPACE: Final = "kube-node-lease"

AGENT_NAMESPACE: Final = "nodemend-agents"
"""The namespace of the agents and of one Lease per node, named like the node. It has no other Leases, so no
node's name can collide with another name."""

AGENT_REPORT: Final = "nodemend.io/agent-report"
"""Annotation on that Lease, written by the agent: its report."""

PEER_PROPOSAL: Final = "nodemend.io/peer-proposal"
"""Annotation on that Lease, written by a manager: the peers that the node should ask."""

MARKER: Final = "nodemend.io/marker"
"""Annotation on that Lease, written by a manager: this boot must end."""

AGENT_USER: Final = f"system:serviceaccount:{AGENT_NAMESPACE}:nodemend-agent"
"""The user name of agents at the API server."""

AGENT_SIGNER: Final = "nodemend.io/agent"
"""The signer of their certificates."""

NODE_OF_CALLER: Final = "authentication.kubernetes.io/node-name"
"""Extra user field that the API server sets for a token bound to a pod: the node on which the pod runs."""

POD_OF_CALLER: Final = "authentication.kubernetes.io/pod-name"
"""The same for the name of that pod."""

AGENT_AUTHORITY: Final = "nodemend-agent-authority"
"""The Secret with the keys that sign agents' certificates, in the signer's own namespace."""

AGENT_TRUST: Final = "nodemend-agent-trust"
"""The ConfigMap with the certificates of these keys, in the agents' namespace: agents trust them."""

REPLACE_AUTHORITY: Final = "nodemend.io/replace-authority"
"""Annotation on that Secret, set by a user: sign with a new key as soon as all agents can know it. Any value
does so."""

SYSTEM_NAMESPACE: Final = "nodemend-system"
"""The namespace of Nodemend's own Leases, unless the settings name another."""
