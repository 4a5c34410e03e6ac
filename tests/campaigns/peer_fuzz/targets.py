"""The fuzzed parsers, and the results that they must not have.

Each target takes bytes and returns the outcome as a short text. It raises WrongError if the parser accepts
what a second, simpler parser does not; any other exception is a finding, too.
"""

import json
import math
from base64 import urlsafe_b64decode
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec

from nodemend.agent.api_check.check import find_pod, needs_publishing, read_token, renewed_lease
from nodemend.agent.api_check.reply import MarkedNow, NoMarker, UnclearReply, evaluate_reply
from nodemend.agent.files import BoundNode, node_of_token
from nodemend.agent.peer_http import PeerQuestion, read_answer, read_question
from nodemend.agent.state import ActiveTerms, AgentState
from nodemend.agent.watchdog.model import parse_status
from nodemend.agent.watchdog.records import (
    RefusedRecord,
    evaluate_watchdog,
    format_disarm_permission,
    format_gate,
    format_lease,
    is_disarm_permission,
    is_gate,
    longest_lease,
    parse_lease,
)
from nodemend.api.agent import AgentReport, PeerProposal
from nodemend.api.self_remediation import SelfRemediationSpec, Weakness
from nodemend.api.well_known import MARKER
from nodemend.kube.outcome import ApiResponse as Replied
from nodemend.kube.outcome import LeaseFound
from nodemend.protocol.peers import PeerReply
from nodemend.records.agent_lease import understand
from nodemend.safety.time_proof import needed_for
from tests.campaigns.peer_fuzz import seeds

_NANOSECOND = 1e-9
_LENIENT = SelfRemediationSpec(accept=tuple(Weakness))


class WrongError(Exception):
    """A parser accepted nonsense."""


@dataclass(frozen=True)
class Target:
    name: str
    seeds: tuple[bytes, ...]
    feed: Callable[[bytes], str]
    ways: tuple[str, ...] = ("turned", "rewritten")
    """Kinds of mutation, used in turn."""


def plain(data: bytes | str) -> Any:
    """Parse again with the standard library. None for unparsable input.

    Bytes that are not text, and numbers of any length, may be in fields that Nodemend does not read.
    """
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text, strict=False, parse_int=str)
    except (ValueError, RecursionError):
        return None


def wants(holds: object, what: str) -> None:
    if not holds:
        raise WrongError(what)


# Peers' answers.


def question(data: bytes) -> str:
    found = read_question(data)
    if found is None:
        return "none"
    wants(read_question(msgspec.json.encode(found)) == found, "a question that changes when it is written")
    return "a question"


def answer(data: bytes) -> str:
    found = read_answer(data, seeds.QUESTION)
    if found is not PeerReply.SILENT:
        reported = plain(data)
        about = (reported["nonce"], reported["nodeUID"], reported["bootID"])
        asked = (seeds.QUESTION.nonce, seeds.QUESTION.node_uid, seeds.QUESTION.boot_id)
        wants(about == asked, "an answer to another question")
        wants(reported["answer"] == found.value, "another answer than it says")
    for changed in seeds.OTHER_QUESTIONS:
        wants(read_answer(data, changed) is PeerReply.SILENT or _is_to(data, changed), "an answer to all")
    return found.value


def _is_to(data: bytes, asked: PeerQuestion) -> bool:
    reported = plain(data)
    return (reported["nonce"], reported["nodeUID"], reported["bootID"]) == (
        asked.nonce,
        asked.node_uid,
        asked.boot_id,
    )


# Contents of the Lease.


def lease(data: bytes) -> str:
    news = understand(Replied(200, data, None, None))
    if not isinstance(news, LeaseFound):
        return type(news).__name__
    marker = (plain(data)["metadata"].get("annotations") or {}).get(MARKER)
    wants(news.lease.clean == (marker is None), "a Lease that is clean with a marker on it")
    fence_requested = news.lease.fences(seeds.NODE_UID, seeds.BOOT_ID)
    if fence_requested:
        reported = plain(str(marker))
        wants(
            (reported["nodeUID"], reported["bootID"]) == (seeds.NODE_UID, seeds.BOOT_ID),
            "a marker for another",
        )
    kinds = [type(one).__name__ for one in (news.lease.report, news.lease.proposal)]
    return f"clean {news.lease.clean} condemned {fence_requested} {kinds}"


def report(data: bytes) -> str:
    try:
        found = msgspec.json.decode(data, type=AgentReport)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "none"
    wants(msgspec.json.decode(msgspec.json.encode(found), type=AgentReport) == found, "it changes")
    needed = needed_for(found, _LENIENT)
    if not isinstance(needed, int):
        return "no time proof"
    wants(needed >= found.feed_lease + 3 * found.watchdog.effective, "a proof in less than G + 3W")
    wants(found.feed_lease > 0 < found.watchdog.effective, "a proof by no time")
    return "a time proof"


