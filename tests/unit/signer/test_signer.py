"""Nodes request and get certificates for their own names: with two replicas, bad links and crashes."""

from base64 import b64encode
from collections.abc import Iterator

import msgspec
import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from nodemend.api import well_known
from nodemend.api.agent import AuthorityRecord, FormerAuthority, KeyPair
from nodemend.api.resources import CERTIFICATE_SIGNING_REQUEST, CONFIG_MAP, SECRET
from nodemend.kube.outcome import ApiResponse
from nodemend.kube.request import Method, Request
from nodemend.signer.decide import LIVES_FOR, LONGEST, OVERLAP, SIGNS_FOR, Window
from simulation.api_server.admission import User
from simulation.network import CrashPoint, LinkQuality
from simulation.scheduler import EPOCH
from tests.unit.signer.requests import pkcs10
from tests.unit.signer.signer_world import CERTIFICATE_SIGNER, SignerWorld, agent_on

START = EPOCH.timestamp()
BAD_LINK = LinkQuality(refused=0.05, lost=0.02, reply_lost=0.05, reset=0.05, late=0.02)
SECONDS_TO_LEAD = 30.0


@pytest.fixture
def world() -> Iterator[SignerWorld]:
    found = SignerWorld()
    yield found
    found.close()


def authority(age: float) -> KeyPair:
    return CERTIFICATE_SIGNER.make_authority(Window(START - age, START - age + LIVES_FOR))


def test_a_node_gets_its_own_name_for_a_day_at_most(world: SignerWorld) -> None:
    world.run(SECONDS_TO_LEAD)
    world.ask("mine", "node-1")
    world.run(5.0)

    certificate = world.certificate("mine")
    assert certificate is not None
    assert world.accepted(certificate)
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names == x509.SubjectAlternativeName([x509.DNSName("node-1.agent.nodemend.io")])
    assert not certificate.subject
    life = certificate.not_valid_after_utc - certificate.not_valid_before_utc
    assert life.total_seconds() == LONGEST
    assert world.conditions("mine") == {"Approved": "OwnNodeName"}


def test_a_shorter_life_is_honoured(world: SignerWorld) -> None:
    world.ask("mine", expirationSeconds=3600)
    world.run(SECONDS_TO_LEAD)
    certificate = world.certificate("mine")
    assert certificate is not None
    assert certificate.not_valid_after_utc.timestamp() == pytest.approx(world.now + 3600, abs=SECONDS_TO_LEAD)


def test_a_request_made_without_a_leader_is_signed_later(world: SignerWorld) -> None:
    world.ask("early")
    world.run(SECONDS_TO_LEAD)
    assert world.certificate("early") is not None


def test_others_are_denied_with_a_reason(world: SignerWorld) -> None:
    own = "node-1.agent.nodemend.io"
    name = x509.Name([x509.NameAttribute(x509.NameOID.ORGANIZATION_NAME, "system:masters")])
    world.ask("other-node", content=pkcs10("node-2.agent.nodemend.io"))
    world.ask("more", content=pkcs10(own, "node-2.agent.nodemend.io"))
    world.ask("authority", content=pkcs10(own, also=(x509.BasicConstraints(ca=True, path_length=None),)))
    world.ask("subject", content=pkcs10(own, subject=name))
    world.ask("rsa", content=pkcs10(own, key=rsa.generate_private_key(65537, 2048)))
    world.ask("poem", content=b"-----BEGIN CERTIFICATE REQUEST-----\nroses\n")
    world.ask("usages", usages=["client auth", "digital signature"])
    world.ask_as(User("system:node:node-1"), "kubelet", pkcs10(own))
    world.ask_as(User(well_known.AGENT_USER), "unbound", pkcs10(own))
    world.run(SECONDS_TO_LEAD)

    denied = {
        "other-node": "WrongName",
        "more": "WrongName",
        "authority": "UnexpectedContent",
        "subject": "UnexpectedSubject",
        "rsa": "WrongKey",
        "poem": "RequestUnreadable",
        "usages": "WrongUsages",
        "kubelet": "NotAnAgent",
        "unbound": "NotBoundToNode",
    }
    for request, reason in denied.items():
        assert world.conditions(request) == {"Denied": reason}, request
        assert world.certificate(request) is None


def test_requests_for_other_signers_are_left_alone(world: SignerWorld) -> None:
    world.ask("theirs", signerName="kubernetes.io/kube-apiserver-client")
    world.run(SECONDS_TO_LEAD)
    assert world.status("theirs") == {}


