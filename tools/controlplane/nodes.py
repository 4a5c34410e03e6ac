"""Nodes with kubelets played by kwok, one process per group: a group can fall silent and come back."""

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from controlplane import commands
from controlplane.api import Api, Object
from controlplane.node_objects import BOOT_ID, GROUP, csi_node, in_boot, is_ready, node_manifest, restarted
from controlplane.process import Process
from controlplane.settings import Settings
from controlplane.waiting import wait_until

STAGES = Path(__file__).parent / "stages"
WOKEN = "controlplane.nodemend.io/woken"
# Seconds without any node becoming ready, until the missing ones are woken.
SECONDS_OF_QUIET = 2.0

Run = Callable[[str, list[str]], Process]


class Nodes:
    """The played nodes of one control plane. A node stays in its group, and is named after it."""

    def __init__(self, api: Api, settings: Settings, kubeconfig: Path, run: Run) -> None:
        self._api = api
        self._settings = settings
        self._kubeconfig = kubeconfig
        self._run = run
        self._kubelets: dict[str, Process] = {}
        self._members: dict[str, dict[str, Object]] = {}

    def add(
        self,
        group: str,
        count: int = 1,
        *,
        labels: Mapping[str, str] | None = None,
        spec: Mapping[str, Any] | None = None,
        within: float = 30.0,
    ) -> list[str]:
        """Make `count` more nodes in a group, and wait until they are Ready. Returns their names."""
        members = self._members.setdefault(group, {})
        names = [f"{group}-{len(members) + i}" for i in range(count)]
        for name in names:
            members[name] = node_manifest(name, group, labels=labels or {}, spec=spec or {})
            self._register(members[name])
        if group not in self._kubelets:
            self._kubelets[group] = self._start_kubelets(group)
        self.wait_ready(names, within=within)
        return names

    def names(self, group: str) -> list[str]:
        return list(self._members[group])

    def silent(self) -> set[str]:
        """The names of the nodes that do not report now."""
        groups = [group for group, kubelets in list(self._kubelets.items()) if kubelets.paused]
        return {name for group in groups for name in list(self._members.get(group, ()))}

    def silence(self, group: str) -> None:
        """Hang all kubelets of a group: no report, no lease, no pod started or stopped until `resume`."""
        self._kubelets[group].pause()

    def resume(self, group: str) -> None:
        """Let the kubelets of a group continue where they were; no effect if they run."""
        self._kubelets[group].resume()

    def reboot(self, target: str, *, within: float = 30.0) -> dict[str, str]:
        """Reboot all nodes of a group, or one node, and wait for their report. Returns the new boot IDs.

        A silent group comes back. Pods that were to be deleted end; the others have their containers
        restarted; a Node that was deleted meanwhile is registered again.
        """
        boots = self.begin_boot(target)
        self.wait_ready(boots, within=within)
        for name in boots:
            self.restart_containers(name)
        return boots

    def begin_boot(self, target: str) -> dict[str, str]:
        """As `reboot`, up to the moment at which their kubelets start to report."""
        group = target if target in self._members else self._group_of(target)
        names = self.names(group) if group == target else [target]
        boots = {name: str(uuid.uuid4()) for name in names}
        for name, boot in boots.items():
            self._boot(self._members[group][name], boot)
        self.resume(group)
        return boots

    def wait_ready(self, names: Iterable[str], *, within: float = 30.0) -> None:
        """Until all those nodes are Ready, in the boot they are in."""
        waiting = set(names)
        quiet_since = time.monotonic()

        def all_ready() -> bool:
            nonlocal quiet_since
            nodes = {node["metadata"]["name"]: node for node in self._api.list("/api/v1/nodes")}
            ready = {name for name in waiting if name in nodes and is_ready(nodes[name])}
            waiting.difference_update(ready)
            now = time.monotonic()
            if ready:
                quiet_since = now
            elif now - quiet_since > SECONDS_OF_QUIET:
                quiet_since = now
                self.wake(waiting & nodes.keys())
            return not waiting

        wait_until(f"ready: {', '.join(sorted(waiting)[:5])}", all_ready, within=within)

    def wake(self, names: Iterable[str]) -> None:
        """Change these Nodes, so that their kubelets process them again.

        If a Node changes just as kwok takes it over, kwok may report onto the older version, get a conflict,
        and not retry before the Node changes once more.
        """
        for name in names:
            change = {"metadata": {"annotations": {WOKEN: str(uuid.uuid4())}}}
            self._api.patch(f"/api/v1/nodes/{name}", change)

    def reset(self) -> None:
        """Forget all nodes, which the caller deletes, and end their kubelets."""
        # Not kept for the next test: a kwok whose Node is deleted while it takes the lease renews that
        # forever.
        for kubelets in self._kubelets.values():
            kubelets.kill()
        self._kubelets.clear()
        self._members.clear()

    def _group_of(self, node: str) -> str:
        return next(group for group, members in self._members.items() if node in members)

    def _start_kubelets(self, group: str) -> Process:
        stages = [STAGES / "node.yaml", STAGES / "pod.yaml"]
        flags = commands.kwok(self._settings, stages, self._kubeconfig, nodes=f"{GROUP}={group}")
        return self._run(f"kwok-{group}", flags)

    def _register(self, node: Object) -> None:
        """Create the Node and what goes with it, as a kubelet and its storage plugin do."""
        registered = self._api.create(node)
        if self._settings.attacher:
            self._api.delete(f"/apis/storage.k8s.io/v1/csinodes/{node['metadata']['name']}")
            self._api.create(csi_node(registered))

    def _boot(self, node: Object, boot: str) -> None:
        path = f"/api/v1/nodes/{node['metadata']['name']}"
        if self._api.find(path) is None:
            self._register(in_boot(node, boot))
        else:
            self._api.patch(path, {"metadata": {"annotations": {BOOT_ID: boot}}})

    def restart_containers(self, node: str) -> None:
        """Restart its pods that were running, and are not to be deleted."""
        for pod in self._api.list("/api/v1/pods", fieldSelector=f"spec.nodeName={node},status.phase=Running"):
            meta = pod["metadata"]
            if "deletionTimestamp" not in meta:
                status = {"containerStatuses": [restarted(was) for was in pod["status"]["containerStatuses"]]}
                path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}/status"
                self._api.patch(path, {"metadata": {"uid": meta["uid"]}, "status": status})
