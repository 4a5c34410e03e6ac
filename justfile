# Every command that a developer or CI uses. `just` lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]

python := ".venv/bin/python"
# pyenv offers several Pythons only when it is told so.
export PYENV_VERSION := `command -v pyenv >/dev/null && pyenv versions --bare | grep -E '^3\.1[123]\.' | paste -sd: || true`
export PYTHONPATH := "tools:."

[private]
default:
    @just --list --unsorted

# Make the environment: a Python, hash-locked packages, the project itself.
setup version="3.13" folder=".venv":
    uv venv --quiet --allow-existing --python {{version}} {{folder}}
    VIRTUAL_ENV={{folder}} uv pip sync --quiet --require-hashes requirements/dev.txt
    VIRTUAL_ENV={{folder}} uv pip install --quiet --no-deps --editable .

# Resolve the locked requirements anew.
lock:
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml --group dev --output-file requirements/dev.txt
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml --output-file requirements/run.txt

# The one gate before a commit: format, lint, types, contracts, tidy, unit, scenarios.
check: lint types contracts tidy unit scenarios

lint:
    .venv/bin/ruff format --check --quiet .
    .venv/bin/ruff check --quiet .

types:
    .venv/bin/mypy

contracts:
    .venv/bin/lint-imports

tidy:
    .venv/bin/pytest -q tests/tidy

unit *args:
    .venv/bin/pytest -q -n 2 tests/unit {{args}}

scenarios:
    .venv/bin/pytest -q tests/scenarios

# Format, and fix what can be fixed.
format:
    .venv/bin/ruff format .
    .venv/bin/ruff check --fix .

# CRDs, manifests and reference pages from the code.
generate:
    {{python}} -m generate

# Tell the stories of the scenarios anew; read the difference.
scenarios-rewrite:
    {{python}} -m tests.scenarios.test_scenarios

# Unit tests, scenarios and a few simulated seeds on every supported Python.
pythons:
    for version in 3.11 3.12 3.13; do \
        just setup $version .venvs/$version; \
        .venvs/$version/bin/python -m pytest -q -n 2 -p no:cacheprovider tests/unit tests/scenarios tests/simulation/walking_path; \
    done

# Build the real control plane, unless it is cached.
controlplane-build *args:
    {{python}} -m controlplane build {{args}}

# A real control plane for a person, until Ctrl-C.
controlplane *args:
    {{python}} -m controlplane up {{args}}

# Cluster API's own manager with Machines and a check, for a person, until Ctrl-C (5 minutes to build, once).
cluster-api *args:
    {{python}} -m cluster_api up {{args}}

# One part at a time against the real control plane.
integration *args:
    .venv/bin/pytest -q tests/integration {{args}}

# (The differential stays with the newest, which is the one that the simulated server models.)
# Integration tests and watch faults on every supported Kubernetes, with streaming lists and without.
matrix:
    for version in $({{python}} -m controlplane versions | grep -oE 'v1\.[0-9]+\.[0-9]+'); do \
        echo "=== $version"; \
        export CONTROLPLANE_KUBERNETES=$version; \
        just controlplane-build; \
        just integration; \
        just watch-faults 60; \
    done

# [demo] The path of one failure on a real control plane, with its time line.
demo: controlplane-build
    {{python}} -m demo

# [differential] The simulated API server against the real one, answer by answer.
differential sequences="500": controlplane-build
    {{python}} -m tests.simulation.differential --sequences {{sequences}}

# [watch-faults] A cache behind a proxy that cuts, stalls, lies and restarts.
watch-faults rounds="1000": controlplane-build
    {{python}} -m tests.chaos.watch_faults --rounds {{rounds}}

# [elector] Simulated and real elections under faults, the official client's beside ours.
elector simulated="10000" real="20": controlplane-build
    {{python}} -m tests.simulation.elector --runs {{simulated}}
    {{python}} -m tests.chaos.elector --runs {{real}}

# [bench-clients] CPU, memory and start beside the raw floor and beside other clients: sample, normal or full.
bench-clients size="normal": controlplane-build
    {{python}} -m bench.clients {{size}}

