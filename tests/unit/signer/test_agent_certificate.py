"""Requests for agents' certificates: which are signed, and the reasons for refusing the others."""

from dataclasses import replace
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemend.signer.decide import (
    LONGEST,
    AlreadyDecided,
    Approve,
    Deny,
    Fail,
    Ignored,
    Issue,
    RequestContent,
    RequestFacts,
    RequestState,
    UnreadableRequest,
    Window,
    decide,
    object_to,
    window_of,
)

OWN: Final = ("DNS", "node-1.agent.nodemend.io")
ASKED: Final = RequestContent(names=(OWN,), subject="", key="P-256", proven=True)
GOOD: Final = RequestFacts(
    signer="nodemend.io/agent",
    user="system:serviceaccount:nodemend-agents:nodemend-agent",
    nodes=("node-1",),
    pods=("nodemend-agent-x7k2p",),
    usages=("client auth", "digital signature", "server auth"),
    seconds=None,
    asked=ASKED,
    request_state=RequestState.OPEN,
)
LONG: Final = "n" * 253


def asked(**changes: Any) -> dict[str, Any]:
    return {"asked": replace(ASKED, **changes)}


WRONG: Final[dict[str, tuple[dict[str, Any], str, str]]] = {
    "another account": ({"user": "system:node:node-1"}, "NotAnAgent", "you are system:node:node-1"),
    "the same account elsewhere": (
        {"user": "system:serviceaccount:default:nodemend-agent"},
        "NotAnAgent",
        "you are system:serviceaccount:default:nodemend-agent",
    ),
    "a token of no pod": ({"nodes": (), "pods": ()}, "NotBoundToNode", "not bound to a pod"),
    "a token of a node alone": ({"pods": ()}, "NotBoundToNode", "not bound to a pod"),
    "a token of two nodes": ({"nodes": ("node-1", "node-2")}, "NotBoundToNode", "not bound to a pod"),
    "a token of two pods": ({"pods": ("a", "b")}, "NotBoundToNode", "not bound to a pod"),
    "a token of a node without a name": ({"nodes": ("",)}, "NotBoundToNode", "not bound to a pod"),
    "a long name": ({"nodes": (LONG,)}, "NameTooLong", "253 characters at most"),
    "a long part of a name": ({"nodes": ("n" * 64,)}, "NameTooLong", "63 between dots"),
    "no PKCS#10": ({"asked": UnreadableRequest("it is a poem")}, "RequestUnreadable", "it is a poem"),
    "an RSA key": (asked(key="RSA 2048"), "WrongKey", "must be P-256, not RSA 2048"),
    "another curve": (asked(key="P-384"), "WrongKey", "not P-384"),
    "a key that it does not have": (asked(proven=False), "WrongSignature", "not signed by the key"),
    "another node": (
        asked(names=(("DNS", "node-2.agent.nodemend.io"),)),
        "WrongName",
        "must name DNS node-1.agent.nodemend.io and nothing else; it names DNS node-2.agent.nodemend.io.",
    ),
    "its own name bare": (asked(names=(("DNS", "node-1"),)), "WrongName", "it names DNS node-1."),
    "every node": (asked(names=(("DNS", "*.agent.nodemend.io"),)), "WrongName", "DNS *.agent"),
    "another node as well": (
        asked(names=(OWN, ("DNS", "node-2.agent.nodemend.io"))),
        "WrongName",
        "node-2",
    ),
    "its name twice": (asked(names=(OWN, OWN)), "WrongName", "nothing else"),
    "its name as another kind": (asked(names=(("URI", OWN[1]),)), "WrongName", "it names URI"),
    "an address as well": (asked(names=(OWN, ("IP", "10.0.0.1"))), "WrongName", "IP 10.0.0.1"),
    "no name": (asked(names=()), "WrongName", "it names nothing"),
    "a subject": (asked(subject="O=system:masters"), "UnexpectedSubject", "it is O=system:masters"),
    "a subject as long as is repeated": (
        asked(subject="x" * 500),
        "UnexpectedSubject",
        f"it is {'x' * 500}.",
    ),
    "a longer one": (asked(subject="x" * 501), "UnexpectedSubject", f"it is {'x' * 500} and more."),
    "being an authority": (asked(also=("basicConstraints",)), "UnexpectedContent", "basicConstraints"),
    "one usage too few": ({"usages": ("client auth", "server auth")}, "WrongUsages", "client auth, server"),
    "one usage too many": ({"usages": (*GOOD.usages, "cert sign")}, "WrongUsages", "cert sign"),
    "a usage twice": ({"usages": (*GOOD.usages, "server auth")}, "WrongUsages", "server auth"),
    "no usages": ({"usages": ()}, "WrongUsages", "they are none"),
    "too short a life": ({"seconds": 599}, "LifetimeTooShort", "must be 600 at least; it is 599"),
}


