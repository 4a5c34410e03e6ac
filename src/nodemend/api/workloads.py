"""The parts of Pods and VolumeAttachments that tell what is still on a node."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class PodToleration(Wire):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class ClaimSource(Wire):
    claim_name: str = ""


class EphemeralSource(Wire):
    """A claim is made for the pod, named after it and the volume."""


class PodVolume(Wire):
    name: str = ""
    persistent_volume_claim: ClaimSource | None = None
    ephemeral: EphemeralSource | None = None


class PodSpec(Wire):
    node_name: str = ""
    tolerations: tuple[PodToleration, ...] = ()
    volumes: tuple[PodVolume, ...] = ()


class PodStatus(Wire):
    phase: str = ""


class Pod(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()

    @property
    def claims(self) -> tuple[str, ...]:
        """The names of its PersistentVolumeClaims, in its namespace."""
        return tuple(
            one.persistent_volume_claim.claim_name
            if one.persistent_volume_claim
            else f"{self.metadata.name}-{one.name}"
            for one in self.spec.volumes
            if one.persistent_volume_claim or one.ephemeral
        )


class ClaimSpec(Wire):
    volume_name: str = ""


class PersistentVolumeClaim(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: ClaimSpec = ClaimSpec()


class AttachedSource(Wire):
    persistent_volume_name: str | None = None


class VolumeAttachmentSpec(Wire):
    node_name: str = ""
    source: AttachedSource = AttachedSource()


class VolumeAttachment(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