# [bench-workload-clusters] The checker over so many workload clusters: memory, CPU when idle.
bench-workload-clusters clusters="1000" nodes="100":
    {{python}} -m bench.workload_clusters --clusters {{clusters}} --nodes {{nodes}}

# [determinism] Same seed, same trace, in two processes.
determinism seeds="1000":
    {{python}} -m tests.simulation.walking_path.determinism --seeds {{seeds}}

# [simulate] The walking path under faults: invariants at every step.
simulate seeds="2000":
    {{python}} -m tests.simulation.walking_path.campaign --seeds {{seeds}}

# (`every` takes a sample of the crash points.)
# [simulate-checks] Health checks of nodes and machines: a crash at every write of every flow, then seeds of faults.
simulate-checks seeds="5000" every="1":
    {{python}} -m tests.simulation.crashes.campaign --every {{every}}
    {{python}} -m tests.simulation.checks.campaign --seeds {{seeds}}

# [simulate] Break all of decide/, one place at a time; `every` takes a sample.
mutants every="1":
    {{python}} -m mutants --every {{every}}

# Machines of either project, nodes alone, three workload clusters of which one hangs (7 minutes; with 60 nodes 2).
# [checks-e2e] Silence and storms on the real control plane.
checks-e2e nodes="1000" *args: controlplane-build
    {{python}} -m tests.checks_e2e --nodes {{nodes}} {{args}}

# [scale] The checker with few and with many real Nodes: sample, normal or full. CI runs `normal steady`: without what hangs on how the machine does at one moment.
scale size="normal" what="": controlplane-build
    {{python}} -m bench.scale {{size}} {{what}}

# [scale-upstream] Cluster API's own manager and our checker on the same Machines. Not in CI.
scale-upstream nodes="1000":
    {{python}} -m bench.scale.upstream {{nodes}}

# [thresholds] Every limit against exact fractions, for every total and every count.
thresholds totals="200":
    {{python}} -m tests.oracles.thresholds --totals {{totals}}

# [explain] Every outcome has its words, every answer is as it was read, and a storm of 5,000 nodes is simulated in time.
explain:
    {{python}} -m tests.explain

# [power-table] Every state of a host has its move; every row of the seed has its place, or a decision.
power-table:
    {{python}} -m tests.power_table

# [simulate-power] Power cycles in the simulated world, with metal3 in it: faults of hosts, BMCs and everybody.
simulate-power seeds="5000":
    {{python}} -m tests.simulation.power.campaign --seeds {{seeds}}

# [power-mutants] Mistakes made by hand in the code that switches hosts off: the simulated world has to notice each.
power-mutants seeds="300":
    {{python}} -m tests.power_mutants --seeds {{seeds}}

# [host-conformance] The host operator that we play, against every recorded sequence of metal3's own.
host-conformance *args:
    {{python}} -m tests.host_conformance {{args}}

# [refusals] What the real API server refuses, and what the running remediator does not believe.
refusals: controlplane-build
    {{python}} -m tests.refusals

# [check-refusals] Bad policies and checks of every kind, refused by the API server's own rules, in words.
check-refusals: controlplane-build
    {{python}} -m tests.refusals.check_refusals

# [seeds] The examples printed in the designs, on the real API server with the running checker (3 minutes).
seeds: controlplane-build
    {{python}} -m tests.seeds

# [upstream-x2] On Cluster API's own manager: second failing Machines that get no remediation. Not in CI.
upstream-x2:
    {{python}} -m cluster_api x2

# With the real control plane's tests when it is built; --so-far lets rows be pending, --table runs nothing.
# [conformance] The tests of what users of the neighbours rely on, and the table of them.
conformance *args:
    {{python}} -m conformance {{args}}

# Whether Cluster API's own manager converts checks as our tests play it. Not in CI.
upstream-conversion:
    {{python}} -m cluster_api conversion

# [breakages] Five deliberate breakages, each of which must fail .ci/run.
breakages *args:
    {{python}} -m breakages {{args}}

# [package] Wheel, sdist, installed commands, the image root.
package: controlplane-build
    {{python}} -m shipping
