"""Proof that host, Machine and Node are one machine: both ends match, and the Node states the same."""

from dataclasses import replace
from typing import Any

import pytest

from nodemend.safety.facts import Absent, Present, Unreadable
from nodemend.safety.identity import (
    LONGEST_PROVIDER_ID,
    HostByName,
    HostByUid,
    HostIdentityFacts,
    Identity,
    IdentityFacts,
    IdentityUnknown,
    MachineIdentityFacts,
    Matched,
    Mismatch,
    NodeIdentityFacts,
    NotHere,
    SharedIdentity,
    Unproven,
    claims,
    identify,
    identify_node,
    matches_of,
    node_claims,
    read_provider_id,
    read_uuid,
)

UUID = "4C4C4544-0051-4A10-8052-B4C04F4E3132"
OTHER_UUID = "4c4c4544-0051-4a10-8052-b4c04f4e3133"
PROVIDER = "metal3://metal/h1/m1"
NO_NODE = Present[tuple[str, ...]](())

HOST = HostIdentityFacts(name="metal/h1", uid="host-1", consumer="Metal3Machine metal/m1", system_uuid=UUID)
NODE = NodeIdentityFacts(name="n1", provider_id=PROVIDER, system_uuid=UUID.lower(), machine="metal/m1")
MACHINE = MachineIdentityFacts(
    name="metal/m1",
    uid="machine-1",
    node="n1",
    provider_ids=(PROVIDER, PROVIDER),
    system_uuid=UUID,
    consumer="Metal3Machine metal/m1",
    host="metal/h1",
    owner_uid="machine-1",
)
ALL = IdentityFacts(host=HOST, node=NODE, machine=MACHINE, asked_uid="machine-1")
ALONE = IdentityFacts(host=replace(HOST, consumer=""), node=replace(NODE, machine=""))
"""A host that no Machine uses."""
SHIFT = replace(MACHINE, consumer="Machine metal/m1", owner_uid=None, system_uuid="", of_this_cluster=True)
"""A Machine of OpenShift."""


def with_(identity_facts: IdentityFacts = ALL, **changes: Any) -> IdentityFacts:
    """Facts with these changes: `node_machine=""` sets the fact `machine` of the Node, and so on."""
    for key, value in changes.items():
        part, _, name = key.partition("_")
        before = getattr(identity_facts, part)
        identity_facts = replace(identity_facts, **{part: replace(before, **{name: value})})
    return identity_facts


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("metal3://metal3/h1/m1", HostByName("metal3", "h1")),
        ("metal3://metal3/h1", HostByName("metal3", "h1")),
        ("metal3://metal3/h1/", HostByName("metal3", "h1")),
        ("baremetalhost:///openshift-machine-api/h1", HostByName("openshift-machine-api", "h1")),
        (
            "baremetalhost:///openshift-machine-api/h1/host-1",
            HostByName("openshift-machine-api", "h1", "host-1"),
        ),
        ("metal3://host-1", HostByUid("host-1")),
        ("metal3://", None),
        ("metal3:///h1", None),
        ("baremetalhost:///h1", None),
        ("baremetalhost:////h1", None),
        ("aws:///eu-west-1a/i-1", None),
        ("", None),
        (f"metal3://metal3/{'h' * LONGEST_PROVIDER_ID}", None),
    ],
)
def test_a_provider_id_names_its_host(text: str, read: HostByName | HostByUid | None) -> None:
    assert read_provider_id(text) == read


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (UUID, "4c4c454400514a108052b4c04f4e3132"),
        (f" {UUID.lower()}\n", "4c4c454400514a108052b4c04f4e3132"),
        ("4c4c454400514a108052b4c04f4e3132", "4c4c454400514a108052b4c04f4e3132"),
        ("", ""),
        ("node-1", ""),
        ("Not Settable", ""),
        ("00000000-0000-0000-0000-000000000000", ""),
        ("FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", ""),
        ("03000200-0400-0500-0006-000700080009", ""),
        ("4c4c4544-0051-4a10-8052-b4c04f4e313g", ""),
        (UUID * 9, ""),
    ],
)
def test_what_counts_as_a_system_uuid(text: str, read: str) -> None:
    assert read_uuid(text) == read


