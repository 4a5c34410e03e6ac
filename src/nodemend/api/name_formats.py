"""The forms that names and durations must have, as rules whose refusal a person understands.

A schema's own `pattern` would refuse with the regular expression itself.
"""

from typing import Final

from nodemend.api.quantities import DURATION_PATTERN
from nodemend.api.wire import Rule

_DNS_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED_NAME: Final = f"^({_DNS_LABEL}([.]{_DNS_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
_LABEL_VALUE: Final = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"


def _of_form(pattern: str, message: str) -> Rule:
    return Rule(f"self.matches('{pattern}')", message)


OBJECT_NAME: Final = _of_form(
    f"^{_DNS_LABEL}([.]{_DNS_LABEL})*$",
    "must be the name of an object: lower case letters, digits, '-' and '.', such as call-the-admin",
)
NAMESPACE_NAME: Final = _of_form(
    f"^{_DNS_LABEL}$",
    "must be the name of a namespace: lower case letters, digits and '-', such as nodemend-system",
)
LABEL_KEY: Final = _of_form(
    _QUALIFIED_NAME,
    "must be a label key, such as topology.kubernetes.io/zone",
)
LABEL_VALUE: Final = _of_form(
    _LABEL_VALUE,
    "must be a label value: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
)
CONDITION_TYPE: Final = _of_form(
    _QUALIFIED_NAME,
    "must be the type of a condition, such as Ready or example.com/DiskHealthy",
)
LABELS: Final = Rule(
    f"self.all(key, key.size() <= 317 && key.matches('{_QUALIFIED_NAME}'))",
    "each key must be a label key, such as topology.kubernetes.io/zone",
)
DURATION: Final = Rule(
    f"self.matches('{DURATION_PATTERN}') && duration(self) > duration('0s')",
    "must be a duration longer than zero, such as 90s, 5m or 1h30m",
)
