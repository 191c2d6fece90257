#!/usr/bin/env python3
"""Makes every kind of change of the interface on a small disk that is full, and checks that the answers are true.

    full_disk.py .build/release/lookalike-serve [--command .build/release/lookalike] [--spaces 0 4 64 1024]

The disk is a file system in memory in a namespace of its own, which needs root; elsewhere the test is skipped. Another
program leaves some KiB of it. An answer of success means that the change was made, an error that it was not, unless the
error says that it is stored; so it is at once, with space again, and after a kill and a restart. Where the space is no
less than half of the reserve, removals succeed.
"""

import argparse
import base64
import hashlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from running_service import COVERS, Service

SHOP = "/v1/catalogs/shop"
JSON = "application/json"
LINES = "application/x-ndjson"
RESERVE = 4 << 20


def lines(*values):
    return "".join(json.dumps(value) + "\n" for value in values).encode()


def image(index):
    return base64.b64encode(COVERS[index]).decode()


def image_id(index):
    return hashlib.sha256(COVERS[index]).hexdigest()[:16]


BATCH = lines({"id": "n", "image": image(3)}, {"id": "a", "delete": True})
CHANGES = {
    "make a catalog": ("PUT", "/v1/catalogs/other"),
    "put": ("PUT", f"{SHOP}/entities/n?title=new", COVERS[3]),
    "replace": ("PUT", f"{SHOP}/entities/a?title=new&undo=true", COVERS[4]),
    "change": ("PATCH", f"{SHOP}/entities/a", b'{"title":"new"}', JSON),
    "add an image": ("POST", f"{SHOP}/entities/a/images?undo=true", COVERS[4]),
    "remove an image": ("DELETE", f"{SHOP}/entities/b/images/{image_id(5)}"),
    "change those of a filter": ("PATCH", f"{SHOP}/entities?filter=everything", b'{"title":"new"}', JSON),
    "batch": ("POST", f"{SHOP}/entities:batch", BATCH, LINES),
    "task": ("POST", f"{SHOP}/entities:batch", BATCH, LINES, {"Prefer": "respond-async"}),
    "swap": ("POST", f"{SHOP}/swap", b'{"with":"second"}', JSON),
    "snapshot": ("POST", f"{SHOP}/snapshot"),
    "restore": ("POST", "/v1/catalogs/second/restore", None, "application/x-tar"),
    "try to restore": ("POST", "/v1/catalogs/second/restore?dry-run=true", None, "application/x-tar"),
    "undo": ("POST", f"{SHOP}/entities/u/undo"),
    "remove": ("DELETE", f"{SHOP}/entities/a"),
    "remove those of a filter": ("DELETE", f"{SHOP}/entities?filter=id%20in%20(a,%20b)"),
    "remove a catalog": ("DELETE", "/v1/catalogs/second"),
}
REMOVALS = {"remove", "remove an image", "remove those of a filter", "remove a catalog", "swap"}


def state(service):
    """What all catalogs have, by name: titles and images, by id."""
    _, answer = service.send("GET", "/v1/catalogs")
    catalogs = {}
    for name in [catalog["name"] for catalog in json.loads(answer)["catalogs"]]:
        status, answer = service.send("GET", f"/v1/catalogs/{name}/entities")
        assert status == 200, (name, status, answer)
        catalogs[name] = {
            entity["id"]: (entity.get("title"), images(service, f"/v1/catalogs/{name}/entities/{entity['id']}"))
            for entity in json.loads(answer)["entities"]
        }
    return catalogs


def images(service, entity):
    """The ids of an entity's images that have thumbnails."""
    found = json.loads(service.send("GET", f"{entity}/images")[1])["images"]
    return [each["id"] for each in found if service.send("GET", each["thumbnail"])[0] == 200]


def outcome(name, before):
    """What the catalogs have after a change, from what they had before."""
    shop, second = dict(before["shop"]), dict(before["second"])
    after = {**before, "shop": shop, "second": second}
    if name == "make a catalog":
        after["other"] = {}
    elif name == "put":
        shop["n"] = ("new", [image_id(3)])
    elif name == "replace":
        shop["a"] = ("new", [image_id(4)])
    elif name == "change":
        shop["a"] = ("new", shop["a"][1])
    elif name == "add an image":
        shop["a"] = ("old", shop["a"][1] + [image_id(4)])
    elif name == "remove an image":
        shop["b"] = ("old", shop["b"][1][:1])
    elif name == "change those of a filter":
        after["shop"] = {key: ("new", ids) for key, (_, ids) in shop.items()}
    elif name == "swap":
        after["shop"], after["second"] = second, shop
    elif name == "restore":
        after["second"] = dict(shop)
    elif name == "undo":
        shop["u"] = ("old", [image_id(3)])
    elif name in ("remove", "remove those of a filter"):
        for key in "a" if name == "remove" else "ab":
            del shop[key]
    elif name == "remove a catalog":
        del after["second"]
    return after


def line_outcome(problems, before):
    """The same for a batch or a task, by the problem of each line."""
    after = {**before, "shop": dict(before["shop"])}
    made = [not problem or "is stored" in problem["detail"] for problem in problems]
    if made[0]:
        after["shop"]["n"] = (None, [image_id(3)])
    if made[1]:
        after["shop"].pop("a", None)
    return after


