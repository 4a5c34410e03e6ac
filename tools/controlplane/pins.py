"""The programs to build, and their pinned sources: one folder under `go/` per program family and version."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PINS = Path(__file__).parent / "go"


def _newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=lambda version: [int(n) for n in version[1:].split(".")], reverse=True))


KUBERNETES_VERSIONS = _newest_first(folder.name for folder in (PINS / "kubernetes").iterdir())
# The newest, unless the environment variable selects another.
USUAL_KUBERNETES = os.environ.get("CONTROLPLANE_KUBERNETES") or KUBERNETES_VERSIONS[0]
KUBERNETES_PROGRAMS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Programs that are built together, from one go.mod.

    `programs` maps the name of each binary to its import path; `stamps` are the linker's -X definitions.
    """

    name: str
    version: str
    programs: dict[str, str]
    stamps: dict[str, str]

    @property
    def pins(self) -> Path:
        return PINS / self.name / self.version


def kubernetes(version: str) -> Family:
    """The control plane's own programs. Raises ValueError for a version that is not pinned."""
    if version not in KUBERNETES_VERSIONS:
        raise ValueError(f"Kubernetes {version} is not pinned; there are {', '.join(KUBERNETES_VERSIONS)}")
    major, minor, _ = version.removeprefix("v").split(".")
    # Unstamped, the programs call themselves v0.0.0-master: kubectl then refuses to compare versions, and
    # clients that require a minimum (Cluster API's manager) refuse the server.
    stamp = "k8s.io/component-base/version"
    return Family(
        name="kubernetes",
        version=version,
        programs={program: f"k8s.io/kubernetes/cmd/{program}" for program in KUBERNETES_PROGRAMS},
        stamps={f"{stamp}.gitVersion": version, f"{stamp}.gitMajor": major, f"{stamp}.gitMinor": minor},
    )


ETCD = Family(
    name="etcd",
    version="v3.6.8",
    programs={"etcd": "go.etcd.io/etcd/server/v3", "etcdctl": "go.etcd.io/etcd/etcdctl/v3"},
    stamps={},
)
KWOK = Family(name="kwok", version="v0.8.0", programs={"kwok": "sigs.k8s.io/kwok/cmd/kwok"}, stamps={})
# Not part of a control plane: built if a test or a user requests it (controlplane.backups). It has separate
# pins, so that etcd is not built again.
ETCDUTL = Family(
    name="etcdutl",
    version=ETCD.version,
    programs={"etcdutl": "go.etcd.io/etcd/etcdutl/v3"},
    stamps={},
)
# Likewise (tools/cluster_api).
_CLUSTER_API = "sigs.k8s.io/cluster-api"
CLUSTER_API = Family(
    name="cluster-api",
    version="v1.13.6",
    programs={"cluster-api-manager": _CLUSTER_API},
    stamps={f"{_CLUSTER_API}/version.gitVersion": "v1.13.6"},
)
