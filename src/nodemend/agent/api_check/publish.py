"""Publishes this boot on the node's Lease, and looks at the marker in the same breath: request by request.

Without a socket of its own: who asks in whose name is given.
"""

import http.client
import json
import urllib.parse

from nodemend.agent.api_check import exit_codes
from nodemend.agent.api_check.agent_token import ACCOUNT, NoPod, Token, find_pod, read_token, token_request
from nodemend.agent.api_check.lease_report import (
    Boot,
    agent_has_published,
    has_stood_down,
    needs_publishing,
    new_lease,
    renewed_lease,
)
from nodemend.agent.api_check.reply import (
    MarkedBefore,
    MarkedNow,
    NoLease,
    NoMarker,
    Unclear,
    exit_code_of,
    judge_reply,
)
from nodemend.agent.feeder.worth import Worth
from nodemend.agent.last_words.reset_record import ResetRecord
from nodemend.api.keys import AGENT_NAMESPACE
from nodemend.decide.small_value import SmallValue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    Ask = Callable[[str, str, object], tuple[int, bytes]]
    """Method, path and body; the status and what came with it. Raises for no answer."""

UNANSWERED = (OSError, ValueError, RecursionError, http.client.HTTPException)
"""What asking raises where there is no answer, or none that can be read."""
_TRIES = 4
_OUR_KINDS = "/apis/nodemend.io"
_READY = "/readyz"
_OK, _CREATED, _FORBIDDEN, _NOT_FOUND, _CONFLICT = 200, 201, 403, 404, 409
_TOO_MANY, _SERVER_ERROR = 429, 500


class Wanted(SmallValue):
    """What is to stand on the Lease of which node. `wall` is the time in UTC, to the second."""

    node: str
    boot_id: str
    worth: Worth
    feed_lease: float
    version: str
    wall: str
    held_back: str = ""
    last_reset: ResetRecord | None = None


