"""RemediationOrder: a person orders the remediation of one node now, without waiting for a threshold."""

from typing import Annotated

import msgspec

from nodemend.api.object_meta import ObjectMeta
from nodemend.api.wire import Rule, Wire, about


class RemediationOrderSpec(Wire):
    by: Annotated[
        str,
        about(
            "Who orders it: the user name of whoever writes this.",
            min_length=1,
            max_length=316,
            example="anna@example.com",
        ),
    ]
    reason: Annotated[
        str,
        about(
            "Why, for whoever asks later.",
            min_length=1,
            max_length=1024,
            example="its disk is failing, CHG-7",
        ),
    ]
    node_uid: Annotated[
        str,
        about(
            "The UID of the Node. Another Node that takes its name is not meant.",
            min_length=1,
            max_length=63,
            example="5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4",
        ),
    ] = msgspec.field(name="nodeUID")
    past_guard: Annotated[
        bool,
        about("Let it past the limits of the storm guard, and past nothing else. Needs the verb override."),
    ] = False


class RemediationOrder(Wire):
    """Named like the node. Good for 15 minutes, or until the remediation is there. Delete it to undo it."""

    spec: Annotated[
        RemediationOrderSpec,
        about(
            "What is ordered.",
            rules=(Rule("self == oldSelf", "cannot be changed: take the order back, then give it anew"),),
        ),
    ]
    metadata: ObjectMeta = ObjectMeta()
