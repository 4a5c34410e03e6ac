"""The storage of the test clusters: attaches and detaches as the real attach-detach controller requests.

It plays Kubernetes' external-attacher with a driver that always succeeds, after a delay, or never.
"""

import threading
import time
from collections.abc import Callable

from controlplane.api import Api, Object
from controlplane.node_objects import DRIVER

ATTACHMENTS = "/apis/storage.k8s.io/v1/volumeattachments"
FINALIZER = f"external-attacher/{DRIVER.replace('.', '-')}"


class Attacher:
    """Processes the VolumeAttachments of this driver. Call `serve` in rounds, the rest from any thread."""

    def __init__(
        self,
        api: Api,
        *,
        attach_delay: float = 0.0,
        detach_delay: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.attach_delay = attach_delay
        self.detach_delay = detach_delay
        self._api = api
        self._clock = clock
        self._asked: dict[tuple[str, bool], float] = {}
        self._held: set[str] = set()
        self._lock = threading.Lock()

    def hold(self, name: str) -> None:
        """From now on neither attach nor detach, for this node, PersistentVolume or VolumeAttachment."""
        with self._lock:
            self._held.add(name)

    def release(self, name: str) -> None:
        """Undo `hold`."""
        with self._lock:
            self._held.discard(name)

    def reset(self) -> None:
        """Hold nothing, and answer at once."""
        with self._lock:
            self._held.clear()
        self.attach_delay = self.detach_delay = 0.0

    def serve(self) -> None:
        """Process every due request: one that has been pending for the delay."""
        seen = set()
        for attachment in self._api.list(ATTACHMENTS):
            request = _request(attachment)
            if attachment["spec"]["attacher"] != DRIVER or request is None:
                continue
            seen.add(request)
            if self._due(attachment, request):
                self._answer(attachment)
        self._asked = {request: since for request, since in self._asked.items() if request in seen}

    def _due(self, attachment: Object, request: tuple[str, bool]) -> bool:
        """True if this request, first seen now or earlier, has been pending for the delay and is not held."""
        _, to_detach = request
        delay = self.detach_delay if to_detach else self.attach_delay
        now = self._clock()
        waited = now - self._asked.setdefault(request, now)
        spec = attachment["spec"]
        parties = {attachment["metadata"]["name"], spec["nodeName"], spec["source"]["persistentVolumeName"]}
        with self._lock:
            return waited >= delay and not parties & self._held

    def _answer(self, attachment: Object) -> None:
        meta = attachment["metadata"]
        path = f"{ATTACHMENTS}/{meta['name']}"
        others = [finalizer for finalizer in meta.get("finalizers", []) if finalizer != FINALIZER]
        if "deletionTimestamp" in meta:
            self._api.patch(path, {"metadata": {"uid": meta["uid"], "finalizers": others}})
        else:
            self._api.patch(path, {"metadata": {"uid": meta["uid"], "finalizers": [*others, FINALIZER]}})
            attached = {"metadata": {"uid": meta["uid"]}, "status": {"attached": True}}
            self._api.patch(f"{path}/status", attached)


def _request(attachment: Object) -> tuple[str, bool] | None:
    """The request, by the object's uid: whether to detach; None if there is nothing to do."""
    meta = attachment["metadata"]
    if "deletionTimestamp" in meta:
        return (meta["uid"], True) if FINALIZER in meta.get("finalizers", []) else None
    return None if attachment.get("status", {}).get("attached") else (meta["uid"], False)
