"""The command line: an edge without mathematics of its own."""

from __future__ import annotations


def main() -> None:
    """Run the command line."""
    from discreet.cli.app import app

    app()
