"""Addresses and names of other programs: which are accepted and which are refused."""

import msgspec
import pytest

from nodemend.api.agent import AgentReport, PeerEntry, PeerProposal, WatchdogReport
from nodemend.api.value_forms import PeerAddress, is_node_name, parse_address

REPORT = AgentReport(
    node_uid="5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4",
    boot_id="0d9a7c52-1c55-4f2b-8a43-7f6f6f0d5b11",
    sequence=7,
    acknowledged=6,
    steady_since=1,
    feed_lease=35.0,
    contact_age=15.0,
    watchdog=WatchdogReport(class_="hardware", effective=10.0),
    peers=(("a", "b"),),
    address="192.0.2.1:9771",
)

GOOD = {
    "192.0.2.1:9771": PeerAddress("192.0.2.1", 9771),
    "[fd00::1]:1": PeerAddress("fd00::1", 1),
    "[::ffff:192.0.2.1]:65535": PeerAddress("::ffff:192.0.2.1", 65535),
    "node-1:9771": PeerAddress("node-1", 9771),
    "1node.rack-7.example.com:80": PeerAddress("1node.rack-7.example.com", 80),
}
BAD = [
    "",
    "[]@",
    "[]@:1",
    "[",
    "[::1",
    "[::1]",
    "[::1]x:1",
    "[::::]:1",
    "[fe80::1%25eth0]:1",
    "[v1.x]:1",
    "[192.0.2.1]:1",
    "::1:80",
    "host",
    "host:0",
    "host:65536",
    "host:00080",
    "host:-1",
    "host:\u0663",
    "host:80\n",
    "host:80/path",
    "host:80?x",
    "user@host:80",
    "u:p@host:80",
    "ho st:80",
    "host%00:80",
    "a..b:80",
    "-a:80",
    "\u00df:80",
    "\uff11\uff12\uff17.0.0.1:80",
    "999.0.0.1:80",
    "127.1:80",
    "0x7f.1:80",
    "127.0.0.01:80",
    "host:" + "9" * 5000,
    "a" * 70000 + ":80",
    "https://host:80",
]

OF_THE_FORM = ("", "[::::]:1", "[192.0.2.1]:1", "999.0.0.1:80", "127.1:80", "0x7f.1:80", "127.0.0.01:80")
"""Values that the types accept and `parse_address` refuses."""


@pytest.mark.parametrize("text", GOOD)
def test_an_address_is_a_host_and_a_port(text: str) -> None:
    assert parse_address(text) == GOOD[text]
    assert parse_address(str(GOOD[text])) == GOOD[text]


@pytest.mark.attack("S1")
@pytest.mark.parametrize("text", BAD)
def test_any_other_address_is_refused(text: str) -> None:
    assert parse_address(text) is None


@pytest.mark.attack("S1")
@pytest.mark.parametrize("text", [one for one in BAD if one not in OF_THE_FORM])
def test_a_report_and_a_proposal_with_an_address_of_another_form_are_unreadable(text: str) -> None:
    report = msgspec.to_builtins(REPORT) | {"address": text}
    proposal = {"peers": [{"name": "a", "address": text}]}

    for document, kind in ((report, AgentReport), (proposal, PeerProposal)):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(document, kind)


def test_a_report_and_a_proposal_of_the_right_form_are_read() -> None:
    assert msgspec.convert(msgspec.to_builtins(REPORT), AgentReport) == REPORT
    for address in ("", *GOOD):
        entry = PeerEntry(name="node-1.example.com", address=address)
        assert msgspec.json.decode(msgspec.json.encode(entry), type=PeerEntry) == entry


@pytest.mark.attack("S9", "S14")
@pytest.mark.parametrize(
    "change",
    [
        {"sequence": -1},
        {"acknowledged": -1},
        {"acknowledged": 2**53 + 1},
        {"steadySince": -(10**30)},
        {"bootID": ""},
        {"bootID": "x" * 200},
        {"bootID": "boot 1"},
        {"bootID": "boot\n"},
        {"nodeUID": "u" * 64},
        {"nodeUID": "\u001b[2J"},
        {"version": "v" * 65},
        {"heldBack": "h" * 513},
        {"certificate": {"ends": "e" * 65, "life": 1.0}},
        {"certificate": {"ends": "", "life": -1.0}},
        {"lastReset": {"bootID": "b", "livedOn": -1.0}},
        {"lastReset": {"bootID": "b" * 129}},
        {"peers": [["a"], ["b"], ["c"]]},
        {"peers": [[f"n{number}" for number in range(65)]]},
        {"peers": [["A"]]},
        {"peers": [["../../pods"]]},
        {"peers": [["a" * 254]]},
    ],
    ids=str,
)
def test_a_report_outside_of_its_bounds_is_unreadable(change: dict[str, object]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(msgspec.to_builtins(REPORT) | change, AgentReport)


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("node-1", True), ("a.b", True), ("", False), ("a..b", False), ("a\n", False), ("a" * 254, False)],
)
def test_a_nodes_name_is_a_dns_subdomain(name: str, is_one: bool) -> None:
    assert is_node_name(name) is is_one
