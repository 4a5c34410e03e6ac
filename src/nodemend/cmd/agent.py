"""Runs `nodemend-agent` on a node: renews its agent Lease, and lets the feeder continue while it may."""

import asyncio
import os
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from nodemend import __version__
from nodemend.agent.certificates_io import CertificateFiles, CertificateLoop, make_key_in_child
from nodemend.agent.files import (
    GATE,
    LAST_RESET,
    STATUS,
    TESTED,
    BoundNode,
    DiskStateFiles,
    FeederFile,
    NotBound,
    RestoredState,
    last_reset,
    node_of_token,
)
from nodemend.agent.heartbeat import Heartbeat
from nodemend.agent.heartbeat_loop import FeederTold, HeartbeatLog, HeartbeatLoop
from nodemend.agent.peer_http import PeerListener, PresentedCertificate, TlsPeerClient, make_server
from nodemend.agent.peer_responder import PeerResponder, PeerResponderLoop
from nodemend.agent.state import AgentIdentity
from nodemend.agent.watchdog.device import forget_the_start, take_lock
from nodemend.agent.watchdog.records_io import read_gate
from nodemend.api.value_forms import PeerAddress, parse_address
from nodemend.cmd.serving import Readiness, listen, probes_of, run_program, until_stop_signal
from nodemend.kube.asyncio_runtime import AsyncioRuntime
from nodemend.kube.credentials import CredentialsError, in_cluster
from nodemend.kube.credentials_io import LiveCredentials
from nodemend.kube.http_transport import HttpTransport
from nodemend.kube.tasks import run_together
from nodemend.protocol.peers import CertificateTrust
from nodemend.settings.agent import AgentSettings, run_with_settings
from nodemend.telemetry.logging import Log, LogStream

NAME: Final = "nodemend-agent"
PAIR: Final = "pair.pem"
"""Certificate and key, in one file."""
HEALTHY_WANTED: Final = 2
"""Peers that must report no marker before their answers count: one may be Byzantine."""
_CONNECTIONS: Final = 14
"""To the API server: for renewals, API checks for peers, and eight API checks beside renewals that fail."""
_CLOSE_SECONDS: Final = 1.0
_TOKEN_READ_EVERY: Final = 10.0
GRACEFUL_STOP_SECONDS: Final = 10.0
"""Of the 15 seconds that its pod has to end."""


def run_agent(settings: AgentSettings) -> int:
    """Run the agent, as `run_program` does.

    After a signal it first performs a graceful stop. After any other end, the feeder continues for as long as
    the last clean API check allows: an agent that is back by then has missed nothing.
    """
    runtime = AsyncioRuntime()
    log = Log(
        LogStream(sys.stderr),
        form=settings.log_form,
        level=settings.log_level,
        fixed={"program": NAME, "version": __version__, "node": settings.node_name},
        wall=runtime.wall,
    )
    return run_program(log, _serve(settings, runtime, log), (CredentialsError, OSError))


async def _serve(settings: AgentSettings, runtime: AsyncioRuntime, log: Log) -> None:
    state, boot_id = settings.state_folder, _boot_id(settings)
    if not take_lock(f"{state}/agent.lock"):
        raise BlockingIOError("another agent of this node has not ended yet")
    feeder = _feeder(settings, boot_id)
    state_files = DiskStateFiles(boot_id, f"{state}/lease", f"{state}/memory", f"{state}/permit")
    certificates = _certificates(settings, runtime)
    async with AsyncExitStack() as owned:
        door = owned.enter_context(_door(settings.peers.port))
        who = _self(settings, boot_id, feeder.report(), door)
        recalled = state_files.recall()
        watch = Heartbeat(who, recalled.memory, chance=runtime.random(), healthy_wanted=HEALTHY_WANTED)
        transport = _transport(settings, runtime)
        owned.push_async_callback(transport.close)

        def believe(shown: PresentedCertificate) -> CertificateTrust:
            return certificates.evaluate(shown, watch.trusted_at)

        peers = TlsPeerClient(who.node_uid, boot_id, runtime, certificates.client_tls, believe)
        owned.push_async_callback(peers.close)
        responder = PeerResponder()
        answering = PeerResponderLoop(runtime=runtime, transport=transport, watch=watch, responder=responder)
        owned.push_async_callback(answering.close)
        server = make_server(answering.ask, believe)
        owned.push_async_callback(server.shutdown, _CLOSE_SECONDS)
        watching = HeartbeatLoop(
            node=settings.node_name,
            watch=watch,
            runtime=runtime,
            transport=transport,
            state_files=state_files,
            peers=peers,
            feeder=feeder,
            certificate=certificates,
            listener=HeartbeatLog(log),
        )
        readiness = Readiness("the first renewal that is acknowledged", lambda: watch.renewed)
        probes = await listen(owned, settings.probes, probes_of(readiness))
        _log_addresses(log, who.address, probes, settings.peers.host)
        works = {
            "watch": _watch(watching, recalled, log),
            "peers": PeerListener(door, certificates.server_tls, server, believe).run(),
            "certificate": _renew(settings, certificates, runtime, transport, log).run(),
            "node": _watch_node_uid(settings, who.node_uid, runtime),
            "signals": until_stop_signal(log),
        }
        await run_together(runtime, works)
        if not recalled.fence_requested:
            await _stop_gracefully(watching, log)


