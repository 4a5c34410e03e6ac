"""CertificateSigningRequests and their outcomes: true of the simulated server, and of the real one."""

from base64 import b64encode
from collections.abc import Callable
from typing import Any, Final

from nodemend.signer.crypto import CryptographySigner
from nodemend.signer.decide import Window
from tests.unit.signer.requests import pkcs10, signing_request

Object = dict[str, Any]
Ask = Callable[[str, str, Object], tuple[int, Object]]
"""Method, path and body; returns the status code and the body. A PATCH is a merge patch."""

PATH: Final = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
CONTENT: Final = pkcs10("node-1.agent.nodemend.io")
_WINDOW: Final = Window(1_800_000_000, 1_800_086_400)


def certificate() -> str:
    """A certificate of any subject: the server only checks that it is one."""
    certificate_signer = CryptographySigner()
    made = certificate_signer.certify(
        CONTENT, "x.agent.nodemend.io", _WINDOW, certificate_signer.make_authority(_WINDOW)
    )
    return b64encode(made.encode()).decode()


def condition(type_: str, status: str = "True") -> Object:
    return {"type": type_, "status": status, "reason": "Because"}


def conditions(*found: Object) -> Object:
    return {"status": {"conditions": list(found)}}


class Story:
    """One request, and the operations on it."""

    def __init__(self, ask: Ask, name: str, **spec: Any) -> None:
        self._ask = ask
        self._path = f"{PATH}/{name}"
        self.code, self.answer = ask("POST", PATH, signing_request(name, CONTENT, **spec))

    def patch(self, change: Object, part: str = "") -> int:
        code, _ = self._ask("PATCH", f"{self._path}/{part}" if part else self._path, change)
        return code

    @property
    def now(self) -> Object:
        return self._ask("GET", self._path, {})[1]

    @property
    def types(self) -> list[str]:
        return [one["type"] for one in self.now["status"].get("conditions", [])]


def the_server_states_who_asks(ask: Ask) -> None:
    forged = {"username": "somebody-else", "groups": ["system:masters"], "extra": {"a": ["b"]}}
    story = Story(ask, "forged", **forged)
    assert story.code == 201
    spec = story.now["spec"]
    assert spec["username"] != "somebody-else"
    assert "a" not in spec.get("extra", {})


def what_is_wrong_is_refused(ask: Ask) -> None:
    wrong: dict[str, Object] = {
        "no-usages": {"usages": []},
        "unknown-usage": {"usages": ["world domination"]},
        "twice": {"usages": ["client auth", "client auth"]},
        "too-short": {"expirationSeconds": 599},
        "no-signer": {"signerName": "nodemend"},
        "nothing": {"request": ""},
    }
    for name, spec in wrong.items():
        assert Story(ask, name, **spec).code == 422, name
    assert Story(ask, "shortest", expirationSeconds=600).code == 201


def what_is_asked_for_stays(ask: Ask) -> None:
    story = Story(ask, "stays")
    assert story.patch({"spec": {"signerName": "example.com/other"}}) == 200
    assert story.now["spec"]["signerName"] == "nodemend.io/agent"
    assert story.patch(conditions(condition("Approved"))) == 200
    assert story.types == []


def decisions_are_made_by_approval_alone_and_once(ask: Ask) -> None:
    story = Story(ask, "decided")
    assert story.patch(conditions(condition("Approved")), "status") == 422
    assert story.patch(conditions(condition("Approved", "False")), "approval") == 422
    assert story.patch(conditions(condition("Approved"), condition("Denied")), "approval") == 422
    assert story.patch(conditions(condition("Approved")), "approval") == 200
    assert story.types == ["Approved"]
    assert story.patch(conditions(), "approval") == 422
    assert story.patch(conditions(condition("Denied")), "approval") == 422
    assert story.patch(conditions(condition("Approved"), condition("Failed")), "status") == 200
    assert story.types == ["Approved", "Failed"]
    assert story.patch(conditions(condition("Approved")), "status") == 422


def a_denial_stays(ask: Ask) -> None:
    story = Story(ask, "denied")
    assert story.patch(conditions(condition("Denied")), "approval") == 200
    assert story.patch(conditions(), "approval") == 422
    assert story.types == ["Denied"]


def another_version_is_a_conflict(ask: Ask) -> None:
    story = Story(ask, "versions")
    stale = {"metadata": {"resourceVersion": story.now["metadata"]["resourceVersion"]}}
    assert story.patch({**conditions(condition("Approved")), **stale}, "approval") == 200
    assert story.patch({**conditions(condition("Approved"), condition("Failed")), **stale}, "status") == 409


def a_certificate_is_written_once_and_by_status_alone(ask: Ask) -> None:
    story = Story(ask, "issued")
    first, second = certificate(), certificate()
    approved = condition("Approved")
    both = {"status": {"conditions": [approved], "certificate": first}}
    assert story.patch(both, "approval") == 200
    assert "certificate" not in story.now["status"]
    assert story.patch({"status": {"certificate": first}}, "status") == 200
    assert story.now["status"]["certificate"] == first
    assert story.patch({"status": {"certificate": second}}, "status") == 422
    assert story.patch({"status": {"certificate": None}}, "status") == 422


STORIES: Final[tuple[Callable[[Ask], None], ...]] = (
    the_server_states_who_asks,
    what_is_wrong_is_refused,
    what_is_asked_for_stays,
    decisions_are_made_by_approval_alone_and_once,
    a_denial_stays,
    a_certificate_is_written_once_and_by_status_alone,
    another_version_is_a_conflict,
)
