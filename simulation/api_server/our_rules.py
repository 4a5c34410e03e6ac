"""Nodemend's own admission rules as functions: the equivalent of the CEL in the CRDs and policies in deploy/.

Only the rules that decide correctness are here: epoch, ownership, confirmation, evidence, settings, orders.
Runs against a real server with the real policies check that each function and its rule agree.
"""

from nodemend.api.resources import (
    LEASE,
    MANUAL_REMEDIATION,
    MANUAL_REMEDIATION_TEMPLATE,
    METAL3_REMEDIATION,
    NODE,
    NODE_HEALTH_CHECK,
    POD,
    REMEDIATION_ORDER,
    REMEDIATION_POLICY,
    SELF_REMEDIATION,
)
from simulation.api_server.account_policy import accounts_policy
from simulation.api_server.admission import AdmissionRules
from simulation.api_server.node_deletion_policy import deletable_nodes_policy
from simulation.api_server.people_policies import orders_policy, settings_policy
from simulation.api_server.policies import confirmation_policy, nodes_policy, remediations_policy
from simulation.api_server.remediation_rules import (
    order_rules,
    policy_rules,
    power_cycle_rules,
    remediation_rules,
    self_remediation_rules,
    template_rules,
)


def our_rules(*, node_deletion: bool = False) -> AdmissionRules:
    """Return the rules of a server with Nodemend. With `node_deletion`, Nodemend may delete Nodes."""
    return {
        MANUAL_REMEDIATION: (remediation_rules, confirmation_policy, remediations_policy),
        MANUAL_REMEDIATION_TEMPLATE: (template_rules,),
        METAL3_REMEDIATION: (power_cycle_rules, remediations_policy),
        SELF_REMEDIATION: (self_remediation_rules, remediations_policy),
        REMEDIATION_POLICY: (policy_rules, settings_policy),
        NODE_HEALTH_CHECK: (settings_policy,),
        REMEDIATION_ORDER: (order_rules, orders_policy),
        NODE: (deletable_nodes_policy if node_deletion else nodes_policy,),
        POD: (accounts_policy,),
        LEASE: (accounts_policy,),
    }
