"""Runs the containers of a pod as processes of the guest: the guest's root is the only image.

Volumes are folders; links lead to them from where containers mount them: only one pod per node has volumes.
"""

import os
from pathlib import Path

from guest.inside import child, tell
from tests.e2e.guests.guest.api import Api, Object

PATH = "/usr/bin"
_NICER = 5
"""The nice value relative to the host's own programs, which have their own shares on a real host."""
WORKLOAD = "/stage/tests/e2e/guests/guest/workload.py"


class Containers:
    """The containers of one pod. `pid` is that of its only long-running container; 0 if it does not run."""

    def __init__(self, api: Api, pod: Object, address: str) -> None:
        self.pod = pod
        self.pid = 0
        self._api = api
        self._address = address
        self._folder = Path("/run/pods") / pod["metadata"]["uid"]

    def mount(self) -> None:
        """Write the volumes.

        Raises RefusedError, or one of LOST. Called repeatedly, since ConfigMaps change.
        """
        if not self._is_ours:
            return  # A workload writes on the serial line, and reads nothing.
        for volume in self.pod["spec"].get("volumes", []):
            self._fill(volume)
        for container in (*self.pod["spec"].get("initContainers", []), *self.pod["spec"]["containers"]):
            for mount in container.get("volumeMounts", []):
                self._link(mount)

    def prepare(self) -> None:
        """Run its init containers to their end."""
        for container in self.pod["spec"].get("initContainers", []):
            pid = self._run(container)
            if os.waitpid(pid, 0)[1]:
                raise OSError(f"{container['name']} failed")

    def start(self) -> None:
        (container,) = self.pod["spec"]["containers"]
        self.pid = self._run(container)

    @property
    def _is_ours(self) -> bool:
        """True if its image is the one in the guest's root."""
        return all("command" in container for container in self.pod["spec"]["containers"])

    # Processes.

    def _run(self, container: Object) -> int:
        words = container.get("command") or ["/usr/bin/python3", "-I", "-S", WORKLOAD, self._folder.name]
        user = container.get("securityContext", {}).get("runAsUser", 0)
        environment = {"PATH": PATH, **{one["name"]: self._value(one) for one in container.get("env", [])}}
        tell("RUN", self.pod["metadata"]["name"], container["name"])
        return child(lambda: _run_inside(words, user, environment))

    def _value(self, variable: Object) -> str:
        if "value" in variable:
            return str(variable["value"])
        field = variable["valueFrom"]["fieldRef"]["fieldPath"]
        return {"spec.nodeName": str(self.pod["spec"]["nodeName"]), "status.hostIP": self._address}[field]

    # Volumes.

    def _fill(self, volume: Object) -> None:
        folder = self._folder / volume["name"]
        if "configMap" in volume:
            self._config_map(folder, volume["configMap"])
        elif "projected" in volume:
            self._projected(folder, volume["projected"])

    def _projected(self, folder: Path, volume: Object) -> None:
        for source in volume["sources"]:
            if "serviceAccountToken" in source and not (folder / "token").exists():
                put(folder / "token", self._token(source["serviceAccountToken"]))
            if "configMap" in source:
                self._config_map(folder, source["configMap"])

    def _config_map(self, folder: Path, source: Object) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        namespace = self.pod["metadata"]["namespace"]
        found = self._api.get(f"/api/v1/namespaces/{namespace}/configmaps/{source['name']}")
        for name, text in ((found or {}).get("data") or {}).items():
            put(folder / name, text)

    def _token(self, source: Object) -> str:
        """A token bound to the pod, as kubelets request it."""
        meta, account = self.pod["metadata"], self.pod["spec"]["serviceAccountName"]
        bound = {"apiVersion": "v1", "kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        asked = {"spec": {"expirationSeconds": source["expirationSeconds"], "boundObjectRef": bound}}
        path = f"/api/v1/namespaces/{meta['namespace']}/serviceaccounts/{account}/token"
        return str(self._api.ask("POST", path, asked)["status"]["token"])

    def _link(self, mount: Object) -> None:
        (volume,) = (one for one in self.pod["spec"]["volumes"] if one["name"] == mount["name"])
        path = volume.get("hostPath", {}).get("path", str(self._folder / volume["name"]))
        link = Path(mount["mountPath"])
        if not link.is_symlink():
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(Path(path) / mount.get("subPath", ""))


def put(file: Path, text: str) -> None:
    """Write atomically, and only if the text changed."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists() or file.read_text() != text:
        part = file.with_name(f".{file.name}")
        part.write_text(text)
        part.rename(file)


def _run_inside(words: list[str], user: int, environment: dict[str, str]) -> None:
    os.nice(_NICER)
    os.setgid(user)
    os.setuid(user)
    os.execvpe(words[0], words, environment)  # noqa: S606 - what the pod names
