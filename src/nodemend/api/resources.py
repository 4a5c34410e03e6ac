"""All resources that Nodemend uses: group, version, kind, plural, scope."""

from typing import Final

import msgspec


class Resource(msgspec.Struct, frozen=True):
    """One resource of the Kubernetes API."""

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool = True

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    def __str__(self) -> str:
        return f"{self.plural}.{self.group}" if self.group else self.plural


NODE: Final = Resource("", "v1", "Node", "nodes", namespaced=False)
POD: Final = Resource("", "v1", "Pod", "pods")
SECRET: Final = Resource("", "v1", "Secret", "secrets")
CONFIG_MAP: Final = Resource("", "v1", "ConfigMap", "configmaps")
NAMESPACE: Final = Resource("", "v1", "Namespace", "namespaces", namespaced=False)
LEASE: Final = Resource("coordination.k8s.io", "v1", "Lease", "leases")
EVENT: Final = Resource("events.k8s.io", "v1", "Event", "events")
ENDPOINT_SLICE: Final = Resource("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices")
VOLUME_ATTACHMENT: Final = Resource(
    "storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", namespaced=False
)
PERSISTENT_VOLUME_CLAIM: Final = Resource("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims")
CERTIFICATE_SIGNING_REQUEST: Final = Resource(
    "certificates.k8s.io", "v1", "CertificateSigningRequest", "certificatesigningrequests", namespaced=False
)
CUSTOM_RESOURCE_DEFINITION: Final = Resource(
    "apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions", namespaced=False
)

ADMISSION_POLICY: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicy",
    "validatingadmissionpolicies",
    namespaced=False,
)
ADMISSION_BINDING: Final = Resource(
    "admissionregistration.k8s.io",
    "v1",
    "ValidatingAdmissionPolicyBinding",
    "validatingadmissionpolicybindings",
    namespaced=False,
)

OUR_GROUP: Final = "nodemend.io"
NODE_HEALTH_CHECK: Final = Resource(
    OUR_GROUP, "v1alpha1", "NodeHealthCheck", "nodehealthchecks", namespaced=False
)
REMEDIATION_POLICY: Final = Resource(
    OUR_GROUP, "v1alpha1", "RemediationPolicy", "remediationpolicies", namespaced=False
)
REMEDIATION_ORDER: Final = Resource(
    OUR_GROUP, "v1alpha1", "RemediationOrder", "remediationorders", namespaced=False
)
MANUAL_REMEDIATION: Final = Resource(OUR_GROUP, "v1alpha1", "ManualRemediation", "manualremediations")
MANUAL_REMEDIATION_TEMPLATE: Final = Resource(
    OUR_GROUP, "v1alpha1", "ManualRemediationTemplate", "manualremediationtemplates"
)

SELF_REMEDIATION: Final = Resource(OUR_GROUP, "v1alpha1", "SelfRemediation", "selfremediations")
SELF_REMEDIATION_TEMPLATE: Final = Resource(
    OUR_GROUP, "v1alpha1", "SelfRemediationTemplate", "selfremediationtemplates"
)

METAL3_REMEDIATION: Final = Resource(
    "remediation.metal3.io", "v1alpha1", "Metal3Remediation", "metal3remediations"
)
METAL3_REMEDIATION_TEMPLATE: Final = Resource(
    "remediation.metal3.io", "v1alpha1", "Metal3RemediationTemplate", "metal3remediationtemplates"
)
CAPM3_REMEDIATION: Final = Resource(
    "infrastructure.cluster.x-k8s.io", "v1beta1", "Metal3Remediation", "metal3remediations"
)
"""CAPM3's kind of the same name."""
BARE_METAL_HOST: Final = Resource("metal3.io", "v1alpha1", "BareMetalHost", "baremetalhosts")

MACHINE_HEALTH_CHECK: Final = Resource(
    "cluster.x-k8s.io", "v1beta1", "MachineHealthCheck", "machinehealthchecks"
)
"""In the version that Nodemend's own definition stores."""
