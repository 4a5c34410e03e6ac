"""What the signer keeps of its authorities in its Secret, and the objects that it uses for that."""

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Wire


class KeyPair(Wire):
    """PEM, both. Whoever has `key` can be any node to its peers."""

    certificate: str
    key: str

    def __repr__(self) -> str:
        """Without the key: what is printed may be logged."""
        return f"KeyPair(certificate={self.certificate!r})"


class FormerAuthority(Wire):
    """It signs nothing any more, so that its key is gone already."""

    certificate: str
    replaced: float


class AuthorityRecord(Wire):
    """Times are seconds since 1970."""

    signing: KeyPair
    successor: KeyPair | None = None
    published: float | None = None
    former: tuple[FormerAuthority, ...] = ()


class Secret(Wire):
    """Its values are in base64."""

    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}

    def __repr__(self) -> str:
        return f"Secret({self.metadata.namespace}/{self.metadata.name})"


class ConfigMap(Wire):
    metadata: ObjectMeta = ObjectMeta()
    data: dict[str, str] = {}
