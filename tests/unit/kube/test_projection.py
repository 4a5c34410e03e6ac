"""Keys, and objects kept whole."""

from nodemend.api.meta import ObjectMeta
from nodemend.api.remediation_policy import RemediationPolicy
from nodemend.api.resources import REMEDIATION_POLICY
from nodemend.kube.store import key_of, whole


def test_a_key_is_the_name_after_the_namespace_where_there_is_one() -> None:
    assert key_of(ObjectMeta(name="n")) == "n"
    assert key_of(ObjectMeta(name="n", namespace="ns")) == "ns/n"


def test_an_object_kept_whole_is_itself() -> None:
    projection = whole(REMEDIATION_POLICY, RemediationPolicy)
    policy = RemediationPolicy(metadata=ObjectMeta(name="cluster", uid="u"))

    assert projection.project(policy, None) is policy
    assert projection.uid_of(policy) == "u"
