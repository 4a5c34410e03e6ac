"""Faults at the boot of a machine, and the required results."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

import yaml

from controlplane.api import ApiError
from controlplane.run import ControlPlane
from generate.outputs import CRDS
from nodemend.agent.watchdog.records import STOPPED_GRACEFULLY
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, MARKER
from tests.e2e.agent_nodes.agent_node import LEASES, AgentNode
from tests.e2e.agent_nodes.kubelet_certificate import kubelet_certificate
from tests.e2e.boot_gate.machine import Machine, StuckError
from tests.unit.agent.certificates import Authority

BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
_KINDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_RBAC: Final = f"/apis/rbac.authorization.k8s.io/v1/namespaces/{AGENT_NAMESPACE}"


@dataclass
class Site:
    """A cluster, and a machine that is or will be one of its nodes."""

    plane: ControlPlane
    clients: Authority
    folder: Path
    name: str

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.certificate = self.folder / "kubelet.pem"

    def join(self, days: int = 1) -> AgentNode:
        """Create its Node, the agent's pod, and a kubelet certificate that is valid for this many days."""
        kubelet_certificate(self.name, self.folder, self.clients, days)
        return AgentNode(self.plane, self.name, self.folder / "agent", Authority(self.folder, "peers"))

    def machine(self, kernel_line: str = "quiet") -> Machine:
        settings = {
            "NODEMEND_NODE": self.name,
            "NODEMEND_API_SERVER": f"https://127.0.0.1:{self.plane.port}",
            "NODEMEND_CA": str(self.plane.ca),
            "NODEMEND_CERTIFICATE": str(self.certificate),
            "NODEMEND_DEVICE": str(self.folder / "device"),
            "NODEMEND_OPEN_IF": "",
        }
        return Machine(self.folder / "machine", settings, kernel_line)

    def put_lease(self, report: dict[str, Any], marker: str = "") -> None:
        """Write the Lease as an earlier boot leaves it."""
        marked = (
            {MARKER: json.dumps({"nodeUID": "u", "bootID": marker, "remediationUID": "r"})} if marker else {}
        )
        annotations = {AGENT_REPORT: json.dumps({"bootID": "earlier", "sequence": 4, **report}), **marked}
        about = {"name": self.name, "namespace": AGENT_NAMESPACE, "annotations": annotations}
        kind = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
        self.plane.api.create({**kind, "metadata": about, "spec": {"holderIdentity": self.name}})

    def published(self) -> bool:
        lease = self.plane.api.find(f"{LEASES}/{self.name}")
        return lease is not None and BOOT_ID.read_text().strip() in str(lease["metadata"]["annotations"])


def _expect(what: str, holds: bool) -> None:
    if not holds:
        raise StuckError(what)


def as_ever(site: Site) -> None:
    """The boot is published, then kubelet starts; and again at the next boot."""
    site.join()
    with site.machine() as machine:
        machine.starts()
        _expect("published before kubelet started", site.published() and " published " in machine.gate())
        machine.boot()
        machine.starts()


def first_boot(site: Site) -> None:
    """The gate is in the machine's image, and kubelet creates the certificate that the gate waits for."""
    with site.machine() as machine:
        machine.starts()
        _expect("it says that it is unguarded", " unguarded " in machine.gate())
        _expect("it says why", "never been a node" in machine.said())
        site.join()
        machine.boot()
        machine.starts()
        _expect("the next boot is guarded", " published " in machine.gate())


def certificate_gone(site: Site) -> None:
    """Deleted from the disk of a machine that has been a node: an operator decides."""
    site.join()
    with site.machine() as machine:
        machine.starts()
        site.certificate.unlink()
        machine.boot()
        machine.stays_closed()
        machine.touch("/run/nodemend/open-gate")
        machine.starts()


def certificate_expired(site: Site) -> None:
    site.join(days=-1)
    with site.machine() as machine:
        machine.stays_closed("401")
        machine.touch("/run/nodemend/open-gate")
        machine.starts()
        _expect("it says that it is unguarded", " unguarded " in machine.gate())


def opened_by_the_kernel_line(site: Site) -> None:
    site.join(days=-1)
    with site.machine("quiet nodemend.gate=open") as machine:
        machine.starts()
        _expect("it says why", "a person has asked for it" in machine.said())


