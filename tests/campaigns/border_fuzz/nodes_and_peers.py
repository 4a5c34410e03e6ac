"""Input from nodes, their agents and their peers."""

import json
from dataclasses import replace
from ipaddress import ip_address
from typing import Any, Final

import msgspec
from yarl import URL

from nodemend.agent.api_check.reply import UnclearReply
from nodemend.agent.reset_log import ResetRecord, format_reset, parse_reset
from nodemend.api.agent import AgentReport, PeerProposal
from nodemend.api.meta import ObjectMeta
from nodemend.api.self_remediation import SelfRemediationSpec, SelfRemediationStatus, Weakness
from nodemend.api.upstream_types import Lease
from nodemend.api.value_forms import LARGEST_NUMBER, is_node_name, parse_address
from nodemend.api.well_known import AGENT_REPORT, MARKER, PEER_PROPOSAL
from nodemend.kube.outcome import LeaseFailed, LeaseFound
from nodemend.kube.request import Precondition
from nodemend.protocol.peers import propose_peers
from nodemend.records.agent_lease import AgentLease, read_lease
from nodemend.remediation.self_fencing.decide import proven_peers
from nodemend.remediation.self_fencing.peer_assignment import AgentEntry, NodeIdentity, peer_candidate
from nodemend.safety.time_proof import (
    DEFAULT_ASSUMPTIONS,
    PeerObservation,
    Progress,
    SequenceHistory,
    contact_of,
    count,
    covered_until,
    needed_for,
)
from tests.campaigns.peer_fuzz import seeds, targets
from tests.campaigns.peer_fuzz.targets import Target, wants

LONGEST_REASON: Final = 256
_LENIENT: Final = SelfRemediationSpec(accept=tuple(Weakness))
_HONEST: Final = [f"worker-{number}" for number in range(1, 6)]


def _noted(key: str, data: bytes) -> LeaseFound[AgentLease] | None:
    """The annotation as the API server stores it on a Lease: valid text."""
    text = data.decode("utf-8", "replace")
    metadata = ObjectMeta(uid="u", resource_version="7", annotations={key: text})
    news = read_lease(Lease(metadata=metadata))
    if isinstance(news, LeaseFound):
        return news
    wants(len(news.why) <= LONGEST_REASON and news.why.isprintable(), "a reason without a bound")
    return None


def report(data: bytes) -> str:
    """Through the remediator: as the node's own report, as a peer's, and as a candidate for others."""
    news = _noted(AGENT_REPORT, data)
    wants(news is not None, "a report that makes its Lease unreadable")
    found = news.lease.report if news else None
    if not isinstance(found, AgentReport):
        wants(len(getattr(found, "why", "")) <= LONGEST_REASON, "a reason without a bound")
        return "refused"
    for number in (found.sequence, found.acknowledged, found.steady_since):
        wants(0 <= number <= LARGEST_NUMBER, "a number that no status can hold")
    wants(sum(map(len, found.peers)) <= 128, "reads without a bound")
    wants(all(map(is_node_name, (name for names in found.peers for name in names))), "no name of a node")
    wants(len(found.held_back) <= 512 and len(found.version) <= 64, "texts without a bound")
    wants(len(found.address) <= 260 and found.address.isascii(), "an address without a bound")
    wants(not set(found.address) & set("@/ %?#\n"), "an address of another form")
    needed_for(found, _LENIENT)
    _in_a_status(found)
    return f"accepted, {_as_a_candidate(found)} proposed"


def _in_a_status(found: AgentReport) -> None:
    """The counts for a peer are written to the status, which the API server must accept."""
    contact = contact_of(found)
    history = SequenceHistory().seen(found.sequence, 1.0).seen(found.sequence + 1, 2.0)
    observation = PeerObservation(contact, covered_until(contact, history, DEFAULT_ASSUMPTIONS.clock_error))
    progress = Progress(count({}, {"peer": observation}, 1.0), 0, 72, 0, done=False)
    status = SelfRemediationStatus(proven=proven_peers(progress), boot_id=found.boot_id)
    written = msgspec.json.encode(status)
    wants(msgspec.json.decode(written, type=SelfRemediationStatus) == status, "a status that is refused")


def _as_a_candidate(found: AgentReport) -> int:
    """It is proposed to others with a usable address, or not at all."""
    known = Precondition("u", "7")
    candidate = AgentEntry(known, "hostile", found, None, None)
    honest = [
        AgentEntry(known, name, msgspec.structs.replace(found, address=f"{name}:9771"), None, None)
        for name in _HONEST
    ]
    mark = NodeIdentity(found.node_uid, "", control_plane=False)
    agents = [one for each in (candidate, *honest) if (one := peer_candidate(each, mark, silent=False))]
    reported = [entry for _, proposal in propose_peers(agents) for entry in proposal.peers]
    for entry in reported:
        written = msgspec.json.decode(msgspec.json.encode(entry), type=type(entry))
        wants(written == entry and parse_address(entry.address) is not None, "a peer that cannot be asked")
    return min(sum(entry.name == "hostile" for entry in reported), 1)


