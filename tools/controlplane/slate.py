"""A clean slate between tests, without a restart: etcd's keys are restored to their earlier state.

Done in etcd because that is quick, complete and independent of finalizers, of namespaces that only a
controller could end, and of unexpected kinds. The API server and every watcher see ordinary deletions.
"""

import time

from controlplane.api import Api
from controlplane.attacher import ATTACHMENTS
from controlplane.etcd import Etcd, Stored
from controlplane.waiting import wait_until

ROOT = "/registry/"
# Objects of the control plane itself, created and changed at any time: left alone.
OWN = (
    "/registry/apiregistration.k8s.io/",
    "/registry/flowschemas/",
    "/registry/ipaddresses/10.0.0.1",
    "/registry/peerserverleases/",
    "/registry/prioritylevelconfigurations/",
    "/registry/serviceaccounts/kube-system/",
    "/registry/services/specs/default/kubernetes",
)
# A lease from before the mark is in use, and its older value would be wrong; one created since is a leftover.
LEASES = "/registry/leases/"
MAKERS_OF_PODS = (
    "/registry/cronjobs/",
    "/registry/daemonsets/",
    "/registry/deployments/",
    "/registry/jobs/",
    "/registry/replicasets/",
    "/registry/statefulsets/",
)
POLLS = 50


class Slate:
    """The contents of the store at the mark, and the way back to it."""

    def __init__(self, etcd: Etcd) -> None:
        self._etcd = etcd
        self._marked: dict[str, Stored] = {}
        self.mark()

    def mark(self) -> None:
        """From now on a wipe keeps the present objects: call it after installing the objects that all tests
        share.
        """
        self._marked = self._etcd.snapshot(ROOT)

    def wipe(self, *, quiet: float) -> None:
        """Delete what was added since the mark, restore what was changed or deleted.

        Repeats until nothing comes back for `quiet` seconds: controllers that have not yet observed the
        deletions create new objects. Raises TimeoutError if that never stops.
        """
        # Restored once: if a controller changes its own object again, that value is right.
        added = self._added()
        self._etcd.change(put=self._lost(), delete=added)
        for _ in range(POLLS):
            time.sleep(quiet)
            if not (added := self._added()):
                return
            self._etcd.change(put={}, delete=added)
        raise TimeoutError(f"these come back for ever: {', '.join(sorted(added)[:5])}")

    def stop_workloads(self) -> None:
        """Delete the objects that create pods, directly in etcd."""
        self._etcd.change(put={}, delete={key for key in self._added() if key.startswith(MAKERS_OF_PODS)})

    def _added(self) -> set[str]:
        return {key for key in self._etcd.keys(ROOT) - self._marked.keys() if not key.startswith(OWN)}

    def _lost(self) -> dict[str, bytes]:
        """The objects that were changed or deleted since the mark, with their old values."""
        now = self._etcd.snapshot(ROOT)
        return {
            key: was.value
            for key, was in self._marked.items()
            if not key.startswith(OWN) and _lost(key, was, now.get(key))
        }


def _lost(key: str, was: Stored, now: Stored | None) -> bool:
    return now is None or (now.value != was.value and not key.startswith(LEASES))


def detach_everything(api: Api, slate: Slate) -> None:
    """End all pods and let the controllers detach their volumes.

    The attach-detach controller remembers what it attached: a VolumeAttachment that is deleted directly in
    etcd keeps it busy for a minute.
    """
    if not api.list(ATTACHMENTS):
        return
    slate.stop_workloads()
    for pod in api.list("/api/v1/pods"):
        meta = pod["metadata"]
        api.delete(f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}", gracePeriodSeconds=0)
    try:
        wait_until("everything is detached", lambda: not api.list(ATTACHMENTS), within=5)
    except TimeoutError:
        return  # A test has broken the detaching itself, and its volumes have unique names.
