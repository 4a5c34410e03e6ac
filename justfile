# Every command a developer or CI uses. `just` lists them.

set shell := ["bash", "-euo", "pipefail", "-c"]

python := ".venv/bin/python"
# pyenv offers several Pythons only when it is told so.
export PYENV_VERSION := `command -v pyenv >/dev/null && pyenv versions --bare | grep -E '^3\.1[123]\.' | paste -sd: || true`
export PYTHONPATH := "tools:."

[private]
default:
    @just --list --unsorted

# Make the environment: Python 3.13, hash-locked packages, the project itself.
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
    .venv/bin/ruff format --check .
    .venv/bin/ruff check .

types:
    .venv/bin/mypy

contracts:
    .venv/bin/lint-imports

tidy:
    .venv/bin/pytest -q tests/tidy

unit *args:
    .venv/bin/pytest -q tests/unit {{args}}

scenarios:
    .venv/bin/pytest -q tests/scenarios

# Format and fix what can be fixed.
format:
    .venv/bin/ruff format .
    .venv/bin/ruff check --fix .