MATCHED: list[tuple[str, IdentityFacts, tuple[str, ...]]] = [
    ("by everything", ALL, ("provider ID", "consumer reference", "Machine UID", "system UUID")),
    (
        "by the provider ID alone",
        with_(host_system_uuid="", machine_system_uuid="", node_system_uuid=""),
        ("provider ID", "consumer reference", "Machine UID"),
    ),
    (
        "by the system UUID that the Machine states",
        with_(host_system_uuid="", node_provider_id="", machine_provider_ids=("",)),
        ("consumer reference", "Machine UID", "system UUID"),
    ),
    (
        "by the system UUID that the host states",
        with_(machine_system_uuid="", node_provider_id="", machine_provider_ids=()),
        ("consumer reference", "Machine UID", "system UUID"),
    ),
    (
        "a Machine of OpenShift, by the provider ID",
        IdentityFacts(host=replace(HOST, consumer="Machine metal/m1"), node=NODE, machine=SHIFT),
        ("provider ID", "consumer reference", "system UUID"),
    ),
    ("a host that no Machine uses", ALONE, ("provider ID", "system UUID")),
    (
        "by name and host, in the older form",
        with_(ALONE, node_provider_id="metal3://host-1"),
        ("provider ID", "system UUID"),
    ),
    (
        "a Machine of OpenShift that has no Node yet",
        IdentityFacts(host=replace(HOST, consumer="Machine metal/m1"), machine=replace(SHIFT, node="")),
        ("consumer reference",),
    ),
    (
        "a Node that was deleted after its remediation had recorded it",
        replace(ALL, node=None, recorded=True),
        ("consumer reference", "Machine UID"),
    ),
]


@pytest.mark.parametrize(("identity_facts", "by"), [pytest.param(c, by, id=name) for name, c, by in MATCHED])
def test_matched(identity_facts: IdentityFacts, by: tuple[str, ...]) -> None:
    assert identify(identity_facts, NO_NODE) == Matched(by)


ELSEWHERE = "it may be another cluster's that has such a Node"
UNPROVEN: list[tuple[str, IdentityFacts, str]] = [
    (
        "neither side states a clue",
        with_(
            host_system_uuid="",
            machine_system_uuid="",
            machine_provider_ids=("", ""),
            node_provider_id="",
            node_system_uuid="",
        ),
        "the Node n1 and the Machine metal/m1 state neither the same provider ID nor the same system UUID; "
        + ELSEWHERE,
    ),
    (
        "the Node states none of what the Machine states",
        with_(host_system_uuid="", machine_system_uuid="", node_provider_id="", node_system_uuid=""),
        "the Node n1 and the Machine metal/m1 state neither the same provider ID nor the same system UUID; "
        + ELSEWHERE,
    ),
    (
        "the Node is silent on its system UUID, and the host is not",
        with_(machine_system_uuid="", node_system_uuid=""),
        "the host states a system UUID, and the Node states none",
    ),
    (
        "the Node is silent on its system UUID, and the Machine is not",
        with_(host_system_uuid="", node_system_uuid=""),
        "the Machine states a system UUID, and the Node states none",
    ),
    (
        "a UUID that many boards state alike ties nothing",
        with_(
            host_system_uuid="00000000-0000-0000-0000-000000000000",
            machine_system_uuid="00000000-0000-0000-0000-000000000000",
            node_system_uuid="00000000-0000-0000-0000-000000000000",
            node_provider_id="",
        ),
        "the Node n1 and the Machine metal/m1 state neither the same provider ID nor the same system UUID; "
        + ELSEWHERE,
    ),
    (
        "the Node does not name the Machine",
        with_(node_machine=""),
        f"the Node n1 does not state that it belongs to the Machine metal/m1; {ELSEWHERE}",
    ),
    ("the Machine names no Node", with_(machine_node=""), "the Machine metal/m1 names no Node"),
    ("the host names no consumer", with_(host_consumer=""), "the host names no consumer"),
    ("the Metal3Machine names no host", with_(machine_host=""), "Metal3Machine metal/m1 names no host"),
    (
        "the Metal3Machine belongs to no Machine",
        with_(machine_owner_uid=""),
        "Metal3Machine metal/m1 belongs to no Machine",
    ),
    (
        "the Machine of this remediation is gone",
        replace(ALL, machine=None),
        "the Machine of this remediation is gone",
    ),
    (
        "the Machine that the Node names is gone",
        replace(ALL, machine=None, asked_uid=""),
        "the Machine metal/m1 that the Node names is gone",
    ),
    (
        "another uses the host that the Node names",
        with_(ALONE, host_consumer="Metal3Machine metal/m1"),
        "Metal3Machine metal/m1 uses it, and the Node names no Machine",
    ),
    (
        "nobody uses the host, and it states nothing",
        with_(ALONE, host_system_uuid=""),
        "its provider ID names the host, but the host does not state the Node's system UUID",
    ),
    (
        "there is only a host",
        IdentityFacts(host=ALONE.host),
        "there is neither a Node nor a Machine that names it",
    ),
]


