# Every command that a developer or CI uses. `just` lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]

python := ".venv/bin/python"
# pyenv offers several Pythons only if it is configured to.
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

# Resolve the locked requirements again.
lock:
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml --all-extras --group dev --output-file requirements/dev.txt
    uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --no-header pyproject.toml --all-extras --output-file requirements/run.txt

# Before each commit: lint, types, contracts and the fast tests of what changed since a commit.
quick since="HEAD": lint types contracts
    {{python}} -m changed_tests --since {{since}}

# Before a change is proposed: format, lint, types, contracts, words, tidy, unit, scenarios.
check: lint types contracts words tidy unit scenarios

# [gate] Measures `just quick` and `just check` against their bars on two cores; `--ci` measures `.ci/run` too.
gate *args:
    {{python}} -m gate {{args}}

lint:
    .venv/bin/ruff format --check --quiet .
    .venv/bin/ruff check --quiet .

types:
    .venv/bin/mypy

contracts:
    .venv/bin/lint-imports

tidy:
    .venv/bin/pytest -q -n 2 -m "not slow" tests/tidy

unit *args:
    .venv/bin/pytest -q -n 2 -m "not slow" tests/unit {{args}}

# Unit and tidy tests that take more than half a second each: subprocesses, sweeps. CI and `just nightly` run them.
slow *args:
    .venv/bin/pytest -q -n 2 -m "slow" tests/unit tests/tidy {{args}}

scenarios:
    .venv/bin/pytest -q -n 2 tests/scenarios

# `--by-package` counts; paths limit the output.
# Banned constructions of English (tools/words/banned.toml) and names that the glossary replaces.
words *args:
    {{python}} -m words {{args}}

# `--all` names every offender. Not in `check` until every bar is met.
# The shape of src against its bars: modules, lines, names defined twice, paths in documents.
shape *args:
    {{python}} -m shape {{args}}

# The files of src on the path of one failure, by name and in number, in the simulated world.
paths:
    {{python}} -m tests.simulation.paths

# Format, and fix what can be fixed.
format:
    .venv/bin/ruff format .
    .venv/bin/ruff check --fix .

# CRDs, manifests and reference pages from the code.
generate:
    {{python}} -m generate

# Draw the packages (docs/images/packages.svg); fails on a cycle or an import that goes up. `--check` compares.
structure *args:
    {{python}} -m structure {{args}}

# [docs] Links, names, commands and snippets of the documentation.
docs *args:
    {{python}} -m docs_check {{args}}

# Write the stories of the scenarios again; read the difference.
scenarios-rewrite:
    {{python}} -m tests.scenarios.test_scenarios

# Unit tests, scenarios and a few simulated seeds on the older Pythons; `check` runs on the newest.
pythons versions="3.11 3.12" tests="tests/unit tests/scenarios tests/simulation/walking_path":
    for version in {{versions}}; do \
        just setup $version .venvs/$version; \
        .venvs/$version/bin/python -m pytest -q -n 2 -p no:cacheprovider {{tests}}; \
    done

# Build the real control plane, unless it is cached.
controlplane-build *args:
    {{python}} -m controlplane build {{args}}

# A real control plane for manual use, until Ctrl-C.
controlplane *args:
    {{python}} -m controlplane up {{args}}

# Cluster API's own manager with Machines and a check, for manual use, until Ctrl-C (5 minutes to build, once).
cluster-api *args:
    {{python}} -m cluster_api up {{args}}

# One part at a time against the real control plane, four files in parallel: they wait more than they compute.
integration *args:
    .venv/bin/pytest -q -n 4 --dist loadfile --no-loadscope-reorder tests/integration {{args}}

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
    {{python}} -m tests.e2e.watch_faults --rounds {{rounds}}

# [leader-election] Simulated and real elections under faults, with the official client and Nodemend's.
leader-election simulated="10000" real="20": controlplane-build
    {{python}} -m tests.simulation.leader_election --runs {{simulated}}
    {{python}} -m tests.e2e.leader_election --runs {{real}}

