#!/usr/bin/env python3
"""Measures what keeps a service that is used by many from falling over.

limits.py catalogs PROGRAM --count 200   memory after a search and a change of each of many small catalogs
limits.py bombs PROGRAM --seconds 25     a polite client beside two that send PNG files of 100 million pixels
limits.py people PROGRAM --rounds 10     4, 8 and 16 people who search at the same moment, each from an own address
limits.py idle PROGRAM --seconds 180     1,200 idle connections beside eight clients, with 1,024 descriptors

PROGRAM is lookalike-serve; it is started with catalogs of the demo's covers. --photo searches for another photo.
"""

import argparse
import collections
import contextlib
import http.client
import json
import random
import shutil
import socket
import statistics
import struct
import subprocess
import tempfile
import threading
import time
import zlib
from pathlib import Path

DEMO = Path(__file__).resolve().parents[3] / "Examples/Demo"
COVERS = [path.read_bytes() for path in sorted((DEMO / "covers").glob("*.jpg"))[:19]]
PHOTO = (DEMO / "queries/photo-1.jpg").read_bytes()


class Service:
    def __init__(self, program, folder, files=None):
        """With `files`, the limit on its descriptors, which it cannot raise."""
        arguments = [program, "--catalogs", folder, "--port", "0", "--log-level", "critical"]
        if files:
            arguments = ["prlimit", f"--nofile={files}:{files}", *arguments]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1].strip().strip("/"))
        while json.loads(self.send("GET", "/health/ready")[1])["status"] != "ready":
            time.sleep(0.05)

    def send(self, method, path, body=None, source="127.0.0.1"):
        """The status and the content of the answer."""
        status, content, _ = self.exchange(method, path, body, source)
        return status, content

    def exchange(self, method, path, body=None, source="127.0.0.1"):
        """The same with the seconds to wait."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        connection.request(method, path, body, {"Content-Type": "application/octet-stream"} if body else {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content, int(answer.headers.get("Retry-After", 0))

    def fill(self, catalog):
        self.send("PUT", f"/v1/catalogs/{catalog}")
        for index, cover in enumerate(COVERS):
            self.send("PUT", f"/v1/catalogs/{catalog}/entities/{index}", cover)

    @property
    def megabytes(self):
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) // 1024

    def end(self):
        self.process.terminate()
        self.process.wait()


def milliseconds(seconds):
    return f"{1000 * statistics.median(seconds):.1f} ms, at most {1000 * max(seconds):.1f} ms"


def timed(call):
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def catalogs(arguments, folder):
    service = Service(arguments.program, folder)
    service.fill("c0")
    service.end()
    names = [f"c{index}" for index in range(arguments.count)]
    for name in names[1:]:
        shutil.copytree(f"{folder}/c0", f"{folder}/{name}")
    service = Service(arguments.program, folder)
    print(f"{len(names)} catalogs of {len(COVERS)} entities: {service.megabytes} MB", flush=True)
    times = [
        timed(lambda name=name: service.send("POST", f"/v1/catalogs/{name}/search", arguments.photo))[1]
        for name in names
    ]
    print(f"after a search each: {service.megabytes} MB; {milliseconds(times)}", flush=True)
    for name in names:
        service.send("PUT", f"/v1/catalogs/{name}/entities/new", COVERS[0])
    print(f"after a change each: {service.megabytes} MB", flush=True)
    times = [timed(lambda name=name: service.send("GET", f"/v1/catalogs/{name}/entities/new"))[1] for name in names]
    print(f"a read of each, opened again: {milliseconds(times)}")
    service.end()


def bomb(side=9999):
    """A PNG file of black pixels of three channels with 16 bits."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    compressor = zlib.compressobj(9)
    row = bytes(1 + side * 6)
    pixels = b"".join(compressor.compress(row) for _ in range(side)) + compressor.flush()
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 16, 2, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def bombs(arguments, folder):
    image = bomb()
    service = Service(arguments.program, folder)
    service.fill("c")
    path = "/v1/catalogs/c/search"
    is_over = threading.Event()
    attacks = collections.Counter()

    def attack(source):
        while not is_over.is_set():
            attacks[service.send("POST", path, image, source)[0]] += 1

    attackers = [threading.Thread(target=attack, args=(f"127.0.0.{2 + index}",)) for index in range(2)]
    for attacker in attackers:
        attacker.start()
    time.sleep(1)
    polite = []
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end:
        (status, _), seconds = timed(lambda: service.send("POST", path, arguments.photo, "127.0.0.9"))
        polite.append((status, seconds))
        time.sleep(max(0, 0.5 - seconds))
    is_over.set()
    for attacker in attackers:
        attacker.join()
    answered = [seconds for status, seconds in polite if status == 200]
    print(f"the polite client: {len(answered)} of {len(polite)} answered; {milliseconds(answered or [0])}")
    print(f"the others: {dict(attacks)}")
    service.end()


