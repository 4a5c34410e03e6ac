"""Keeps the agent's certificate: executes the commands of its state machine on files, keys and API server.

The certificate and its key are this node's files; another component provides the CA bundle. Keys come from a
child process that ends right after (`cmd/make_key`), so that the agent does not load the library for them.
"""

import asyncio
import contextlib
import os
import ssl
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Protocol, assert_never

from nodemend.agent.certificates import (
    CertificateCommand,
    CertificateEvent,
    CertificateHeld,
    CertificateRequester,
    CertificateStatus,
    FilesChecked,
    GetRequest,
    KeyMade,
    MakeKey,
    NoBundle,
    NoCertificate,
    PostRequest,
    RequestFailed,
    StoreCertificate,
    WaitForCertificate,
    ask_request,
    name_request,
    post_request,
    understand_get,
    understand_post,
)
from nodemend.agent.peer_http import PresentedCertificate, client_tls, server_tls
from nodemend.api.agent import certified_name
from nodemend.kube.outcome import Reply
from nodemend.kube.ports import Runtime, Transport
from nodemend.kube.request import Request
from nodemend.protocol.peers import CertificateTrust, Validity, evaluate_validity

_CHECK_INTERVAL: Final = 1.0
_STEPS: Final = 10
"""Maximum number of steps of a handshake, which takes two or three."""

_FileVersion = tuple[int, int, int]


class NoCertificateError(OSError):
    """There is no usable certificate, so this node can neither ask nor answer peers."""


@dataclass(frozen=True, slots=True)
class _Contexts:
    server: ssl.SSLContext
    client: ssl.SSLContext
    authorities: tuple[PresentedCertificate, ...]
    bundle_lost: bool = False
    """Made with the stored copy of the bundle, because the bundle is missing or damaged."""

    def issuers(self, shown: PresentedCertificate) -> list[Validity]:
        """Return the authorities that may have signed the certificate, by their name."""
        issuer = shown.get("issuer")
        return [_validity(one) for one in self.authorities if one.get("subject") == issuer]


@dataclass(slots=True)
class CertificateFiles:
    """The agent's certificate files.

    `pair` has this node's certificate and key, on a tmpfs; both are replaced together or not at all. Beside
    it is a copy of the last bundle by which its certificate was accepted. If the bundle is missing or
    damaged, the copy serves only to ask peers, and answer them, whether the API server is unreachable: a
    deleted bundle must not end every node at the next outage.
    """

    node: str
    pair: str
    trust: str
    monotonic: Callable[[], float]
    wall: Callable[[], float]
    """Unix time in seconds, by which certificates are valid."""
    _made: _Contexts | None = None
    _stamps: tuple[_FileVersion | None, _FileVersion | None] = (None, None)
    _looked_at: float = field(default=float("-inf"))
    _kept_bundle: _FileVersion | None = None

    def server_tls(self) -> ssl.SSLContext:
        """Return the context for the next inbound connection. Raises NoCertificateError."""
        return self._contexts().server

    def client_tls(self) -> ssl.SSLContext:
        """Return the context for the next outbound connection. Raises NoCertificateError."""
        return self._contexts().client

    def keep(self, certificate: str, key: str) -> bool:
        """Replace both if peers would accept the new ones; True if replaced. Raises OSError."""
        beside = f"{self.pair}.new"
        write_secret(beside, (certificate + key).encode())
        if not isinstance(self._try(_load(beside, self.trust)), CertificateHeld):
            os.unlink(beside)
            return False
        os.rename(beside, self.pair)
        self._looked_at = float("-inf")
        return True

    def read_status(self) -> CertificateStatus:
        self._looked_at = float("-inf")
        if _stamp(self.trust) is None:
            return NoBundle()
        try:
            found = self._try(self._contexts())
        except NoCertificateError:
            return NoCertificate()
        if isinstance(found, CertificateHeld):
            self._keep_bundle()
        return found

    def _keep_bundle(self) -> None:
        """Copy the bundle. A failure matters only if the bundle is lost later."""
        if self._kept_bundle != self._stamps[1]:
            with contextlib.suppress(OSError):
                write_secret(f"{self._copy}.new", Path(self.trust).read_bytes())
                os.rename(f"{self._copy}.new", self._copy)
                self._kept_bundle = self._stamps[1]

    @property
    def _copy(self) -> str:
        return f"{self.pair}.bundle"

    def evaluate(self, shown: PresentedCertificate, trusted_at: Sequence[float]) -> CertificateTrust:
        """Return the trust in a peer's certificate. TLS has checked everything except its times."""
        try:
            contexts = self._contexts()
        except NoCertificateError:
            return CertificateTrust.NONE
        found = evaluate_validity(_validity(shown), contexts.issuers(shown), self.wall(), trusted_at)
        return (
            CertificateTrust.OUTAGE_ONLY if contexts.bundle_lost and found is CertificateTrust.FULL else found
        )

    def _try(self, made: _Contexts | None) -> CertificateHeld | NoCertificate:
        """Check by a handshake in memory that peers would accept it: chain, name, key and times."""
        if made is None or made.bundle_lost:
            return NoCertificate()
        try:
            shown = shake_hands(made.server, made.client, certified_name(self.node))
        except ssl.SSLError:
            return NoCertificate()
        validity, wall = _validity(shown), self.wall()
        if evaluate_validity(validity, made.issuers(shown), wall, ()) is not CertificateTrust.FULL:
            return NoCertificate()
        return CertificateHeld(life=validity.ends - validity.begins, left=validity.ends - wall)

    def _contexts(self) -> _Contexts:
        now = self.monotonic()
        if now - self._looked_at >= _CHECK_INTERVAL:
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
    except OSError:  # Includes ssl.SSLError.
        return False
    return True


