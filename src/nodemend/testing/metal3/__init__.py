"""metal3's host operator, its provisioners and a BMC, played at the level of the API and of Redfish.

    Scheduler -> SimulatedBmc over each machine -> Ironic -> IronicClient -> HostOperator -> BareMetalHosts

In a simulated cluster, with a definition of BareMetalHost among its definitions:

    rack = Rack(world.scheduler, world.machines, Account(world.server, User("baremetal-operator")))
    rack.enrol(world.admin_api)
    rack.bmcs["node-1"].faults.unreachable = True      # and whatever else can be wrong

From then on an annotation reboot.metal3.io/NAME on the host `node-1` ends that machine's processes, as slowly
and as unreliably as it would really be.

    host_queue, operator       when which host is looked at
    reconcile, look            one look, from the object as it is to at most one save
    credentials, registration, lifecycle, power, firmware    its parts, in the order in which they come
    host, conditions, events, host_api, names                the object, and what is written
    provisioner                what the operator asks of the part that switches machines
    fixture                    one that does it at once and never fails
    ironic, ironic_node        one that is slow, has limits, and keeps a record that may be wrong
    bmc                        what switches the machine
    rack                       all of it, for the machines of a simulated cluster

It is held to recordings of the real one (tests/host_conformance), with both provisioners. Not recorded and so
only plausible: deleting a host that is on, images deployed by Ironic, firmware work by Ironic, a host whose
BMC cannot be reached when it is registered. Not played: inspection data, data images, capacity limits,
metal3's admission webhooks.
"""