def people(arguments, folder):
    service = Service(arguments.program, folder)
    service.fill("c")
    path = "/v1/catalogs/c/search"
    alone = [timed(lambda: service.send("POST", path, arguments.photo))[1] for _ in range(20)][5:]
    print(f"alone: {milliseconds(alone)}", flush=True)
    for count in [4, 8, 16]:
        # When each is answered, and whether at the first try; the page waits and tries again, too.
        answers, refused = [], [0]

        def search(number, barrier, answers=answers, refused=refused):
            barrier.wait()
            start = time.monotonic()
            while (reply := service.exchange("POST", path, arguments.photo, f"127.0.0.{10 + number}"))[0] == 503:
                refused[0] += 1
                time.sleep(reply[2] * random.uniform(1, 1.5))
            answers.append(time.monotonic() - start if reply[0] == 200 else float("inf"))

        shares = []
        for _ in range(arguments.rounds):
            barrier = threading.Barrier(count)
            before = len(answers)
            threads = [threading.Thread(target=search, args=(number, barrier)) for number in range(count)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            shares.append(sum(seconds <= 2 for seconds in answers[before:]) / count)
        print(
            f"{count} at once: {statistics.mean(shares):.1%} answered within 2 s, {min(shares):.0%} to"
            f" {max(shares):.0%} of a round; {milliseconds(answers)}; {len(answers)} answers, {refused[0]} refusals",
            flush=True,
        )
    service.end()


def idle(arguments, folder):
    service = Service(arguments.program, folder, files=1024)
    service.fill("c")
    service.fill("d")
    is_over = threading.Event()
    results = collections.Counter()
    times = []

    def client(number):
        path = f"/v1/catalogs/{'cd'[number % 2]}/search"
        while not is_over.is_set():
            try:
                (status, _), seconds = timed(
                    lambda: service.send("POST", path, arguments.photo, f"127.0.0.{2 + number}")
                )
            except (OSError, http.client.HTTPException) as error:
                status, seconds = type(error).__name__, 0
            results[status] += 1
            if status == 200:
                times.append(seconds)
            is_over.wait(arguments.pause)

    connections = []

    def connect():
        connection = socket.create_connection(("127.0.0.1", service.port))
        connection.setblocking(False)
        return connection

    clients = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for each in clients:
        each.start()
    end = time.monotonic() + arguments.seconds
    closed, health = 0, collections.Counter()
    while time.monotonic() < end and service.process.poll() is None:
        # Those that the service has closed come again.
        still = [connection for connection in connections if is_open(connection)]
        closed += len(connections) - len(still)
        connections = still + [connect() for _ in range(1200 - len(still))]
        with contextlib.suppress(OSError, http.client.HTTPException):
            health[service.send("GET", "/health/live", source="127.0.0.99")[0]] += 1
        time.sleep(0.5)
    is_over.set()
    for each in clients:
        each.join()
    code = service.process.poll()
    state = "it serves" if code is None else f"it ended with {code}"
    print(
        f"{arguments.seconds:.0f} s: {state}; searches {dict(results)}, "
        f"{milliseconds(times or [0])}; health {dict(health)}; {closed} idle connections closed and made again; "
        f"{service.megabytes if code is None else 0} MB"
    )
    service.end()


def is_open(connection):
    try:
        return connection.recv(4096) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ["catalogs", "bombs", "people", "idle"]:
        command = commands.add_parser(name)
        command.add_argument("program")
        command.add_argument("--photo", type=lambda path: Path(path).read_bytes(), default=PHOTO)
    commands.choices["catalogs"].add_argument("--count", type=int, default=200)
    commands.choices["bombs"].add_argument("--seconds", type=float, default=25)
    commands.choices["people"].add_argument("--rounds", type=int, default=10)
    commands.choices["idle"].add_argument("--seconds", type=float, default=180)
    commands.choices["idle"].add_argument("--pause", type=float, default=0, help="seconds between a client's searches")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        {"catalogs": catalogs, "bombs": bombs, "people": people, "idle": idle}[arguments.command](arguments, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
