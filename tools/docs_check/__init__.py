"""Checks what the documentation says against the repository: links, names, commands and snippets."""
