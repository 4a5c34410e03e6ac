"""The custom resource definitions of other projects, as they publish them, for tests. See README.md."""
