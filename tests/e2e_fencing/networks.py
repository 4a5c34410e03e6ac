"""A network for each node, on one bridge; the API server answers on an address of its own there."""

import os
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from cluster_api import private_network

API: Final = "192.0.2.1"
"""What the API server of our tests has in its certificate. A documentation address: nobody lives there."""
PEER_PORT: Final = 9771
NAMES: Final = Path("/run/netns")
"""Where ip(8) keeps the names of networks."""
_FIRST: Final = 10
"""The last part of the first node's address."""
_SECONDS: Final = 60.0
"""That one command may take."""


def enter_own() -> None:
    """Move this process into a network of its own, where it names others. Needs root, and no threads yet.

    Two runs at once do not meet, and one that was killed leaves nothing behind: what it left would have the
    addresses of the next, whose nodes would then wait for answers that go elsewhere.
    """
    private_network.enter()
    private_network.unshare(private_network.CLONE_NEWNS)
    NAMES.mkdir(parents=True, exist_ok=True)
    for words in ("--make-rprivate /", f"-t tmpfs tmpfs {NAMES}"):
        subprocess.run(["/usr/bin/mount", *words.split()], check=True, timeout=_SECONDS)


@dataclass
class Networks:
    """A context manager. What it makes in the kernel is named after this process, and removed at the end.

    `number` tells clusters of one process apart, by bridge and subnet.
    """

    nodes: tuple[str, ...]
    number: int = 0
    _made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._bridge = f"nm{os.getpid()}{chr(ord('a') + self.number)}"
        self._subnet = f"10.213.{self.number}"
        self._index = {node: index for index, node in enumerate(self.nodes)}
        self.without_api: set[str] = set()
        """Whom nothing reaches that the API server sends."""
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
        """Before a command, to run it on that node."""
        return ("/usr/sbin/ip", "netns", "exec", self._name(node))

    def processes(self, node: str) -> list[int]:
        """Of all that run on it, whoever started them."""
        return [int(word) for word in ip(["netns", "pids", self._name(node)]).split()]

    # What goes wrong.

    def cut_api(self, node: str) -> None:
        """Nothing that the API server sends reaches the node. Its peers do."""
        self.without_api.add(node)
        self._blocked.add(node)
        ip(f"route replace blackhole {self.address(node)}/32".split())

    def cut_off(self, node: str) -> None:
        """Nothing reaches it, and nothing that it sends reaches anybody."""
        self.without_api.add(node)
        ip(f"link set {self._name(node)} down".split())

    def silence(self, node: str, towards: Iterable[str]) -> None:
        """Nothing that it sends reaches these. What they send reaches it, but no connection comes of that."""
        routes = [f"route replace blackhole {self.address(other)}/32" for other in towards]
        ip(["-n", self._name(node), "-batch", "-"], routes)

    def part(self, one: Sequence[str], other: Sequence[str]) -> None:
        """Nothing of either side reaches the other."""
        for node in one:
            self.silence(node, other)
        for node in other:
            self.silence(node, one)

    def mend(self, node: str) -> None:
        """Everything that was cut at this node. What others have cut towards it stays cut."""
        ip(f"link set {self._name(node)} up".split())
        ip(["-n", self._name(node), "route", "flush", "type", "blackhole"])
        self._unblock(node)
        self.without_api.discard(node)

    # How.

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
            # By itself: a namespace that is deleted takes its end with it only some time later.
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
    """What it says. `lines` are commands for `-batch -`."""
    told = "\n".join(lines)
    done = subprocess.run(
        ["/usr/sbin/ip", *words], check=False, capture_output=True, text=True, input=told, timeout=_SECONDS
    )
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, [*words, *lines], stderr=done.stderr)
    return done.stdout
