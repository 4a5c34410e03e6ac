"""Whether a host is a node's machine: every clue must agree, and both ends must be tied."""

from dataclasses import fields, replace

import pytest

from nodemend.decide.host_identity import (
    ByName,
    ByUid,
    Clues,
    Identity,
    Matched,
    Mismatch,
    Unproven,
    identify,
    read_provider_id,
)

UNTIED = "neither the node's provider ID nor a machine of its own names the host"
HOST = Clues(host="metal3/h1", host_uid="host-1")
BY_PROVIDER = replace(HOST, node="n1", node_provider_id="metal3://metal3/h1/m1")
BY_MACHINE = replace(
    HOST,
    node="n1",
    machine_node="n1",
    machine="Metal3Machine metal3/m1",
    host_consumer="Metal3Machine metal3/m1",
    machine_host="metal3/h1",
)
ALL = Clues(
    host="metal3/h1",
    host_uid="host-1",
    host_consumer="Metal3Machine metal3/m1",
    host_system_uuid="ABC-1",
    node="n1",
    node_provider_id="metal3://metal3/h1/m1",
    node_system_uuid="abc-1",
    machine_node="n1",
    machine="Metal3Machine metal3/m1",
    machine_host="metal3/h1",
    machine_provider_id="metal3://metal3/h1/m1",
    machine_uid="machine-1",
    asked_uid="machine-1",
)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("metal3://metal3/h1/m1", ByName("metal3", "h1")),
        ("metal3://metal3/h1", ByName("metal3", "h1")),
        ("metal3://metal3/h1/", ByName("metal3", "h1")),
        ("baremetalhost:///openshift-machine-api/h1", ByName("openshift-machine-api", "h1")),
        (
            "baremetalhost:///openshift-machine-api/h1/host-1",
            ByName("openshift-machine-api", "h1", "host-1"),
        ),
        ("metal3://host-1", ByUid("host-1")),
        ("metal3://", None),
        ("metal3:///h1", None),
        ("baremetalhost:///h1", None),
        ("baremetalhost:////h1", None),
        ("aws:///eu-west-1a/i-1", None),
        ("", None),
    ],
)
def test_a_provider_id_names_its_host(text: str, read: ByName | ByUid | None) -> None:
    assert read_provider_id(text) == read


TIED: list[tuple[str, Clues, Identity]] = [
    ("by the node's provider ID", BY_PROVIDER, Matched(("provider ID",))),
    (
        "by the older provider ID",
        replace(BY_PROVIDER, node_provider_id="metal3://host-1"),
        Matched(("provider ID",)),
    ),
    ("through its machine", BY_MACHINE, Matched(("consumer reference",))),
    (
        "through a machine that has no node yet",
        replace(BY_MACHINE, node="", machine_node=""),
        Matched(("consumer reference",)),
    ),
    (
        "by everything there is",
        ALL,
        Matched(("provider ID", "consumer reference", "Machine UID", "system UUID")),
    ),
    (
        "what only one side says is no tie of its own",
        replace(BY_PROVIDER, host_system_uuid="ABC-1"),
        Matched(("provider ID",)),
    ),
    (
        "nor what only the other says",
        replace(BY_PROVIDER, node_system_uuid="abc-1", machine_uid="machine-1"),
        Matched(("provider ID",)),
    ),
    ("nothing names the host", HOST, Unproven(UNTIED)),
    (
        "only the machine's provider ID does",
        replace(HOST, machine_provider_id="metal3://metal3/h1/m1"),
        Unproven(UNTIED),
    ),
    ("the host names no consumer", replace(BY_MACHINE, host_consumer=""), Unproven(UNTIED)),
    ("the machine names no host", replace(BY_MACHINE, machine_host=""), Unproven(UNTIED)),
    ("no machine is known", replace(BY_MACHINE, machine=""), Unproven(UNTIED)),
    (
        "the same UUID alone ties nothing",
        replace(HOST, host_system_uuid="abc-1", node_system_uuid="abc-1"),
        Unproven(UNTIED),
    ),
    (
        "the Machine it was asked for is gone, whatever else agrees",
        replace(ALL, machine_uid=""),
        Unproven("the Machine that it was asked for is gone"),
    ),
]


@pytest.mark.parametrize(("clues", "found"), [pytest.param(c, found, id=name) for name, c, found in TIED])
def test_tied_or_not(clues: Clues, found: Identity) -> None:
    assert identify(clues) == found


WRONG: list[tuple[dict[str, str], Mismatch]] = [
    ({"asked_uid": "machine-2"}, Mismatch("the Machine that it was asked for", "machine-2", "machine-1")),
    (
        {"host_consumer": "Metal3Machine metal3/m2"},
        Mismatch("the consumer of the host", "Metal3Machine metal3/m1", "Metal3Machine metal3/m2"),
    ),
    ({"machine_host": "metal3/h2"}, Mismatch("the host of the machine", "metal3/h2", "metal3/h1")),
    ({"machine_node": "n2"}, Mismatch("the node of the machine", "n2", "n1")),
    (
        {"machine_provider_id": "metal3://metal3/h1/m2"},
        Mismatch("the provider ID", "metal3://metal3/h1/m2", "metal3://metal3/h1/m1"),
    ),
    ({"node_system_uuid": "abc-2"}, Mismatch("the system UUID", "ABC-1", "abc-2")),
    (
        {"node_provider_id": "metal3://metal3/h2/m1", "machine_provider_id": ""},
        Mismatch("the host in the provider ID", "metal3/h2", "metal3/h1"),
    ),
    (
        {"node_provider_id": "", "machine_provider_id": "metal3://other/h1/m1"},
        Mismatch("the host in the provider ID", "other/h1", "metal3/h1"),
    ),
    (
        {"node_provider_id": "metal3://host-2", "machine_provider_id": ""},
        Mismatch("the host in the provider ID", "host-2", "host-1"),
    ),
]


@pytest.mark.parametrize(("change", "found"), WRONG)
def test_one_clue_that_disagrees_outweighs_all_that_agree(change: dict[str, str], found: Mismatch) -> None:
    assert identify(replace(ALL, **change)) == found


@pytest.mark.parametrize("clue", sorted({field.name for field in fields(Clues)} - {"host_uid"}))
def test_no_clue_may_be_another_ones(clue: str) -> None:
    """Every single clue counts: with another value in its place nothing is matched any more."""
    changed = replace(ALL, **{clue: "metal3://other/other/other"})
    assert isinstance(identify(changed), Mismatch)


def test_a_node_that_no_machine_names_is_not_tied_by_that_machine() -> None:
    assert identify(replace(BY_MACHINE, machine_node="")) == Unproven(UNTIED)


def test_a_host_that_was_made_anew_under_its_name_is_another() -> None:
    clues = replace(HOST, node="n1", node_provider_id="baremetalhost:///metal3/h1/host-0")
    assert isinstance(identify(clues), Mismatch)
