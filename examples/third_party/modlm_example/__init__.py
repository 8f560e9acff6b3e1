"""One member of each family of modlm, found by it through the entry points in `pyproject.toml`."""