def _validity(shown: PresentedCertificate) -> Validity:
    begins, ends = (ssl.cert_time_to_seconds(str(shown[key])) for key in ("notBefore", "notAfter"))
    return Validity(begins, ends)


def _load(pair: str, trust: str) -> _Contexts | None:
    """Return the contexts; None if a file is missing, is no certificate, or the key does not match."""
    try:
        client = client_tls(pair, pair, trust)
        return _Contexts(server_tls(pair, pair, trust), client, tuple(client.get_ca_certs()))
    except OSError:  # Includes ssl.SSLError.
        return None


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> dict[str, object]:
    """Return the server certificate that a client gets, by a handshake in memory. Raises ssl.SSLError."""
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
    """Write a new file that only this user can access. Raises OSError."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        while content:
            content = content[os.write(descriptor, content) :]
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _stamp(path: str) -> _FileVersion | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


_PROGRAM: Final = "nodemend.cmd.make_key"
_MAKE_KEY_TIMEOUT: Final = 60.0
_REQUEST: Final = b"-----BEGIN CERTIFICATE REQUEST-----"
_KEPT_VARIABLES: Final = ("PATH", "PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "LD_LIBRARY_PATH")


@dataclass(frozen=True, slots=True)
class MadeKey:
    """Key and request, both PEM. The key has only passed through a pipe of this node."""

    key: str = field(repr=False)
    request: str


@dataclass(frozen=True, slots=True)
class NoKey:
    why: str


async def make_key_in_child(name: str) -> MadeKey | NoKey:
    """Production implementation of KeyMaker."""
    environment = {key: os.environ[key] for key in _KEPT_VARIABLES if key in os.environ}
    try:
        child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            _PROGRAM,
            name,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
    except OSError as error:
        return NoKey(f"{_PROGRAM} cannot be started: {error}")
    try:
        async with asyncio.timeout(_MAKE_KEY_TIMEOUT):
            made, said = await child.communicate()
    except TimeoutError:
        return NoKey(f"{_PROGRAM} took more than {_MAKE_KEY_TIMEOUT:g} s")
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return _read(made) if child.returncode == 0 else NoKey(_last_line(said))


def _read(made: bytes) -> MadeKey | NoKey:
    key, mark, request = made.partition(_REQUEST)
    if not mark or not key:
        return NoKey(f"{_PROGRAM} printed something else")
    return MadeKey(key.decode(), (mark + request).decode())


def _last_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return lines[-1][:200] if lines else "it said nothing"


_REQUEST_TIMEOUT: Final = 5.0


KeyMaker = Callable[[str], Coroutine[Any, Any, MadeKey | NoKey]]
"""Returns a key, and a request for this name."""


class Files(Protocol):
    def read_status(self) -> CertificateStatus: ...

    def keep(self, certificate: str, key: str) -> bool:
        """Replace both if peers would accept the new ones; True if replaced. Raises OSError."""
        ...


@dataclass(slots=True, kw_only=True)
class CertificateLoop:
    """Keeps one node's certificate fresh. The client and server modules make TLS contexts from the files."""

    node: str
    runtime: Runtime
    transport: Transport
    files: Files
    make_key: KeyMaker
    tell: Callable[[str], None] = lambda _failure: None
    """Called once for each failure, and with an empty text at its end."""
    _asking: CertificateRequester = field(init=False)
    _name: str = field(init=False, default="")
    _key: str = field(init=False, default="", repr=False)
    _reported: str = field(init=False, default="")

    def __post_init__(self) -> None:
        self._asking = CertificateRequester(self.runtime.random)

    async def run(self) -> None:
        """Run until cancelled."""
        event: CertificateEvent = FilesChecked(self.files.read_status())
        while True:
            command = self._asking.step(event, self.runtime.monotonic())
            if self._asking.failure != self._reported:
                self._reported = self._asking.failure
                self.tell(self._reported)
            event = await self._carry_out(command)

    async def _carry_out(self, command: CertificateCommand) -> CertificateEvent:
        match command:
            case WaitForCertificate(seconds):
                await self.runtime.sleep(seconds)
                return FilesChecked(self.files.read_status())
            case MakeKey():
                return await self._make()
            case PostRequest(request):
                return understand_post(await self._send(post_request(self._name, request)))
            case GetRequest(after):
                await self.runtime.sleep(after)
                return understand_get(await self._send(ask_request(self._name)))
            case StoreCertificate(certificate):
                return self._keep(certificate)
            case _:
                assert_never(command)

    async def _make(self) -> CertificateEvent:
        made = await self.make_key(certified_name(self.node))
        if isinstance(made, NoKey):
            return RequestFailed(f"no key could be made: {made.why}")
        self._key = made.key
        self._name = name_request(self.node, f"{int(self.runtime.random() * 2**48):012x}")
        return KeyMade(made.request)

    async def _send(self, request: Request) -> Reply:
        return await self.transport.send(request, self.runtime.monotonic() + _REQUEST_TIMEOUT)

    def _keep(self, certificate: str) -> CertificateEvent:
        try:
            kept = self.files.keep(certificate, self._key)
        except OSError as error:
            return RequestFailed(f"the certificate could not be kept: {error}")
        # The matching bundle may not have arrived yet, so the agent does not request another one at once.
        return (
            FilesChecked(self.files.read_status())
            if kept
            else RequestFailed("the certificate that came cannot be trusted")
        )
