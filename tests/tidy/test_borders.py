"""Where an unknown exception may be caught: at borders, in named functions, each listed here."""

import ast

from tests.tidy.source_tree import SOURCE, parse, python_files

MAY_CATCH_ANYTHING = {
    "kube/reconcile_loop.py": {"_work"},
    "agent/peer_client_shell.py": {"_ask_or_silent"},
    "agent/peer_desk_loop.py": {"_read_lease"},
    "agent/front_door_shell.py": {"_let_in"},
    "kube/http_shell.py": {"_by_deadline", "read"},
    "kube/other_cluster_shell.py": {"connect"},
    "kube/kubeconfig.py": {"_parse"},
    "cli/simulate/documents.py": {"_from_yaml"},
    "controllers/machine_health_check/workload_cluster.py": {"_once_or_trouble"},
}
"""One key, one peer, one caller, one server, one cluster, one file: its data ends that one conversation."""
ANYTHING = {"Exception", "BaseException"}


def caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    return {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}


def passes_on(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def catches_of(tree: ast.Module) -> set[str]:
    """The innermost functions around handlers of anything."""
    found: set[str] = set()

    def walk(node: ast.AST, function: str) -> None:
        for child in ast.iter_child_nodes(node):
            inside = child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
            if isinstance(child, ast.ExceptHandler) and caught(child) & ANYTHING and not passes_on(child):
                found.add(function)
            walk(child, inside)

    walk(tree, "")
    return found


def test_only_listed_functions_catch_anything() -> None:
    found = {
        str(path.relative_to(SOURCE)): catches
        for path in python_files("src")
        if "testing" not in path.parts and (catches := catches_of(parse(path)))
    }

    assert found == MAY_CATCH_ANYTHING


def test_a_bare_handler_is_noticed() -> None:
    for words in ("except:", "except Exception:", "except (OSError, BaseException) as error:"):
        assert catches_of(ast.parse(f"def f():\n    try:\n        g()\n    {words}\n        pass")) == {"f"}


MAY_SPEAK = {
    "terminal_shell.py": "makes every line printable",
    "main.py": "makes every failure printable",
    "typed_name.py": "makes its question printable",
    "version.py": "says what is ours alone",
    "completion.py": "says what is ours alone",
}
SPEAKING = {"echo", "secho", "confirm", "prompt", "print", "write", "style"}


def test_text_leaves_for_the_terminal_where_it_is_made_printable() -> None:
    """Node names, reasons and messages are written by others, and may hold escape sequences."""
    found = {
        path.name
        for path in python_files("src/nodemend/cli")
        for node in ast.walk(parse(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in SPEAKING
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in ("click", "sys", "console")
    }

    assert found == set(MAY_SPEAK)
