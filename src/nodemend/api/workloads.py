"""The parts of Pods and VolumeAttachments that tell what is still on a node."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class PodToleration(Wire):
    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class PodSpec(Wire):
    node_name: str = ""
    tolerations: tuple[PodToleration, ...] = ()


class PodStatus(Wire):
    phase: str = ""


class Pod(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class VolumeAttachmentSpec(Wire):
    node_name: str = ""


class VolumeAttachment(Wire):
    metadata: ObjectMeta = ObjectMeta()
    spec: VolumeAttachmentSpec = VolumeAttachmentSpec()