# [bench-clients] CPU, memory and start beside the raw floor and beside other clients: sample, normal or full.
bench-clients size="normal": controlplane-build
    {{python}} -m bench.clients {{size}}

# [bench-workload-clusters] The checker with many workload clusters: memory, CPU when idle.
bench-workload-clusters clusters="1000" nodes="100":
    {{python}} -m bench.workload_clusters --clusters {{clusters}} --nodes {{nodes}}

# [determinism] Same seed, same trace, in two processes.
determinism seeds="1000":
    {{python}} -m tests.simulation.walking_path.determinism --seeds {{seeds}}

# `--save` saves the present state; `--seeds 30` is a sample.
# [oracle] The requests of every campaign and every generated file, compared with a saved state: a refactoring changes none.
oracle *args:
    {{python}} -W ignore -m oracle {{args}}

# [simulate] The walking path under faults: invariants at every step.
simulate seeds="2000":
    {{python}} -m tests.simulation.walking_path.campaign --seeds {{seeds}}

# (`every` takes a sample of the crash points.)
# [simulate-checks] Health checks of nodes and machines: a crash at every write of every flow, then seeds of faults.
simulate-checks seeds="5000" every="1":
    {{python}} -m tests.simulation.crashes.campaign --every {{every}}
    {{python}} -m tests.simulation.checks.campaign --seeds {{seeds}}

# [simulate] Break every module of decisions, one place at a time; `every` takes a sample.
mutants every="1":
    {{python}} -m mutants --every {{every}}

# Machines of either project, nodes alone, three workload clusters of which one hangs (7 minutes; with 60 nodes 2).
# [checks-e2e] Silence and storms on the real control plane.
checks-e2e nodes="1000" *args: controlplane-build
    {{python}} -m tests.e2e.checks --nodes {{nodes}} {{args}}

# [scale] The checker with few and with many real Nodes: sample, normal or full; `steady` omits what depends on the machine's momentary load.
scale size="normal" what="": controlplane-build
    {{python}} -m bench.scale {{size}} {{what}}

# [heartbeat-path] The cost of a Node's heartbeat in the shipped checker, beside a bare TLS watch with the same decoding.
heartbeat-path heartbeats="20000": controlplane-build
    {{python}} -m bench.heartbeat_path {{heartbeats}}

# [user-output] User output against golden files on a real API server; a start in 0.25 s, status at most twice its libraries.
user-output *args: controlplane-build
    {{python}} -m bench.user_output {{args}}

# [scale-upstream] Cluster API's own manager and Nodemend's checker on the same Machines. Not in CI.
scale-upstream nodes="1000":
    {{python}} -m bench.scale.upstream {{nodes}}

# [thresholds] Every limit against exact fractions, for every total and every count.
thresholds totals="200":
    {{python}} -m tests.campaigns.thresholds --totals {{totals}}

# [explain] Every outcome has a text, every answer is as it was read, and a storm of 5,000 nodes is simulated in time.
explain:
    {{python}} -m tests.campaigns.explain

# [power-table] Every state of a host has its action; every row of the seed has its place, or a decision.
power-table:
    {{python}} -m tests.campaigns.power_table

# [simulate-power] Power cycles in the simulated world, with metal3 in it: faults of hosts, BMCs and every other component.
simulate-power seeds="5000":
    {{python}} -m tests.simulation.power.campaign --seeds {{seeds}}

# [simulate-self-fencing] The shipped agents, feeders and remediators on the simulated API server, with an adversary within a second of the bound.
simulate-self-fencing seeds="2000" *args:
    {{python}} -m tests.simulation.self_fencing_nodes.campaign --seeds {{seeds}} {{args}}

# [simulate-hostile] The worlds of the other campaigns, with hostile nodes, other projects' controllers, clusters, restores and stale caches.
simulate-hostile seeds="5000" *args:
    {{python}} -m tests.simulation.hostile --seeds {{seeds}} {{args}}

