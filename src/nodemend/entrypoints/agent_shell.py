"""The agent with everything around it: files, credentials, peers, probes, signals, an exit code."""

import asyncio
import logging
import os
import socket
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Final

from nodemend import __version__
from nodemend.agent.certificate_loop import CertificateLoop
from nodemend.agent.certificate_shell import CertificateFiles
from nodemend.agent.feeder.footing_shell import forget_the_start
from nodemend.agent.feeder.lock_shell import take_lock
from nodemend.agent.feeder.record_shell import read_gate
from nodemend.agent.feeder_view_shell import GATE, LAST_RESET, STATUS, TESTED, FeederFile, last_reset
from nodemend.agent.front_door_shell import FrontDoor
from nodemend.agent.keeper_shell import FileKeeper, Recalled
from nodemend.agent.key_maker_shell import ChildKeyMaker
from nodemend.agent.memory import Self
from nodemend.agent.own_token import BoundNode, NotBound, node_of_token
from nodemend.agent.peer_client_shell import TlsPeers
from nodemend.agent.peer_desk import PeerDesk
from nodemend.agent.peer_desk_loop import PeerDeskLoop
from nodemend.agent.peer_server_shell import Shown, make_server
from nodemend.agent.ports import FeederTold
from nodemend.agent.self_watch import SelfWatch
from nodemend.agent.self_watch_loop import SelfWatchLoop
from nodemend.agent.watch_log import WatchLog
from nodemend.api.value_forms import PeerAddress, parse_address
from nodemend.decide.certificate_belief import Belief
from nodemend.entrypoints.signals_shell import until_told_to_stop
from nodemend.entrypoints.small_server_shell import listen, probes_of
from nodemend.kube.asyncio_shell import AsyncioRuntime, run
from nodemend.kube.credentials import CredentialsError, in_cluster
from nodemend.kube.credentials_shell import LiveCredentials
from nodemend.kube.http_shell import HttpTransport
from nodemend.kube.running_together import run_together
from nodemend.settings.agent_settings import AgentSettings
from nodemend.telemetry.health_board import HealthBoard
from nodemend.telemetry.log_lines import LibraryLogs, Log, LogStream
from nodemend.telemetry.plain_log import PlainLog

NAME: Final = "nodemend-agent"
EXIT_STOPPED: Final = 0
EXIT_FAILED: Final = 1
PAIR: Final = "pair.pem"
"""Certificate and key, in one file."""
HEALTHY_WANTED: Final = 2
"""Peers that saw no marker, before their word counts: one may lie."""
_CONNECTIONS: Final = 14
"""To the API server: a renewal of its own, looks for peers, and eight looks beside renewals that fail."""
_CLOSE_SECONDS: Final = 1.0
_TOKEN_READ_EVERY: Final = 10.0
STAND_DOWN_SECONDS: Final = 10.0
"""Of the 15 that its pod has to end."""


def run_agent(settings: AgentSettings) -> int:
    """Run until a signal ends it (0) or the world does not let it go on (1). A fault of our own raises.

    Ended by a signal, it stands down first. However it ends otherwise, the feeder goes on for as long as the
    last clean look allows: an agent that is back by then has missed nothing.
    """
    runtime = AsyncioRuntime()
    log = PlainLog(
        stream=LogStream(sys.stderr),
        form=settings.log_form,
        level=settings.log_level,
        fixed={"program": NAME, "version": __version__, "node": settings.node_name},
        wall=runtime.wall,
    )
    logging.basicConfig(handlers=[LibraryLogs(log)], level=logging.WARNING, force=True)
    try:
        boot_id = Path(settings.boot_id).read_text(encoding="ascii").strip()
        run(_serve(settings, boot_id, runtime, log))
    except (CredentialsError, OSError) as error:
        log.error("cannot go on", why=f"{type(error).__name__}: {error}")
        return EXIT_FAILED
    log.info("stopped")
    return EXIT_STOPPED