def feeder_killed_and_restarted(site: Site) -> None:
    """Kubelet keeps running meanwhile, and can be restarted itself."""
    site.join()
    with site.machine() as machine:
        kubelet = machine.starts()
        before = machine.systemctl("show", "nodemend-feeder", "-p", "MainPID")
        machine.systemctl("kill", "-s", "KILL", "nodemend-feeder")
        machine.until(
            "another feeder",
            lambda: (
                machine.systemctl("show", "nodemend-feeder", "-p", "MainPID") not in (before, "MainPID=0")
            ),
        )
        for unit in ("nodemend-feeder", "nodemend-boot-gate"):
            machine.systemctl("restart", unit)
        machine.systemctl("stop", "nodemend-feeder")
        _expect("kubelet was not touched", machine.kubelet == kubelet)
        machine.systemctl("restart", "nodemend-boot-gate", "kubelet")
        machine.until("another kubelet", lambda: machine.kubelet not in (0, kubelet))


def gate_fails(site: Site) -> None:
    """A gate that cannot even start holds kubelet back."""
    site.join()
    machine = site.machine()
    program = machine.folder / "nodemend-host.pyz"
    hidden = program.rename(program.with_suffix(".hidden"))
    with machine:
        machine.until(
            "kubelet is refused", lambda: "exit-code" in machine.systemctl("show", "kubelet", "-p", "Result")
        )
        _expect("kubelet does not run", not machine.kubelet)
        hidden.rename(program)
        machine.starts()


def uninstalled_in_order(site: Site) -> None:
    """The agent stopped gracefully, its DaemonSet is gone, the namespace still exists."""
    node = site.join()
    site.put_lease({"watchdog": {"class": "unsupported", "why": STOPPED_GRACEFULLY}})
    site.plane.api.delete(f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/{node.pod}", gracePeriodSeconds=0)
    with site.machine() as machine:
        machine.starts()
        _expect("it says why", "was stopped, and said so" in machine.said())


def killed_and_gone(site: Site) -> None:
    """The agent did not stop gracefully: a manager may rely on this node's gate."""
    node = site.join()
    site.put_lease({"watchdog": {"class": "hardware", "effective": 10.0}, "feedLease": 35.0})
    site.plane.api.delete(f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods/{node.pod}", gracePeriodSeconds=0)
    with site.machine() as machine:
        machine.stays_closed("no agent's pod")
        machine.touch("/run/nodemend/open-gate")
        machine.starts()


def marked(site: Site) -> None:
    """Nothing starts under a marker until it is removed, regardless of an operator's requests."""
    site.join()
    site.put_lease({}, marker="earlier")
    with site.machine("quiet nodemend.gate=open") as machine:
        machine.touch("/run/nodemend/open-gate")
        machine.stays_closed("an earlier boot was marked")
        _expect("this boot is published all the same", site.published())
        site.plane.api.patch(f"{LEASES}/{site.name}", {"metadata": {"annotations": {MARKER: None}}})
        machine.starts()


def api_away(site: Site) -> None:
    """It is unknown whether this node is marked: it waits, and starts when the API server is back."""
    site.join()
    site.plane.stop_api_server()
    with site.machine() as machine:
        try:
            machine.stays_closed("could not be")
        finally:
            # Once: a second process on its port would replace it in the list of processes.
            site.plane.start_api_server()
        machine.starts()


def _gone(site: Site, kind: str) -> bool:
    """True if the kind is gone; otherwise touch it.

    An API server whose cache of a kind is not filled yet cannot list its instances. It retries the deletion
    when the kind changes, or after five minutes.
    """
    if site.plane.api.find(kind) is None:
        return True
    try:
        site.plane.api.patch(kind, {"metadata": {"annotations": {"touched": str(time.monotonic())}}})
    except ApiError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return True
    return False


def uninstalled_by_force(site: Site) -> None:
    """No rights, no kinds, and a marker that will never be removed."""
    site.join()
    site.put_lease({}, marker="earlier")
    for kind in ("roles", "rolebindings"):
        site.plane.api.delete(f"{_RBAC}/{kind}/nodemend-host")
    with site.machine() as machine:
        machine.stays_closed("could not be")
        kinds = [yaml.safe_load(file.read_text())["metadata"]["name"] for file in CRDS.glob("*.yaml")]
        ours = [f"{_KINDS}/{name}" for name in kinds if name.endswith(".nodemend.io")]
        for kind in ours:
            site.plane.api.delete(kind)
        for kind in ours:
            machine.until(f"{kind} is gone", partial(_gone, site, kind))
        machine.starts(within=120.0)
        _expect("it says why", "not installed in this cluster any more" in machine.said())


CASES: Final[tuple[Callable[[Site], None], ...]] = (
    as_ever,
    first_boot,
    certificate_gone,
    certificate_expired,
    opened_by_the_kernel_line,
    feeder_killed_and_restarted,
    gate_fails,
    uninstalled_in_order,
    killed_and_gone,
    marked,
    api_away,
    uninstalled_by_force,
)
"""In this order, on one API server: the last one leaves nothing of Nodemend in it."""
