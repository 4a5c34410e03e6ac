"""A policy of a cluster in a few letters: the same in each namespace, and after the server's defaulting."""

import hashlib
import re
from typing import Final

import msgspec

from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy, NamedExpression
from nodemend.api.wire import Wire
from nodemend.decide.admission_policies import PolicySeen

GIVEN: Final = "given"
"""Variables whose names begin so hold what whoever installs us chose, and are not compared."""
_LENGTH: Final = 16


def fingerprint_policy(policy: AdmissionPolicy, namespace: str) -> PolicySeen:
    spec = policy.spec
    scope = spec.but(variables=(), validations=())
    given = tuple(
        NamedExpression(name=one.name) if one.name.startswith(GIVEN) else one for one in spec.variables
    )
    demands = (given, spec.validations)
    return PolicySeen(_print(scope, namespace), _print(demands, namespace))


def fingerprint_binding(binding: AdmissionBinding, namespace: str) -> str:
    return _print(binding.spec, namespace)


def _print(content: object, namespace: str) -> str:
    text = msgspec.json.encode(_whole(content), order="deterministic").decode()
    name = re.escape(namespace)
    # Where templates name it, and nowhere else: "nodemend" is also our taint's value, and kube-system has
    # accounts of its own. In the name of an account of ours, before a slash, of a request, in quotes of JSON.
    places = (
        rf"(?<=serviceaccount:){name}(?=:nodemend-)|(?<= ){name}(?=/)"
        rf"|(?<=request\.namespace == '){name}(?=')|(?<=\"){name}(?=\")"
    )
    return hashlib.sha256(re.sub(places, "{namespace}", text).encode()).hexdigest()[:_LENGTH]


def _whole(content: object) -> object:
    """With the defaults written out, whoever filled them in."""
    if isinstance(content, Wire):
        return {name: _whole(getattr(content, name)) for name in content.__struct_fields__}
    return [_whole(one) for one in content] if isinstance(content, tuple) else content
