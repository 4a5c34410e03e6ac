"""An installation of Nodemend that can be upgraded, removed, and installed again."""

from controlplane.api import collection
from controlplane.process import Process
from installed.manifests import documents_of
from installed.programs import start
from tests.e2e.power.real_cluster import CHECKER, POWER_CYCLES, Stage

_KEPT = ("CustomResourceDefinition", "Namespace")


class Installation:
    """The programs run as processes; the rest is on the API server."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._running = [stage.checker, stage.start_remediator()]
        self._documents = documents_of(*POWER_CYCLES)

    @property
    def remediator(self) -> Process:
        return self._running[-1]

    def start(self) -> None:
        self._running = [start(self._stage.plane, CHECKER), self._stage.start_remediator()]

    def stop(self, *, gently: bool = True) -> None:
        for process in self._running:
            if gently:
                process.end()
            else:
                process.kill()

    def apply_anew(self) -> None:
        """Apply every document again, as an upgrade does."""
        for document in self._documents:
            self._stage.plane.api.request(
                "PATCH",
                f"{collection(document)}/{document['metadata']['name']}",
                document,
                content_type="application/apply-patch+yaml",
                query={"fieldManager": "upgrade", "force": "true"},
            )

    def remove(self) -> None:
        """Remove everything except Nodemend's kinds and their objects, which the chart keeps as well."""
        for document in reversed(self._documents):
            if document["kind"] not in _KEPT:
                self._stage.plane.api.delete(f"{collection(document)}/{document['metadata']['name']}")
