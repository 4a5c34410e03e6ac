"""A network namespace for each node, on one bridge with an address for the API server."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cluster_api import private_network

API: Final = "192.0.2.1"
"""The address in the certificate of the tests' API server.

A documentation address, which no real host has.
"""
PEER_PORT: Final = 9771
NAMES: Final = Path("/run/netns")
"""The directory of ip(8) for names of network namespaces."""
_FIRST: Final = 10
"""The last part of the first node's address."""
_SECONDS: Final = 60.0
"""Time limit of one command."""


def enter_own() -> None:
    """Move this process into its own network and mount namespace. Needs root, and no threads yet.

    Concurrent runs do not meet, and a killed run leaves nothing behind: leftovers would have the addresses of
    the next run, whose nodes would then wait for answers that go elsewhere.
    """
    private_network.enter_network()
    private_network.unshare(private_network.CLONE_NEWNS)
    NAMES.mkdir(parents=True, exist_ok=True)
    for words in ("--make-rprivate /", f"-t tmpfs tmpfs {NAMES}"):
        subprocess.run(["/usr/bin/mount", *words.split()], check=True, timeout=_SECONDS)


@dataclass
class Networks:
    """A context manager. Kernel objects that it makes are named after this process, and removed at the end.

    `number` distinguishes clusters of one process, by bridge and subnet.
    """

    nodes: tuple[str, ...]
    number: int = 0
    _made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._bridge = f"nm{os.getpid()}{chr(ord('a') + self.number)}"
        self._subnet = f"10.213.{self.number}"
        self._index = {node: index for index, node in enumerate(self.nodes)}
        self.without_api: set[str] = set()
        """Nodes that the API server's packets do not reach."""
        self._blocked: set[str] = set()

    def __enter__(self) -> Self:
        try:
            self._make()
        except subprocess.CalledProcessError:
            self.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def address(self, node: str) -> str:
        return f"{self._subnet}.{_FIRST + self._index[node]}"

    def inside(self, node: str) -> tuple[str, ...]:
        """The prefix that runs a command on that node."""
        return ("/usr/sbin/ip", "netns", "exec", self._name(node))

    def processes(self, node: str) -> list[int]:
        """The IDs of all processes that run on it."""
        return [int(word) for word in ip(["netns", "pids", self._name(node)]).split()]

    # Faults.

    def cut_api(self, node: str) -> None:
        """Drop the API server's packets to the node. Its peers can still reach it."""
        self.without_api.add(node)
        self._blocked.add(node)
        ip(f"route replace blackhole {self.address(node)}/32".split())

    def cut_off(self, node: str) -> None:
        """Drop all packets to and from the node."""
        self.without_api.add(node)
        ip(f"link set {self._name(node)} down".split())

    def silence(self, node: str, towards: Iterable[str]) -> None:
        """Drop its packets to these nodes. Their packets reach it, but no connection can be made."""
        routes = [f"route replace blackhole {self.address(other)}/32" for other in towards]
        ip(["-n", self._name(node), "-batch", "-"], routes)

    def part(self, one: Sequence[str], other: Sequence[str]) -> None:
        """Drop all packets between both sides."""
        for node in one:
            self.silence(node, other)
        for node in other:
            self.silence(node, one)

    def mend(self, node: str) -> None:
        """Undo all cuts of this node. Cuts of other nodes towards it stay."""
        ip(f"link set {self._name(node)} up".split())
        ip(["-n", self._name(node), "route", "flush", "type", "blackhole"])
        self._unblock(node)
        self.without_api.discard(node)

    # Implementation.

    def _unblock(self, node: str) -> None:
        if node in self._blocked:
            ip(f"route del blackhole {self.address(node)}/32".split())
            self._blocked.discard(node)

    def _name(self, node: str) -> str:
        return f"{self._bridge}-{self._index[node]}"

    def _make(self) -> None:
        self._add(f"link add {self._bridge} type bridge", f"link del {self._bridge}")
        ip(f"addr add {self._subnet}.1/24 dev {self._bridge}".split())
        ip(f"addr add {API}/32 dev {self._bridge}".split())
        ip(f"link set {self._bridge} up".split())
        for node in self.nodes:
            name = self._name(node)
            self._add(f"netns add {name}", f"netns del {name}")
            # Explicitly: deleting a namespace removes its end of the pair only some time later.
            self._add(f"link add {name} type veth peer name eth0 netns {name}", f"link del {name}")
            ip(f"link set {name} master {self._bridge} up".split())
            lines = [
                f"addr add {self.address(node)}/24 dev eth0",
                "link set eth0 up",
                "link set lo up",
                f"route add {API}/32 dev eth0",
            ]
            ip(["-n", name, "-batch", "-"], lines)

    def _add(self, make: str, remove: str) -> None:
        ip(make.split())
        self._made.append(remove)

    def close(self) -> None:
        for node in self.nodes:
            self._unblock(node)
        for remove in reversed(self._made):
            subprocess.run(
                ["/usr/sbin/ip", *remove.split()], check=False, capture_output=True, timeout=_SECONDS
            )
        self._made.clear()


def ip(words: Sequence[str], lines: Sequence[str] = ()) -> str:
    """The output. `lines` are commands for `-batch -`."""
    reported = "\n".join(lines)
    done = subprocess.run(
        ["/usr/sbin/ip", *words],
        check=False,
        capture_output=True,
        text=True,
        input=reported,
        timeout=_SECONDS,
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, [*words, *lines], stderr=done.stderr)
    return done.stdout
