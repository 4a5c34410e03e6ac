"""Unknown exceptions may be caught only at borders, in the functions that are listed here."""

import ast

from tests.tidy.source_tree import SOURCE, parse, python_files

MAY_CATCH_ANYTHING = {
    "kube/controller.py": {"_work"},
    "agent/peer_responder.py": {"_read_lease"},
    "agent/peer_http.py": {"_ask_or_silent", "_let_in"},
    "kube/http_transport.py": {"_by_deadline", "connect", "read"},
    "kube/kubeconfig.py": {"_parse"},
    "cli/simulate/input.py": {"_from_yaml"},
    "health/machine/workload_clusters.py": {"_run_once"},
}
"""Each handles data of one key, peer, caller, server, cluster or file: an error ends only that exchange."""
ANYTHING = {"Exception", "BaseException"}


def caught(handler: ast.ExceptHandler) -> set[str]:
    if handler.type is None:
        return {"BaseException"}
    return {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)}


def passes_on(handler: ast.ExceptHandler) -> bool:
    last = handler.body[-1]
    return isinstance(last, ast.Raise) and last.exc is None


def catches_of(tree: ast.Module) -> set[str]:
    """Return the innermost functions that catch any exception and do not re-raise it."""
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
        if (catches := catches_of(parse(path)))
    }

    assert found == MAY_CATCH_ANYTHING


def test_a_bare_handler_is_noticed() -> None:
    for words in ("except:", "except Exception:", "except (OSError, BaseException) as error:"):
        assert catches_of(ast.parse(f"def f():\n    try:\n        g()\n    {words}\n        pass")) == {"f"}


MAY_SPEAK = {
    "terminal.py": "makes every line and question printable",
    "main.py": "makes every failure printable",
    "read_commands.py": "version and completion print constants",
}
SPEAKING = {"echo", "secho", "confirm", "prompt", "print", "write", "style"}


def test_text_leaves_for_the_terminal_where_it_is_made_printable() -> None:
    """Other writers set node names, reasons and messages, which may contain escape sequences."""
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
