#!/usr/bin/env python3
"""Kills the service at random moments while clients write, and checks what is left after a restart.

kills.py .build/release/lookalike-serve [--count 200]

Every change that was answered has to be there, with its image's print and its metadata, and the catalog has to be
intact. A change that was not answered may be there, and then whole. Another catalog is replaced by snapshots meanwhile:
one of them has to be there.
"""

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from running_service import CATALOG, COVERS, Service

RESTORED = "/v1/catalogs/restored"
CLIENTS = 4
ENTITIES = 24


class Writer(threading.Thread):
    """Changes something until the service is gone."""

    def __init__(self, service):
        super().__init__()
        self.service = service
        self.answered = 0
        # The change without an answer.
        self.open = None
        # Another answer than the expected one.
        self.wrong = None

    def run(self):
        try:
            while True:
                self.change()
                self.open = None
                self.answered += 1
        except (OSError, http.client.HTTPException):
            pass
        except AssertionError as error:
            self.wrong = f"unexpected answer: {error}"


class Restorer(Writer):
    """Replaces a catalog by one of two snapshots, in turn."""

    def __init__(self, service, snapshots, count):
        super().__init__(service)
        # By the number of their entities.
        self.snapshots = snapshots
        # The entities of the catalog that was restored last; 0 before the first time.
        self.count = count

    def change(self):
        self.open = 2 if self.count == 1 else 1
        snapshot = self.snapshots[self.open]
        status, body = self.service.send("POST", f"{RESTORED}/restore", snapshot, "application/x-tar")
        assert status == 200, (status, body)
        self.count = self.open

    def problem(self, service):
        """What is wrong after a restart, or None; takes over what an unanswered restore did."""
        status, body = service.send("GET", RESTORED)
        found = json.loads(body)["entities"] if status == 200 else 0
        allowed = {self.count, self.open or self.count}
        self.count = found
        return None if found in allowed else f"the restored catalog has {found} entities, not {sorted(allowed)}"


class Client(Writer):
    """Puts, renames and removes entities of its own."""

    def __init__(self, service, number, choice, titles):
        super().__init__(service)
        self.number, self.choice = number, choice
        # The title of each entity that was answered last, None for one that was removed. What is open is the entity,
        # and what its title may be instead.
        self.titles = titles

    def change(self):
        entity = f"c{self.number}-{self.choice.randrange(ENTITIES)}"
        path = f"{CATALOG}/entities/{entity}"
        title = f"t{self.choice.randrange(1 << 30)}"
        known = self.titles.get(entity)
        kind = self.choice.random()
        if known is None or kind < 0.5:
            self.open = (entity, title)
            status, _ = self.service.send("PUT", f"{path}?title={title}", self.choice.choice(COVERS))
            expected = (200, 201)
        elif kind < 0.75:
            self.open = (entity, title)
            patch = json.dumps({"title": title}).encode()
            status, _ = self.service.send("PATCH", path, patch, "application/merge-patch+json")
            expected = (200,)
        else:
            title = None
            self.open = (entity, None)
            status, _ = self.service.send("DELETE", path)
            expected = (204,)
        assert status in expected, (entity, status)
        self.titles[entity] = title


def snapshots(service):
    """Snapshots of catalogs with one and with two entities."""
    made = {}
    for count in (1, 2):
        catalog = f"/v1/catalogs/s{count}"
        assert service.send("PUT", catalog)[0] == 201
        for number in range(count):
            assert service.send("PUT", f"{catalog}/entities/{number}", COVERS[number])[0] == 201
        status, made[count] = service.send("POST", f"{catalog}/snapshot")
        assert status == 200
    return made


def problems(service, clients, titles):
    """What is wrong after a restart; takes over what unanswered changes did."""
    found = []
    undecided = {client.open[0]: client.open[1] for client in clients if client.open}
    for entity in sorted(titles | undecided):
        allowed = {titles.get(entity)} | ({undecided[entity]} if entity in undecided else set())
        titles[entity], wrong = service.stored(entity, allowed)
        found += wrong
    present = sum(title is not None for title in titles.values())
    status, body = service.send("GET", CATALOG)
    if status != 200 or json.loads(body)["entities"] != present:
        found.append(f"the catalog has {body.decode()}, not {present} entities")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="lookalike-serve")
    parser.add_argument("--command", type=Path, help="the command “lookalike”, beside it by default")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    command = options.command or options.program.parent / "lookalike"
    choice = random.Random(options.seed)
    titles, answered, findings, interrupted, restored = {}, 0, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="lookalike-kills-") as folder:
        service = Service(options.program, folder)
        assert service.send("PUT", CATALOG)[0] == 201
        archives = snapshots(service)
        restorer = Restorer(service, archives, 0)
        for number in range(options.count):
            restorer = Restorer(service, archives, restorer.count)
            clients = [Client(service, i, random.Random(choice.random()), titles) for i in range(CLIENTS)]
            for writer in [*clients, restorer]:
                writer.start()
            changes, deadline = choice.randrange(40), time.monotonic() + 10
            while sum(client.answered for client in clients) < changes and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(choice.uniform(0, 0.05))
            service.end(9)
            for writer in [*clients, restorer]:
                writer.join()
            restored += restorer.answered
            answered += sum(client.answered for client in clients)
            interrupted += sum(client.open is not None for client in clients)
            service = Service(options.program, folder)
            found = [writer.wrong for writer in [*clients, restorer]] + problems(service, clients, titles)
            for problem in filter(None, [*found, restorer.problem(service)]):
                findings += 1
                print(f"kill {number}: {problem}", flush=True)
        service.end(15)
        verified = subprocess.run([command, "catalog", "verify", f"{folder}/shop"], capture_output=True, text=True)
        if verified.returncode:
            findings += 1
            print(f"verify: {verified.stdout}{verified.stderr}")
    print(
        f"{options.count} kills: {answered} changes and {restored} restores answered, {interrupted} changes"
        f" interrupted, {findings} findings (seed {options.seed})"
    )
    # Changes that are never interrupted show nothing.
    sys.exit(findings > 0 or interrupted < options.count / 4)


if __name__ == "__main__":
    main()
