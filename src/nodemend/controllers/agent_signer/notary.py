"""What the signer asks of cryptography."""

from typing import Protocol

from nodemend.api.agent_authority import KeyPair
from nodemend.decide.agent_authority import Authority
from nodemend.decide.agent_certificate import Asked, Garbled, Window


class Notary(Protocol):
    """Makes keys by chance of its own. It asks no clock: times are seconds since 1970, and given."""

    def make_authority(self, window: Window) -> KeyPair: ...

    def describe(self, certificate: str) -> Authority:
        """Raises ValueError for what is no certificate."""
        ...

    def fingerprints(self, bundle: str) -> frozenset[str]:
        """Of every certificate in a text. Raises ValueError for a text that holds anything else."""
        ...

    def read(self, request: bytes) -> Asked | Garbled:
        """What a PKCS#10 in PEM asks for."""
        ...

    def certify(self, request: bytes, name: str, window: Window, by: KeyPair) -> str:
        """A certificate for the key of this request and for this name; whatever else it asks for is ignored.

        Raises ValueError where `read` finds it garbled.
        """
        ...
