#!/usr/bin/env python3
"""Simulates a loss of power after each change of a catalog's folder, and checks what is left of the catalog.

    power_loss.py --program .build/release/lookalike --library .build-fuzz/faults.so [--sample 60]

Three commands are recorded by faults.c. For a moment between two of their changes the folder is rebuilt as a disk may
have it: all that was synchronized, and of each file's later writes none, all, or any of them; of the folder's later
names the first so many. The catalog then opens and is intact, has what finished commands made, and can be indexed.
"""

import random
import shutil
import struct
import sys
import tempfile
from pathlib import Path

from catalog_commands import argument_parser, writes

HEAD = struct.Struct("<4Q")


def changes(record):
    """(operation, path, offset, data) of each change."""
    bytes_, place = record.read_bytes(), 0
    while place < len(bytes_):
        operation, path, offset, data = HEAD.unpack_from(bytes_, place)
        place += HEAD.size
        yield chr(operation), bytes_[place : place + path].decode(), offset, bytes_[place + path :][:data]
        place += path + data


class File:
    """What is on the disk for certain, and the writes since."""

    def __init__(self):
        self.durable = b""
        self.pending = []

    def contents(self, kept):
        content = bytearray(self.durable)
        for index, (operation, offset, data) in enumerate(self.pending):
            if index not in kept:
                continue
            if operation == "t":
                del content[offset:]
                content.extend(bytes(offset - len(content)))
            else:
                content.extend(bytes(max(0, offset + len(data) - len(content))))
                content[offset : offset + len(data)] = data
        return bytes(content)

    def synchronize(self):
        self.durable = self.contents(range(len(self.pending)))
        self.pending = []


class Disk:
    def __init__(self, folder):
        self.folder = folder
        self.names, self.durable_names, self.pending_names = {}, {}, []

    def apply(self, operation, path, offset, data):
        if path == self.folder:
            if operation == "s":
                self.durable_names, self.pending_names = dict(self.names), []
            return
        if operation == "c":
            self.names[path] = File()
        elif operation == "u":
            self.names.pop(path, None)
        elif operation == "r":
            self.names[data.decode()] = self.names.pop(path)
        elif path in self.names:
            file = self.names[path]
            if operation == "s":
                file.synchronize()
            else:
                file.pending.append((operation, offset, data))
        if operation in "cur":
            self.pending_names.append(dict(self.names))

    def rebuild(self, target, keep, choice):
        """Writes the folder as it may be after the power is back."""
        names = self.durable_names
        if self.pending_names and keep != "none":
            last = len(self.pending_names) if keep == "all" else choice.randint(0, len(self.pending_names))
            names = self.pending_names[last - 1] if last else names
        for path, file in names.items():
            # Memory that processes share; no system call writes it, and SQLite makes it anew.
            if path.endswith("-shm"):
                continue
            count = len(file.pending)
            kept = range(count) if keep == "all" else set()
            if keep == "some":
                kept = {index for index in range(count) if choice.random() < 0.5}
            (target / Path(path).name).write_bytes(file.contents(kept))


def main():
    parser = argument_parser(__doc__, needs_library=True)
    parser.add_argument("--sample", type=int, help="this many moments")
    options = parser.parse_args()
    lookalike = options.program
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-power-"))
    first, again, _, remove, *_ = writes(lookalike, scratch)
    folder = scratch / "run"
    folder.mkdir()
    catalog = folder / "catalog"
    first.prepare(folder)

    log, acknowledged = [], [(0, [])]
    for write in (first, again, remove):
        if write is again:
            # The images alone: the catalog is that of the command before.
            other = scratch / "other"
            other.mkdir()
            again.prepare(other)
            shutil.rmtree(folder / "images")
            (other / "images").rename(folder / "images")
        record = scratch / "record"
        done = lookalike.run(
            *write.arguments(folder),
            environment={
                "LD_PRELOAD": str(options.library.resolve()),
                "FAULT_FOLDER": str(catalog),
                "FAULT_RECORD": str(record),
            },
        )
        assert done.status == 0, done.errors
        log += list(changes(record))
        acknowledged.append((len(log), lookalike.ids(catalog)))

    moments = [(moment, keep) for moment in range(len(log) + 1) for keep in ("none", "all", "some")]
    if options.sample:
        choice = random.Random(options.seed)
        moments = sorted(choice.sample(moments, min(options.sample, len(moments))))
    disk, applied, findings = Disk(str(catalog)), 0, 0
    for moment, keep in moments:
        while applied < moment:
            disk.apply(*log[applied])
            applied += 1
        rebuilt = scratch / "rebuilt"
        shutil.rmtree(rebuilt, ignore_errors=True)
        rebuilt.mkdir()
        disk.rebuild(rebuilt, keep, random.Random(f"{options.seed} {moment}"))
        stage = max(index for index, (end, _) in enumerate(acknowledged) if end <= moment)
        have = acknowledged[stage][1]
        next_ = acknowledged[min(stage + 1, len(acknowledged) - 1)][1]
        problem = None
        if (rebuilt / "catalog.sqlite").exists():
            verified = lookalike.run("catalog", "verify", rebuilt)
            ids = lookalike.ids(rebuilt)
            if verified.status != 0:
                problem = f"verify: {verified.output}{verified.errors}"
            elif not set(have) & set(next_) <= set(ids) <= set(have) | set(next_):
                problem = f"has {ids}; {have} were there, and {next_} were to be"
        elif have:
            problem = "has no catalog"
        if not problem:
            indexed = lookalike.run("index", folder / "images", "--catalog", rebuilt)
            missing = {image.stem for image in (folder / "images").iterdir()} - set(lookalike.ids(rebuilt))
            if indexed.status != 0 or missing:
                problem = f"index: {indexed.errors}; without {sorted(missing)}"
        if problem:
            findings += 1
            print(f"after change {moment} of {len(log)}, {keep} of the later writes: {problem}", flush=True)
    shutil.rmtree(scratch)
    print(f"{len(moments)} moments among {len(log)} changes, {findings} findings (seed {options.seed})")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
