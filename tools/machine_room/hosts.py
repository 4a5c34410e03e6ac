"""BareMetalHosts of metal3 as somebody enrols them."""

import base64
from typing import Final

from controlplane.api import Object
from controlplane.node_objects import node_status
from machine_room.bmc import PASSWORD, USER
from nodemend.api import keys

NAMESPACE: Final = "default"
"""Where Machines are, too: a machine finds its host in its own namespace."""
HOSTS: Final = f"/apis/metal3.io/v1alpha1/namespaces/{NAMESPACE}/baremetalhosts"


def provider_id(host: str) -> str:
    """Of the node on a host, in metal3's newer form."""
    return f"metal3://{NAMESPACE}/{host}/{host}"


def system_uuid(host: str) -> str:
    """What the node on a host reports, and what somebody wrote on the host."""
    return str(node_status(host, "")["nodeInfo"]["systemUUID"])


def secret(host: str) -> Object:
    """How to log in to its BMC."""
    data = {"username": USER, "password": PASSWORD}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{host}-bmc", "namespace": NAMESPACE},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def bare_metal_host(host: str, address: str) -> Object:
    """What runs on it came from elsewhere."""
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {
            "name": host,
            "namespace": NAMESPACE,
            "annotations": {keys.HOST_SYSTEM_UUID: system_uuid(host)},
        },
        "spec": {
            "online": True,
            "externallyProvisioned": True,
            "bmc": {"address": address, "credentialsName": f"{host}-bmc"},
        },
    }