def proposal(data: bytes) -> str:
    news = _noted(PEER_PROPOSAL, data)
    found = news.lease.proposal if news else None
    if not isinstance(found, PeerProposal):
        return "refused"
    wants(len(found.peers) <= 64, "peers without a bound")
    for entry in found.peers:
        wants(is_node_name(entry.name), "no name of a node")
        _url_of(entry.address)
    return f"accepted: {targets.proposal(data)}"


def marker(data: bytes) -> str:
    news = _noted(MARKER, data)
    if news is None:
        return "refused"
    found = news.lease.marker
    wants(found is not None and not news.lease.clean, "clean with a marker on it")
    return f"accepted, condemns {news.lease.fences(seeds.NODE_UID, seeds.BOOT_ID)}"


def address(data: bytes) -> str:
    return "refused" if _url_of(data.decode("utf-8", "replace")) is None else "accepted"


def _plain(host: str) -> str:
    """An IPv6 address may be written in several ways."""
    try:
        return str(ip_address(host))
    except ValueError:
        return host


def _url_of(text: str) -> URL | None:
    """The URL as the peer client makes it."""
    found = parse_address(text)
    if found is None:
        return None
    url = URL.build(scheme="https", host=found.host, port=found.port, path="/v1/marker")
    wants((url.port, url.user, url.path) == (found.port, None, "/v1/marker"), "a trick")
    wants(_plain(url.host or "") == _plain(found.host), "another host")
    wants(text.endswith(f":{found.port}"), "something behind the port")
    wants(len(text) <= 260 and str(url).isprintable(), "an address without a bound")
    return url


def reset(data: bytes) -> str:
    found = parse_reset(data)
    if not isinstance(found, ResetRecord):
        return "refused"
    wants(found.lived_on >= 0, "a boot that ended before it lived")
    return "accepted"


def _judged(target: Target, *refused: str, accepted: str = "") -> Target:
    """A target of peer_fuzz, with the outcomes that are refusals, or the one that is not."""

    def feed(data: bytes) -> str:
        outcome = target.feed(data)
        is_refused = outcome != accepted if accepted else outcome in refused
        return f"refused ({outcome})" if is_refused else f"accepted ({outcome})"

    return replace(target, feed=feed)


def _of(name: str, *refused: str) -> Target:
    return _judged(next(one for one in targets.TARGETS if one.name == name), *refused)


_FULL_REPORT: Final = json.dumps(
    {
        **json.loads(seeds.REPORTS[0]),
        "heldBack": "three resets within an hour",
        "certificate": {"ends": "2026-01-01T00:00:00Z", "life": 86400.0},
        "lastReset": {"bootID": seeds.BOOT_ID, "condemned": True, "livedOn": 9.1},
    }
).encode()
_TOKEN: Final = next(one for one in targets.TARGETS if one.name == "own token")
_ADDRESSES: Final = (b"10.0.0.7:9771", b"[fd00::7]:9771", b"worker-7.example.com:9771")
_RESETS: Final = tuple(
    format_reset(ResetRecord(seeds.BOOT_ID, state, 1_700_000_000, 5, 9))
    for state in ("starving", "condemned")
)


def _markers() -> tuple[bytes, ...]:
    found: list[Any] = [json.loads(one)["metadata"]["annotations"].get(MARKER) for one in seeds.LEASES]
    return tuple(text.encode() for text in found if text)


BORDERS: Final = (
    Target("agent report", (*seeds.REPORTS, _FULL_REPORT), report, ways=("turned", "rewritten", "rewritten")),
    Target("peer proposal", seeds.PROPOSALS, proposal, ways=("turned", "rewritten", "rewritten")),
    Target("marker", _markers(), marker),
    Target("peer address", _ADDRESSES, address, ways=("turned", "plain_text")),
    Target("reset record", _RESETS, reset, ways=("turned", "sealed")),
    _of("question", "none"),
    _of("answer", "silent"),
    _of("lease", LeaseFailed.__name__),
    _of("feeder status", "nothing rests on it"),
    _of("feed lease", "refused"),
    _of("gate and permit", "gate False permit False"),
    _judged(_TOKEN, accepted="bound"),
    _of("API check", f"{UnclearReply.__name__} {UnclearReply.__name__}"),
)
