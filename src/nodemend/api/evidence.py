"""Why we knew that a node was harmless, as a remediation records it before its workloads are released."""

from typing import Annotated, Final

import msgspec

from nodemend.api.meta import Wire, about

NODE_UID: Final = "5f0c1d3e-0b6a-4c8e-9a53-6d2f1be3a7c4"
BOOT_ID: Final = "0d9a7c52-1c55-4f2b-8a43-7f6f6f0d5b11"
RENEW_TIME: Final = "2026-01-31T12:00:00.000000Z"
PERSON: Final = "anna@example.com"
REASON: Final = "I pulled both plugs of the machine in rack 7, unit 12"
"""Examples, for schemas and documentation."""

HardwareId = Annotated[
    str,
    about(
        "The machine that reported that boot: system-uuid/ID, or machine-id/ID where it states no other. "
        "A new boot counts as evidence only from the same one.",
        max_length=128,
    ),
]


class HostOff(Wire):
    """The host that was seen to go off while we held it off (evidence E1)."""

    namespace: Annotated[str, about("Its namespace.", max_length=63)]
    name: Annotated[str, about("Its name.", min_length=1, max_length=253)]
    uid: Annotated[str, about("The very host.", min_length=1, max_length=63, example=NODE_UID)]
    last_updated: Annotated[
        str,
        about(
            "When its operator had last written its status. A later write makes this void.",
            max_length=64,
            example="2026-01-31T12:00:00Z",
        ),
    ] = ""


class Evidence(Wire):
    """Why we knew that the node was harmless."""

    class_: Annotated[
        str,
        about(
            "E1 to E5.",
            max_length=8,
            extra_json_schema={"enum": ["E1", "E2", "E3", "E4", "E5"]},
            example="E5",
        ),
    ] = msgspec.field(name="class")
    node_uid: Annotated[str, about("The node.", min_length=1, max_length=63, example=NODE_UID)] = (
        msgspec.field(name="nodeUID")
    )
    boot_id: Annotated[str, about("Its boot.", min_length=1, max_length=128, example=BOOT_ID)] = (
        msgspec.field(name="bootID")
    )
    by: Annotated[str, about("Whose word it was.", max_length=316, example=PERSON)] = ""
    reason: Annotated[str, about("How they knew.", max_length=1024, example=REASON)] = ""
    last_renew_time: Annotated[
        str, about("The last sign of life before it.", max_length=64, example=RENEW_TIME)
    ] = ""
    host: Annotated[HostOff | None, about("What was switched off, where that is the evidence.")] = None