@pytest.mark.attack("S2", "G1", "S8")
@pytest.mark.parametrize(
    ("identity_facts", "why"), [pytest.param(c, why, id=name) for name, c, why in UNPROVEN]
)
def test_silence_is_not_agreement(identity_facts: IdentityFacts, why: str) -> None:
    assert identify(identity_facts, NO_NODE) == Unproven(why)


WRONG: list[tuple[IdentityFacts, Mismatch]] = [
    (
        replace(ALL, asked_uid="machine-2"),
        Mismatch("the Machine of this remediation", "machine-2", "machine-1"),
    ),
    (
        with_(machine_owner_uid="machine-0"),
        Mismatch("the Machine that owns the Metal3Machine", "machine-0", "machine-1"),
    ),
    (
        with_(host_consumer="Metal3Machine metal/m2"),
        Mismatch("the consumer of the host", "Metal3Machine metal/m1", "Metal3Machine metal/m2"),
    ),
    (with_(machine_host="metal/h2"), Mismatch("the host of the machine", "metal/h2", "metal/h1")),
    (with_(machine_node="n2"), Mismatch("the node of the machine", "n2", "n1")),
    (with_(node_machine="metal/m2"), Mismatch("the Machine of the node", "metal/m2", "metal/m1")),
    (
        with_(machine_provider_ids=("", "metal3://metal/h1/m2")),
        Mismatch("the provider ID", "metal3://metal/h1/m2", PROVIDER),
    ),
    (with_(node_provider_id="k3s://n1"), Mismatch("the provider ID", PROVIDER, "k3s://n1")),
    (with_(node_system_uuid=OTHER_UUID), Mismatch("the system UUID", UUID, OTHER_UUID)),
    (
        with_(node_system_uuid=OTHER_UUID, host_system_uuid=""),
        Mismatch("the system UUID", UUID, OTHER_UUID),
    ),
    # Only the host and the Node state one, for example without a Machine.
    (
        with_(node_system_uuid=OTHER_UUID, machine_system_uuid=""),
        Mismatch("the system UUID", UUID, OTHER_UUID),
    ),
    (with_(ALONE, node_system_uuid=OTHER_UUID), Mismatch("the system UUID", UUID, OTHER_UUID)),
    (with_(host_system_uuid="abc"), Mismatch("the system UUID", "abc", UUID)),
    (
        with_(node_provider_id="metal3://metal/h2/m1", machine_provider_ids=()),
        Mismatch("the host in the provider ID", "metal/h2", "metal/h1"),
    ),
    (
        with_(node_provider_id="", machine_provider_ids=("metal3://other/h1/m1",)),
        Mismatch("the host in the provider ID", "other/h1", "metal/h1"),
    ),
    (
        with_(node_provider_id="metal3://host-2", machine_provider_ids=()),
        Mismatch("the host in the provider ID", "host-2", "host-1"),
    ),
    (
        with_(ALONE, node_provider_id="baremetalhost:///metal/h1/host-0"),
        Mismatch("the host in the provider ID", "host-0", "host-1"),
    ),
]


