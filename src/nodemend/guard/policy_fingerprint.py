"""Fingerprints of admission policies: equal in each namespace, and after the server's defaulting."""

import hashlib
import re
from typing import Final

import msgspec

from nodemend.api.admission_policy import AdmissionBinding, AdmissionPolicy, NamedExpression
from nodemend.api.meta import Wire
from nodemend.guard.policies import PolicySeen

GIVEN: Final = "given"
"""Prefix of the variables whose values the installer of Nodemend chooses. They are not compared."""
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
    # Only the places where templates name it: "nodemend" is also the value of the taint, and kube-system has
    # its own accounts. In the name of a Nodemend account, before a slash, of a request, in quotes of JSON.
    places = (
        rf"(?<=serviceaccount:){name}(?=:nodemend-)|(?<= ){name}(?=/)"
        rf"|(?<=request\.namespace == '){name}(?=')|(?<=\"){name}(?=\")"
    )
    return hashlib.sha256(re.sub(places, "{namespace}", text).encode()).hexdigest()[:_LENGTH]


def _whole(content: object) -> object:
    """The content with all defaults written out, so that it does not matter if the server added them."""
    if isinstance(content, Wire):
        return {name: _whole(getattr(content, name)) for name in content.__struct_fields__}
    return [_whole(one) for one in content] if isinstance(content, tuple) else content