def ended_task(service, answer):
    """The problems of the two lines of a task, when it has ended."""
    path = f"/v1/tasks/{json.loads(answer)['id']}"
    deadline = time.monotonic() + 30
    while True:
        task = json.loads(service.send("GET", path)[1])
        if task["status"] not in ("waiting", "running") or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    refused = {refusal["line"]: refusal["problem"] for refusal in task.get("refusals") or []}
    return [refused.get(line, None if line <= task["done"] else task["problem"]) for line in (1, 2)]


def trial(options, made, disk, name, space):
    """What is wrong with a change when so many bytes are left."""
    shutil.rmtree(disk / "catalogs", ignore_errors=True)
    shutil.copytree(made, disk / "catalogs")
    service = Service(options.program, disk / "catalogs", options=("--disk-reserve", options.reserve))
    ballast = disk / "ballast"
    try:
        # An entity that was replaced, and can be taken back.
        status, _ = service.send("PUT", f"{SHOP}/entities/u?title=newer&undo=true", COVERS[6])
        assert status == 200, status
        method, path, *rest = CHANGES[name]
        body, kind, headers = (*rest, None, None, None)[:3]
        if name in ("restore", "try to restore"):
            body = service.send("POST", f"{SHOP}/snapshot")[1]
        if name == "undo":
            connection = http.client.HTTPConnection("127.0.0.1", service.port)
            connection.request("GET", f"{SHOP}/entities/u")
            headers = {"If-Match": connection.getresponse().headers["ETag"]}
            connection.close()
        before = state(service)
        usage = os.statvfs(disk)
        with ballast.open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, max(1, usage.f_bavail * usage.f_frsize - space))
        try:
            status, answer = service.send(method, path, body or b"", kind or "image/jpeg", headers)
        except (http.client.IncompleteRead, ConnectionError) as error:
            # The head of a snapshot is sent when all of it is on the disk.
            return f"{type(error).__name__}"
        if name == "batch" and status == 200:
            expected = line_outcome([json.loads(line).get("problem") for line in answer.splitlines()], before)
        elif name == "task" and status == 202:
            expected = line_outcome(ended_task(service, answer), before)
        elif status < 300 or b"is stored" in answer:
            expected = outcome(name, before)
        else:
            expected = before
            code = json.loads(answer)["code"]
            if (status, code) not in ((507, "storage"), (507, "disk-full")):
                return f"{status} {code}"
            if name in REMOVALS and options.reserve != "0" and space >= RESERVE // 2:
                return f"{status} {answer}"
        for moment in ("at once", "with space", "after a restart"):
            if moment == "with space":
                ballast.unlink()
            elif moment == "after a restart":
                service.end(9)
                service = Service(options.program, disk / "catalogs", options=("--disk-reserve", options.reserve))
            found = state(service)
            if found != expected:
                return f"{status} {answer[:300]}; {moment} {found}, not {expected}"
        status, answer = service.send("PUT", f"{SHOP}/entities/z?title=z", COVERS[8])
        if status != 201:
            return f"afterwards {status} {answer}"
        service.end(15)
        verified = subprocess.run(
            [options.command, "catalog", "verify", disk / "catalogs/shop"], capture_output=True, text=True
        )
        return f"verify: {verified.stdout}{verified.stderr}" if verified.returncode else None
    finally:
        ballast.unlink(missing_ok=True)
        if service.process.poll() is None:
            service.end(9)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=Path, help="lookalike-serve")
    parser.add_argument("--command", type=Path, help="the command “lookalike”, beside it by default")
    parser.add_argument("--spaces", type=int, nargs="*", default=[0, 4, 64, 512, 3072], help="KiB that are left")
    parser.add_argument("--changes", nargs="*", default=list(CHANGES))
    parser.add_argument("--disk", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.command = options.command or options.program.parent / "lookalike"
    if not options.disk:
        scratch = tempfile.mkdtemp(prefix="lookalike-full-disk-")
        mount = 'mount -t tmpfs -o size=64m none "$0" && exec "$@"'
        probe = subprocess.run(
            ["unshare", "-m", "sh", "-c", mount, scratch, "true"], capture_output=True, text=True, check=False
        )
        if probe.returncode:
            print(f"skipped: no small disk can be mounted here: {probe.stderr.strip()}")
            os.rmdir(scratch)
            return
        command = ["unshare", "-m", "sh", "-c", mount, scratch, sys.executable, *sys.argv, "--disk", scratch]
        code = subprocess.run(command, check=False).returncode
        os.rmdir(scratch)
        sys.exit(code)
    made = Path(tempfile.mkdtemp())
    service = Service(options.program, made)
    for catalog, ids in (("shop", "abcu"), ("second", "xy")):
        assert service.send("PUT", f"/v1/catalogs/{catalog}")[0] == 201
        for index, entity in enumerate(ids):
            path = f"/v1/catalogs/{catalog}/entities/{entity}?title=old"
            assert service.send("PUT", path, COVERS[index])[0] == 201
    assert service.send("POST", f"{SHOP}/entities/b/images", COVERS[5])[0] == 201
    service.end(15)
    trials, findings = 0, 0
    for options.reserve in ("0", str(RESERVE)):
        for name in options.changes:
            for space in options.spaces:
                trials += 1
                found = trial(options, made, options.disk, name, space << 10)
                if found:
                    findings += 1
                    print(f"{name}, {space} KiB left, reserve {options.reserve}: {found}", flush=True)
    shutil.rmtree(made)
    print(f"{trials} changes on a full disk, {findings} findings")
    sys.exit(findings > 0)


if __name__ == "__main__":
    main()