def test_a_request_that_another_approver_has_approved_has_no_effect(world: SignerWorld) -> None:
    world.ask("forced", content=pkcs10("node-2.agent.nodemend.io"))
    approved = {"type": "Approved", "status": "True", "reason": "ByHand"}
    change = {"status": {"conditions": [approved]}}
    world.admin.patch(CERTIFICATE_SIGNING_REQUEST, "forced", change, at=("", "approval"))
    world.run(SECONDS_TO_LEAD)
    assert world.conditions("forced") == {"Approved": "ByHand", "Failed": "WrongName"}
    assert world.certificate("forced") is None


def test_nothing_is_signed_before_agents_can_trust_it(world: SignerWorld) -> None:
    """The bundle cannot be written at first."""
    world.signer.forbidden.add((Method.POST, "configmaps"))
    world.ask("mine")
    world.run(60.0)
    assert world.record is not None
    assert world.certificate("mine") is None
    assert world.recorder.idles[-1] == "its certificate is not published yet"
    assert world.able == 0

    world.signer.forbidden.clear()
    world.run(60.0)
    assert world.able == 1
    certificate = world.certificate("mine")
    assert certificate is not None
    assert world.accepted(certificate)


def test_a_read_of_the_authority_is_valid_only_briefly(world: SignerWorld) -> None:
    world.run(SECONDS_TO_LEAD)
    assert world.able == 1
    world.signer.forbidden.add((Method.GET, "secrets"))
    world.run(60.0)
    world.ask("mine")
    world.run(30.0)
    assert world.able == 0
    assert world.certificate("mine") is None


def test_a_secret_that_cannot_be_understood_is_never_replaced(world: SignerWorld) -> None:
    data = {"authority.json": b64encode(b'{"signing": "from the future"}').decode()}
    body = {"metadata": {"name": well_known.AGENT_AUTHORITY}, "data": data}
    world.admin.create(SECRET, body, well_known.SYSTEM_NAMESPACE)
    world.ask("mine")
    world.run(120.0)
    found = world.admin.get(SECRET, well_known.AGENT_AUTHORITY, well_known.SYSTEM_NAMESPACE)
    assert found is not None
    assert found["data"] == data
    assert world.certificate("mine") is None
    assert world.recorder.idles[-1].startswith("the authority's Secret cannot be read")


@pytest.mark.parametrize("seed", range(8))
def test_two_replicas_on_bad_links_make_one_authority_and_sign_everything(seed: int) -> None:
    world = SignerWorld(seed, quality=BAD_LINK)
    made: list[str] = []

    def watch(_user: str, request: Request, _answer: ApiResponse) -> None:
        if request.method is Method.POST and request.path.endswith("/secrets"):
            made.append(request.path)

    world.signer.witnesses.append(watch)
    for number in range(6):
        world.ask(f"r-{number}", f"node-{number}")
    world.run(400.0)
    assert len(made) == 1
    for number in range(6):
        certificate = world.certificate(f"r-{number}")
        assert certificate is not None
        assert world.accepted(certificate)
    world.close()


@pytest.mark.parametrize("point", list(CrashPoint))
@pytest.mark.parametrize("nth", range(1, 7))
def test_a_death_at_any_write_leaves_one_authority_and_the_request_signed(
    point: CrashPoint, nth: int
) -> None:
    world = SignerWorld(f"{point} {nth}", replicas=1)
    writes = 0

    def plan(request: Request) -> CrashPoint | None:
        nonlocal writes
        if "leases" in request.path:
            return None
        writes += 1
        return point if writes == nth else None

    def start(replica: object) -> None:
        world.replicas[0].link.crash_plan = plan

    world.replicas[0].on_start = start
    world.replicas[0].link.crash_plan = plan
    world.ask("first", "node-1")
    world.run(90.0)
    world.ask("second", "node-2")
    world.run(90.0)
    assert world.replicas[0].starts == 2
    for name in ("first", "second"):
        certificate = world.certificate(name)
        assert certificate is not None
        assert world.accepted(certificate)
    assert len(x509.load_pem_x509_certificates(world.bundle.encode())) == 1
    world.close()


