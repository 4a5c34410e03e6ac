"""The agent's certificate with its key in one file, the bundle that others bring, and TLS made from both."""

import contextlib
import os
import ssl
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from nodemend.agent.certificate import Held, Holding, NoBundle, NotHeld
from nodemend.agent.peer_client_shell import client_tls
from nodemend.agent.peer_server_shell import Shown, server_tls
from nodemend.api.certified_names import certified_name
from nodemend.decide.certificate_belief import Belief, Validity, judge_validity

_LOOK_EVERY: Final = 1.0
_STEPS: Final = 10
"""A handshake takes two or three."""

_Stamp = tuple[int, int, int]


class NoCertificateError(OSError):
    """There is none yet, or none that can be used: nobody can be asked or answered."""


@dataclass(frozen=True, slots=True)
class _Contexts:
    server: ssl.SSLContext
    client: ssl.SSLContext
    authorities: tuple[Shown, ...]
    bundle_lost: bool = False
    """Made with the bundle that was kept: there is no other any more."""

    def issuers(self, shown: Shown) -> list[Validity]:
        """The authorities that may have signed it, by their name."""
        issuer = shown.get("issuer")
        return [_validity(one) for one in self.authorities if one.get("subject") == issuer]


@dataclass(slots=True)
class CertificateFiles:
    """`pair` is ours, on a tmpfs: certificate and key are replaced together or not at all.

    Beside it lies a copy of the last bundle that its certificate was believed by. Where the bundle is missing
    or spoiled, that copy serves to ask and to be asked whether the API server is out of reach: a bundle that
    was deleted must not end every node at the next outage.
    """

    node: str
    pair: str
    trust: str
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    """Seconds since 1970, by which certificates go."""
    _made: _Contexts | None = None
    _stamps: tuple[_Stamp | None, _Stamp | None] = (None, None)
    _looked_at: float = field(default=float("-inf"))
    _kept_bundle: _Stamp | None = None

    def server_tls(self) -> ssl.SSLContext:
        """For the next connection that comes in. Raises NoCertificateError."""
        return self._contexts().server

    def client_tls(self) -> ssl.SSLContext:
        """For the next connection that goes out. Raises NoCertificateError."""
        return self._contexts().client

    def keep(self, certificate: str, key: str) -> bool:
        """Put them in the place of those before, if peers would believe them. Raises OSError."""
        beside = f"{self.pair}.new"
        write_secret(beside, (certificate + key).encode())
        if not isinstance(self._try(_load(beside, self.trust)), Held):
            os.unlink(beside)
            return False
        os.rename(beside, self.pair)
        self._looked_at = float("-inf")
        return True

    def look(self) -> Holding:
        self._looked_at = float("-inf")
        if _stamp(self.trust) is None:
            return NoBundle()
        try:
            found = self._try(self._contexts())
        except NoCertificateError:
            return NotHeld()
        if isinstance(found, Held):
            self._keep_bundle()
        return found

    def _keep_bundle(self) -> None:
        """Where that fails, only a bundle that is lost later is missed."""
        if self._kept_bundle != self._stamps[1]:
            with contextlib.suppress(OSError):
                write_secret(f"{self._copy}.new", Path(self.trust).read_bytes())
                os.rename(f"{self._copy}.new", self._copy)
                self._kept_bundle = self._stamps[1]

    @property
    def _copy(self) -> str:
        return f"{self.pair}.bundle"

    def judge(self, shown: Shown, trusted_at: Sequence[float]) -> Belief:
        """What a certificate is worth that a peer showed. TLS has checked all but its times."""
        try:
            contexts = self._contexts()
        except NoCertificateError:
            return Belief.NONE
        found = judge_validity(_validity(shown), contexts.issuers(shown), self.wall(), trusted_at)
        return Belief.OUTAGE_ONLY if contexts.bundle_lost and found is Belief.FULL else found

    def _try(self, made: _Contexts | None) -> Held | NotHeld:
        """Whether peers would believe it, tried on ourselves: chain, name, key and times."""
        if made is None or made.bundle_lost:
            return NotHeld()
        try:
            shown = shake_hands(made.server, made.client, certified_name(self.node))
        except ssl.SSLError:
            return NotHeld()
        validity, wall = _validity(shown), self.wall()
        if judge_validity(validity, made.issuers(shown), wall, ()) is not Belief.FULL:
            return NotHeld()
        return Held(life=validity.ends - validity.begins, left=validity.ends - wall)

    def _contexts(self) -> _Contexts:
        now = self.monotonic()
        if now - self._looked_at >= _LOOK_EVERY:
            self._looked_at = now
            stamps = (_stamp(self.pair), _stamp(self.trust))
            if stamps != self._stamps:
                self._made, self._stamps = self._load(), stamps
        if self._made is None:
            raise NoCertificateError(f"there is no certificate of {self.node} that can be used")
        return self._made

    def _load(self) -> _Contexts | None:
        if _names_an_authority(self.trust):
            return _load(self.pair, self.trust)
        kept = _load(self.pair, self._copy)
        return replace(kept, bundle_lost=True) if kept else None


def _names_an_authority(trust: str) -> bool:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(trust)
    except OSError:  # And so ssl.SSLError.
        return False
    return True


def _validity(shown: Shown) -> Validity:
    begins, ends = (ssl.cert_time_to_seconds(str(shown[key])) for key in ("notBefore", "notAfter"))
    return Validity(begins, ends)


def _load(pair: str, trust: str) -> _Contexts | None:
    """None for what is not there, no certificate, or not the key of it: whichever, it cannot be used."""
    try:
        client = client_tls(pair, pair, trust)
        return _Contexts(server_tls(pair, pair, trust), client, tuple(client.get_ca_certs()))
    except OSError:  # And so ssl.SSLError.
        return None


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """What a peer is shown that connects to us, as if it were one. Raises ssl.SSLError where it hangs up."""
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    caller = client.wrap_bio(back, there, server_hostname=name)
    called = server.wrap_bio(there, back, server_side=True)
    for _ in range(_STEPS):
        done = [_goes_on(side) for side in (caller, called)]
        if all(done):
            return dict(caller.getpeercert() or {})
    raise ssl.SSLError("the handshake comes to no end")


def _goes_on(side: ssl.SSLObject) -> bool:
    try:
        side.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def write_secret(path: str, content: bytes) -> None:
    """A new file, for nobody but us. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(path: str) -> _Stamp | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size
