"""ValidatingAdmissionPolicies and their bindings: all fields that affect what a policy refuses."""

from typing import Any

from nodemend.api.meta import KubernetesObject, Wire

Free = dict[str, Any]


class ResourceRule(Wire):
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    resource_names: tuple[str, ...] = ()
    scope: str = "*"


class MatchResources(Wire):
    """The form with the API server's defaults. A selector that selects everything is absent."""

    namespace_selector: Free = {}
    object_selector: Free = {}
    resource_rules: tuple[ResourceRule, ...] = ()
    exclude_resource_rules: tuple[ResourceRule, ...] = ()
    match_policy: str = "Equivalent"


class NamedExpression(Wire):
    name: str = ""
    expression: str = ""


class Validation(Wire):
    expression: str = ""
    message: str = ""
    message_expression: str = ""
    reason: str = "Invalid"


class AdmissionPolicySpec(Wire):
    failure_policy: str = "Fail"
    param_kind: Free = {}
    match_constraints: MatchResources = MatchResources()
    match_conditions: tuple[NamedExpression, ...] = ()
    variables: tuple[NamedExpression, ...] = ()
    validations: tuple[Validation, ...] = ()


class AdmissionPolicy(KubernetesObject):
    spec: AdmissionPolicySpec = AdmissionPolicySpec()


class AdmissionBindingSpec(Wire):
    policy_name: str = ""
    validation_actions: tuple[str, ...] = ()
    match_resources: MatchResources = MatchResources()
    param_ref: Free = {}


class AdmissionBinding(KubernetesObject):
    spec: AdmissionBindingSpec = AdmissionBindingSpec()
