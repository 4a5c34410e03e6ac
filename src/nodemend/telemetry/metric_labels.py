"""Values of metric labels that are not names of hold reasons, steps or phases. Alerts match them."""

from typing import Final

# `controller`
NODE_HEALTH_CHECK: Final = "node_health_check"
MACHINE_HEALTH_CHECK: Final = "machine_health_check"
MANUAL_REMEDIATION: Final = "manual_remediation"
POWER_CYCLE: Final = "power_cycle"
SELF_REMEDIATION: Final = "self_remediation"
REMEDIATOR: Final = "remediator"
SIGNER: Final = "signer"

# `verdict`, in addition to steps, requests and hold reasons
DELETE_ORPHAN: Final = "DeleteOrphan"
OVERRIDE: Final = "Override"
ORDER: Final = "Order"
ORDER_EXPIRED: Final = "OrderExpired"

# `outcome` of a reconcile, in addition to the outcomes that it returns
CRASHED: Final = "Crashed"

# `to` of a power change
OFF: Final = "off"
ON: Final = "on"

# `permanent` of a failed power cycle: `yes` if it is not tried again
YES: Final = "yes"
NO: Final = "no"

# `result` of a phase
PHASE_DONE: Final = "done"
PHASE_FAILED: Final = "failed"

# `outcome` of a power-off request whose remediation no longer exists
KEPT: Final = "kept"
CLEARED: Final = "cleared"

# `state` of an agent
REPORTING: Final = "reporting"
SILENT: Final = "silent"
