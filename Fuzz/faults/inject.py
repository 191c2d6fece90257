#!/usr/bin/env python3
"""Fails each system call of each command that writes, one at a time, and checks what is left of the catalog.

    inject.py --program .build/release/lookalike --library .build-fuzz/faults.so [--sample 40]

A command may end with an error, and must not crash (malloc excepted: without memory Swift ends the process). Afterwards
the catalog opens and is intact, has all that was there and all that was acknowledged, and the command can be finished.
"""

import errno
import random
import shutil
import sys
import tempfile
from pathlib import Path

from catalog_commands import argument_parser, check, writes

# The call, the error, and whether all later calls fail too: a disk that is full stays full.
FAULTS = [
    ("write", errno.ENOSPC, True),
    ("write", errno.EIO, False),
    ("fsync", errno.EIO, False),
    ("truncate", errno.EIO, False),
    ("rename", errno.EIO, False),
    ("unlink", errno.EIO, False),
    ("open", errno.EMFILE, False),
    ("mmap", errno.ENOMEM, False),
    ("malloc", errno.ENOMEM, False),
]


def environment(library, folder, call, number, code, is_lasting, count):
    values = {
        "LD_PRELOAD": str(library),
        "FAULT_FOLDER": str(folder / "catalog"),
        "FAULT_CALL": call,
        "FAULT_NUMBER": str(number),
        "FAULT_ERROR": str(code),
        "FAULT_COUNT": str(count),
    }
    return {**values, "FAULT_ALL": "1"} if is_lasting else values


def main():
    parser = argument_parser(__doc__, needs_library=True)
    parser.add_argument("--sample", type=int, help="this many faults in all, spread over commands and calls")
    options = parser.parse_args()
    lookalike = options.program
    library = options.library.resolve()
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-faults-"))
    count = scratch / "count"
    folder = scratch / "run"
    trials = []
    for write in writes(lookalike, scratch):
        for call, code, is_lasting in FAULTS:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            write.prepare(folder)
            done = lookalike.run(
                *write.arguments(folder), environment=environment(library, folder, call, 0, code, False, count)
            )
            assert done.status == 0, (write.name, call, done.errors)
            trials += [(write, call, number, code, is_lasting) for number in range(1, int(count.read_text()) + 1)]
    total = len(trials)
    if options.sample:
        trials = random.Random(options.seed).sample(trials, min(options.sample, total))
    findings, unreached, failed = 0, 0, 0
    for write, call, number, code, is_lasting in trials:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write.prepare(folder)
        done = lookalike.run(
            *write.arguments(folder), environment=environment(library, folder, call, number, code, is_lasting, count)
        )
        # Threads share out the work, so the number of calls differs a little from run to run.
        unreached += done.status >= 0 and count.exists() and int(count.read_text()) < number
        failed += done.status != 0
        problem = check(lookalike, write, folder, done.status == 0)
        if done.status < 0 and call != "malloc":
            problem = f"ended by signal {-done.status}: {done.errors}; {problem}"
        if done.status > 0 and not done.errors.strip():
            problem = f"failed without a message; {problem}"
        if problem:
            findings += 1
            lasting = " and all later ones" if is_lasting else ""
            print(f"{write.name}, {call} {number}{lasting}, {errno.errorcode[code]}: {problem}", flush=True)
    shutil.rmtree(scratch)
    print(
        f"{len(trials)} of {total} faults: {failed} commands failed, {unreached} faults not reached,"
        f" {findings} findings (seed {options.seed})"
    )
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
