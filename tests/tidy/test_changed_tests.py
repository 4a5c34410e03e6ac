"""`just quick` chooses the tests of the files that changed."""

from changed_tests import nearest_users
from changed_tests import tests_of as chosen_tests

FILES = {
    "tests",
    "tests/unit/kube",
    "tests/unit/kube/test_store.py",
    "tests/unit/health/node",
    "tests/unit/health/node/test_tracker.py",
    "tests/unit/health/node/test_tracker_order.py",
    "tests/unit/simulation/api_server",
    "tests/unit/cli/explain/golden",
    "tests/unit/cli/explain/golden/a_storm.txt",
    "tests/unit/cli/explain",
    "tests/unit/cli/explain/test_goldens.py",
    "tests/unit/cli/status",
    "tests/tidy",
    "tests/tidy/golden",
    "tests/tidy/golden/words.txt",
    "tests/tidy/test_words.py",
    "tests/scenarios",
    "tests/scenarios/node_health_check",
    "tests/unit",
}
IMPORTS = {
    "tests/unit/health/node/test_tracker.py": [
        "nodemend.health.node.tracker",
        "nodemend.health.node.preflight",
    ],
    "tests/unit/kube/test_store.py": ["nodemend.kube.store"],
}
IMPORTERS = {
    "nodemend.health.node.counting": ("nodemend.health.node.summary", "nodemend.health.node.recount"),
    "nodemend.health.node.summary": ("nodemend.health.node.preflight", "nodemend.health.node.counting"),
    "nodemend.kube.round": ("nodemend.kube.trip",),
    "nodemend.kube.trip": ("nodemend.kube.round",),
}


def _chosen(*changed: str) -> list[str]:
    def named(folder: str, stem: str) -> list[str]:
        return sorted(
            file
            for file in FILES
            if file.startswith((f"{folder}/test_{stem}.", f"{folder}/test_{stem}_")) and file.endswith(".py")
        )

    def using(file: str) -> list[str]:
        module = file.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return nearest_users(module, IMPORTS, lambda one: IMPORTERS.get(one, ()))

    return chosen_tests(changed, FILES.__contains__, named, using)


def test_a_module_has_the_tests_named_after_it() -> None:
    assert _chosen("src/nodemend/health/node/tracker.py") == [
        "tests/unit/health/node/test_tracker.py",
        "tests/unit/health/node/test_tracker_order.py",
    ]


def test_a_module_without_named_tests_has_those_that_import_it() -> None:
    assert _chosen("src/nodemend/health/node/preflight.py") == ["tests/unit/health/node/test_tracker.py"]


def test_a_module_that_no_test_imports_has_those_of_the_nearest_modules_that_do() -> None:
    assert _chosen("src/nodemend/health/node/counting.py") == ["tests/unit/health/node/test_tracker.py"]
    assert _chosen("src/nodemend/kube/round.py") == ["tests/unit/kube"]


def test_a_module_that_no_test_uses_has_its_folder() -> None:
    assert _chosen("src/nodemend/health/node/targets.py") == ["tests/unit/health/node"]
    assert _chosen("simulation/api_server/updating.py") == ["tests/unit/simulation/api_server"]


def test_a_changed_test_is_run_itself() -> None:
    assert _chosen("tests/tidy/test_words.py") == ["tests/tidy/test_words.py"]


def test_a_helper_of_tests_has_its_folder_and_no_test_runs_twice() -> None:
    assert _chosen("tests/unit/kube/stores.py", "src/nodemend/kube/store.py") == ["tests/unit/kube"]


def test_a_deleted_test_is_not_run() -> None:
    assert _chosen("tests/unit/kube/test_gone.py") == []


def test_a_scenario_runs_all_scenarios() -> None:
    assert _chosen("tests/scenarios/node_health_check/storm.txt") == ["tests/scenarios"]


def test_a_golden_file_runs_the_tests_beside_its_folder() -> None:
    assert _chosen("tests/unit/cli/explain/golden/a_storm.txt") == ["tests/unit/cli/explain"]


def test_a_golden_file_of_one_test_runs_that_test() -> None:
    assert _chosen("tests/tidy/golden/words.txt") == ["tests/tidy/test_words.py"]


def test_a_document_beside_the_folders_of_tests_does_not_run_them_all() -> None:
    assert _chosen("tests/README.md") == []


def test_slow_kinds_and_documents_have_their_own_recipes() -> None:
    assert _chosen("tests/e2e/power/round.py", "tests/integration/test_cli.py", "README.md") == []
