"""Finds the program `lookalike`, and runs it; beside the module, so that the command does not wait for NumPy."""

from __future__ import annotations

import os
import shutil
import sys


def find() -> str:
    """Returns the path of the program: $LOOKALIKE_PROGRAM, the one that a wheel carries, or the one on the path."""
    named = os.environ.get("LOOKALIKE_PROGRAM")
    if named:
        return named
    carried = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lookalike", "bin", "lookalike")
    if os.access(carried, os.X_OK):
        return carried
    # Not the script that runs this.
    own = os.path.realpath(sys.argv[0])
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        found = shutil.which("lookalike", path=folder)
        if found and os.path.realpath(found) != own:
            return found
    raise FileNotFoundError(
        "the program “lookalike” was not found: install a wheel that carries it, put it on the path, "
        "or set LOOKALIKE_PROGRAM"
    )


def main() -> None:
    """Runs the program in the place of this process."""
    try:
        program = find()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(program, ["lookalike", *sys.argv[1:]])
