"""The available kinds of other projects, and the source of each."""

from pathlib import Path
from typing import Final

from controlplane.pins import CLUSTER_API
from foreign_kinds.go_modules import GoModule
from foreign_kinds.served_schemas import ServedSchemas

HERE: Final = Path(__file__).parent
_CLUSTER_API: Final = "config/crd/bases/"
_OPENSHIFT: Final = "machine/v1beta1/zz_generated.crd-manifests/0000_10_machine-api_01_"

PROJECTS: Final[dict[str, GoModule | ServedSchemas]] = {
    "cluster-api": GoModule(
        module="sigs.k8s.io/cluster-api",
        pins=CLUSTER_API.pins,
        files=(
            f"{_CLUSTER_API}cluster.x-k8s.io_clusters.yaml",
            f"{_CLUSTER_API}cluster.x-k8s.io_machinedeployments.yaml",
            f"{_CLUSTER_API}cluster.x-k8s.io_machinehealthchecks.yaml",
            f"{_CLUSTER_API}cluster.x-k8s.io_machines.yaml",
            f"{_CLUSTER_API}cluster.x-k8s.io_machinesets.yaml",
        ),
    ),
    # These and the rest of them, for its manager (tools/cluster_api).
    "cluster-api-all": GoModule(
        module="sigs.k8s.io/cluster-api", pins=CLUSTER_API.pins, files=(f"{_CLUSTER_API}*.yaml",)
    ),
    # The definitions of a cluster without previews: the feature set Default.
    "openshift": GoModule(
        module="github.com/openshift/api",
        pins=HERE / "go" / "openshift-api",
        files=(
            f"{_OPENSHIFT}machinehealthchecks.crd.yaml",
            f"{_OPENSHIFT}machines-Default.crd.yaml",
            f"{_OPENSHIFT}machinesets-Default.crd.yaml",
        ),
    ),
    "metal3": ServedSchemas(
        requirements=HERE / "metal3-requirements.txt",
        kinds={
            "Metal3Remediation": "metal3remediations",
            "Metal3RemediationTemplate": "metal3remediationtemplates",
        },
    ),
    "medik8s": ServedSchemas(
        requirements=HERE / "metal3-requirements.txt", kinds={"NodeHealthCheck": "nodehealthchecks"}
    ),
    "metal3-hosts": ServedSchemas(
        requirements=HERE / "metal3-requirements.txt",
        kinds={
            "BareMetalHost": "baremetalhosts",
            "HostFirmwareSettings": "hostfirmwaresettings",
            "HostUpdatePolicy": "hostupdatepolicies",
        },
    ),
}