# [campaign-power] Rules removed one at a time: which campaigns detect it alone. Can be resumed; takes hours.
campaign-power *args:
    {{python}} -m campaign_power {{args}}

# [simulate-self-fencing] All 2^20 ways in which the links of five parties can be cut, through the shipped decisions.
link-matrices:
    {{python}} -m tests.campaigns.link_matrices

# [self-fencing-time] From the marker to the release, by time and by a new boot, in the simulated world.
self-fencing-time seeds="20":
    {{python}} -m tests.campaigns.self_fencing_time --seeds {{seeds}}

# A zone with the given number of nodes falls silent at once: the last is released about as soon as one alone would be.
self-fencing-storm nodes="100":
    {{python}} -m tests.campaigns.self_fencing_storm {{nodes}}

# Scenarios and seeds must detect all mistakes made by hand and nine in ten mutants by operators; `--every 40` is a sample.
# [power-mutants] Break the code that switches hosts off, one place at a time.
power-mutants *args:
    {{python}} -m tests.campaigns.power_mutants {{args}}

# Every story of failing hosts and their managers, `rounds` of them; then the remediator dies at every
# `every`-th of its writes, and two replicas take turns. In none does a machine write after its release.
# [power-e2e] Power cycles on the real control plane, with real BMCs in front of real processes.
power-e2e rounds="80" every="1" *args: controlplane-build
    {{python}} -m tests.e2e.power --rounds {{rounds}} --every {{every}} {{args}}

# [lifecycle] Upgraded, downgraded, wound down, torn out and installed again, with a power cycle at every phase.
lifecycle *args: controlplane-build
    {{python}} -m tests.e2e.lifecycle {{args}}

# [power-capi] Power cycles requested by Cluster API's own manager under its own account, and by medik8s as recorded.
power-capi rounds="3": controlplane-build
    {{python}} -m tests.e2e.power_capi --rounds {{rounds}}

# [host-conformance] The simulated host operator against every recorded sequence of metal3's own.
host-conformance *args:
    {{python}} -m tests.campaigns.host_conformance {{args}}

# [refusals] Requests that the real API server refuses, and records that the running remediator does not accept.
refusals: controlplane-build
    {{python}} -m tests.e2e.refusals

# [check-refusals] Bad policies and checks of every kind, refused by the API server's own rules, with a message.
check-refusals: controlplane-build
    {{python}} -m tests.e2e.refusals.check_refusals

# [agent-refusals] Requests of agents, nodes and users that self-fencing refuses, and those that the running signer does not sign.
agent-refusals: controlplane-build
    {{python}} -m tests.e2e.refusals.agent_refusals

# [seeds] The examples printed in the designs, on the real API server with the running checker (3 minutes).
seeds: controlplane-build
    {{python}} -m tests.e2e.seeds

# [upstream-x2] On Cluster API's own manager: second failing Machines that get no remediation. Not in CI.
upstream-x2:
    {{python}} -m cluster_api x2

# With the real control plane's tests when it is built; --so-far lets rows be pending, --table runs nothing.
# [conformance] The tests of behaviour that users of related projects rely on, and their table.
conformance *args:
    {{python}} -m conformance {{args}}

# With the real control plane's tests when it is built; --table runs nothing.
# [capm3-map] The names of CAPM3's tests of remediation, each with Nodemend tests that pass, or a reason.
capm3-map *args:
    {{python}} -m conformance.capm3_map {{args}}

# Check that Cluster API's own manager converts checks as Nodemend's tests simulate it. Not in CI.
upstream-conversion:
    {{python}} -m cluster_api conversion

# [breakages] Five deliberate breakages, each of which must fail .ci/run.
breakages *args:
    {{python}} -m breakages {{args}}

# [package] Wheel, sdist, installed commands, the image root.
package: controlplane-build
    {{python}} -m shipping

# The file that hosts carry: feeder, boot gate and API check.
host-program folder="dist":
    {{python}} -m host_program {{folder}}

# [feeder-footprint] The feeder's memory when it is locked.
feeder-footprint:
    {{python}} -m host_program.footprint

