"""The command lines of the programs, without their names: flags and why they are needed."""

from pathlib import Path

from controlplane.ports import LOOPBACK
from controlplane.settings import Settings

NOT_AUDITED = "controlplane:storage"  # It asks ten times a second.
AUDIT_POLICY = f"""\
apiVersion: audit.k8s.io/v1
kind: Policy
rules:
- level: None
  users: ["{NOT_AUDITED}"]
# Record the content of writes to a Node. The kubelet's own reports are excluded: they use a subresource.
- level: Request
  verbs: [patch, update]
  resources: [{{group: "", resources: [nodes]}}]
  omitStages: [RequestReceived]
- level: Metadata
  omitStages: [RequestReceived]
"""


def etcd(settings: Settings, data: Path, *, port: int, peer_port: int) -> list[str]:
    """The member is named after its data folder."""
    client, peer = f"http://{LOOPBACK}:{port}", f"http://{LOOPBACK}:{peer_port}"
    return [
        f"--name={data.name}",
        f"--data-dir={data}",
        "--log-level=warn",
        f"--unsafe-no-fsync={str(not settings.fsync).lower()}",
        "--quota-backend-bytes=8589934592",
        "--max-txn-ops=10000",  # A clean slate is one transaction.
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster={data.name}={peer}",
        *settings.flags.get("etcd", ()),
    ]


def kube_apiserver(settings: Settings, folder: Path, *, port: int, etcd_port: int) -> list[str]:
    """`folder` holds sa.key, tokens.csv and, for an audit log, audit-policy.yaml."""
    flags = [
        f"--etcd-servers=http://{LOOPBACK}:{etcd_port}",
        f"--bind-address={LOOPBACK}",
        f"--secure-port={port}",
        f"--cert-dir={folder / 'certs'}",
        # A documentation address: without one the server looks for a default route and refuses to start
        # without it, and an Endpoints object may not contain a loopback address.
        "--advertise-address=192.0.2.1",
        "--endpoint-reconciler-type=none",
        f"--token-auth-file={folder / 'tokens.csv'}",
        f"--authorization-mode={','.join(settings.authorization_modes)}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={folder / 'sa.key'}",
        f"--service-account-key-file={folder / 'sa.key'}",
        "--service-cluster-ip-range=10.0.0.0/24",
    ]
    if settings.admission_plugins:
        flags.append(f"--enable-admission-plugins={','.join(settings.admission_plugins)}")
    if not settings.controller_manager:
        # No controller creates the `default` service accounts that this plugin requires for every pod.
        flags.append("--disable-admission-plugins=ServiceAccount")
    if settings.audit:
        flags.append(f"--audit-policy-file={folder / 'audit-policy.yaml'}")
        flags.append(f"--audit-log-path={folder / 'audit.log'}")
    return [*flags, *_gates(settings), *settings.flags.get("kube-apiserver", ())]


def kube_controller_manager(settings: Settings, folder: Path, kubeconfig: Path) -> list[str]:
    return [
        *_controller(kubeconfig),
        "--use-service-account-credentials",
        f"--service-account-private-key-file={folder / 'sa.key'}",
        f"--root-ca-file={folder / 'certs' / 'apiserver.crt'}",
        f"--node-monitor-grace-period={settings.node_monitor_grace_period:g}s",
        f"--node-monitor-period={settings.node_monitor_period:g}s",
        "--controllers=*,-cloud-node-lifecycle-controller",
        *_gates(settings),
        *settings.flags.get("kube-controller-manager", ()),
    ]


def kube_scheduler(settings: Settings, kubeconfig: Path) -> list[str]:
    return [*_controller(kubeconfig), *_gates(settings), *settings.flags.get("kube-scheduler", ())]


def kwok(settings: Settings, stages: list[Path], kubeconfig: Path, *, nodes: str) -> list[str]:
    """`nodes` selects by annotation, as in key=value."""
    return [
        f"--kubeconfig={kubeconfig}",
        *(f"--config={file}" for file in stages),
        "--manage-all-nodes=false",
        f"--manage-nodes-with-annotation-selector={nodes}",
        f"--node-lease-duration-seconds={settings.node_lease_duration}",
        "--cidr=10.1.0.0/16",
        f"--node-ip={LOOPBACK}",
        *settings.flags.get("kwok", ()),
    ]


def _controller(kubeconfig: Path) -> list[str]:
    # One of each, so leader election is not needed; port 0: they serve no clients.
    return [
        f"--kubeconfig={kubeconfig}",
        "--secure-port=0",
        "--leader-elect=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
    ]


def _gates(settings: Settings) -> list[str]:
    if not settings.feature_gates:
        return []
    gates = (f"{gate}={str(on).lower()}" for gate, on in sorted(settings.feature_gates.items()))
    return [f"--feature-gates={','.join(gates)}"]
