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
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        found = shutil.which("lookalike", path=folder)
        if found and not _runs_this(found):
            return found
    raise FileNotFoundError(
        "the program “lookalike” was not found: install a wheel that carries it, put it on the path, "
        "or set LOOKALIKE_PROGRAM"
    )


def _runs_this(program: str) -> bool:
    """Whether a file is a script of Python, such as pip makes of `main` in this environment or another one."""
    with open(program, "rb") as file:
        line = file.readline(512)
    return line.startswith(b"#!") and b"python" in line


def main() -> None:
    """Runs the program in the place of this process."""
    try:
        program = find()
    except FileNotFoundError as error:
        sys.exit(str(error))
    os.execv(program, ["lookalike", *sys.argv[1:]])