def proposal(data: bytes) -> str:
    """Applied by an agent with a feeder, and by one without."""
    try:
        found = msgspec.json.decode(data, type=PeerProposal)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "none"
    for longest in (35.0, None):
        who = seeds.who(longest)
        memory = AgentState(active_terms=ActiveTerms()).consider(who, found)
        memory, renewal = memory.renew(who, 1000.0)
        written = msgspec.json.decode(msgspec.json.encode(renewal.report), type=AgentReport)
        wants(written == renewal.report, "a report that nobody can read")
        memory = memory.acknowledge(renewal, 1001.0).feed_from(1000.0, longest)
        int(memory.fed_until * 1e9)
        wants(memory.active_terms.pace.every >= 5.0, "an agent that renews without a pause")
        lives = memory.fed_until - 1000.0
        wants(lives <= renewal.report.feed_lease + _NANOSECOND, "it lives longer than it published")
    return f"taken up with {min(len(found.peers), 3)} peers"


# Files of the feeder, the agent and the boot gate.


def status(data: bytes) -> str:
    reported = parse_status(data)
    watchdog_status = evaluate_watchdog(reported, seeds.BOOT_ID, seeds.NOW)
    length = longest_lease(reported, seeds.BOOT_ID)
    wants(math.isfinite(watchdog_status.effective) and math.isfinite(watchdog_status.written), "no time")
    if watchdog_status.kind == "unsupported":
        wants(watchdog_status.why, "no reason")
        return "nothing rests on it"
    lines = data.split(b"\n")
    wants(f"boot {seeds.BOOT_ID}".encode() in lines, "a promise of another boot")
    wants(watchdog_status.effective > 0, "a watchdog that takes no time")
    reported_class = "hardware" if watchdog_status.kind == "untested" else watchdog_status.kind
    wants(f"class {reported_class}".encode() in lines, "another class than it says")
    return f"{watchdog_status.kind} {length is not None}"


def feed_lease(data: bytes) -> str:
    found = parse_lease(data)
    if isinstance(found, RefusedRecord):
        return "refused"
    wants(parse_lease(format_lease(found)) == found, "a lease that changes when it is written")
    wants(found.fence_requested == (b" condemned " in data), "condemned or not, and it says otherwise")
    return f"condemned {found.fence_requested}"


def _says(data: bytes, written: bytes) -> bool:
    """True if it begins as the current version writes it: a later version may add fields."""
    kind, _, *words = written.split(b" ")[:-1]
    named, _, *found = data.split(b" ")[:-1]
    return named == kind and found[: len(words)] == words


def gate(data: bytes) -> str:
    open_, permitted = is_gate(data, seeds.BOOT_ID), is_disarm_permission(data, seeds.BOOT_ID)
    wants(not open_ or _says(data, format_gate(seeds.BOOT_ID, published=True)), "a gate that nobody opened")
    wants(not permitted or _says(data, format_disarm_permission(seeds.BOOT_ID)), "a permit that nobody gave")
    return f"gate {open_} permit {permitted}"


# Input from the API server and kubelet.


def own_token(data: bytes) -> str:
    text = data.decode("utf-8", "replace")
    found = node_of_token(text)
    if not isinstance(found, BoundNode):
        return found.why
    payload = text.strip().split(".")[1]
    reported = plain(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))["kubernetes.io"]["node"]
    wants((reported["name"], reported["uid"]) == (found.name, found.uid), "another node than it says")
    wants(found.name and found.uid, "a node without a name")
    return "bound"


def api_check(data: bytes) -> str:
    ok, absent = (evaluate_reply(code, data, seeds.NODE, seeds.BOOT_ID) for code in (200, 404))
    if isinstance(ok, NoMarker):
        about = plain(data)["metadata"]
        wants(about.get("annotations") is None or MARKER not in about["annotations"], "clean with a marker")
    if isinstance(ok, MarkedNow):
        marker = plain(plain(data)["metadata"]["annotations"][MARKER])
        wants(marker["bootID"] == seeds.BOOT_ID, "marked for another boot")
    wants(
        isinstance(evaluate_reply(500, data, seeds.NODE, seeds.BOOT_ID), UnclearReply),
        "an error that is clear",
    )
    return f"{type(ok).__name__} {type(absent).__name__}"


def gate_publishes(data: bytes) -> str:
    """Input of the boot gate before an agent exists. A reply is a JSON object, or it is not parsed at all."""
    reported = plain(data)
    token = read_token(reported, seeds.NODE)
    pod = find_pod(reported)
    if not isinstance(reported, dict):
        return f"{token is None} {type(pod).__name__}"
    wanted = seeds.desired_lease()
    needed = needs_publishing(reported, wanted)
    patch = renewed_lease(reported, wanted, seeds.NODE_UID)
    if patch is not None:
        json.dumps(patch)
    return f"{token is None} {type(pod).__name__} {needed} {patch is None}"


TARGETS = (
    Target("question", seeds.QUESTIONS, question),
    Target("answer", seeds.ANSWERS, answer),
    Target("lease", seeds.LEASES, lease),
    Target("report", seeds.REPORTS, report),
    Target("proposal", seeds.PROPOSALS, proposal),
    Target("feeder status", seeds.STATUSES, status, ways=("turned",)),
    Target("feed lease", seeds.FEED_LEASES, feed_lease, ways=("turned", "sealed")),
    Target("gate and permit", seeds.GATES, gate, ways=("turned", "sealed")),
    Target("own token", seeds.TOKENS, own_token, ways=("turned", "token")),
    Target("API check", seeds.LEASES + seeds.REFUSALS, api_check),
    Target("boot gate", seeds.LEASES + seeds.TOKEN_REPLIES, gate_publishes),
)
