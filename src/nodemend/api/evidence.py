"""Evidence that a boot of a node has ended. A remediation records it before it releases the workloads."""

from typing import Annotated, Final

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
        "The machine that reported that boot: system-uuid/ID, or machine-id/ID if it has no system UUID. "
        "A new boot counts as evidence only from the same machine.",
        max_length=128,
    ),
]


class HostOff(Wire):
    """The host that was observed off under Nodemend's power-off request (evidence E1)."""

    namespace: Annotated[str, about("Its namespace.", max_length=63)]
    name: Annotated[str, about("Its name.", min_length=1, max_length=253)]
    uid: Annotated[str, about("The UID of the host.", min_length=1, max_length=63, example=NODE_UID)]
    last_updated: Annotated[
        str,
        about(
            "The host's status.lastUpdated at that time. A later update invalidates the evidence.",
            max_length=64,
            example="2026-01-31T12:00:00Z",
        ),
    ] = ""


class Evidence(Wire):
    """Evidence that a boot of a node has ended."""

    class_: Annotated[
        str,
        about(
            "The class of the evidence, E1 to E5.",
            max_length=8,
            extra_json_schema={"enum": ["E1", "E2", "E3", "E4", "E5"]},
            example="E5",
        ),
    ]
    node_uid: Annotated[str, about("The UID of the Node.", min_length=1, max_length=63, example=NODE_UID)]
    boot_id: Annotated[str, about("The ID of the boot.", min_length=1, max_length=128, example=BOOT_ID)]
    by: Annotated[
        str, about("The source of the evidence: an operator or a component.", max_length=316, example=PERSON)
    ] = ""
    reason: Annotated[str, about("The reason why the boot has ended.", max_length=1024, example=REASON)] = ""
    last_renew_time: Annotated[
        str, about("The last Lease renewal before it.", max_length=64, example=RENEW_TIME)
    ] = ""
    host: Annotated[HostOff | None, about("The host that was powered off, if that is the evidence.")] = None
