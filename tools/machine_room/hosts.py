"""metal3's BareMetalHosts as an admin enrolls them."""

import base64
from typing import Final

from controlplane.api import Object
from controlplane.node_objects import node_status
from machine_room.bmc import PASSWORD, USER
from nodemend.api import well_known

NAMESPACE: Final = "default"
"""The namespace of Machines, too: a Machine finds its host in its own namespace."""
HOSTS: Final = f"/apis/metal3.io/v1alpha1/namespaces/{NAMESPACE}/baremetalhosts"


def provider_id(host: str) -> str:
    """The provider ID of the node on a host, in metal3's newer form."""
    return f"metal3://{NAMESPACE}/{host}/{host}"


def system_uuid(host: str) -> str:
    """The system UUID that the node on a host reports, and that an admin wrote on the host."""
    return str(node_status(host, "")["nodeInfo"]["systemUUID"])


def secret(host: str) -> Object:
    """The credentials of its BMC."""
    data = {"username": USER, "password": PASSWORD}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": f"{host}-bmc", "namespace": NAMESPACE},
        "data": {key: base64.b64encode(value.encode()).decode() for key, value in data.items()},
    }


def bare_metal_host(host: str, address: str) -> Object:
    """An externally provisioned host."""
    return {
        "apiVersion": "metal3.io/v1alpha1",
        "kind": "BareMetalHost",
        "metadata": {
            "name": host,
            "namespace": NAMESPACE,
            "annotations": {well_known.HOST_SYSTEM_UUID: system_uuid(host)},
        },
        "spec": {
            "online": True,
            "externallyProvisioned": True,
            "bmc": {"address": address, "credentialsName": f"{host}-bmc"},
        },
    }
