"""Simulation of metal3's host operator, its provisioners and a BMC, at the level of the API and of Redfish.

    Scheduler -> SimulatedBmc over each machine -> Ironic -> IronicClient -> HostOperator -> BareMetalHosts

Use in a simulated cluster that has a definition of BareMetalHost among its definitions:

    rack = Rack(world.scheduler, world.machines, Account(world.server, User("baremetal-operator")))
    rack.enrol(world.admin_api)
    rack.bmcs["node-1"].faults.unreachable = True      # and other faults

From then on an annotation reboot.metal3.io/NAME on the host `node-1` ends that machine's processes, as slowly
and as unreliably as with real hardware.

    operator                   schedule of the passes over each host
    reconcile, reconcile_pass  one pass, from the current object to at most one write of the status
    credentials, lifecycle, power    parts of a pass, in the order in which they run
    host, host_api             the object, and the operator's writes
    provisioner                requests of the operator to the provisioner
    fixture                    a provisioner that acts immediately and never fails
    ironic, ironic_node        a provisioner that is slow, has timeouts, and keeps a record that may be wrong
    bmc                        switches the machine
    rack                       all of it, for the machines of a simulated cluster

Recordings of the real operator check it, with both provisioners (tests/campaigns/host_conformance).
Not recorded and therefore only plausible: deletion of a host that is on, images deployed by Ironic, firmware
work by Ironic, a host whose BMC is unreachable when it is registered. Not simulated: inspection data, data
images, capacity limits, metal3's admission webhooks.
"""
