"""The actions of the recorded steps, performed in the simulation."""

from collections.abc import Callable
from typing import Any, Final

from nodemend.api.resources import BARE_METAL_HOST, SECRET
from simulation.metal3.bmc import Order
from simulation.metal3.host import HOST_FIRMWARE_SETTINGS, HOST_UPDATE_POLICY
from simulation.metal3.ironic_node import IronicSettings
from tests.campaigns.host_conformance.one_host_world import BMC, Stage
from tests.campaigns.host_conformance.recorded_states import NAME, NAMESPACE

CREDENTIALS: Final = "bmc-1"
USER: Final = "YWRtaW4="
_AT: Final = (NAMESPACE, "")
_AT_ONCE: Final = 0.03
_SPOKEN: Final[dict[str, dict[str, Any]]] = {
    "no such secret": {"credentialsName": "none"},
    "the right secret": {"credentialsName": CREDENTIALS},
}
_IMAGE: Final = {"url": "http://images/one.qcow2", "checksum": "http://images/one.qcow2.md5sum"}
# The settings that the scenario names; the duration of a failing attempt is not recorded, and this fits.
_FOR_SPEED: Final = IronicSettings(
    sync_every=60.0, sync_retries=1, recovery_every=60.0, unreachable_limit=60.0
)
_RESTARTED_AFTER: Final = 95.0


def create(stage: Stage, what: str) -> None:
    kinds: dict[str, dict[str, Any]] = {
        "image": {"image": _IMAGE},
        "no image": {},
        "external": {"externallyProvisioned": True},
    }
    create_secret(stage)
    bmc = {"address": BMC, "credentialsName": CREDENTIALS}
    host = {"metadata": {"name": NAME}, "spec": {"online": True, "bmc": bmc, **kinds[what]}}
    stage.api.create(BARE_METAL_HOST, host, NAMESPACE)
    stage.recorded.note(saved=False)


def create_secret(stage: Stage) -> None:
    body = {"metadata": {"name": CREDENTIALS}, "data": {"username": USER, "password": USER}}
    stage.api.create(SECRET, body, NAMESPACE)


def annotate(stage: Stage, annotations: dict[str, str | None]) -> None:
    patch_host(stage, {"metadata": {"annotations": annotations}})


def patch_host(stage: Stage, change: dict[str, Any]) -> None:
    stage.api.patch(BARE_METAL_HOST, NAME, change, at=_AT)
    stage.recorded.stop_watching()


def change_spec(stage: Stage, spec: dict[str, Any]) -> None:
    if "bmc" in spec:
        spec = {"bmc": _SPOKEN[spec["bmc"]["credentialsName"]]}
    elif "image" in spec:
        spec = {"image": _IMAGE}
    patch_host(stage, {"spec": spec})


def annotate_and_remove(stage: Stage, annotations: dict[str, str]) -> None:
    annotate(stage, dict(annotations))
    stage.scheduler.after(_AT_ONCE, lambda: annotate(stage, dict.fromkeys(annotations)))


def change_secret(stage: Stage, what: str) -> None:
    match what:
        case "delete":
            stage.api.delete(SECRET, CREDENTIALS, NAMESPACE)
        case "drop finalizers (it goes)":
            stage.api.patch(SECRET, CREDENTIALS, {"metadata": {"finalizers": None}}, at=_AT)
        case "create":
            create_secret(stage)
        case "drop username":
            stage.api.patch(SECRET, CREDENTIALS, {"data": {"username": None}}, at=_AT)
        case "restore username":
            stage.api.patch(SECRET, CREDENTIALS, {"data": {"username": USER}}, at=_AT)
        case _:
            raise ValueError(what)


def change_bmc(stage: Stage, what: str) -> None:
    faults = stage.bmc.faults
    match what:
        case "obeys from now on":
            faults.off_never_done = False
        case "mended":
            faults.off_refused = False
        case "stops answering":
            faults.unreachable = True
        case "answers again":
            faults.unreachable = False
        case "stops answering at 5 s, answers again at 430 s":
            stage.scheduler.after(5.0, lambda: change_bmc(stage, "stops answering"))
            stage.scheduler.after(430.0, lambda: change_bmc(stage, "answers again"))
        case "switched off by someone":
            stage.bmc.take(Order.FORCE_OFF)
        case "switched on by someone":
            stage.bmc.take(Order.ON)
        case _:
            raise ValueError(what)


def behave(stage: Stage, behaviour: dict[str, str]) -> None:
    """Set the BMC's behavior at the start of a scenario."""
    faults = stage.bmc.faults
    faults.soft_ignored = behaviour.get("soft") == "ignored"
    faults.off_never_done = behaviour.get("off") == "accepted, never done, until mended"
    faults.off_refused = behaviour.get("off") == "answered with an error, until mended"


def restart_ironic_for_speed(stage: Stage) -> None:
    """The change beside its steps that `ironic/bmc-unreachable-long` documents."""

    def restart() -> None:
        stage.stop_ironic()
        stage.start_ironic(_FOR_SPEED)

    stage.scheduler.after(_RESTARTED_AFTER, restart)


def change_operator(stage: Stage, what: str) -> None:
    {"stop": stage.stop_operator, "start": stage.start_operator}[what]()


def change_provisioner(stage: Stage, what: str) -> None:
    {"stop": stage.stop_ironic, "start": stage.start_ironic}[what]()


def delete(stage: Stage, _what: str) -> None:
    stage.api.delete(BARE_METAL_HOST, NAME, NAMESPACE)
    stage.recorded.stop_watching()


def do(stage: Stage, what: str) -> None:
    if what == "create HostUpdatePolicy onReboot":
        policy = {"metadata": {"name": NAME}, "spec": {"firmwareSettings": "onReboot"}}
        stage.api.create(HOST_UPDATE_POLICY, policy, NAMESPACE)
        return
    settings = {"metadata": {"name": NAME}, "spec": {"settings": {"ProcVirtualization": "Disabled"}}}
    stage.api.create(HOST_FIRMWARE_SETTINGS, settings, NAMESPACE)
    conditions = [{"type": kind, "status": "True"} for kind in ("ChangeDetected", "Valid")]
    at = (NAMESPACE, "status")
    stage.api.patch(HOST_FIRMWARE_SETTINGS, NAME, {"status": {"conditions": conditions}}, at=at)


def wait(_stage: Stage, _what: str) -> None:
    pass


WRITES: Final[dict[str, Callable[[Stage, Any], None]]] = {
    "annotate": annotate,
    "annotate_and_remove_at_once": annotate_and_remove,
    "bmc": change_bmc,
    "delete": delete,
    "do": do,
    "operator": change_operator,
    "provisioner": change_provisioner,
    "secret": change_secret,
    "spec": change_spec,
    "wait": wait,
}
