#!/usr/bin/env python3
"""Measures what keeps a service that is used by many from falling over.

limits.py catalogs PROGRAM --count 200   memory after a search and a change of each of many small catalogs
limits.py bombs PROGRAM --seconds 25     a polite client beside two that send PNG files of 100 million pixels
limits.py people PROGRAM --rounds 10     4, 8 and 16 people who search at the same moment, each from an own address
limits.py greedy PROGRAM --seconds 15    two clients alone, and beside 64 of another address that never wait
limits.py memory PROGRAM --megabytes 768 16 people in a control group of 768 MB, beside slow bodies, large PNG files and
                                         titles of 50 MB (needs root)
limits.py idle PROGRAM --seconds 180     1,200 idle connections beside eight clients, with 1,024 descriptors

PROGRAM is lookalike-serve; it is started with catalogs of the demo's covers. --photo searches for another photo.
"""

import argparse
import collections
import contextlib
import http.client
import json
import multiprocessing
import os
import random
import selectors
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
    def __init__(self, program, folder, files=None, group=None):
        """With `files`, the limit on its descriptors, which it cannot raise; with `group`, in a control group."""
        arguments = [program, "--catalogs", folder, "--port", "0", "--log-level", "critical"]
        if group:
            arguments = ["sh", "-c", 'echo $$ > "$0/cgroup.procs" && exec "$@"', group, *arguments]
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
    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

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


def greedy_clients(port, request, seconds, results):
    """64 connections in one thread, each of which sends its request again as soon as it is answered."""
    selector = selectors.DefaultSelector()
    answers, times = collections.Counter(), []

    def start(connection):
        state = {"left": memoryview(request), "answer": b"", "start": time.perf_counter(), "answered": False}
        selector.modify(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, state)

    def connect():
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_WRITE)
        start(connection)

    for _ in range(64):
        connect()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for key, events in selector.select(0.1):
            connection, state = key.fileobj, key.data
            if events & selectors.EVENT_WRITE:
                state["left"] = state["left"][connection.send(state["left"]) :]
                if not state["left"]:
                    selector.modify(connection, selectors.EVENT_READ, state)
            part = connection.recv(65536) if events & selectors.EVENT_READ else None
            state["answer"] += part or b""
            head, blank, content = state["answer"].partition(b"\r\n\r\n")
            lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            if blank and not state["answered"] and len(content) >= int(lengths[0].split(b":")[1]):
                state["answered"] = True
                answers[int(head[9:12])] += 1
                if head[9:12] == b"503":
                    times.append(time.perf_counter() - state["start"])
            if part == b"":
                selector.unregister(connection)
                connection.close()
                connect()
            elif state["answered"] and not state["left"]:
                start(connection)
    results.send((answers, sorted(times)))


