"""Builds the pinned programs into a cache outside the checkout; existing ones are not built again."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from build_cache import build_cache
from controlplane.pins import ETCD, KWOK, Family, kubernetes


class BuildError(Exception):
    """Go is missing, or could not build a program. Carries the end of its output."""


@dataclass(frozen=True, slots=True)
class Programs:
    """The folders of the built programs. `folders` is in the order of a PATH."""

    folders: tuple[Path, ...]

    def __getitem__(self, program: str) -> Path:
        for folder in self.folders:
            if (folder / program).exists():
                return folder / program
        raise KeyError(program)

    @property
    def path(self) -> str:
        return os.pathsep.join(map(str, self.folders))


def build(version: str) -> Programs:
    """All programs of a control plane of that Kubernetes version, built first if they are missing."""
    return Programs(tuple(build_family(family) for family in (kubernetes(version), ETCD, KWOK)))


def is_built(version: str) -> bool:
    """True if `build` would find everything in the cache.

    False without Go, since its version is part of the key.
    """
    try:
        return all(cached(family).exists() for family in (kubernetes(version), ETCD, KWOK))
    except BuildError:
        return False


def cached(family: Family) -> Path:
    return build_cache() / "controlplane" / f"{family.name}-{family.version}-{digest(family)}"


def build_family(family: Family) -> Path:
    """The folder with the family's binaries. Of several builders at a time one builds, the rest wait."""
    done = cached(family)
    if done.exists():
        return done
    done.parent.mkdir(parents=True, exist_ok=True)
    with locked(done.with_name(f"{done.name}.lock")):
        if not done.exists():
            build_into(done, family)
    return done


def build_into(done: Path, family: Family) -> None:
    """Build beside `done` and rename, so that a folder with the final name is always complete."""
    for abandoned in done.parent.glob(f"{done.name}.part-*"):
        shutil.rmtree(abandoned)  # This process holds the lock, so its builder was killed.
    part = Path(tempfile.mkdtemp(prefix=f"{done.name}.part-", dir=done.parent))
    with ExitStack() as on_failure:
        on_failure.callback(shutil.rmtree, part)
        for program, package in family.programs.items():
            print(f"building {program} {family.version}", flush=True)
            run_go(family.pins, "build", *build_flags(family), "-o", str(part / program), package)
        part.chmod(0o755)
        part.rename(done)
        on_failure.pop_all()


def build_flags(family: Family) -> list[str]:
    stamps = [f"-X {variable}={value}" for variable, value in family.stamps.items()]
    return ["-mod=readonly", "-buildvcs=false", "-trimpath", f"-ldflags={' '.join(['-s -w', *stamps])}"]


def digest(family: Family) -> str:
    """Names one build: changes with the pins, the flags, the compiler or the platform, and nothing else."""
    seen = hashlib.sha256()
    for file in ("go.mod", "go.sum", "tools.go"):
        seen.update((family.pins / file).read_bytes())
    toolchain = run_go(family.pins, "env", "GOVERSION", "GOOS", "GOARCH")
    seen.update("\n".join([*build_flags(family), *family.programs.values(), toolchain]).encode())
    return seen.hexdigest()[:12]


def run_go(folder: Path, *arguments: str) -> str:
    """The output of `go`, run in `folder`. Raises BuildError."""
    # The caller's flags and workspace would change the build without changing its digest.
    env = {**os.environ, "GOFLAGS": "", "GOWORK": "off", "CGO_ENABLED": "0"}
    command = ["go", *arguments]
    try:
        return subprocess.run(command, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout
    except FileNotFoundError as error:
        raise BuildError("Go is not installed, or not on the PATH") from error
    except subprocess.CalledProcessError as error:
        raise BuildError(f"{' '.join(command)}\n{error.stderr[-4000:]}") from error


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Hold an exclusive lock on `file`, which is left in place: removing it would let two holders in."""
    with file.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
