#!/usr/bin/env python3
"""Kills the service at random moments while clients write, and checks what is left after a restart.

kills.py .build/release/lookalike-serve [--count 200]

Every change that was answered has to be there, with its image's print and its metadata, and the catalog has to be
intact. A change that was not answered may be there, and then whole.
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

CLIENTS = 4
ENTITIES = 24


class Client(threading.Thread):
    """Puts, renames and removes entities of its own until the service is gone."""

    def __init__(self, service, number, choice, titles):
        super().__init__()
        self.service, self.number, self.choice = service, number, choice
        # The title of each entity that was answered last, None for one that was removed.
        self.titles = titles
        self.answered = 0
        # The entity of the change without an answer, and what its title may be instead.
        self.open = None

    def run(self):
        try:
            while True:
                self.change()
                self.open = None
                self.answered += 1
        except (OSError, http.client.HTTPException):
            pass

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
    titles, answered, findings, interrupted = {}, 0, 0, 0
    with tempfile.TemporaryDirectory(prefix="lookalike-kills-") as folder:
        service = Service(options.program, folder)
        assert service.send("PUT", CATALOG)[0] == 201
        for number in range(options.count):
            clients = [Client(service, i, random.Random(choice.random()), titles) for i in range(CLIENTS)]
            for client in clients:
                client.start()
            changes, deadline = choice.randrange(40), time.monotonic() + 10
            while sum(client.answered for client in clients) < changes and time.monotonic() < deadline:
                time.sleep(0.002)
            time.sleep(choice.uniform(0, 0.05))
            service.end(9)
            for client in clients:
                client.join()
            answered += sum(client.answered for client in clients)
            interrupted += sum(client.open is not None for client in clients)
            service = Service(options.program, folder)
            for problem in problems(service, clients, titles):
                findings += 1
                print(f"kill {number}: {problem}", flush=True)
        service.end(15)
        verified = subprocess.run([command, "catalog", "verify", f"{folder}/shop"], capture_output=True, text=True)
        if verified.returncode:
            findings += 1
            print(f"verify: {verified.stdout}{verified.stderr}")
    print(
        f"{options.count} kills: {answered} changes answered, {interrupted} interrupted, {findings} findings"
        f" (seed {options.seed})"
    )
    # Changes that are never interrupted show nothing.
    sys.exit(findings > 0 or interrupted < options.count / 4)


if __name__ == "__main__":
    main()
