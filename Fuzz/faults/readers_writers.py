#!/usr/bin/env python3
"""Two writers and eight readers on one catalog; each result is compared with the entities that may be present.

readers_writers.py --program .build/release/lookalike [--seconds 60]

The writers add and remove entities. Each changes its own; both compete for the write lock. The readers search; if this
user is root, half of them run as a user without write access.
"""

import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

from catalog_commands import COVERS, argument_parser

READERS = 8
OTHER_USER = 65534
# A write that waits longer for the lock is a finding.
LONGEST_WAIT = 60


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

    def present(self):
        return sorted(name for name, changes in self.changes.items() if changes[-1][1])


class Run:
    def __init__(self, options):
        self.writer = options.program
        self.other = type(self.writer)(self.writer.program)
        if os.geteuid() == 0:
            self.other.user = OTHER_USER
        self.entities = Entities()
        self.end = time.monotonic() + options.seconds
        self.findings = []
        self.counts = Counter()
        self.lock = threading.Lock()
        os.umask(0o022)
        self.folder = Path(tempfile.mkdtemp(prefix="lookalike-readers-"))
        self.folder.chmod(0o755)
        self.catalog = self.folder / "catalog"

    def count(self, name):
        with self.lock:
            self.counts[name] += 1

    def report(self, finding):
        self.findings.append(finding)
        print(finding, flush=True)

    def guarded(self, work, name, *arguments):
        try:
            work(name, *arguments)
        except Exception as error:  # A thread that ends would hide what it found.
            self.report(f"{name}: {type(error).__name__}: {error}")

    def write(self, name, covers, choice):
        own = {cover.stem: cover for cover in covers}
        there = set()
        images = self.folder / f"images of {name}"
        while time.monotonic() < self.end and not self.findings:
            some = choice.sample(sorted(own), choice.randint(1, 3))
            removed = [entity for entity in some if entity in there]
            added = [entity for entity in some if entity not in there]
            if choice.random() < 0.5 and removed:
                ids, state, arguments = removed, False, ["catalog", "remove", self.catalog, *removed]
            elif added:
                shutil.rmtree(images, ignore_errors=True)
                images.mkdir()
                for entity in added:
                    shutil.copy(own[entity], images)
                ids, state, arguments = added, True, ["index", images, "--catalog", self.catalog]
            else:
                continue
            self.entities.set(ids, None)
            start = time.monotonic()
            outcome = self.writer.run(*arguments)
            while "another indexer is writing" in outcome.errors and time.monotonic() < start + LONGEST_WAIT:
                self.count("waits for the lock")
                time.sleep(choice.uniform(0, 0.05))
                outcome = self.writer.run(*arguments)
            if outcome.status != 0:
                return self.report(f"{name}: {arguments[0]} {ids}: {outcome.errors}")
            self.entities.set(ids, state)
            there = there | set(ids) if state else there - set(ids)
            self.count(f"writes of {name}")

    def search(self, name, program, choice):
        while time.monotonic() < self.end and not self.findings:
            cover = choice.choice(COVERS)
            start = time.monotonic()
            outcome = program.run(
                *("search", "--catalog", self.catalog, "--effort", "prints", "--min-confidence", "0"),
                *("--limit", "50", "--json", cover),
            )
            end = time.monotonic()
            if outcome.status != 0:
                return self.report(f"{name}: {outcome.errors}")
            found = {row["id"]: row["distance"] for row in json.loads(outcome.output)["results"]}
            for entity in self.entities.changes:
                states = self.entities.states(entity, start, end)
                if (entity in found) not in states:
                    return self.report(f"{name}: {entity} found: {entity in found}; possible: {states}")
                if states == {True}:
                    self.count("entities that had to be found")
            if found.get(cover.stem, 0) > 0.05:
                return self.report(f"{name}: {cover.stem} is at {found[cover.stem]} from itself")
            self.count(f"searches of {'another user' if program.user else 'this user'}")

    def run(self, seed):
        first = self.folder / "first"
        first.mkdir()
        shutil.copy(COVERS[0], first)
        made = self.writer.run("index", first, "--catalog", self.catalog)
        removed = self.writer.run("catalog", "remove", self.catalog, COVERS[0].stem)
        if made.status or removed.status:
            return self.report(f"the catalog cannot be made: {made.errors}{removed.errors}")
        work = [
            (self.write, f"writer {number}", COVERS[number::2], random.Random(seed + number)) for number in range(2)
        ] + [
            (
                self.search,
                f"reader {number}",
                [self.writer, self.other][number % 2],
                random.Random(seed + 10 + number),
            )
            for number in range(READERS)
        ]
        threads = [threading.Thread(target=self.guarded, args=task) for task in work]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.findings:
            return None
        verified = self.writer.run("catalog", "verify", self.catalog)
        if verified.status != 0:
            self.report(f"verify: {verified.output}{verified.errors}")
        if self.writer.ids(self.catalog) != self.entities.present():
            self.report(f"{self.writer.ids(self.catalog)} are there, not {self.entities.present()}")


def main():
    parser = argument_parser(__doc__, needs_library=False)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    run = Run(options)
    run.run(options.seed)
    counts = ", ".join(f"{value} {name}" for name, value in sorted(run.counts.items()))
    print(f"{counts}; {len(run.findings)} findings (seed {options.seed})")
    if run.findings:
        print(f"The catalog is in {run.folder}.")
        sys.exit(1)
    shutil.rmtree(run.folder)
    # Nothing was shown if a writer wrote nothing, or no search had to find anything.
    needed = ["writes of writer 0", "writes of writer 1", "entities that had to be found", "searches of this user"]
    sys.exit(not all(run.counts[name] for name in needed))


if __name__ == "__main__":
    main()
