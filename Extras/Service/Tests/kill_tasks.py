#!/usr/bin/env python3
"""Kills the service at random moments while it carries out tasks, sends events and makes backups.

kill_tasks.py .build/release/lookalike-serve [--count 200]

Each task puts and removes entities, some of them several times. However often the service was killed meanwhile, the
task ends with what its lines say, carried out once and in their order: so say the catalog, and the numbers of lines
that were done and refused. Its end is sent to a webhook, and what has the name of a backup is whole.
"""

import argparse
import base64
import collections
import http.client
import http.server
import json
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

from running_service import CATALOG, COVERS, Service

BATCH = f"{CATALOG}/entities:batch"
KINDS = ["images", "prints", "removals", "mixed"]


class Receiver(http.server.BaseHTTPRequestHandler):
    """Collects the events, and fails every other one at first."""

    events = {}
    seen = collections.Counter()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.headers["webhook-id"]
        Receiver.seen[name] += 1
        if Receiver.seen[name] == 1 and len(Receiver.seen) % 2:
            self.send_response(500)
        else:
            Receiver.events[name] = json.loads(body)
            self.send_response(204)
        self.end_headers()

    def log_message(self, *_):
        pass


class Lines:
    """The lines of a task, and what they make of a catalog."""

    def __init__(self, kind, prints, titles, choice):
        self.texts, self.refused = [], 0
        self.titles = dict(titles)
        ids = [f"e{number}" for number in range(2000)]
        if kind == "removals":
            for entity in choice.sample(sorted(titles), len(titles) // 2) + choice.sample(ids, 20):
                self.remove(entity)
        else:
            # Some entities come again: at once, or in a later commit.
            count = {"images": 20, "prints": 1500, "mixed": 50}[kind]
            for entity in choice.choices(ids[: count * 2], k=count):
                if kind == "mixed" and choice.random() < 0.4:
                    self.remove(entity)
                elif kind == "prints":
                    self.put(entity, {"print": choice.choice(prints)}, choice)
                else:
                    self.put(entity, {"image": base64.b64encode(choice.choice(COVERS)).decode()}, choice)

    def put(self, entity, content, choice):
        title = f"t{choice.randrange(1 << 30)}"
        self.texts.append({"id": entity, "title": title, **content})
        self.titles[entity] = title

    def remove(self, entity):
        self.texts.append({"id": entity, "delete": True})
        self.refused += self.titles.pop(entity, None) is None

    @property
    def body(self):
        return "".join(json.dumps(text) + "\n" for text in self.texts).encode()


def ended(service, path):
    """The task; nothing if it has not ended."""
    task = json.loads(service.send("GET", path)[1])
    return task if "ended" in task else None


def titles(service):
    found, cursor = {}, ""
    while cursor is not None:
        status, answer = service.send("GET", f"{CATALOG}/entities?limit=1000&fields=id,title{cursor}")
        assert status == 200, answer
        page = json.loads(answer)
        found |= {entity["id"]: entity["title"] for entity in page["entities"]}
        cursor = f"&cursor={page['next']}" if page.get("next") else None
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="lookalike-serve")
    parser.add_argument("--count", type=int, default=200, help="kills")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kinds", nargs="*", choices=KINDS, default=KINDS)
    options = parser.parse_args()
    choice = random.Random(options.seed)
    receiver = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    findings, kills, tasks, known = [], collections.Counter(), collections.Counter(), {}
    with tempfile.TemporaryDirectory(prefix="lookalike-kill-tasks-") as folder:
        secret = Path(folder) / "secret"
        secret.write_text("a secret of twenty-four bytes")
        url = f"http://127.0.0.1:{receiver.server_port}/"
        arguments = ["--webhook", url, "--webhook-secret-file", secret, "--backup-every", "1s", "--keep", "3"]

        def start():
            return Service(options.program, f"{folder}/catalogs", options=arguments)

        service = start()
        assert service.send("PUT", CATALOG, b'{"localFeatures":false}', "application/json")[0] == 201
        prints = [json.loads(service.send("POST", "/v1/prints", cover)[1])["prints"][0] for cover in COVERS]
        started = []
        while sum(kills.values()) < options.count:
            kind = options.kinds[len(started) % len(options.kinds)]
            lines = Lines(kind, prints, known, choice)
            path = None
            # Killed in an upload, it may have been accepted.
            uploading = choice.random() < 0.1
            if uploading:
                killer = threading.Timer(choice.uniform(0, 0.1), service.process.kill)
                killer.start()
            try:
                headers = {"Prefer": "respond-async"}
                status, answer = service.send("POST", BATCH, lines.body, "application/x-ndjson", headers)
                assert status == 202, answer
                path = f"/v1/tasks/{json.loads(answer)['id']}"
            except (OSError, http.client.HTTPException):
                pass
            if uploading:
                killer.join()
                service.process.wait()
                kills[kind] += 1
                service = start()
            if path is None:
                new = [task["id"] for task in json.loads(service.send("GET", "/v1/tasks")[1])["tasks"]]
                new = [task for task in new if f"/v1/tasks/{task}" not in started]
                if not new:
                    continue
                path = f"/v1/tasks/{new[0]}"
            started.append(path)
            longest = 0.1
            while not (task := ended(service, path)):
                # Longer each time: what a service begins, it has to end some time.
                time.sleep(choice.uniform(0, longest))
                longest *= 1.3
                if sum(kills.values()) < options.count and not ended(service, path):
                    service.end(9)
                    kills[kind] += 1
                    service = start()
            tasks[kind] += 1
            known = lines.titles
            numbers = (task["status"], task["done"], task["refused"])
            if numbers != ("succeeded", len(lines.texts), lines.refused):
                findings.append(f"{kind}: {numbers}, not {len(lines.texts)} lines of which {lines.refused} are refused")
            if (found := titles(service)) != known:
                wrong = sorted(entity for entity in found | known if found.get(entity) != known.get(entity))
                findings.append(f"{kind}: {len(wrong)} entities are not as the lines say, such as {wrong[:3]}")
                known = found
        deadline = time.monotonic() + 60
        waiting = True
        while waiting and time.monotonic() < deadline:
            time.sleep(0.2)
            waiting = json.loads(service.send("GET", "/v1/tasks")[1])["webhooks"]
        sent = collections.Counter(
            event["data"]["id"] for event in Receiver.events.values() if event["type"] == "task.ended"
        )
        for path in started:
            if (count := sent[path.rsplit("/", 1)[1]]) != 1:
                findings.append(f"the end of {path} was sent as {count} events")
        backups = list(Path(folder).glob("catalogs/.backups/shop/*"))
        for backup in backups:
            status, answer = service.send(
                "POST", f"{CATALOG}/restore?dry-run=true", backup.read_bytes(), "application/x-tar"
            )
            if status != 200:
                findings.append(f"{backup.name}: {answer}")
        if len(list(Path(folder).glob("catalogs/.backups/shop/.*"))) > 1:
            findings.append("parts of backups are left")
        service.end(15)
    for finding in findings:
        print(finding)
    print(
        f"{sum(kills.values())} kills ({dict(kills)}) in {sum(tasks.values())} tasks; {len(Receiver.events)} events,"
        f" {len(backups)} backups; {len(findings)} findings (seed {options.seed})"
    )
    sys.exit(bool(findings))


if __name__ == "__main__":
    main()
