"""The `modlm` command."""

from modlm.cli.app import main

__all__ = ["main"]