def polite_clients(service, photo, seconds):
    """The times of the searches of two clients, and all statuses."""
    times, statuses = [], collections.Counter()
    end = time.monotonic() + seconds

    def run():
        while time.monotonic() < end:
            reply, taken = timed(lambda: service.send("POST", "/v1/catalogs/c/search", photo, "127.0.0.2"))
            statuses[reply[0]] += 1
            if reply[0] == 200:
                times.append(taken)

    clients = [threading.Thread(target=run) for _ in range(2)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return sorted(times), dict(statuses)


def greedy(arguments, folder):
    service = Service(arguments.program, folder)
    service.fill("c")
    photo = arguments.photo
    request = (
        f"POST /v1/catalogs/c/search HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\n"
        f"Content-Type: image/jpeg\r\nContent-Length: {len(photo)}\r\n\r\n"
    ).encode() + photo

    def quantiles(times):
        return ", ".join(
            f"p{int(100 * part)} {1000 * times[int(part * len(times))]:.1f} ms" for part in [0.5, 0.99] if times
        )

    polite_clients(service, photo, 3)
    for _ in range(arguments.rounds):
        before = service.processor_seconds
        times, statuses = polite_clients(service, photo, arguments.seconds)
        cost = (service.processor_seconds - before) / max(1, len(times))
        alone = len(times) / arguments.seconds
        print(f"two alone: {alone:.1f} a second, {quantiles(times)}, {statuses}", flush=True)
        receiver, sender = multiprocessing.Pipe(False)
        process = multiprocessing.Process(
            target=greedy_clients, args=(service.port, request, arguments.seconds, sender)
        )
        process.start()
        before = service.processor_seconds
        times, statuses = polite_clients(service, photo, arguments.seconds)
        answers, refused = receiver.recv()
        process.join()
        found = len(times) + answers[200]
        total = found / arguments.seconds
        refusal = 1e6 * (service.processor_seconds - before - cost * found) / max(1, len(refused))
        print(
            f"beside 64: {len(times) / arguments.seconds:.1f} a second, {quantiles(times)}, {statuses}; all together"
            f" {total / alone:.2f} of two alone; refused {len(refused) / arguments.seconds:.0f} a second,"
            f" {refusal:.0f} µs of the service each, {quantiles(refused)}; {dict(answers)}",
            flush=True,
        )
    service.end()


@contextlib.contextmanager
def control_group(megabytes):
    """A control group for memory, without swap; its folder."""
    root = Path("/sys/fs/cgroup")
    is_v1 = (root / "memory").is_dir()
    group = root / ("memory" if is_v1 else "") / f"lookalike-{os.getpid()}"
    group.mkdir()
    try:
        limits = ["memory.limit_in_bytes", "memory.memsw.limit_in_bytes"] if is_v1 else ["memory.max"]
        for name in limits:
            if (group / name).exists():
                (group / name).write_text(str(megabytes << 20))
        yield group
    finally:
        group.rmdir()


def memory(arguments, folder):
    with control_group(arguments.megabytes) as group:
        service = Service(arguments.program, folder, group=str(group))
        try:
            attacked(service, arguments)
        finally:
            service.end()


def attacked(service, arguments):
    service.fill("c")
    path = "/v1/catalogs/c/search"
    is_over = threading.Event()
    statuses = collections.defaultdict(collections.Counter)
    peak = [0]

    def repeatedly(name, attack):
        def run():
            while not is_over.is_set():
                try:
                    statuses[name][attack()] += 1
                except (OSError, http.client.HTTPException) as error:
                    statuses[name][type(error).__name__] += 1
                    is_over.wait(0.2)

        return threading.Thread(target=run)

    def slow(number):
        connection = socket.create_connection(("127.0.0.1", service.port), 60, (f"127.0.0.{100 + number % 4}", 0))
        with connection:
            head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1:{service.port}\r\nContent-Length: {32 << 20}\r\n\r\n"
            connection.sendall(head.encode())
            connection.settimeout(0.2)
            for _ in range(31):
                connection.sendall(bytes(1 << 20))
            while not is_over.is_set():
                connection.send(bytes(1 << 16))
                try:
                    return int(connection.recv(4096)[9:12] or 0)
                except TimeoutError:
                    is_over.wait(0.5)

    def once(method, path, body, kind, source):
        connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60, source_address=(source, 0))
        try:
            connection.request(method, path, body, {"Content-Type": kind})
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    images = [bomb(side) for side in (4000, 9999)]
    title = json.dumps({"title": "x" * 50_000_000}).encode()
    threads = [repeatedly("slow", lambda number=number: slow(number)) for number in range(20)]
    threads += [
        repeatedly("bombs", lambda image=image: once("POST", path, image, "image/png", "127.0.0.110"))
        for image in images * 2
    ]
    threads += [
        repeatedly(
            "titles",
            lambda: once("PUT", "/v1/catalogs/c/entities/t", title, "application/json", "127.0.0.111"),
        )
        for _ in range(2)
    ]
    first, times = collections.Counter(), []

    def person(number):
        while not is_over.is_set():
            start, tries = time.monotonic(), 0
            while True:
                try:
                    status, content, wait = service.exchange("POST", path, PHOTO, f"127.0.0.{10 + number}")
                except (OSError, http.client.HTTPException) as error:
                    status, content, wait = type(error).__name__, b"", 1
                if not tries:
                    first[status if status != 503 else content[-200:]] += 1
                tries += 1
                if status == 200 or tries == 4 or is_over.is_set():
                    break
                time.sleep(wait * random.uniform(1, 1.5))
            times.append(time.monotonic() - start if status == 200 else float("inf"))
            is_over.wait(random.uniform(*arguments.pause))

    threads += [threading.Thread(target=person, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    end = time.monotonic() + arguments.seconds
    while time.monotonic() < end and service.process.poll() is None:
        peak[0] = max(peak[0], service.megabytes)
        time.sleep(0.2)
    code = service.process.poll()
    is_over.set()
    for thread in threads:
        thread.join()
    answered = [seconds for seconds in times if seconds < float("inf")]
    print(
        f"{arguments.megabytes} MB: {'alive' if code is None else f'ended with {code}'}, {peak[0]} MB at most; of"
        f" {len(times)} searches {first[200] / max(1, sum(first.values())):.1%} answered at the first try,"
        f" {len(answered) / max(1, len(times)):.1%} after four; {milliseconds(answered or [0])}"
    )
    print(f"first tries: {dict(first)}")
    print(f"others: { {name: dict(counts) for name, counts in statuses.items()} }")


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
    for name in ["catalogs", "bombs", "people", "greedy", "memory", "idle"]:
        command = commands.add_parser(name)
        command.add_argument("program")
        command.add_argument("--photo", type=lambda path: Path(path).read_bytes(), default=PHOTO)
    commands.choices["catalogs"].add_argument("--count", type=int, default=200)
    commands.choices["bombs"].add_argument("--seconds", type=float, default=25)
    commands.choices["people"].add_argument("--rounds", type=int, default=10)
    commands.choices["memory"].add_argument("--megabytes", type=int, default=768)
    commands.choices["memory"].add_argument("--seconds", type=float, default=30)
    commands.choices["memory"].add_argument("--pause", type=float, nargs=2, default=[2, 6], help="between searches")
    commands.choices["greedy"].add_argument("--rounds", type=int, default=2)
    commands.choices["greedy"].add_argument("--seconds", type=float, default=15)
    commands.choices["idle"].add_argument("--seconds", type=float, default=180)
    commands.choices["idle"].add_argument("--pause", type=float, default=0, help="seconds between a client's searches")
    arguments = parser.parse_args()
    folder = tempfile.mkdtemp()
    try:
        globals()[arguments.command](arguments, folder)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