def test_a_successor_is_published_a_day_before_it_signs() -> None:
    old = authority(SIGNS_FOR)
    world = SignerWorld(record=AuthorityRecord(signing=old), bundle=old.certificate)
    world.run(60.0)
    record = world.record
    assert record is not None
    assert record.signing == old
    assert record.successor is not None
    assert record.published == pytest.approx(START + 30, abs=30)
    assert record.successor.certificate in world.bundle
    assert old.certificate in world.bundle

    world.ask("meanwhile")
    world.run(5.0)
    certificate = world.certificate("meanwhile")
    assert certificate is not None
    assert world.accepted(certificate, old.certificate), "the old one signs until everybody knows the new"
    world.close()


def test_after_a_takeover_old_and_new_bundles_accept_old_and_new_certificates() -> None:
    """Ten minutes before the wait is over; the same nodes are checked again a while later."""
    old, new = authority(SIGNS_FOR), authority(86400)
    before = old.certificate + new.certificate
    published = START + 600 - OVERLAP
    record = AuthorityRecord(signing=old, successor=new, published=published)
    world = SignerWorld(record=record, bundle=before)
    world.run(SECONDS_TO_LEAD)
    world.ask("before", "node-1")
    world.run(300.0)
    of_old = world.certificate("before")
    assert of_old is not None
    assert world.accepted(of_old, old.certificate)

    world.run(600.0)
    world.ask("after", "node-2")
    world.run(5.0)
    of_new = world.certificate("after")
    assert of_new is not None
    assert world.accepted(of_new, new.certificate)
    assert not world.accepted(of_new, old.certificate)
    assert world.accepted(of_new, before), "by a node that was last in contact before the change"
    assert world.accepted(of_old), "and the other way round"
    kept = world.record
    assert kept is not None
    assert kept.signing == new
    assert [one.certificate for one in kept.former] == [old.certificate]
    assert old.key.encode() not in msgspec.json.encode(kept), "what signs nothing more needs no key"
    world.close()


def test_a_former_one_is_forgotten_when_its_last_certificate_is_over() -> None:
    old, new = authority(SIGNS_FOR), authority(86400)
    former = FormerAuthority(certificate=old.certificate, replaced=START + 300 - OVERLAP)
    world = SignerWorld(
        record=AuthorityRecord(signing=new, former=(former,)), bundle=old.certificate + new.certificate
    )
    world.run(250.0)
    assert old.certificate in world.bundle
    world.run(100.0)
    assert world.bundle == new.certificate
    world.close()


def test_a_person_may_ask_for_another_authority(world: SignerWorld) -> None:
    world.run(SECONDS_TO_LEAD)
    change = {"metadata": {"annotations": {well_known.REPLACE_AUTHORITY: "now"}}}
    world.admin.patch(SECRET, well_known.AGENT_AUTHORITY, change, at=(well_known.SYSTEM_NAMESPACE, ""))
    world.run(60.0)
    record = world.record
    assert record is not None
    assert record.successor is not None
    found = world.admin.get(SECRET, well_known.AGENT_AUTHORITY, well_known.SYSTEM_NAMESPACE)
    assert found is not None
    assert well_known.REPLACE_AUTHORITY not in found["metadata"].get("annotations", {}), "once"


def test_if_its_secret_is_deleted_it_starts_from_the_beginning(world: SignerWorld) -> None:
    """The recovery from a stolen key: no certificate that it signed is trusted any longer."""
    world.ask("stolen")
    world.run(SECONDS_TO_LEAD)
    of_old = world.certificate("stolen")
    assert of_old is not None
    world.admin.delete(SECRET, well_known.AGENT_AUTHORITY, well_known.SYSTEM_NAMESPACE)
    world.run(60.0)
    assert not world.accepted(of_old)
    world.ask("new")
    world.run(5.0)
    of_new = world.certificate("new")
    assert of_new is not None
    assert world.accepted(of_new)


@pytest.mark.parametrize("content", ["", "rogue", "a poem\n"])
def test_a_bundle_that_a_user_changed_is_restored(world: SignerWorld, content: str) -> None:
    world.run(SECONDS_TO_LEAD)
    right = world.bundle
    rogue = authority(0).certificate
    text = right + rogue if content == "rogue" else content
    change = {"data": {"ca.crt": text}}
    world.admin.patch(CONFIG_MAP, well_known.AGENT_TRUST, change, at=(well_known.AGENT_NAMESPACE, ""))
    world.run(30.0)
    assert world.bundle == right


def test_a_token_of_another_node_is_not_enough(world: SignerWorld) -> None:
    world.ask_as(agent_on("node-2"), "theirs", pkcs10("node-1.agent.nodemend.io"))
    world.run(SECONDS_TO_LEAD)
    assert world.conditions("theirs") == {"Denied": "WrongName"}
