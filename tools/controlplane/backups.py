"""Backups of a running etcd, and restores from them, in each of the ways that admins use."""

import shutil
import subprocess
from enum import StrEnum
from pathlib import Path

from controlplane.build import build_family
from controlplane.pins import ETCDUTL
from controlplane.ports import LOOPBACK
from controlplane.run import ControlPlane
from controlplane.waiting import wait_until

BUMP = 1_000_000_000


class Way(StrEnum):
    SNAPSHOT = "etcdutl snapshot restore"
    BUMPED = "etcdutl snapshot restore --bump-revision --mark-compacted"
    COPIED = "a copied data folder"


class Backup:
    """etcd as it is now."""

    def __init__(self, plane: ControlPlane, way: Way) -> None:
        self._plane = plane
        self._way = way
        self._at = plane.directory / f"backup-of-{plane.etcd.data.name}"
        if way is Way.COPIED:
            plane.pause("etcd")
            shutil.copytree(plane.etcd.data, self._at)
            plane.resume("etcd")
        else:
            endpoint = f"--endpoints=http://{LOOPBACK}:{plane.etcd.port}"
            _run(plane.programs["etcdctl"], endpoint, "snapshot", "save", str(self._at))

    def restore(self) -> None:
        """Stop the API server, put etcd back to the backup, and start both on their ports again."""
        plane, etcd = self._plane, self._plane.etcd
        plane.stop_api_server()
        etcd.process.end()
        shutil.rmtree(etcd.data)
        self._fill(etcd.data)
        etcd.process.start()
        wait_until("etcd answers", etcd.answers, within=30, processes=[etcd.process])
        plane.start_api_server()

    def _fill(self, data: Path) -> None:
        if self._way is Way.COPIED:
            shutil.copytree(self._at, data)
            return
        peer = self._plane.etcd.peer
        words = ["snapshot", "restore", str(self._at), f"--data-dir={data}", f"--name={data.name}"]
        words += [f"--initial-cluster={data.name}={peer}", f"--initial-advertise-peer-urls={peer}"]
        if self._way is Way.BUMPED:
            words += [f"--bump-revision={BUMP}", "--mark-compacted"]
        _run(build_family(ETCDUTL) / "etcdutl", *words)


def _run(program: Path, *words: str) -> None:
    subprocess.run([program, *words], check=True, capture_output=True, timeout=60)
