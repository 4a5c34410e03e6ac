"""Parsers with one bound removed or one form unchecked, in a copy of the sources: the fuzz must notice."""

import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[3]
LEAST_CAUGHT: Final = 0.8
"""The fraction of all mutants that must be caught."""
_EACH: Final = 20_000
_WITHIN: Final = 300.0


@dataclass(frozen=True)
class Mutant:
    what: str
    file: str
    old: str
    new: str
    border: str
    """The border that should notice it; the others are skipped to save time."""


MUTANTS: Final = (
    Mutant(
        "numbers may be negative",
        "api/value_forms.py",
        "Meta(ge=0, le=LARGEST_NUMBER)",
        "Meta()",
        "agent report",
    ),
    Mutant(
        "a boot ID has no bound",
        "api/value_forms.py",
        "Meta(pattern=_IDENTIFIER, min_length=1, max_length=LONGEST_BOOT_ID)",
        "Meta(min_length=1)",
        "agent report",
    ),
    Mutant(
        "any address is reported",
        "api/value_forms.py",
        'Meta(pattern=rf"\\A\\Z|{_ADDRESS}", max_length=LONGEST_ADDRESS)',
        "Meta()",
        "agent report",
    ),
    Mutant(
        "any address is proposed",
        "protocol/peers.py",
        "parse_address(self.peer.address) is None",
        "not self.peer.address",
        "agent report",
    ),
    Mutant(
        "a port has no upper end",
        "api/value_forms.py",
        "[1-9][0-9]{0,3}|",
        "[1-9][0-9]{0,6}|",
        "peer address",
    ),
    Mutant(
        "the end of an address is not looked at",
        "api/value_forms.py",
        '_ADDRESS: Final = rf"\\A({_HOST}):({_PORT})\\Z"',
        '_ADDRESS: Final = rf"\\A({_HOST}):({_PORT})"',
        "peer",
    ),
    Mutant(
        "an address has no longest",
        "api/value_forms.py",
        "if len(text) > LONGEST_ADDRESS:",
        "if False:",
        "peer",
    ),
    Mutant(
        "peers have no number",
        "api/agent.py",
        "msgspec.Meta(max_length=MOST_LISTS)",
        "msgspec.Meta()",
        "agent",
    ),
    Mutant(
        "names of peers have no form",
        "api/value_forms.py",
        'Meta(pattern=rf"\\A{_SUBDOMAIN}\\Z", min_length=1, max_length=LONGEST_NAME)',
        "Meta()",
        "peer proposal",
    ),
    Mutant(
        "a reason has no bound",
        "api/agent.py",
        "max_length=LONGEST_REASON",
        "min_length=0",
        "agent report",
    ),
    Mutant(
        "an overflowing date raises",
        "kube/http_transport.py",
        "except (ValueError, OverflowError, TypeError, IndexError):",
        "except ValueError:",
        "Date",
    ),
    Mutant(
        "a wait has no end",
        "kube/http_transport.py",
        "min(float(number), LONGEST_WAIT)",
        "float(number)",
        "Date",
    ),
    Mutant(
        "a server's address raises",
        "kube/credentials.py",
        "    except ValueError as error:",
        "    except KeyError as error:",
        "kubeconfig",
    ),
    Mutant(
        "tags are built",
        "kube/kubeconfig.py",
        'if getattr(event, "tag", None) is not None:',
        "if False:",
        "foreign kubeconfig",
    ),
    Mutant(
        "labels have no number",
        "records/node.py",
        "if len(record.label_keys) > MOST_LABELS:",
        "if False:",
        "page of Nodes",
    ),
    Mutant(
        "texts of other clusters have no bound",
        "records/node.py",
        "if any(len(text) > LONGEST_TEXT for text in (*texts, spec.provider_id)):",
        "if False:",
        "page of Nodes",
    ),
    Mutant(
        "a server's message has no bound",
        "kube/outcome.py",
        "if len(status.message) <= LONGEST_MESSAGE and len(status.reason) <= LONGEST_MESSAGE:",
        "if True:",
        "reply",
    ),
    Mutant(
        "any boot ID of a Node is recorded",
        "api/value_forms.py",
        "return len(text) <= LONGEST_BOOT_ID and",
        "return",
        "Node",
    ),
    Mutant(
        "moments out of range are moments",
        "api/meta.py",
        "return moment.astimezone(UTC) if moment.tzinfo is not None else None",
        "return moment if moment.tzinfo is not None else None",
        "event",
    ),
    Mutant(
        "a host's update time has no bound",
        "remediation/metal3/host_lookup.py",
        'status.last_updated if len(status.last_updated) <= LONGEST_TIME else ""',
        "status.last_updated",
        "BareMetalHost",
    ),
    Mutant(
        "a message has no bound",
        "safety/holds.py",
        "self.sentence if len(self.sentence) <= available else",
        "self.sentence if True else",
        "BareMetalHost",
    ),
    Mutant(
        "JSON is printed as it is",
        "telemetry/printable.py",
        'if document.replace("\\n", "").isprintable():',
        "if True:",
        "terminal",
    ),
    Mutant(
        "text is printed as it is",
        "telemetry/printable.py",
        "    if text.isprintable():",
        "    if True:",
        "terminal",
    ),
)


def try_mutants(inputs: int, seed: int) -> int:
    each, caught = min(inputs, _EACH), 0
    for mutant in MUTANTS:
        noticed = _is_noticed(mutant, each, seed)
        caught += noticed
        print(f"{'caught' if noticed else 'MISSED':7} {mutant.what} ({mutant.file})", flush=True)
    wanted = -(-len(MUTANTS) * LEAST_CAUGHT // 1)
    print(
        f"border-fuzz mutants: {caught} of {len(MUTANTS)} caught by the fuzz alone"
        f" (at least {wanted:.0f} wanted)"
    )
    return 0 if caught >= wanted else 1


def _is_noticed(mutant: Mutant, inputs: int, seed: int) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "nodemend"
        shutil.copytree(ROOT / "src" / "nodemend", copy, ignore=shutil.ignore_patterns("__pycache__"))
        path = copy / mutant.file
        text = path.read_text()
        if text.count(mutant.old) != 1:
            raise ValueError(f"{mutant.file} has {mutant.old!r} {text.count(mutant.old)} times, not once")
        path.write_text(text.replace(mutant.old, mutant.new))
        command = [sys.executable, "-m", "tests.campaigns.border_fuzz", str(inputs), f"--seed={seed}"]
        ended = subprocess.run(
            [*command, f"--only={mutant.border}"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([folder, "tools", "."])},
            capture_output=True,
            text=True,
            timeout=_WITHIN,
            check=False,
        )
        return ended.returncode != 0
