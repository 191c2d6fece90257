#!/usr/bin/env python3
"""Two writers and eight readers at one catalog; each search is compared with what may be there at that moment.

readers_writers.py --program .build/release/lookalike [--seconds 60]

The writers are commands that add and remove entities; each has entities of its own, and both compete for the catalog.
The readers are searches, half of them by a user who may not write (if this one is root).
"""

import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from catalog_commands import COVERS, argument_parser

READERS = 8
OTHER_USER = 65534


class Entities:
    """When each entity was added and removed. A search may or may not see a change that it overlaps."""

    def __init__(self):
        self.lock = threading.Lock()
        # For each id, pairs of a time and whether the entity is there from then on; None while it changes.
        self.changes = {cover.stem: [(0.0, False)] for cover in COVERS}

    def set(self, ids, state):
        with self.lock:
            now = time.monotonic()
            for name in ids:
                self.changes[name].append((now, state))

    def states(self, name, start, end):
        """All states that a search from start to end may have seen."""
        with self.lock:
            changes = list(self.changes[name])
        first = max(index for index, (when, _) in enumerate(changes) if when <= start)
        seen = {state for when, state in changes[first:] if when <= end}
        return {True, False} if None in seen else seen


class Run:
    def __init__(self, options):
        self.lookalike = options.program
        self.entities = Entities()
        self.end = time.monotonic() + options.seconds
        self.findings = []
        self.counts = {"writes": 0, "busy": 0, "searches": 0, "certain": 0}
        self.folder = Path(tempfile.mkdtemp(prefix="lookalike-readers-"))
        self.folder.chmod(0o755)
        self.catalog = self.folder / "catalog"

    def count(self, name):
        with self.entities.lock:
            self.counts[name] += 1

    def report(self, finding):
        self.findings.append(finding)
        print(finding, flush=True)

    def write(self, number, seed):
        choice = random.Random(seed)
        own = {cover.stem: cover for cover in COVERS[number::2]}
        there = set()
        while time.monotonic() < self.end:
            some = choice.sample(sorted(own), choice.randint(1, 3))
            removed = [name for name in some if name in there]
            added = [name for name in some if name not in there]
            if choice.random() < 0.5 and removed:
                ids, state, arguments = removed, False, ["catalog", "remove", self.catalog, *removed]
            elif added:
                images = self.folder / f"images-{number}"
                shutil.rmtree(images, ignore_errors=True)
                images.mkdir()
                for name in added:
                    shutil.copy(own[name], images)
                ids, state, arguments = added, True, ["index", images, "--catalog", self.catalog]
            else:
                continue
            self.entities.set(ids, None)
            outcome = self.lookalike.run(*arguments)
            while outcome.status != 0 and "another process is writing" in outcome.errors:
                self.count("busy")
                time.sleep(choice.uniform(0, 0.05))
                outcome = self.lookalike.run(*arguments)
            if outcome.status != 0:
                return self.report(f"writer {number}: {arguments[0]} {ids}: {outcome.errors}")
            self.entities.set(ids, state)
            there = there | set(ids) if state else there - set(ids)
            self.count("writes")

    def search(self, number, seed, program):
        choice = random.Random(seed)
        while time.monotonic() < self.end:
            cover = choice.choice(COVERS)
            start = time.monotonic()
            outcome = program.run(
                *("search", "--catalog", self.catalog, "--effort", "prints", "--min-confidence", "0"),
                *("--limit", "50", "--json", cover),
            )
            end = time.monotonic()
            if outcome.status != 0:
                return self.report(f"reader {number}: {outcome.errors}")
            found = {row["id"]: row["distance"] for row in json.loads(outcome.output)["results"]}
            for other in COVERS:
                states = self.entities.states(other.stem, start, end)
                if (other.stem in found) not in states:
                    return self.report(f"reader {number}: {other.stem} found: {other.stem in found}, {states}")
                if len(states) == 1:
                    self.count("certain")
            if found.get(cover.stem, 0) > 0.05:
                return self.report(f"reader {number}: {cover.stem} is at {found[cover.stem]} of itself")
            self.count("searches")

    def run(self, seed):
        first = self.folder / "first"
        first.mkdir()
        shutil.copy(COVERS[0], first)
        made = self.lookalike.run("index", first, "--catalog", self.catalog)
        removed = self.lookalike.run("catalog", "remove", self.catalog, COVERS[0].stem)
        assert made.status == 0 and removed.status == 0, made.errors + removed.errors
        other = self.lookalike
        if os.geteuid() == 0:
            other = type(other)(other.program)
            other.user = OTHER_USER
        threads = [threading.Thread(target=self.write, args=(number, seed + number)) for number in range(2)]
        threads += [
            threading.Thread(target=self.search, args=(number, seed + 10 + number, [self.lookalike, other][number % 2]))
            for number in range(READERS)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        verified = self.lookalike.run("catalog", "verify", self.catalog)
        if verified.status != 0:
            self.report(f"verify: {verified.output}{verified.errors}")


def main():
    parser = argument_parser(__doc__, needs_library=False)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    run = Run(options)
    run.run(options.seed)
    shutil.rmtree(run.folder)
    counts = ", ".join(f"{value} {name}" for name, value in run.counts.items())
    print(f"{counts}; {len(run.findings)} findings (seed {options.seed})")
    # Nothing was shown if no search knew what it had to find.
    sys.exit(bool(run.findings) or not run.counts["certain"])


if __name__ == "__main__":
    main()
