#!/usr/bin/env python3
"""Fails system calls of the service while a client changes a catalog, one at a time, and checks what is left.

    faults.py .build/release/lookalike-serve --library .build-fuzz/faults.so [--sample 40] [--jobs 2]

A change may be answered with an error, and must not end the service (malloc excepted: without memory Swift ends the
process). Once no call fails any more, changes succeed again without a restart. After a restart all that was answered is
there, nothing is there in part, and the catalog is intact. The library is Fuzz/faults/faults.c, built.
"""

import argparse
import errno
import http.client
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from running_service import CATALOG, COVERS, ROOT, Service

sys.path.insert(0, str(ROOT / "Fuzz/faults"))
from fault import FAULTS, Fault, drawn  # noqa: E402

JSON = "application/json"


def put(entity, title, cover):
    return entity, title, ("PUT", f"{CATALOG}/entities/{entity}?title={title}", COVERS[cover])


def patch(entity, title):
    return entity, title, ("PATCH", f"{CATALOG}/entities/{entity}", json.dumps({"title": title}).encode(), JSON)


def delete(entity):
    return entity, None, ("DELETE", f"{CATALOG}/entities/{entity}")


# What the catalog begins with, and the changes that are broken: an entity, its title afterwards, and the request.
BEFORE = [put("a", "a0", 0), put("b", "b0", 1), put("c", "c0", 2)]
CHANGES = [
    put("d", "d1", 3),
    patch("a", "a1"),
    put("b", "b1", 4),
    delete("c"),
    put("e", "e1", 5),
    patch("d", "d2"),
    delete("e"),
    put("c", "c1", 6),
]
LAST = put("z", "z1", 7)
# How the service that made the catalog ended: stopped, which leaves an empty log, or killed.
ENDS = {"ended": 15, "killed": 9}
# A disk that has space again after a while.
FULL_FOR_A_WHILE = Fault("write", errno.ENOSPC, False, length=40)


def change(service, changes, allowed):
    """Sends changes; notes what each entity's title may be. The number of errors."""
    errors = 0
    for entity, title, request in changes:
        before = allowed.get(entity, {None})
        allowed[entity] = before | {title}
        status, answer = service.send(*request)
        if 200 <= status < 300:
            allowed[entity] = {title}
        # A change of what an earlier one failed to make.
        elif status == 404 and None in before:
            allowed[entity] = {None}
        else:
            assert status >= 500 and json.loads(answer)["code"], (entity, status, answer)
            errors += 1
    return errors


def problem(options, folder, fault, count):
    """What is wrong when a call fails, or None; and whether anything failed."""
    # Swift describes how it ended for seconds.
    environment = {**fault.environment(options.library, folder, count), "SWIFT_BACKTRACE": "enable=no"}
    allowed = {entity: {title} for entity, title, _ in BEFORE}
    service = Service(options.program, folder, environment)
    errors = 0
    try:
        if service.port:
            errors = change(service, CHANGES, allowed)
            # The first attempt may hit the failing call. In a longer run of failures each uses up at least one.
            if not fault.is_lasting and all(change(service, [LAST], allowed) for _ in range(fault.length + 1)):
                service.end(9)
                return "a change failed long after the call", True
    except (OSError, http.client.HTTPException, AssertionError) as error:
        status = service.end(9)
        if fault.call != "malloc":
            return f"{type(error).__name__} {error}, exit status {status}", True
        errors = 1
    else:
        status = service.end(15)
        if status != 0 and service.port and fault.call != "malloc":
            return f"exit status {status}", True
        errors += status != 0
    return left(options, folder, allowed), errors > 0


def left(options, folder, allowed):
    """What is wrong with the catalog after a restart, or None."""
    service = Service(options.program, folder)
    try:
        for entity, titles in sorted(allowed.items()):
            _, wrong = service.stored(entity, titles)
            if wrong:
                return "; ".join(wrong)
        again = change(service, [put("y", "y1", 8)], allowed)
    finally:
        service.end(15)
    if again:
        return "nothing can be put after a restart"
    verified = subprocess.run([options.command, "catalog", "verify", folder / "shop"], capture_output=True, text=True)
    return f"verify: {verified.stdout}{verified.stderr}" if verified.returncode else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="lookalike-serve")
    parser.add_argument("--command", type=Path, help="the command “lookalike”, beside it by default")
    parser.add_argument("--library", type=Path, required=True)
    parser.add_argument("--sample", type=int, help="this many faults in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="services that run at once")
    options = parser.parse_args()
    options.library = options.library.resolve()
    options.command = options.command or options.program.parent / "lookalike"
    scratch = Path(tempfile.mkdtemp(prefix="lookalike-service-faults-"))
    for end, signal in ENDS.items():
        service = Service(options.program, scratch / end)
        assert service.send("PUT", CATALOG)[0] == 201 and change(service, BEFORE, {}) == 0
        service.end(signal)

    def trial(case):
        """What problem() returns, and the file with the number of calls."""
        end, fault = case
        place = scratch / str(threading.get_ident())
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(scratch / end, place / "catalogs")
        count = place / "count"
        try:
            return *problem(options, place / "catalogs", fault, count), count
        # Such as a service that cannot be started again.
        except (OSError, http.client.HTTPException, AssertionError) as error:
            return f"{type(error).__name__} {error}", True, count

    cases = []
    for end in ENDS:
        for kind in [*FAULTS, FULL_FOR_A_WHILE]:
            found, failed, count = trial((end, kind))
            assert found is None and not failed, (end, kind.call, found)
            cases += [(end, fault) for fault in kind.each(count)]
    # The disk is full when the catalog is opened: readers must not keep the process from writing later.
    first = [(end, replace(FULL_FOR_A_WHILE, number=1)) for end in ENDS]
    trials = list(dict.fromkeys(first + drawn(cases, options.sample, options.seed)))
    tried, findings, failures = 0, 0, 0
    with ThreadPoolExecutor(options.jobs) as pool:
        try:
            for (end, fault), (found, failed, _) in zip(trials, pool.map(trial, trials), strict=True):
                tried += 1
                failures += failed
                if found:
                    findings += 1
                    print(f"{end}, {fault}: {found}", flush=True)
        except KeyboardInterrupt:
            # Long runs may be interrupted, and still say what they did.
            pool.shutdown(cancel_futures=True)
    shutil.rmtree(scratch)
    print(
        f"{tried} of {len(cases)} faults of the service: {failures} made a change or the start fail,"
        f" {findings} findings (seed {options.seed})"
    )
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
