"""Commands that write to a catalog, with the states before and after them. Used by the tests that break them."""

import argparse
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COVERS = sorted((ROOT / "Examples/Demo/covers").glob("*.jpg"))


def argument_parser(description, *, needs_library):
    """The options that these tests have in common."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", type=Lookalike, required=True, help="the command “lookalike”")
    if needs_library:
        parser.add_argument("--library", type=Path, required=True, help="faults.c, built as a shared library")
    parser.add_argument("--seed", type=int, default=1)
    return parser


@dataclass
class Outcome:
    status: int
    output: str
    errors: str


class Lookalike:
    """The command “lookalike”."""

    def __init__(self, program):
        self.program = Path(program).resolve()
        # The user and group that run it; None: the current user.
        self.user = None

    def run(self, *arguments, environment=None):
        done = subprocess.run(
            [self.program, *arguments],
            capture_output=True,
            text=True,
            env={**os.environ, **(environment or {})},
            timeout=120,
            user=self.user,
            group=self.user,
            extra_groups=None if self.user is None else [],
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    def ids(self, catalog):
        return sorted(line.split("\t")[0] for line in self.run("catalog", "list", catalog).output.splitlines())


@dataclass
class Write:
    """A command that writes, from a prepared folder."""

    name: str
    # Makes the images and the catalog as they are before; takes the folder.
    prepare: object
    # The arguments; takes the folder.
    arguments: object
    # The ids before and after.
    before: list
    after: list

    def begin(self, folder):
        """Makes the folder anew, as it is before the command."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.prepare(folder)


def _copy(folder, names):
    images = folder / "images"
    images.mkdir(exist_ok=True)
    for number, name in enumerate(names):
        shutil.copy(COVERS[number], images / f"{name}.jpg")


def writes(lookalike, scratch):
    """Every command that writes, for the folder “run”. The catalogs that they begin with are made once, and copied."""
    base = scratch / "base"
    shutil.rmtree(base, ignore_errors=True)
    # A catalog has the paths of its images: it is made in the folder that the commands run in, and moved.
    made_in = scratch / "run"
    made_in.mkdir(parents=True)
    _copy(made_in, ["a", "b", "c", "d"])
    made = lookalike.run("index", made_in / "images", "--catalog", made_in / "catalog")
    assert made.status == 0, made.errors
    made_in.rename(base)

    def empty(folder):
        _copy(folder, ["a", "b", "c", "d"])

    def indexed(folder):
        # With the names, sizes and times of the files that were indexed.
        shutil.copytree(base / "images", folder / "images")
        shutil.copytree(base / "catalog", folder / "catalog")

    def changed(folder):
        indexed(folder)
        shutil.copy(COVERS[9], folder / "images/b.jpg")
        shutil.copy(COVERS[10], folder / "images/e.jpg")

    def gone(folder):
        indexed(folder)
        (folder / "images/c.jpg").unlink()

    def index(*options):
        return lambda folder: ["index", folder / "images", "--catalog", folder / "catalog", *options]

    return [
        Write("index", empty, index(), [], ["a", "b", "c", "d"]),
        Write("index again", changed, index(), ["a", "b", "c", "d"], ["a", "b", "c", "d", "e"]),
        Write("prune", gone, index("--prune"), ["a", "b", "c", "d"], ["a", "b", "d"]),
        Write(
            "remove",
            indexed,
            lambda folder: ["catalog", "remove", folder / "catalog", "a", "d"],
            ["a", "b", "c", "d"],
            ["b", "c"],
        ),
        # Keeps what it finds.
        Write(
            "duplicates",
            indexed,
            lambda folder: ["catalog", "duplicates", folder / "catalog"],
            ["a", "b", "c", "d"],
            ["a", "b", "c", "d"],
        ),
    ]


def check(lookalike, write, folder, is_acknowledged):
    """What is wrong with the catalog of a command that was broken, or None; finishes the command."""
    catalog = folder / "catalog"
    has_catalog = (catalog / "catalog.sqlite").exists()
    if has_catalog:
        verified = lookalike.run("catalog", "verify", catalog)
        if verified.status != 0:
            return f"verify: {verified.output}{verified.errors}"
        ids = lookalike.ids(catalog)
        if is_acknowledged and ids != write.after:
            return f"acknowledged, and has {ids}"
        lost = (set(write.before) & set(write.after)) - set(ids)
        if lost:
            return f"lost {sorted(lost)}"
        strange = set(ids) - set(write.before) - set(write.after)
        if strange:
            return f"has {sorted(strange)} besides"
    elif write.before or is_acknowledged:
        return "has no catalog"
    if has_catalog and lookalike.ids(catalog) == write.after and write.name == "remove":
        return None
    again = lookalike.run(*write.arguments(folder))
    if again.status != 0:
        return f"cannot be finished: {again.errors}"
    verified = lookalike.run("catalog", "verify", catalog)
    if verified.status != 0 or lookalike.ids(catalog) != write.after:
        return f"after it was finished: {lookalike.ids(catalog)} {verified.output}{verified.errors}"
    return None