async def _serve(settings: AgentSettings, boot_id: str, runtime: AsyncioRuntime, log: Log) -> None:
    state = settings.state_folder
    if not take_lock(f"{state}/agent.lock"):
        raise BlockingIOError("another agent of this node has not ended yet")
    feeder, keeper = _feeder(settings, boot_id), _keeper(state, boot_id)
    certificates = _certificates(settings, runtime)
    async with AsyncExitStack() as owned:
        door = owned.enter_context(_door(settings.peers.port))
        who = _self(settings, boot_id, feeder.told(), door)
        recalled = keeper.recall()
        watch = SelfWatch(who, recalled.memory, chance=runtime.random(), healthy_wanted=HEALTHY_WANTED)
        transport = _transport(settings, runtime)
        owned.push_async_callback(transport.close)

        def believe(shown: Shown) -> Belief:
            return certificates.judge(shown, watch.trusted_at)

        peers = TlsPeers(who.node_uid, boot_id, runtime, certificates.client_tls, believe)
        owned.push_async_callback(peers.close)
        desk = PeerDesk(now=runtime.monotonic())
        answering = PeerDeskLoop(runtime=runtime, transport=transport, watch=watch, desk=desk)
        owned.push_async_callback(answering.close)
        server = make_server(answering.ask, believe)
        owned.push_async_callback(server.shutdown, _CLOSE_SECONDS)
        watching = SelfWatchLoop(
            node=settings.node_name,
            watch=watch,
            runtime=runtime,
            transport=transport,
            keeper=keeper,
            peers=peers,
            feeder=feeder,
            certificate=certificates,
            listener=WatchLog(log),
        )
        health = HealthBoard()
        health.must_reach("the first renewal that is acknowledged", lambda: watch.renewed)
        probes = await listen(owned, settings.probes, probes_of(health))
        _log_addresses(log, who.address, probes, settings.peers.host)
        works = {
            "watch": _watch(watching, recalled, log),
            "peers": FrontDoor(door, certificates.server_tls, server, believe).run(),
            "certificate": _renew(settings, certificates, runtime, transport, log).run(),
            "node": _watch_node_uid(settings, who.node_uid, runtime),
            "signals": until_told_to_stop(log),
        }
        await run_together(runtime, works)
        if not recalled.condemned:
            await _stand_down(watching, log)


def _log_addresses(log: Log, peers: str, probes: int, host: str) -> None:
    log.info("listening", peers=peers, probes=probes)
    if not peers:
        log.warning("no peer can ask this node: its --peer-host is no address", host=host)


def _feeder(settings: AgentSettings, boot_id: str) -> FeederFile:
    host = settings.host_folder
    return FeederFile(f"{host}/{STATUS}", f"{settings.state_folder}/permit", boot_id, f"{host}/{TESTED}")


def _keeper(state: str, boot_id: str) -> FileKeeper:
    return FileKeeper(boot_id, f"{state}/lease", f"{state}/memory", f"{state}/permit")


async def _stand_down(watching: SelfWatchLoop, log: Log) -> None:
    """Whoever is stopped for good, or for longer than its lease lasts, must not reset its node by that."""
    try:
        async with asyncio.timeout(STAND_DOWN_SECONDS):
            await watching.stand_down()
    except TimeoutError:
        log.warning("not stood down: nobody acknowledged it. The feeder goes on by its lease alone")


def _certificates(settings: AgentSettings, runtime: AsyncioRuntime) -> CertificateFiles:
    """On a tmpfs: a key does not outlive the boot."""
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
    def tell(trouble: str) -> None:
        if trouble:
            log.warning("there is no fresh certificate for peers", why=trouble)
        else:
            log.info("the certificate for peers is fresh")

    return CertificateLoop(
        node=settings.node_name,
        runtime=runtime,
        transport=transport,
        files=files,
        keys=ChildKeyMaker(),
        tell=tell,
    )


def _transport(settings: AgentSettings, runtime: AsyncioRuntime) -> HttpTransport:
    """Sends once, until one deadline, with the token as it is by then."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{name}", "") for name in ("HOST", "PORT"))
    credentials = LiveCredentials(in_cluster(host, port, settings.account), runtime)
    return HttpTransport(credentials, runtime, connections=_CONNECTIONS)


def _self(settings: AgentSettings, boot_id: str, told: FeederTold, door: socket.socket) -> Self:
    return Self(
        node_uid=_own_node(settings).uid,
        boot_id=boot_id,
        watchdog=told.watchdog,
        address=own_address(settings.peers.host, door.getsockname()[1]),
        boot_gate=read_gate(f"{settings.host_folder}/{GATE}", boot_id),
        version=__version__,
        longest_lease=told.longest_lease,
        last_reset=last_reset(f"{settings.host_folder}/{LAST_RESET}"),
        ride_through=settings.ride_through,
    )


async def _watch(loop: SelfWatchLoop, recalled: Recalled, log: Log) -> None:
    """To the end of the boot, once that is certain: peers are answered until then."""
    forget_the_start()
    if recalled.condemned:
        log.error("this boot was to end before this agent began: nothing is renewed")
    else:
        await loop.run()
    await asyncio.get_running_loop().create_future()


def _own_node(settings: AgentSettings) -> BoundNode:
    """Raises CredentialsError where the token is not one of a pod on this very node."""
    match node_of_token(Path(f"{settings.account}/token").read_text(encoding="ascii")):
        case NotBound(why):
            raise CredentialsError(f"the token of this pod does not tell the UID of its node: {why}")
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
    """Empty where the token tells none: the transport reads the same file, and fails for it with words."""
    try:
        found = node_of_token(Path(f"{settings.account}/token").read_text(encoding="ascii"))
    except (OSError, UnicodeError):
        return ""
    return found.uid if isinstance(found, BoundNode) and found.name == settings.node_name else ""


def _door(port: int) -> socket.socket:
    """On every address of either family; of one, where the kernel has only that."""
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", port))


def own_address(host: str, port: int) -> str:
    """As peers will read it. Empty where they would refuse it: then the rest of the report still counts."""
    found = parse_address(str(PeerAddress(host.lower(), port)))
    return "" if found is None else str(found)
