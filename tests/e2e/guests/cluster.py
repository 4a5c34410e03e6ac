"""A whole cluster around the guests: real control plane, real controllers, and Nodemend."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from controlplane.api import Object
from controlplane.node_objects import csi_node, node_manifest
from controlplane.rounds import Rounds
from controlplane.run import ControlPlane
from controlplane.settings import Settings
from controlplane.volumes import stateful_set, storage
from installed.eager_policy import eager_policy
from installed.manifests import install
from installed.programs import start
from nodemend.api.well_known import SYSTEM_NAMESPACE
from tests.e2e.agent_nodes.counting_proxy import CountingProxy
from tests.e2e.agent_nodes.kubelet_certificate import kubelet_certificate
from tests.e2e.guests.machines import Machines
from tests.e2e.guests.root import write_disk, write_root
from tests.e2e.guests.wires import Wires, wired
from tests.e2e.power.audit import Audit
from tests.e2e.self_fencing.networks import API
from tests.unit.agent.certificates import Authority

NODES: Final = ("edge-0", "edge-1", "edge-2")
WORKLOAD: Final = "db"
CHECK: Final = "edge"
_PROGRAMS: Final = (
    ("nodemend-checker",),
    ("nodemend-remediator", "--self-fencing=on"),
    ("nodemend-signer",),
)


@dataclass
class Cluster:
    plane: ControlPlane
    machines: Machines
    wires: Wires
    audit: Audit


@contextmanager
def open_cluster(folder: Path) -> Iterator[Cluster]:
    """Its guests start to boot on entry."""
    clients = Authority(folder, "clients")
    flags = {"kube-apiserver": (f"--client-ca-file={folder / 'clients.crt'}",)}
    # The defaults of Kubernetes.
    patience = Settings(audit=True, flags=flags, node_monitor_grace_period=50.0, node_monitor_period=5.0)
    with ExitStack() as owned:
        plane = owned.enter_context(ControlPlane(patience))
        _furnish(plane)
        owned.callback(Rounds("attacher", plane.attacher.serve).close)
        wires = owned.enter_context(wired(NODES))
        owned.enter_context(CountingProxy(plane.port, (API, plane.port)))
        disks = {node: _disk(plane, node, folder, clients) for node in NODES}
        image = write_root(folder / "root.cpio", disks)
        for program, *flags_of in _PROGRAMS:
            start(plane, program, *flags_of)
        machines = owned.enter_context(Machines(image, wires, NODES, folder))
        yield Cluster(plane, machines, wires, Audit(plane.directory / "audit.log"))


def _furnish(plane: ControlPlane) -> None:
    where = (f"selfFencing.agent.apiServer.host={API}", f"selfFencing.agent.apiServer.port={plane.port}")
    install(plane, "selfFencing.enabled=true", *where)
    for node in NODES:
        made = plane.api.create(node_manifest(node, "guests", labels={}, spec={}))
        plane.api.create(csi_node(made))
    for document in (*storage(), eager_policy(), _template(), *stateful_set(WORKLOAD)):
        plane.api.create(document)


def _disk(plane: ControlPlane, node: str, folder: Path, clients: Authority) -> Path:
    keys = folder / f"{node}-keys"
    keys.mkdir()
    certificate = kubelet_certificate(node, keys, clients)
    settings = {"NODEMEND_NODE": node, "NODEMEND_API_SERVER": f"https://{API}:{plane.port}"}
    write_disk(folder / f"{node}-disk", settings, plane.ca, certificate)
    return folder / f"{node}-disk"


def _template() -> Object:
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "SelfRemediationTemplate",
        "metadata": {"name": "end-yourself", "namespace": SYSTEM_NAMESPACE},
        "spec": {"template": {"spec": {"accept": ["UntestedWatchdog"]}}},
    }


def check() -> Object:
    """The check of the how-to, except its periods."""
    named = {"apiVersion": "nodemend.io/v1alpha1", "kind": "SelfRemediationTemplate", "name": "end-yourself"}
    return {
        "apiVersion": "nodemend.io/v1alpha1",
        "kind": "NodeHealthCheck",
        "metadata": {"name": CHECK},
        "spec": {
            "selector": {},
            "thresholds": [{"type": "Ready", "status": "Unknown", "period": "2s", "acceptShortPeriod": True}],
            "remedies": [{"template": {**named, "namespace": SYSTEM_NAMESPACE}}],
            "healthyDelay": "1s",
        },
    }
