#!/usr/bin/env python3
"""Measures what keeps a service that is used by many from falling over.

limits.py catalogs PROGRAM --count 200   memory after a search and a change of each of many small catalogs
limits.py bombs PROGRAM --seconds 25     a polite client beside two that send PNG files of 100 million pixels

PROGRAM is lookalike-serve; it is started with catalogs of the demo's covers.
"""

import argparse
import collections
import http.client
import json
import shutil
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
    def __init__(self, program, folder):
        arguments = [program, "--catalogs", folder, "--port", "0", "--log-level", "critical"]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1].strip().strip("/"))
        while json.loads(self.send("GET", "/health/ready")[1])["status"] != "ready":
            time.sleep(0.05)

    def send(self, method, path, body=None, source="127.0.0.1"):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        connection.request(method, path, body, {"Content-Type": "application/octet-stream"} if body else {})
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, content

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
    times = [timed(lambda name=name: service.send("POST", f"/v1/catalogs/{name}/search", PHOTO))[1] for name in names]
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
        (status, _), seconds = timed(lambda: service.send("POST", path, PHOTO, "127.0.0.9"))
        polite.append((status, seconds))
        time.sleep(max(0, 0.5 - seconds))
    is_over.set()
    for attacker in attackers:
        attacker.join()
    answered = [seconds for status, seconds in polite if status == 200]
    print(f"the polite client: {len(answered)} of {len(polite)} answered; {milliseconds(answered or [0])}")
    print(f"the others: {dict(attacks)}")
    service.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ["catalogs", "bombs"]:
        commands.add_parser(name).add_argument("program")
    commands.choices["catalogs"].add_argument("--count", type=int, default=200)
    commands.choices["bombs"].add_argument("--seconds", type=float, default=25)
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        {"catalogs": catalogs, "bombs": bombs}[arguments.command](arguments, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
