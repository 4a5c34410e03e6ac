"""A kubelet's handling of disks: it reports those in use before using them, and waits for each."""

from collections.abc import Iterable

from tests.e2e.guests.guest.api import Api, Object


class Volumes:
    def __init__(self, api: Api, node: str) -> None:
        self._api = api
        self._node = f"/api/v1/nodes/{node}"
        self._in_use: list[str] | None = None

    def are_there(self, pod: Object, pods: Iterable[Object]) -> bool:
        """True if they are attached, and reported as in use. `pods` are all of the node."""
        needed = self._disks(pod)
        if needed is None:
            return False
        in_use = sorted({disk for one in pods for disk in self._disks(one) or ()})
        if in_use != self._in_use:
            self._api.merge(f"{self._node}/status", {"status": {"volumesInUse": in_use}})
            self._in_use = in_use
        if not needed:
            return True
        node = self._api.ask("GET", self._node)
        return set(needed) <= {one["name"] for one in node["status"].get("volumesAttached", [])}

    def _disks(self, pod: Object) -> list[str] | None:
        """The names that Kubernetes gives them; None if one of them is not bound."""
        namespace = pod["metadata"]["namespace"]
        found = []
        for volume in pod["spec"].get("volumes", []):
            if "persistentVolumeClaim" in volume:
                name = volume["persistentVolumeClaim"]["claimName"]
                claim = self._api.ask("GET", f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
                if not claim["spec"].get("volumeName"):
                    return None
                disk = self._api.ask("GET", f"/api/v1/persistentvolumes/{claim['spec']['volumeName']}")
                csi = disk["spec"]["csi"]
                found.append(f"kubernetes.io/csi/{csi['driver']}^{csi['volumeHandle']}")
        return found
