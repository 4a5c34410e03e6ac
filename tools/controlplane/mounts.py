"""The volume handling of kubelets that kwok lacks: report volumes in use, start no pod before its volumes.

A kubelet lists a volume in its Node's status.volumesInUse before it mounts it and until it has unmounted it.
While it is listed the attach-detach controller does not detach it, short of the out-of-service taint or six
minutes of waiting.
"""

from collections import defaultdict
from collections.abc import Callable

from controlplane.api import Api, ApiError, Object

MOUNTED = "controlplane.nodemend.io/mounted"


class Mounter:
    """The volume part of all played kubelets but the silent ones. Call `serve` in rounds."""

    def __init__(self, api: Api, silent: Callable[[], set[str]]) -> None:
        self._api = api
        self._silent = silent

    def serve(self) -> None:
        """Bring volumesInUse up to date, and let pods start whose volumes are attached."""
        pods = [pod for pod in self._api.list("/api/v1/pods") if _claims(pod) and "nodeName" in pod["spec"]]
        volumes = self._volumes() if pods else {}
        needs: dict[str, list[tuple[Object, set[str]]]] = defaultdict(list)
        for pod in pods:
            needed = {volumes.get(claim, "") for claim in _claims(pod)}
            needs[pod["spec"]["nodeName"]].append((pod, needed))
        for node in self._api.list("/api/v1/nodes"):
            # Checked again for every node: it may have fallen silent during this round.
            if node["metadata"]["name"] not in self._silent():
                self._serve_node(node, needs[node["metadata"]["name"]])

    def _serve_node(self, node: Object, pods: list[tuple[Object, set[str]]]) -> None:
        in_use = sorted({volume for pod, needed in pods if not _ended(pod) for volume in needed if volume})
        if in_use != sorted(node["status"].get("volumesInUse", [])):
            path = f"/api/v1/nodes/{node['metadata']['name']}/status"
            self._api.patch(
                path, {"metadata": {"uid": node["metadata"]["uid"]}, "status": {"volumesInUse": in_use}}
            )
            return  # Mount in the next round: the report must be written first.
        attached = {volume["name"] for volume in node["status"].get("volumesAttached", [])}
        for pod, needed in pods:
            if needed <= attached and MOUNTED not in pod["metadata"].get("annotations", {}):
                self._mount(pod)

    def _mount(self, pod: Object) -> None:
        meta = pod["metadata"]
        path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
        try:
            self._api.patch(path, {"metadata": {"uid": meta["uid"], "annotations": {MOUNTED: "true"}}})
        except ApiError as error:
            if error.status not in (404, 409):  # Gone, or another pod of that name.
                raise

    def _volumes(self) -> dict[tuple[str, str], str]:
        """Kubernetes' name for the volume of each bound claim, by the claim's namespace and name."""
        volumes = {}
        for volume in self._api.list("/api/v1/persistentvolumes"):
            spec = volume["spec"]
            if "csi" in spec and volume["status"].get("phase") == "Bound":
                claim = spec["claimRef"]["namespace"], spec["claimRef"]["name"]
                volumes[claim] = f"kubernetes.io/csi/{spec['csi']['driver']}^{spec['csi']['volumeHandle']}"
        return volumes


def _claims(pod: Object) -> set[tuple[str, str]]:
    """The claims that a pod mounts, by namespace and name."""
    namespace = pod["metadata"]["namespace"]
    return {
        (namespace, volume["persistentVolumeClaim"]["claimName"])
        for volume in pod["spec"].get("volumes", [])
        if "persistentVolumeClaim" in volume
    }


def _ended(pod: Object) -> bool:
    return pod["status"].get("phase") in ("Succeeded", "Failed")
