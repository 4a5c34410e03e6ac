"""What the API server knows of whoever asks: their name, and what they may do."""

from typing import Final

from nodemend.api.group_versions import Resource
from nodemend.api.wire import Wire
from nodemend.kube.api_request import Method, Request, collection_path, create

SELF_SUBJECT_REVIEW: Final = Resource(
    "authentication.k8s.io", "v1", "SelfSubjectReview", "selfsubjectreviews", namespaced=False
)
SELF_SUBJECT_ACCESS_REVIEW: Final = Resource(
    "authorization.k8s.io", "v1", "SelfSubjectAccessReview", "selfsubjectaccessreviews", namespaced=False
)


class UserInfo(Wire):
    username: str = ""


class SelfSubjectStatus(Wire):
    user_info: UserInfo = UserInfo()


class SelfSubjectReview(Wire):
    status: SelfSubjectStatus = SelfSubjectStatus()


class AccessStatus(Wire):
    allowed: bool = False


class AccessReview(Wire):
    status: AccessStatus = AccessStatus()


class ServerVersion(Wire):
    """What /version says. Providers add signs to the numbers ("33+")."""

    major: str = ""
    minor: str = ""
    git_version: str = ""

    @property
    def numbers(self) -> tuple[int, int]:
        return _digits(self.major), _digits(self.minor)


class ServedResource(Wire):
    name: str = ""


class ServedResources(Wire):
    """The resources of one group and version."""

    resources: tuple[ServedResource, ...] = ()


def ask_name(manager: str) -> Request:
    body = {"apiVersion": SELF_SUBJECT_REVIEW.api_version, "kind": SELF_SUBJECT_REVIEW.kind}
    return create(SELF_SUBJECT_REVIEW, body, manager=manager)


def ask_right(verb: str, resource: Resource, namespace: str, name: str, manager: str) -> Request:
    attributes = {
        "verb": verb,
        "group": resource.group,
        "resource": resource.plural,
        "namespace": namespace,
        "name": name,
    }
    body = {
        "apiVersion": SELF_SUBJECT_ACCESS_REVIEW.api_version,
        "kind": SELF_SUBJECT_ACCESS_REVIEW.kind,
        "spec": {"resourceAttributes": attributes},
    }
    return create(SELF_SUBJECT_ACCESS_REVIEW, body, manager=manager)


def ask_version() -> Request:
    return Request(Method.GET, "/version")


def ask_served(resource: Resource) -> Request:
    """Everything that is served beside this resource."""
    return Request(Method.GET, collection_path(resource).removesuffix(f"/{resource.plural}"))


def _digits(text: str) -> int:
    digits = "".join(character for character in text if character.isascii() and character.isdigit())
    return int(digits or "0")