@pytest.mark.parametrize(("identity_facts", "found"), WRONG)
def test_one_identifier_that_disagrees_outweighs_all_that_agree(
    identity_facts: IdentityFacts, found: Mismatch
) -> None:
    assert identify(identity_facts, NO_NODE) == found


@pytest.mark.attack("S2", "G1")
def test_a_node_of_another_cluster_with_all_the_same_names_is_another() -> None:
    """All names agree. The identity that Cluster API read in the Machine's own cluster does not."""
    identity_facts = with_(host_system_uuid="", node_system_uuid=OTHER_UUID)

    assert identify(identity_facts, NO_NODE) == Mismatch("the system UUID", UUID, OTHER_UUID)


@pytest.mark.attack("G2")
@pytest.mark.parametrize("node", ["n1", ""])
def test_a_machine_whose_node_is_not_here_may_be_of_another_cluster(node: str) -> None:
    identity_facts = replace(with_(machine_node=node), node=None)

    assert identify(identity_facts, NO_NODE) == NotHere("metal/m1", node)


@pytest.mark.attack("S8")
def test_several_nodes_that_state_the_same_are_nobodys() -> None:
    assert identify(ALL, Present(("n2", "n3"))) == SharedIdentity(("n1", "n2", "n3"))
    assert identify(replace(ALL, node=None, recorded=True), Present(("n2",))) == SharedIdentity(
        ("a Node that is not here", "n2")
    )


def test_others_that_cannot_be_read_may_state_the_same() -> None:
    assert identify(ALL, Unreadable("no answer")) == IdentityUnknown("no answer")
    assert matches_of(IdentityUnknown("no answer")) == ()
    assert isinstance(identify(ALL, Absent()), Matched)


def test_what_no_other_node_may_state() -> None:
    assert claims(ALL) == {
        "host metal/h1",
        "host host-1",
        f"provider ID {PROVIDER}",
        "system UUID 4c4c454400514a108052b4c04f4e3132",
    }


@pytest.mark.attack("S8")
@pytest.mark.parametrize(
    ("provider_id", "system_uuid"),
    [
        ("METAL3://metal/h1/m1/", ""),
        ("metal3://metal/h1/another", ""),
        ("metal3://metal/h1", ""),
        ("metal3://host-1", ""),
        ("baremetalhost:///elsewhere/h9/host-1", ""),
        ("", UUID.replace("-", "")),
    ],
)
def test_a_claim_in_another_form_is_the_same_claim(provider_id: str, system_uuid: str) -> None:
    assert claims(ALL) & node_claims(provider_id, system_uuid)


@pytest.mark.parametrize(
    ("node", "machine", "found"),
    [
        (NODE, MACHINE, Matched(("provider ID", "system UUID"))),
        (
            replace(NODE, system_uuid=OTHER_UUID),
            MACHINE,
            Mismatch("the system UUID", UUID, OTHER_UUID),
        ),
        (replace(NODE, name="n2"), MACHINE, Mismatch("the node of the machine", "n1", "n2")),
        (
            replace(NODE, provider_id=""),
            replace(MACHINE, system_uuid=""),
            Unproven(
                "the Node n1 and the Machine metal/m1 state neither the same provider ID nor the same "
                f"system UUID; {ELSEWHERE}"
            ),
        ),
        (
            replace(NODE, machine=""),
            MACHINE,
            Unproven(f"the Node n1 does not state that it belongs to the Machine metal/m1; {ELSEWHERE}"),
        ),
    ],
)
def test_a_node_and_a_machine_without_their_host(
    node: NodeIdentityFacts, machine: MachineIdentityFacts, found: Identity
) -> None:
    assert identify_node(node, machine) == found
