"""A bridge with a tap device for each guest, and an address for the API server."""

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from guest.qemu import Cable
from tests.e2e.self_fencing.networks import API, ip

_SUBNET: Final = "10.213.200"
_FIRST: Final = 10


class Wires:
    def __init__(self, nodes: Sequence[str]) -> None:
        self._bridge = f"nm{os.getpid()}g"
        self._number = {node: number for number, node in enumerate(nodes)}

    def cable(self, node: str) -> Cable:
        number = self._number[node]
        address = f"{_SUBNET}.{_FIRST + number}/24"
        return Cable(self._tap(node), f"52:54:00:6e:6d:{number:02x}", address)

    def cut(self, node: str) -> None:
        ip(f"link set {self._tap(node)} down".split())

    def mend(self, node: str) -> None:
        ip(f"link set {self._tap(node)} up".split())

    def _tap(self, node: str) -> str:
        return f"{self._bridge}{self._number[node]}"

    def make(self, owned: ExitStack) -> None:
        ip(f"link add {self._bridge} type bridge".split())
        owned.callback(ip, f"link del {self._bridge}".split())
        ip(f"addr add {_SUBNET}.1/24 dev {self._bridge}".split())
        ip(f"addr add {API}/32 dev {self._bridge}".split())
        ip(f"link set {self._bridge} up".split())
        for node in self._number:
            ip(f"tuntap add dev {self._tap(node)} mode tap".split())
            owned.callback(ip, f"link del {self._tap(node)}".split())
            ip(f"link set {self._tap(node)} master {self._bridge} up".split())


@contextmanager
def wired(nodes: Sequence[str]) -> Iterator[Wires]:
    with ExitStack() as owned:
        wires = Wires(nodes)
        wires.make(owned)
        yield wires