class Publisher:
    """All of it ends with the process: whoever starts that gives it a time."""

    def __init__(
        self,
        wanted: Wanted,
        as_node: "Ask",
        as_agent: "Callable[[str], Ask]",
        answers: "Callable[[int], None]" = lambda _code: None,
    ) -> None:
        """`as_agent` gives who asks with this token; `answers` is told the exit code for a marker that was
        seen before anything is written about it: from then on its writer may take the gate for closed."""
        self._wanted = wanted
        self._answers = answers
        self._as_node = as_node
        self._as_agent = as_agent
        self._name = urllib.parse.quote(wanted.node, safe="")
        self._node = f"/api/v1/nodes/{self._name}"
        self._leases = f"/apis/coordination.k8s.io/v1/namespaces/{AGENT_NAMESPACE}/leases"
        self._lease = f"{self._leases}/{self._name}"
        self._marked = exit_codes.FAILED
        """What the last look tells where its write meets conflicts alone."""

    def publish(self) -> tuple[int, str]:
        """An exit code, and why where it is a failure. Whoever wrote first is read, and then written upon."""
        for _ in range(_TRIES):
            self._marked = exit_codes.FAILED
            done = self._try()
            if done is not None:
                return done
        return self._marked, "somebody else writes the Lease all the time"

    def _try(self) -> tuple[int, str] | None:
        """None after a conflict."""
        status, body = self._as_node("GET", self._lease, None)
        answer = judge_reply(status, body, self._wanted.node, self._wanted.boot_id)
        match answer:
            case Unclear(why) if status == _FORBIDDEN:
                return self._without_right(why)
            case Unclear(why):
                cannot_say = status == _TOO_MANY or status >= _SERVER_ERROR
                return (exit_codes.NO_ANSWER if cannot_say else exit_codes.FAILED), why
            case MarkedNow():
                return exit_code_of(answer), ""
            case NoLease():
                return self._write(None, exit_codes.ABSENT)
            case NoMarker():
                return self._write(json.loads(body), exit_codes.CLEAN)
            case MarkedBefore():
                return self._answer(json.loads(body), exit_codes.MARKED_FOR_ANOTHER_BOOT)

    def _answer(self, lease: dict[str, object], looked: int) -> tuple[int, str] | None:
        """Whatever comes of the write, the marker was seen, and the answer to it may stand on the Lease."""
        self._answers(looked)
        self._marked = looked
        try:
            done = self._write(lease, looked)
        except UNANSWERED as error:
            return looked, str(error)
        if done is not None and done[0] in (exit_codes.FAILED, exit_codes.NO_ANSWER):
            return looked, done[1]
        return done

    def _write(self, lease: dict[str, object] | None, looked: int) -> tuple[int, str] | None:
        """`looked` is what the look alone tells, where there is nothing to publish."""
        wanted = self._wanted
        if agent_has_published(lease, wanted.boot_id):
            return (exit_codes.TAKEN_OVER if looked == exit_codes.CLEAN else looked), ""
        if not needs_publishing(lease, wanted.boot_id, wanted.worth, wanted.wall, wanted.held_back):
            return looked, ""
        token = self._fetch_token()
        if isinstance(token, Token):
            return self._send(lease, token)
        if isinstance(token, NoPod):
            token = self._without_pod(lease)
        # Only where the look would open the gate it matters why this boot cannot be published.
        return token if looked == exit_codes.CLEAN else (looked, token[1])

    def _send(self, lease: dict[str, object] | None, token: Token) -> tuple[int, str] | None:
        wanted, ask = self._wanted, self._as_agent(token.text)
        boot = Boot(
            node=wanted.node,
            node_uid=token.node_uid,
            boot_id=wanted.boot_id,
            worth=wanted.worth,
            feed_lease=wanted.feed_lease,
            version=wanted.version,
            held_back=wanted.held_back,
            last_reset=wanted.last_reset,
        )
        if lease is None:
            status, body = ask("POST", self._leases, new_lease(boot, wanted.wall))
        else:
            status, body = ask("PATCH", self._lease, renewed_lease(lease, boot, wanted.wall))
        if status == _CONFLICT:
            return None
        answer = judge_reply(_OK if status == _CREATED else status, body, wanted.node, wanted.boot_id)
        if isinstance(answer, NoLease):
            return None  # Deleted in between: the next look tells.
        return exit_code_of(answer), answer.why if isinstance(answer, Unclear) else ""

    def _fetch_token(self) -> Token | NoPod | tuple[int, str]:
        """As the agent of this node; else what that means."""
        pods = f"/api/v1/namespaces/{AGENT_NAMESPACE}/pods"
        mine = urllib.parse.quote(f"spec.nodeName={self._wanted.node}", safe="")
        status, body = self._as_node("GET", f"{pods}?fieldSelector={mine}", None)
        if status != _OK:
            return exit_codes.FAILED, f"the pods of this node cannot be listed: {status} {body[:300]!r}"
        pod = find_pod(json.loads(body))
        if isinstance(pod, NoPod):
            return pod
        account = f"/api/v1/namespaces/{AGENT_NAMESPACE}/serviceaccounts/{ACCOUNT}/token"
        status, body = self._as_node("POST", account, token_request(pod))
        token = read_token(json.loads(body), self._wanted.node)
        return token or (exit_codes.FAILED, f"no token for the agent of this node: {status} {body[:300]!r}")

    def _without_pod(self, lease: dict[str, object] | None) -> tuple[int, str]:
        status, _ = self._as_node("GET", self._node, None)
        if status == _NOT_FOUND:
            return exit_codes.NO_NODE, ""
        if has_stood_down(lease):
            return exit_codes.STOOD_DOWN, ""
        return exit_codes.FAILED, "no agent's pod is bound to this node: in whose name should it publish?"

    def _without_right(self, why: str) -> tuple[int, str]:
        """The Lease may not be read: whether that is because nothing of ours is installed, if it can be told.

        A server that starts has not read the roles and kinds that there are: it is not ready. One that is cut
        off from its store knows those from before.
        """
        for path, known in ((_READY, (_OK,)), (self._node, (_OK, _NOT_FOUND))):
            status, _ = self._as_node("GET", path, None)
            if status not in known:
                return exit_codes.NO_ANSWER, f"{why}; {path}: {status}"
        status, _ = self._as_node("GET", _OUR_KINDS, None)
        if status == _NOT_FOUND:
            return exit_codes.UNINSTALLED, ""
        return (
            exit_codes.FAILED if status == _OK else exit_codes.NO_ANSWER
        ), f"{why}; {_OUR_KINDS}: {status}"
