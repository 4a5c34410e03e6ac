"""A control plane of real programs on loopback: started, owned and ended by one object."""

import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from controlplane import commands, credentials
from controlplane.api import Api
from controlplane.attacher import Attacher
from controlplane.build import build
from controlplane.credentials import User
from controlplane.etcd import Etcd
from controlplane.mounts import Mounter
from controlplane.nodes import Nodes
from controlplane.ports import LOOPBACK, on_free_port
from controlplane.process import Process
from controlplane.readiness import furnished, serves
from controlplane.rounds import Rounds
from controlplane.settings import Settings
from controlplane.slate import Slate, detach_everything
from controlplane.waiting import wait_until

ADMIN = "admin"
# Accounts of the fake parts, to distinguish them from the tests' own in an audit log.
KUBELETS = "controlplane:kubelets"
STORAGE = commands.NOT_AUDITED
SECONDS_TO_START = 60.0
SECONDS_OF_KUBECONFIG = 6 * 3600


class ControlPlane:
    """A control plane, as a context manager: ready inside, nothing of it left outside.

    Without `directory`, everything it writes goes to a temporary folder that is removed at the end; a given
    folder keeps the logs and kubeconfigs. Building missing programs is part of starting.
    """

    def __init__(self, settings: Settings | None = None, *, directory: Path | None = None) -> None:
        self.settings = settings or Settings()
        ours = [User(name, ("system:masters",)) for name in (ADMIN, KUBELETS, STORAGE)]
        self.users = {user.name: user for user in (*ours, *self.settings.users)}
        self.processes: dict[str, Process] = {}
        self._directory = directory
        self._owned = ExitStack()

    def __enter__(self) -> Self:
        with self._owned:
            self._start()
            self._owned = self._owned.pop_all()  # Nothing failed: they end in __exit__.
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._owned.close()

    def _start(self) -> None:
        self.programs = build(self.settings.kubernetes)
        self.directory = self._prepare_directory()
        self.etcd = Etcd.start(self.programs["etcd"], self.settings, self.directory)
        self._owned.callback(shutil.rmtree, self.etcd.data)
        self._own("etcd", self.etcd.process)
        self.port = on_free_port(self._start_api_server_on)
        self.api = self.client()
        self.kubeconfig = self.kubeconfig_for(ADMIN)
        self.nodes = Nodes(self.api, self.settings, self.kubeconfig_for(KUBELETS), self._run_kwok)
        self.attacher = Attacher(self.client(STORAGE))
        self._start_controllers()
        self._slate = Slate(self.etcd)

    # Properties that callers need to reach it.

    @property
    def url(self) -> str:
        return f"https://{LOOPBACK}:{self.port}"

    @property
    def ca(self) -> Path:
        """The certificate that the API server made for itself; it verifies as its own CA bundle."""
        return self.directory / "certs" / "apiserver.crt"

    def client(self, user: str = ADMIN) -> Api:
        """A client in the name of a user with a static token."""
        return self.client_with(self.users[user].token)

    def client_with(self, token: str) -> Api:
        api = Api(self.port, self.ca, token)
        self._owned.callback(api.close)
        return api

    def kubeconfig_for(self, user: str) -> Path:
        """The kubeconfig file of a user with a static token."""
        return self._write_kubeconfig(user, self.users[user].token)

    def service_account_token(self, namespace: str, name: str, *, seconds: int = 3600) -> str:
        """A token for a service account that exists, minted by the API server."""
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        minted = self.api.request("POST", path, {"spec": {"expirationSeconds": seconds}})
        return str(minted["status"]["token"])

    def service_account_kubeconfig(self, namespace: str, name: str) -> Path:
        """A kubeconfig with a token that outlives every campaign, since it is never renewed."""
        token = self.service_account_token(namespace, name, seconds=SECONDS_OF_KUBECONFIG)
        return self._write_kubeconfig(f"{namespace}-{name}", token)

    def kubectl(self, *arguments: str, stdin: str | None = None, within: float = 60.0) -> str:
        """kubectl's output. Raises subprocess.CalledProcessError, whose `stderr` has the reason."""
        command = [str(self.programs["kubectl"]), *arguments]
        env = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(
            command, env=env, input=stdin, timeout=within, check=True, capture_output=True, text=True
        ).stdout

    # Actions for callers.

    def run(self, name: str, flags: list[str], *, program: Path | None = None) -> Process:
        """Run one of the programs, or another, as a child process; it ends before those started earlier."""
        command: list[str | Path] = [program or self.programs[name], *flags]
        return self._own(name, Process(command, log=self.directory / f"{name}.log"))

    def pause(self, name: str) -> None:
        """Stop a process as if it hung, until `resume`."""
        self.processes[name].pause()

    def resume(self, name: str) -> None:
        self.processes[name].resume()

    def stop_api_server(self) -> None:
        """An outage: every connection breaks, new ones are refused until `start_api_server`."""
        # On SIGTERM it would wait a minute for its clients to disconnect.
        self.processes["kube-apiserver"].kill()

    def start_api_server(self) -> None:
        """Start it again, on the port and with the certificate it had."""
        self._start_api_server_on(self.port)
        for process in self.processes.values():
            if process.gave_up:  # During the outage; a kubelet would restart it, too.
                process.start()

    def restart_api_server(self) -> None:
        """Every watch and connection breaks; ready again on return."""
        self.stop_api_server()
        self.start_api_server()

    def compact(self) -> int:
        """Compact etcd to its current revision: older ones are gone (410) where no watch cache has them."""
        return self.etcd.compact()

    def mark(self) -> None:
        """From now on `wipe` keeps the present objects, such as CRDs that all tests share."""
        self._slate.mark()

    def wipe(self) -> None:
        """Put the cluster back to the mark: its start, or the last call of `mark`. Watches see deletions."""
        self.nodes.reset()
        self.attacher.reset()
        controllers = self.settings.controller_manager
        if controllers and self.settings.attacher:
            detach_everything(self.api, self._slate)
        self._slate.wipe(quiet=0.1 if controllers else 0.02)

    # Implementation.

    def _prepare_directory(self) -> Path:
        if self._directory is None:
            folder = Path(tempfile.mkdtemp(prefix="nodemend-controlplane-"))
            self._owned.callback(shutil.rmtree, folder)
        else:
            folder = self._directory.absolute()
            folder.mkdir(parents=True, exist_ok=True)
        credentials.write_secret(folder / "sa.key", credentials.signing_key())
        credentials.write_secret(folder / "tokens.csv", credentials.token_file(self.users.values()))
        (folder / "audit-policy.yaml").write_text(commands.AUDIT_POLICY)
        return folder

    def _start_api_server_on(self, port: int) -> int:
        flags = commands.kube_apiserver(self.settings, self.directory, port=port, etcd_port=self.etcd.port)
        process = self.run("kube-apiserver", flags)
        token = self.users[ADMIN].token
        wait_until(
            "kube-apiserver is ready",
            lambda: serves(port, self.ca, token),
            within=SECONDS_TO_START,
            processes=[process],
        )
        return port

    def _start_controllers(self) -> None:
        if self.settings.scheduler:
            self.run("kube-scheduler", commands.kube_scheduler(self.settings, self.kubeconfig))
        if self.settings.controller_manager:
            flags = commands.kube_controller_manager(self.settings, self.directory, self.kubeconfig)
            manager = self.run("kube-controller-manager", flags)
            what = "kube-controller-manager works"
            wait_until(what, lambda: furnished(self.api), within=SECONDS_TO_START, processes=[manager])
        if self.settings.attacher:
            self._serve("attacher", self.attacher.serve)
            self._serve("mounts", Mounter(self.client(STORAGE), self.nodes.silent).serve)

    def _serve(self, name: str, once: Callable[[], None]) -> None:
        self._owned.callback(Rounds(name, once).close)

    def _run_kwok(self, name: str, flags: list[str]) -> Process:
        return self.run(name, flags, program=self.programs["kwok"])

    def _own(self, name: str, process: Process) -> Process:
        """Add a process; it is ended before those that were started before it."""
        if name not in self.processes:
            self._owned.callback(self._end, name)
        self.processes[name] = process
        return process

    def _end(self, name: str) -> None:
        self.processes[name].end()

    def _write_kubeconfig(self, owner: str, token: str) -> Path:
        file = self.directory / f"{owner.replace(':', '-')}.kubeconfig"
        return credentials.write_secret(file, credentials.kubeconfig(self.url, self.ca, token))


StartControlPlane = Callable[[Settings], ControlPlane]