def test_a_node_is_given_its_own_name_first_approved_and_then_signed() -> None:
    assert decide(GOOD) == Approve("node-1")
    assert decide(replace(GOOD, request_state=RequestState.APPROVED)) == Issue("node-1", LONGEST)


@pytest.mark.parametrize("node", ["n" * 63, ".".join(["n" * 63, "n" * 63, "n" * 63, "n" * 43])])
def test_the_longest_names_are_still_names(node: str) -> None:
    named = replace(ASKED, names=(("DNS", f"{node}.agent.nodemend.io"),))
    assert decide(replace(GOOD, nodes=(node,), asked=named)) == Approve(node)
    assert isinstance(decide(replace(GOOD, nodes=(f"{node}n",))), Deny)


@pytest.mark.parametrize(
    ("wanted", "given"), [(600, 600), (3600, 3600), (86400, 86400), (86401, 86400), (10**9, 86400)]
)
def test_a_shorter_life_is_honoured_and_a_longer_one_is_not(wanted: int, given: int) -> None:
    facts = replace(GOOD, seconds=wanted, request_state=RequestState.APPROVED)
    assert decide(facts) == Issue("node-1", given)


@pytest.mark.parametrize(
    ("seconds", "authority_ends", "ends"),
    [
        (600, 10**9, 100_600),
        (LONGEST, 10**9, 100_000 - 300 + LONGEST),
        (LONGEST, 150_000, 150_000),
    ],
)
def test_it_begins_a_little_earlier_and_ends_in_time(seconds: int, authority_ends: int, ends: int) -> None:
    window = window_of(Issue("node-1", seconds), 100_000, authority_ends)
    assert window == Window(100_000 - 300, ends)
    assert window.ends - window.begins <= LONGEST


@pytest.mark.parametrize("what", WRONG)
def test_a_request_for_another_node_is_denied_with_a_message(what: str) -> None:
    change, reason, words = WRONG[what]
    verdict = decide(replace(GOOD, **change))
    assert isinstance(verdict, Deny)
    assert verdict.objection.reason == reason
    assert words in verdict.objection.words


@pytest.mark.parametrize(
    "change",
    [
        asked(names=(("DNS", "x" * 100),) * 10_000),
        asked(subject="O=" + "x" * 100_000),
        asked(also=("extension 1.2.3",) * 10_000),
    ],
    ids=("names", "subject", "extensions"),
)
def test_a_denial_does_not_grow_with_what_it_denies(change: dict[str, Any]) -> None:
    objection = object_to(replace(GOOD, **change))
    assert objection is not None
    assert len(objection.words) < 700
    assert objection.words.endswith(" and more.")


@pytest.mark.parametrize("what", WRONG)
def test_a_request_that_another_approver_has_approved_is_not_signed(what: str) -> None:
    facts = replace(GOOD, **WRONG[what][0], request_state=RequestState.APPROVED)
    verdict = decide(facts)
    assert isinstance(verdict, Fail)
    assert verdict.objection == object_to(facts)


@pytest.mark.parametrize("request_state", list(RequestState))
def test_requests_for_other_signers_are_left_alone(request_state: RequestState) -> None:
    for signer in ("kubernetes.io/kubelet-serving", "nodemend.io/agents", ""):
        assert decide(replace(GOOD, signer=signer, request_state=request_state)) == Ignored()


def test_what_is_over_stays_over() -> None:
    assert decide(replace(GOOD, request_state=RequestState.OVER)) == AlreadyDecided()
    assert decide(replace(GOOD, user="somebody", request_state=RequestState.OVER)) == AlreadyDecided()


words = st.sampled_from(["", "node-1", "node-2", "n" * 64, OWN[1], GOOD.user, GOOD.signer, "DNS", "P-256"])
requests = st.builds(
    RequestFacts,
    signer=words,
    user=words,
    nodes=st.lists(words, max_size=2).map(tuple),
    pods=st.lists(words, max_size=2).map(tuple),
    usages=st.one_of(st.just(GOOD.usages), st.lists(words, max_size=2).map(tuple)),
    seconds=st.one_of(st.none(), st.integers()),
    asked=st.one_of(
        st.builds(
            RequestContent,
            names=st.lists(st.tuples(words, words), max_size=2).map(tuple),
            subject=words,
            key=words,
            proven=st.booleans(),
            also=st.lists(words, max_size=1).map(tuple),
        ),
        st.builds(UnreadableRequest, words),
    ),
    request_state=st.sampled_from(RequestState),
)


@given(requests)
def test_there_is_a_verdict_for_everything_and_a_yes_is_for_the_nodes_own_name_alone(
    facts: RequestFacts,
) -> None:
    verdict = decide(facts)
    if isinstance(verdict, Approve | Issue):
        assert facts.nodes == (verdict.node,)
        assert facts.user == GOOD.user
        assert facts.asked == replace(ASKED, names=(("DNS", f"{verdict.node}.agent.nodemend.io"),))