# [agent-footprint] The running agent's memory with 15 peers, the feeder's, and a node's cost to the API server.
agent-footprint seconds="60": controlplane-build
    {{python}} -m bench.agent_footprint {{seconds}}

# The campaign must detect at least nine in ten; `--every 20` is a sample.
# [self-fencing-mutants] Break the decision code of self-fencing, one place at a time.
self-fencing-mutants *args:
    {{python}} -m mutants {{args}} --only protocol.feed_lease protocol.peers protocol.self_resets protocol.timing \
        protocol.watchdog_drivers remediation.self_fencing safety.time_proof signer.decide

# [peer-fuzz] Malformed data for everything that an agent reads: nothing raises, and nothing is accepted.
peer-fuzz executions="1000000" *args:
    {{python}} -m tests.campaigns.peer_fuzz {{executions}} {{args}}

# 2,000 questions and 50 handshakes a second, 500 slow connections, and two peers that must get answers anyway.
# [peer-load] One real agent under overload: its own check, its feeder, its memory, its requests to the API server.
peer-load seconds="120": controlplane-build
    {{python}} -m bench.peer_load {{seconds}}

# Stories by name, or `--histories N` of a seeded mix; all stories and 50 histories without either. Needs root.
# [self-fencing-e2e] Real agents, feeders, gates and manager: cut links, lying peers, bad certificates; each release after its reset.
self-fencing-e2e *args: controlplane-build
    {{python}} -m tests.e2e.self_fencing {{args}}

# Build the guest with real watchdogs, unless it is cached; says what is missing.
guest-build:
    {{python}} -m guest

# `--only` picks stories and drivers by their names.
# [watchdog] The shipped feeder in a guest with i6300esb, iTCO and softdog: its stories, a given number of times.
watchdog runs="77" *args="": guest-build
    {{python}} -m tests.e2e.watchdog {{runs}} {{args}}

# [self-fencing-e2e] Three guests are the nodes of a cluster, by the shipped units, image and DaemonSet; one is cut off.
self-fencing-guests: controlplane-build guest-build
    {{python}} -m tests.e2e.guests

# Every reachable state of the protocol's models, and a counterexample for every mutant; `full` takes hours. Needs spin and gcc.
# [models] Self-fencing in models: every property holds, every mutant has a counterexample.
models *args:
    {{python}} -m tests.models {{args}}

# [traces] Random traces of the model played against the shipped code: they agree, and it never releases sooner.
traces count="10000":
    {{python}} -m tests.models.replay {{count}}

# `--simulated` omits the tests that need the real control plane, `--list` shows the test of each finding.
# [attacks] Every finding of the attack on the product, tested again.
attacks *args: controlplane-build
    {{python}} -m attacks {{args}}

# An hour, a day and a week without the API server, brown-outs, killed agents; `--sample` a few seeds of each,
# `--mutants` what only this campaign detects.
# [outage] Outages in the simulated world: no healthy node is reset.
outage *args:
    {{python}} -m tests.campaigns.outage --agents-killed {{args}}

# `--mutants` shows what only this campaign detects.
# [restore] etcd is restored in three ways at every phase of every remediation: no running boot is released.
restore seeds="200" *args:
    {{python}} -m tests.campaigns.restore --seeds {{seeds}} {{args}}

# [boot-gate] A real systemd boots with the shipped units: kubelet starts, or says what to do. Needs root.
boot-gate *args: controlplane-build
    {{python}} -m tests.e2e.boot_gate {{args}}

# [border-fuzz] Malformed data for every border, through its parser and its consumer; `--mutants` breaks the parsers.
border-fuzz inputs="1000000" *args:
    {{python}} -m tests.campaigns.border_fuzz {{inputs}} {{args}}

# The contents of the image, as CycloneDX.
sbom *args:
    {{python}} -m sbom {{args}}

# Every campaign in full, with the time that each takes; `--only WORD` picks parts. Takes most of a day.
nightly *args:
    {{python}} -m nightly {{args}}
