#!/usr/bin/env python3
"""Kills each command that writes at random moments, and checks what is left of the catalog.

kill.py --program .build/release/lookalike [--count 50]
"""

import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from catalog_commands import argument_parser, check, writes


def main():
    parser = argument_parser(__doc__, needs_library=False)
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    lookalike = options.program
    choice = random.Random(options.seed)
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-kill-"))
    commands = writes(lookalike, scratch)
    folder, longest = scratch / "run", {}
    killed, done, findings = 0, 0, 0
    try:
        for number in range(options.count):
            write = commands[number % len(commands)]
            write.begin(folder)
            if write.name not in longest:
                start = time.monotonic()
                lookalike.run(*write.arguments(folder))
                longest[write.name] = time.monotonic() - start
                write.begin(folder)
            process = subprocess.Popen(
                [lookalike.program, *write.arguments(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(choice.uniform(0, longest[write.name]))
            process.kill()
            status = process.wait()
            problem = check(lookalike, write, folder, status == 0)
            killed += status < 0
            done += 1
            if problem:
                findings += 1
                print(f"{write.name}, kill {number}: {problem}", flush=True)
    except KeyboardInterrupt:
        # Long runs may be cut short, and still say what they did.
        pass
    shutil.rmtree(scratch)
    print(f"{killed} of {done} commands killed, {findings} findings (seed {options.seed})")
    # A test whose commands are all done before they are killed shows nothing.
    sys.exit(findings > 0 or killed < done / 4)


if __name__ == "__main__":
    main()
