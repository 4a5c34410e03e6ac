"""Makes the pins of another Kubernetes version: go.mod, go.sum and tools.go, to be committed."""

import json
import re
from pathlib import Path

from controlplane.build import run_go
from controlplane.pins import KUBERNETES_PROGRAMS, PINS

GO_MOD = """\
module nodemend.io/tools/controlplane/kubernetes

go {go}

godebug default=go{minor}

require k8s.io/kubernetes {version}

{rest}
"""


def pin_kubernetes(version: str) -> Path:
    """Resolve everything that the programs of that version are built from. Returns the folder of the pins.

    Raises BuildError, also if one of the modules is unavailable.
    """
    folder = PINS / "kubernetes" / version
    folder.mkdir(parents=True, exist_ok=True)
    module = json.loads(run_go(PINS, "mod", "download", "-json", f"k8s.io/kubernetes@{version}"))
    (folder / "go.mod").write_text(go_mod(version, Path(module["GoMod"]).read_text()))
    (folder / "tools.go").write_text(tools_go())
    run_go(folder, "mod", "tidy")
    return folder


def go_mod(version: str, theirs: str) -> str:
    """Build this project's go.mod from the argument, the go.mod of k8s.io/kubernetes.

    That one replaces its staging modules by folders which its module zip leaves out: each is replaced by its
    published twin (v1.36.3 by v0.36.3). The samples are named, too, but never built, and not all published.
    """
    twin = f"v0.{version.removeprefix('v1.')}"
    staging = re.findall(r"^\t(\S+) => \./staging/", theirs, re.MULTILINE)
    required = re.findall(r"^\t(k8s\.io/sample-\S+) v0\.0\.0$", theirs, re.MULTILINE)
    excludes = [f"exclude {name} v0.0.0\n" for name in required]
    replaces = [f"\t{name} => {name} {twin}\n" for name in staging if "/sample-" not in name]
    [go] = re.findall(r"^go (\S+)$", theirs, re.MULTILINE)
    rest = f"{''.join(excludes)}\nreplace (\n{''.join(replaces)})"
    # The language version and defaults of Kubernetes, not the local compiler's: programs must behave as
    # released.
    return GO_MOD.format(go=go, minor=".".join(go.split(".")[:2]), version=version, rest=rest)


def tools_go() -> str:
    """One file of blank imports, which keeps the wanted programs in the build list."""
    imports = "".join(f'\t_ "k8s.io/kubernetes/cmd/{program}"\n' for program in sorted(KUBERNETES_PROGRAMS))
    return f"//go:build tools\n\npackage tools\n\nimport (\n{imports})\n"
