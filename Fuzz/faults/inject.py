#!/usr/bin/env python3
"""Fails each system call of each command that writes, one at a time, and checks what is left of the catalog.

    inject.py --program .build/release/lookalike --library .build-fuzz/faults.so [--sample 40]

A command may end with an error, and must not crash (malloc excepted: without memory Swift ends the process). Afterwards
the catalog opens and is intact, has all that was there and all that was acknowledged, and the command can be finished.
"""

import shutil
import signal
import sys
import tempfile
from pathlib import Path

from catalog_commands import argument_parser, check, writes
from fault import FAULTS, drawn


def main():
    parser = argument_parser(__doc__, needs_library=True)
    parser.add_argument("--sample", type=int, help="this many faults in all, spread over commands and calls")
    options = parser.parse_args()
    # Jobs in the background ignore it otherwise.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    lookalike = options.program
    library = options.library.resolve()
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-faults-"))
    count = scratch / "count"
    folder = scratch / "run"

    def run(write, fault):
        write.begin(folder)
        environment = fault.environment(library, folder / "catalog", count)
        return lookalike.run(*write.arguments(folder), environment=environment)

    found = []
    for write in writes(lookalike, scratch):
        for kind in FAULTS:
            done = run(write, kind)
            assert done.status == 0, (write.name, kind.call, done.errors)
            found += [(write, fault) for fault in kind.each(count)]
    trials = drawn(found, options.sample, options.seed)
    tried, findings, unreached, failed = 0, 0, 0, 0
    try:
        for write, fault in trials:
            done = run(write, fault)
            # Threads share out the work, so the number of calls differs a little from run to run.
            unreached += done.status >= 0 and count.exists() and int(count.read_text()) < fault.number
            failed += done.status != 0
            problem = check(lookalike, write, folder, done.status == 0)
            tried += 1
            if done.status < 0 and fault.call != "malloc":
                problem = f"ended by signal {-done.status}: {done.errors}; {problem}"
            if done.status > 0 and not done.errors.strip():
                problem = f"failed without a message; {problem}"
            if problem:
                findings += 1
                print(f"{write.name}, {fault}: {problem}", flush=True)
    except KeyboardInterrupt:
        # Long runs may be cut short, and still say what they did.
        pass
    shutil.rmtree(scratch)
    print(
        f"{tried} of {len(found)} faults: {failed} commands failed, {unreached} faults not reached,"
        f" {findings} findings (seed {options.seed})"
    )
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
