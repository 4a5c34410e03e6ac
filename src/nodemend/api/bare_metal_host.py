"""The parts of metal3's BareMetalHost that a power cycle rests on."""

from nodemend.api import keys
from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class Consumer(Wire):
    """Who uses the host."""

    kind: str = ""
    name: str = ""
    namespace: str = ""


class BareMetalHostSpec(Wire):
    online: bool = True
    disable_power_off: bool = False
    externally_provisioned: bool = False
    consumer_ref: Consumer | None = None


class Provisioning(Wire):
    state: str = ""


class HostCondition(Wire):
    type: str
    status: str
    reason: str = ""


class BareMetalHostStatus(Wire):
    # Absent is not off: an operator that has not looked yet has written nothing.
    powered_on: bool | None = None
    operational_status: str = ""
    error_type: str = ""
    error_message: str = ""
    last_updated: str = ""
    provisioning: Provisioning = Provisioning()
    conditions: tuple[HostCondition, ...] = ()


class BareMetalHost(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: BareMetalHostSpec = BareMetalHostSpec()
    status: BareMetalHostStatus = BareMetalHostStatus()

    @property
    def holds(self) -> tuple[str, ...]:
        """The keys of all holds on it, whoever's."""
        return tuple(key for key in self.metadata.annotations if key.startswith(keys.HOLD_PREFIX))

    def condition(self, type_: str) -> HostCondition | None:
        return next((one for one in self.status.conditions if one.type == type_), None)
