"""The agent's files on its host: feed lease, permit and stored state, the feeder's report, and its own token.

The agent runs without root, and only the feeder, which is root, may write the feeder's folder. So
`python3 -m nodemend.agent.files FOLDER USER` runs before the agent, as root, and creates the folder that the
agent writes to.

An agent may read only Leases, so it cannot read its Node. But the API server has written the name and UID of
that Node into the token that kubelet requested for the pod. The token is not verified here, and need not be:
only kubelet, or root on this node, could put another token into the pod (docs/decisions/0049).
"""

import contextlib
import os
import sys
import time
from base64 import urlsafe_b64decode
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec

from nodemend.agent.heartbeat_loop import FeederTold
from nodemend.agent.reset_log_io import read_reset, read_tested
from nodemend.agent.state import ActiveTerms, AgentState, stopped_gracefully
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import (
    SECOND,
    evaluate_watchdog,
    format_disarm_permission,
    format_lease,
    longest_lease,
)
from nodemend.agent.watchdog.records_io import (
    read_disarm_permission,
    read_lease,
    read_or_empty,
    write_record,
)
from nodemend.api.agent import LastReset, WatchdogReport
from nodemend.kube.outcome import DECODE_ERRORS, decoder_of
from nodemend.protocol.feed_lease import FeedLease, fence_now

STATUS: Final = "feeder.status"
GATE: Final = "gate"
"""In the same folder: the record that the boot gate left when it opened."""
TESTED: Final = "tested-watchdog"
LAST_RESET: Final = "last-reset"
"""Also there: the record of the last boot that was no longer fed."""


@dataclass(frozen=True, slots=True)
class FeederFile:
    """Production implementation of the Feeder port."""

    path: str
    disarm_permission: str
    """While this file exists, no release may rely on the watchdog, regardless of the feeder's older
    status."""
    boot_id: str
    tested: str
    """The boot gate's record of a watchdog that was observed to reset this machine."""

    def report(self) -> FeederTold:
        status = parse_status(read_or_empty(self.path))
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        tested = read_tested(self.tested, self.boot_id, status.get("driver", ""))
        watchdog_status = evaluate_watchdog(status, self.boot_id, now, tested)
        watchdog = WatchdogReport(
            class_=watchdog_status.kind,
            driver=watchdog_status.driver,
            written=watchdog_status.written,
            effective=watchdog_status.effective,
            why=watchdog_status.why,
        )
        if read_disarm_permission(self.disarm_permission, self.boot_id):
            watchdog = stopped_gracefully(watchdog)
        return FeederTold(watchdog, longest_lease(status, self.boot_id))


def last_reset(path: str) -> LastReset | None:
    """Return the boot gate's record; None also for one that would make the whole report unreadable."""
    record = read_reset(path)
    if record is None:
        return None
    try:
        return msgspec.convert(record.report(), LastReset)
    except msgspec.ValidationError:
        return None


@dataclass(frozen=True, slots=True)
class _StoredState:
    boot_id: str
    memory: AgentState


@dataclass(frozen=True, slots=True)
class RestoredState:
    """State from an earlier agent of this boot, and whether this boot must never be fed again."""

    memory: AgentState
    fence_requested: bool


@dataclass(frozen=True, slots=True)
class DiskStateFiles:
    """Stores the agent's files. Raises OSError, so that the agent publishes no promise that is not stored."""

    boot_id: str
    lease: str
    memory: str
    disarm_permission: str

    def feed_until(self, until: float) -> None:
        write_record(self.lease, format_lease(FeedLease(self.boot_id, int(until * SECOND))))

    def fence_now(self, why: str) -> None:
        write_record(self.lease, format_lease(fence_now(FeedLease(self.boot_id))))

    def stop_gracefully(self) -> None:
        write_record(self.disarm_permission, format_disarm_permission(self.boot_id))

    def stand_up(self) -> None:
        Path(self.disarm_permission).unlink(missing_ok=True)

    def remember(self, memory: AgentState) -> None:
        write_record(self.memory, msgspec.json.encode(_StoredState(self.boot_id, memory)))

    def recall(self) -> RestoredState:
        """Return the stored state. If it is lost, the lease file still has the end of the feeder's lease."""
        memory = self._recall_memory() or AgentState(active_terms=ActiveTerms())
        lease = read_lease(self.lease)
        if not isinstance(lease, FeedLease) or lease.boot_id != self.boot_id:
            return RestoredState(memory, fence_requested=False)
        fed_until = max(memory.fed_until, lease.until / SECOND)
        return RestoredState(msgspec.structs.replace(memory, fed_until=fed_until), lease.fence_requested)

    def _recall_memory(self) -> AgentState | None:
        try:
            kept = decoder_of(_StoredState).decode(Path(self.memory).read_bytes())
        except (OSError, *DECODE_ERRORS):
            return None
        return kept.memory if kept.boot_id == self.boot_id else None


@dataclass(frozen=True, slots=True)
class BoundNode:
    name: str
    uid: str


@dataclass(frozen=True, slots=True)
class NotBound:
    """The token names no node."""

    why: str


class _Bound(msgspec.Struct):
    node: BoundNode | None = None


class _Claims(msgspec.Struct):
    bound: _Bound = msgspec.field(name="kubernetes.io", default_factory=_Bound)


def node_of_token(token: str) -> BoundNode | NotBound:
    """Read the claim `kubernetes.io`, which names the node of a pod's token since Kubernetes 1.30."""
    parts = token.strip().split(".")
    if len(parts) != 3:
        return NotBound("it is no JWT")
    try:
        payload = urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4))
        claims = decoder_of(_Claims).decode(payload)
    except (ValueError, *DECODE_ERRORS):
        return NotBound("its claims cannot be read")
    node = claims.bound.node
    if node is None or not node.name or not node.uid:
        return NotBound("it is not bound to a pod on a node")
    return node


_ONLY_ITS_OWNER = 0o700


def make_folder(path: str, user: int) -> None:
    """Create the folder for `user` alone. Raises OSError, also if the path is not a folder."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, _ONLY_ITS_OWNER)
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        found = os.fstat(descriptor)
        if (found.st_uid, found.st_gid) != (user, user):
            # Before the chown: root without further capabilities may change the mode of root's files only.
            os.fchmod(descriptor, _ONLY_ITS_OWNER)
            os.fchown(descriptor, user, user)
    finally:
        os.close(descriptor)


def main(words: list[str]) -> int:
    path, user = words
    make_folder(path, int(user))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