def _boot_id(settings: AgentSettings) -> str:
    return Path(settings.boot_id).read_text(encoding="ascii").strip()


def _log_addresses(log: Log, peers: str, probes: int, host: str) -> None:
    log.info("listening", peers=peers, probes=probes)
    if not peers:
        log.warning("no peer can ask this node: its --peer-host is no address", host=host)


def _feeder(settings: AgentSettings, boot_id: str) -> FeederFile:
    host = settings.host_folder
    return FeederFile(f"{host}/{STATUS}", f"{settings.state_folder}/permit", boot_id, f"{host}/{TESTED}")


async def _stop_gracefully(watching: HeartbeatLoop, log: Log) -> None:
    """An agent that ends permanently, or for longer than its lease, must not reset its node by that."""
    try:
        async with asyncio.timeout(GRACEFUL_STOP_SECONDS):
            await watching.stop_gracefully()
    except TimeoutError:
        log.warning(
            "not stopped gracefully: the API server did not acknowledge it. The feeder continues with its"
            " lease alone"
        )


def _certificates(settings: AgentSettings, runtime: AsyncioRuntime) -> CertificateFiles:
    """The certificate files. They are on a tmpfs: a key must not outlive the boot."""
    Path(settings.certificates).mkdir(mode=0o700, parents=True, exist_ok=True)
    return CertificateFiles(
        node=settings.node_name,
        pair=f"{settings.certificates}/{PAIR}",
        trust=settings.trust,
        monotonic=runtime.monotonic,
        wall=lambda: runtime.wall().timestamp(),
    )


def _renew(
    settings: AgentSettings,
    files: CertificateFiles,
    runtime: AsyncioRuntime,
    transport: HttpTransport,
    log: Log,
) -> CertificateLoop:
    def tell(failure: str) -> None:
        if failure:
            log.warning("there is no fresh certificate for peers", why=failure)
        else:
            log.info("the certificate for peers is fresh")

    return CertificateLoop(
        node=settings.node_name,
        runtime=runtime,
        transport=transport,
        files=files,
        make_key=make_key_in_child,
        tell=tell,
    )


def _transport(settings: AgentSettings, runtime: AsyncioRuntime) -> HttpTransport:
    """A transport that sends once, until one deadline, with the current token."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    credentials = LiveCredentials(in_cluster(host, port, settings.account), runtime)
    return HttpTransport(credentials, runtime, connections=_CONNECTIONS)


def _self(settings: AgentSettings, boot_id: str, reported: FeederTold, door: socket.socket) -> AgentIdentity:
    return AgentIdentity(
        node_uid=_own_node(settings).uid,
        boot_id=boot_id,
        watchdog=reported.watchdog,
        address=own_address(settings.peers.host, door.getsockname()[1]),
        boot_gate=read_gate(f"{settings.host_folder}/{GATE}", boot_id),
        version=__version__,
        longest_lease=reported.longest_lease,
        last_reset=last_reset(f"{settings.host_folder}/{LAST_RESET}"),
        ride_through=settings.ride_through,
    )


async def _watch(loop: HeartbeatLoop, recalled: RestoredState, log: Log) -> None:
    """Watch until it is certain that this boot must end; from then on only answer peers until it ends."""
    forget_the_start()
    if recalled.fence_requested:
        log.error("this boot was to end before this agent began: nothing is renewed")
    else:
        await loop.run()
    await asyncio.get_running_loop().create_future()


def _own_node(settings: AgentSettings) -> BoundNode:
    """The Node of the pod's token. Raises CredentialsError if the token is not of a pod on this node."""
    match node_of_token(Path(f"{settings.account}/token").read_text(encoding="ascii")):
        case NotBound(why):
            raise CredentialsError(f"the token of this pod does not contain the UID of its node: {why}")
        case BoundNode(name, _) as found if name == settings.node_name:
            return found
        case BoundNode(name, _):
            raise CredentialsError(f"the token is of a pod on {name}, and this is {settings.node_name}")


async def _watch_node_uid(settings: AgentSettings, uid: str, runtime: AsyncioRuntime) -> None:
    """Raises CredentialsError when kubelet's token names another Node than the one this agent reports for.

    A Node that is deleted and registered again has a new UID, while its boot and this agent may run on.
    SelfRemediation holds while the agent's report names the old Node; the next agent reports for the new one.
    """
    while True:
        await runtime.sleep(_TOKEN_READ_EVERY)
        if (now := _uid_of_token(settings)) not in ("", uid):
            raise CredentialsError(f"this Node was registered again: its UID was {uid} and is {now}")


def _uid_of_token(settings: AgentSettings) -> str:
    """Empty if the token has no UID: the transport reads the same file, and fails with a message."""
    try:
        found = node_of_token(Path(f"{settings.account}/token").read_text(encoding="ascii"))
    except (OSError, UnicodeError):
        return ""
    return found.uid if isinstance(found, BoundNode) and found.name == settings.node_name else ""


def _door(port: int) -> socket.socket:
    """A socket that listens on all addresses of both families, or of one if the kernel supports only one."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def own_address(host: str, port: int) -> str:
    """The address that peers read. Empty if they would refuse it: the rest of the report is still valid."""
    found = parse_address(str(PeerAddress(host.lower(), port)))
    return "" if found is None else str(found)


def main() -> int:
    return run_with_settings(NAME, "Lets this node go on only while that is known to be safe.", run_agent)


if __name__ == "__main__":
    sys.exit(main())
