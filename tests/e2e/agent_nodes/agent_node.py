"""A namespace for agents, and a node for each: its objects, its token, its certificate, its folders."""

import json
import os
import sys
import uuid
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from controlplane.api import Object
from controlplane.process import Process
from controlplane.run import ControlPlane
from nodemend.api.agent import certified_name
from nodemend.api.well_known import AGENT_NAMESPACE, AGENT_REPORT, PEER_PROPOSAL
from nodemend.cmd.agent import PAIR
from tests.unit.agent.certificates import Authority

ACCOUNT: Final = "nodemend-agent"
LEASES: Final = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"
_RIGHTS: Final = ["get", "create", "patch"]
_TOKEN: Final = {"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}


def furnish(plane: ControlPlane) -> None:
    """Create the agents' namespace, and an account that may write Leases there.

    Its other rights do not matter.
    """
    plane.api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": AGENT_NAMESPACE}})
    here = {"name": ACCOUNT, "namespace": AGENT_NAMESPACE}
    plane.api.create({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": here})
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": _RIGHTS}]
    plane.api.create({"apiVersion": f"{rbac}/v1", "kind": "Role", "metadata": here, "rules": rules})
    plane.api.create(
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "RoleBinding",
            "metadata": here,
            "roleRef": {"apiGroup": rbac, "kind": "Role", "name": ACCOUNT},
            "subjects": [{"kind": "ServiceAccount", **here}],
        }
    )


@dataclass
class AgentNode:
    """One node, with all files that its agent needs. `folder` is the host's tmpfs."""

    plane: ControlPlane
    name: str
    folder: Path
    authority: Authority
    host: str = "127.0.0.1"
    peer_port: int = 0
    """0 for any free port."""
    uid: str = ""
    boot_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    environment: dict[str, str] = field(default_factory=dict)
    inside: tuple[str, ...] = ()
    """A prefix that runs a command elsewhere, for example in a network namespace."""
    program: str = "nodemend.cmd.agent"
    process: Process | None = None

    def __post_init__(self) -> None:
        (self.folder / "agent").mkdir(parents=True)
        (self.folder / "account").mkdir()
        (self.folder / "boot_id").write_text(f"{self.boot_id}\n")
        (self.folder / "account" / "ca.crt").write_bytes(self.plane.ca.read_bytes())
        self.uid = self._make_objects()
        self.renew_token()
        self._certify()

    def _make_objects(self) -> str:
        node = self.plane.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": self.name}})
        self.plane.api.create(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {"name": self.pod, "namespace": AGENT_NAMESPACE},
                "spec": {
                    "serviceAccountName": ACCOUNT,
                    "nodeName": self.name,
                    "containers": [{"name": "agent", "image": "nodemend"}],
                    "tolerations": [{"operator": "Exists"}],
                    # As in the chart: a node may request such tokens.
                    "volumes": [{"name": "account", "projected": {"sources": [_TOKEN]}}],
                },
            }
        )
        return str(node["metadata"]["uid"])

    def _certify(self) -> None:
        shown = self.authority.issue(certified_name(self.name), file=self.name)
        tls = self.folder / "agent" / "tls"
        tls.mkdir()
        pair = b"".join(Path(file).read_bytes() for file in (shown.certificate, shown.key))
        (tls / PAIR).write_bytes(pair)
        (self.folder / "trust.crt").write_bytes(Path(shown.authority).read_bytes())

    def lose_certificate(self) -> None:
        """Delete its certificate; no new one is signed."""
        (self.folder / "agent" / "tls" / PAIR).unlink()

    @property
    def pod(self) -> str:
        return f"agent-{self.name}"

    def token(self) -> str:
        """Get a token as kubelet does: bound to the pod, and so to its node."""
        path = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        bound = {"apiVersion": "v1", "kind": "Pod", "name": self.pod}
        asked = {"spec": {"expirationSeconds": 3600, "boundObjectRef": bound}}
        return str(self.plane.api.request("POST", path, asked)["status"]["token"])

    def renew_token(self) -> None:
        """Renew it as kubelet does, long before it expires."""
        new = self.folder / "account" / "token.new"
        new.write_text(self.token())
        new.rename(new.with_name("token"))

    # The process.

    def command(self) -> list[str]:
        flags = {
            "node-name": self.name,
            "peer-host": self.host,
            "peer-port": str(self.peer_port),
            "probe-port": "0",
            "host-folder": str(self.folder),
            "state-folder": str(self.folder / "agent"),
            "certificates": str(self.folder / "agent" / "tls"),
            "trust": str(self.folder / "trust.crt"),
            "account": str(self.folder / "account"),
            "boot-id": str(self.folder / "boot_id"),
            "log-form": "json",
        }
        reported = {
            "PATH": os.environ["PATH"],
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.plane.port),
            **self.environment,
        }
        words = [f"--{name}={value}" for name, value in flags.items()]
        variables = [f"{name}={value}" for name, value in reported.items()]
        program = [sys.executable, "-m", self.program]
        return [*self.inside, "/usr/bin/env", "-i", *variables, *program, *words]

    def start(self) -> Process:
        if self.process is None:
            self.process = Process(self.command(), log=self.folder / f"{self.name}.log")
        else:
            self.process.start()
        return self.process

    def end(self) -> None:
        if self.process is not None:
            self.process.end()

    # Results.

    @property
    def address(self) -> str:
        """The address at which it listens for peers."""
        lines = (json.loads(line) for line in self.said.splitlines() if line.startswith("{"))
        return next((str(line["peers"]) for line in lines if line["event"] == "listening"), "")

    @property
    def said(self) -> str:
        return (self.folder / f"{self.name}.log").read_text()

    def lease(self) -> Object | None:
        return self.plane.api.find(f"{LEASES}/{self.name}")

    def report(self) -> dict[str, Any]:
        """The last report of the agent; empty before the first."""
        text = annotations_of(self.lease()).get(AGENT_REPORT)
        return json.loads(text) if text else {}

    def annotate(self, **annotations: str | None) -> None:
        self.plane.api.patch(f"{LEASES}/{self.name}", {"metadata": {"annotations": annotations}})

    def propose(self, text: str) -> None:
        self.plane.api.patch(f"{LEASES}/{self.name}", {"metadata": {"annotations": {PEER_PROPOSAL: text}}})


def annotations_of(lease: Object | None) -> dict[str, Any]:
    return {} if lease is None else lease["metadata"].get("annotations", {})
