"""Hand-written bugs in the code that powers hosts off, each as one change of its source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mutants.operators import Mutant

SOURCE: Final = Path(__file__).parents[3] / "src" / "nodemend"


@dataclass(frozen=True, slots=True)
class Mistake:
    name: str
    module: str
    right: str
    wrong: str

    @property
    def mutant(self) -> Mutant:
        """The module with the bug. Raises ValueError if the code no longer matches."""
        text = (SOURCE / f"{self.module.replace('.', '/')}.py").read_text()
        if text.count(self.right) != 1:
            raise ValueError(f"{self.name}: {self.module} has its line {text.count(self.right)} times")
        line = text[: text.index(self.right)].count("\n") + 1
        source = text.replace(self.right, self.wrong)
        return Mutant(f"nodemend.{self.module}", line, self.name, source)


MISTAKES: Final = (
    Mistake(
        "drop the identity check",
        "safety.identity",
        "    wrong = next(_differences(identity_facts), None)\n",
        "    wrong = None\n",
    ),
    Mistake(
        "take silence for agreement",
        "safety.identity",
        "    matches = frozenset(_matches(node, machine, host))\n",
        "    matches = frozenset((_PROVIDER_ID,))\n",
    ),
    Mistake(
        "let two Nodes state the same",
        "safety.identity",
        "        case Present(names) if names:\n",
        "        case Present(names) if not others:\n",
    ),
    Mistake(
        "trust a cached power state",
        "safety.power_off",
        "    if watched.first is None or watched.first.last_updated != host.last_updated:\n",
        "    if watched.first is None:\n",
    ),
    Mistake(
        "believe what was slept through",
        "safety.power_off",
        "    if untold := _untold(watched):\n",
        "    if untold := None:\n",
    ),
    Mistake(
        "release before off",
        "safety.host_power",
        "    return Power.ON if host.powered_on else Power.OFF\n",
        "    return Power.ON if host.powered_on and not host.held_by_us else Power.OFF\n",
    ),
    Mistake(
        "believe OK",
        "safety.host_power",
        "    if why is not None:\n        return Power.UNKNOWN\n",
        '    if host.operational_status != "OK":\n        return Power.UNKNOWN\n',
    ),
    Mistake(
        "ignore detached",
        "safety.host_power",
        '    if host.detached or host.operational_status == "detached":\n        return Detached()\n',
        '    if host.operational_status == "detached":\n        return None\n',
    ),
    Mistake(
        "ignore servicing",
        "safety.host_power",
        '    if host.operational_status == "servicing":\n        return Servicing()\n',
        '    if host.operational_status == "servicing":\n        return None\n',
    ),
    Mistake(
        "ask no quorum at the switch",
        "safety.switch_guard",
        "            return held if isinstance(held, Hold) else check_quorum(switch.control_plane)\n",
        "            return held if isinstance(held, Hold) else None\n",
    ),
    Mistake(
        "ask no limit at the switch",
        "safety.switch_guard",
        "            held = guard(switch.guard, _passing(switch.grounds, passing))\n",
        "            held = None\n",
    ),
    Mistake(
        "end nodes that are well",
        "safety.switch_guard",
        "    return NodeHealthy(target.name)\n",
        "    return None\n",
    ),
    Mistake(
        "end before the collector is done",
        "remediation.metal3.decide",
        "    if _is_leaving(facts):\n",
        "    if False:\n",
    ),
    Mistake(
        "give the hold back early",
        "remediation.metal3.decide",
        "        if leaves_by_taint(facts, node):\n            return await_node_eviction(facts, node)\n",
        "        if leaves_by_taint(facts, node):\n            return MarkReleased()\n",
    ),
    Mistake(
        "power comes back before the taint is off",
        "remediation.metal3.model",
        "    if node is not None and OUR_TAINT in node.taints:\n        return RemoveTaint(node)\n",
        "    if (held := facts.held) is not None:\n        return ClearPowerOff(held)\n"
        "    if node is not None and OUR_TAINT in node.taints:\n        return RemoveTaint(node)\n",
    ),
    Mistake(
        "never mind a kubelet that speaks",
        "safety.power_off",
        "            if first is None or found.renew_time != first.last_renew_time:\n",
        "            if first is None:\n",
    ),
    Mistake(
        "void nothing on the Node",
        "safety.lifecycle",
        "    return ForgetEvidence(why, wrong) if facts.revocation == mark else RevokeRelease(node, mark)\n",
        "    return ForgetEvidence(why, wrong)\n",
    ),
)
