"""The Machine behind the node, and the host that its power is. Pure."""

from collections.abc import Iterator
from typing import Final

from nodemend.api import keys
from nodemend.api.bare_metal_host import BareMetalHost
from nodemend.api.power_cycle import Metal3Remediation
from nodemend.cli.node_case import NodeCase
from nodemend.cli.tree.view import Branch
from nodemend.cli.words import spell_seconds
from nodemend.cli.written_ages import age_of
from nodemend.controllers.power_cycle.host_reading import host_facts
from nodemend.controllers.power_cycle.locate import Behind, Missing
from nodemend.decide.facts import Absent, Present, Unreadable
from nodemend.decide.host_explanations import explain_host
from nodemend.decide.host_holds import HostDoubtful
from nodemend.decide.host_power import doubt

_POWER: Final = {True: "on", False: "off", None: "power untold"}


def machine_branches(case: NodeCase) -> Iterator[Branch]:
    """The Machine with its host below it; the host alone where there is no Machine."""
    host = tuple(_hosts(case))
    if isinstance(case.behind, Present):
        yield _machine(case.behind.value, host)
    else:
        yield from host


def _machine(behind: Behind, host: tuple[Branch, ...]) -> Branch:
    metadata = behind.machine.metadata
    owner = next((one for one in metadata.owner_references if one.controller), None)
    says = [f"owned by {owner.kind} {owner.name}" if owner else "nobody owns it"]
    if behind.metal3 is not None and behind.metal3.metadata.name != metadata.name:
        says.append(f"by Metal3Machine {behind.metal3.metadata.name}")
    return Branch(
        kind=behind.resource.kind,
        name=metadata.name,
        namespace=metadata.namespace,
        state="being deleted" if metadata.deleting else "",
        says=tuple(says),
        children=host,
    )


def _hosts(case: NodeCase) -> Iterator[Branch]:
    """None of a node that has nothing to do with hosts."""
    match case.host:
        case Present(host):
            yield _host(case, host)
        case Missing(why) if case.power != Absent() and _concerned(case):
            yield Branch(kind="BareMetalHost", state="not found", says=(why,))
        case Absent():
            yield Branch(kind="BareMetalHost", state="gone", says=("the host that was held is gone",))
        case Unreadable():
            yield Branch(kind="BareMetalHost", state="unknown", says=("it cannot be read",))
        case Missing():
            return


def _concerned(case: NodeCase) -> bool:
    """Somebody wants its power, or its Machine has a host."""
    by_power = any(isinstance(one, Metal3Remediation) for one in case.remediations)
    return by_power or (isinstance(case.behind, Present) and case.behind.value.metal3 is not None)


def _host(case: NodeCase, host: BareMetalHost) -> Branch:
    return Branch(
        kind="BareMetalHost",
        name=host.metadata.name,
        namespace=host.metadata.namespace,
        state=_POWER[host.status.powered_on],
        says=tuple(_says(case, host)),
    )


def _says(case: NodeCase, host: BareMetalHost) -> Iterator[str]:
    yield from _holds(case, host)
    if not host.spec.online:
        yield "its owner wants it off"
    if any(key in host.metadata.annotations for key in keys.HOST_UNHEALTHY):
        yield "marked unhealthy"
    against = doubt(host_facts(host, ""))
    if against is not None:
        address = f"{host.metadata.namespace}/{host.metadata.name}"
        yield explain_host(HostDoubtful(address, against)).sentence.removesuffix(".")
    else:
        yield host.status.provisioning.state
    if (age := age_of(host.status.last_updated, case.now)) is not None:
        yield f"its operator last wrote {spell_seconds(age)} ago"


def _holds(case: NodeCase, host: BareMetalHost) -> Iterator[str]:
    ours = {one.metadata.uid: one for one in case.remediations}
    for key in host.holds:
        if not key.startswith(keys.OUR_HOLD_PREFIX):
            yield f"held off by another: {key}"
        elif (found := ours.get(key.removeprefix(keys.OUR_HOLD_PREFIX))) is not None:
            yield f"held off by us for {found.metadata.namespace}/{found.metadata.name}"
        else:
            yield "held off by us for a remediation that is gone or of another node"
