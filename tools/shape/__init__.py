"""The shape of src: sizes, names defined twice, and paths that documents name, each held to a bar."""
